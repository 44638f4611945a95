package publish_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestFindIntact: what counts is the nearest commit that is as its record says, also one that a person merged
// after an edit: the edit does not take back what was merged.
func TestFindIntact(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		return gittest.Git(t, dir, append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	}
	write := func(files map[string]string) {
		t.Helper()
		for name, text := range files {
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	commit := func() string {
		t.Helper()
		run("add", "-A")
		run("commit", "-qm", "change")
		return run("rev-parse", "HEAD")
	}
	output := func(clusters string) map[string]string {
		t.Helper()
		files := map[string]string{"cloud/a.yaml": "a\n", "clusters/claudie/fleet-edge/flux.yaml": clusters}
		data := map[string][]byte{}
		for name, text := range files {
			data[name] = []byte(text)
		}
		rendered, err := tree.FromFiles(data)
		if err != nil {
			t.Fatal(err)
		}
		record, err := publish.NewRecord(publish.Written{Environment: "dev", Tree: rendered.ID().String(), Folders: []string{"cloud", "clusters"}}).Text("about")
		if err != nil {
			t.Fatal(err)
		}
		files[publish.RecordFile] = string(record)
		return files
	}
	run("init", "-q", "-b", "dev")
	write(output("one\n"))
	first := commit()
	run("checkout", "-q", "-b", "proposed")
	write(output("two\n"))
	proposed := commit()
	run("checkout", "-q", "dev")
	write(map[string]string{"cloud/a.yaml": "edited\n"})
	edited := commit()
	run("merge", "-q", "--no-ff", "-m", "merged", "proposed")
	merged := run("rev-parse", "HEAD")
	run("rm", "-qr", "clusters")
	deleted := commit()
	run("rm", "-qr", ".")
	empty := run("commit-tree", "-m", "empty", "-p", deleted, run("write-tree"))

	repo, err := git.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, head string
		wanted     bool
		want       string
	}{
		{"as rendered", first, true, ""},
		{"edited", edited, false, first},
		{"merged after an edit", merged, false, proposed},
		{"the clusters deleted", deleted, false, proposed},
		{"all deleted, and none wanted", empty, false, ""},
		{"all deleted", empty, true, proposed},
	} {
		intact, err := publish.FindIntact(nil, repo, c.head, ".", "dev", c.wanted)
		if err != nil || intact.Commit != c.want {
			t.Errorf("%s: found is %s (%v), want %s", c.name, intact.Commit, err, c.want)
		}
		if _, edits := intact.Restore(tree.Tree{}); (len(edits) > 0) != (c.want != "") {
			t.Errorf("%s: restored is %v", c.name, edits)
		}
	}
	if intact, err := publish.FindIntact(nil, repo, edited, ".", "stage", true); err != nil || intact.Commit != "" {
		t.Errorf("for another environment, %s is found (%v)", intact.Commit, err)
	}
}
