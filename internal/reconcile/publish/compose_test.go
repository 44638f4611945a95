package publish

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// unended marks, in archives, a file that has no newline at its end, as what
// golden.Files writes does.
const unended = "⏎ no newline at the end\n"

// files gives the files of an archive below a folder.
func files(t *testing.T, c *golden.Case, folder string) tree.Tree {
	t.Helper()
	var b tree.Builder
	for path, data := range c.Tree(t, folder).All() {
		data, _ := bytes.CutSuffix(data, []byte(unended))
		if err := b.Add(path, data); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}

// outcome says what compose did, as its callers see it.
func outcome(c composed, err error) string {
	var b strings.Builder
	if err != nil {
		fmt.Fprintf(&b, "error: %s\n", err)
		var hinted *problem.Refusal
		if errors.As(err, &hinted) {
			fmt.Fprintf(&b, "hint: %s\n", hinted.Hint())
		}
		return b.String()
	}
	fmt.Fprintf(&b, "same: %t\npromotes: %t\n", c.same, c.promotes)
	if c.adoption.Kalypso || c.adoption.Folders != nil {
		fmt.Fprintf(&b, "adopted: %s (Kalypso: %t)\n", c.adoption.Folders, c.adoption.Kalypso)
	}
	for path := range c.before.Walk() {
		fmt.Fprintf(&b, "replaced: %s\n", path)
	}
	return b.String()
}

func TestCompose(t *testing.T) {
	golden.Run(t, "testdata/compose/*.txtar", func(t *testing.T, c *golden.Case) {
		written := Written{Environment: c.Environment(), Tree: "1234", From: []Input{{Layer: "base", Repo: "https://git.example.com/cp", Commit: "abcd"}}}
		now, rendered := files(t, c, "now"), files(t, c, "rendered")
		got, err := composeFolder(nil, now, written, rendered, nil)
		c.Want(t, "outcome", outcome(got, err))
		c.Want(t, "want", golden.Files(got.tree))
		if err != nil {
			return
		}
		again, err := composeFolder(nil, got.tree, written, rendered, nil)
		if err != nil || !tree.Equal(again.tree, got.tree) || !again.same || again.promotes || again.adoption.Folders != nil {
			t.Errorf("done twice, it is something else: %s%s", outcome(again, err), golden.Files(again.tree))
		}
	})
}

// TestKalypso follows Kalypso's cases from the control plane to the output branch:
// "in" is the first round, on top of "now", and "then" a second one, on top of what
// the first gave.
func TestKalypso(t *testing.T) {
	golden.Run(t, "testdata/kalypso/*.txtar", func(t *testing.T, c *golden.Case) {
		now := files(t, c, "now")
		for _, round := range []string{"in", "then"} {
			layers := []model.Layer{
				{Kind: model.Base, Name: "main", Files: c.Tree(t, round+"/base")},
				{Kind: model.Env, Name: c.Environment(), Files: c.Tree(t, round+"/env")},
			}
			for _, e := range c.Tree(t, round+"/workloads").Entries() {
				layers = append(layers, model.Layer{Kind: model.Workloads, Name: e.Name, Files: e.Tree()})
			}
			if layers[1].Files.IsEmpty() {
				continue
			}
			m, problems := model.Parse(c.Environment(), layers...)
			rendered, more := output.Render(m, nil, output.Options{})
			if problems = append(problems, more...); problems.Stops() {
				t.Fatal(golden.Problems(problems))
			}
			got, err := composeFolder(nil, now, Written{Environment: c.Environment()}, rendered, nil)
			if err != nil {
				t.Fatal(err)
			}
			c.Want(t, "outcome "+round, outcome(got, nil))
			if !got.same { // or else nothing is proposed
				now = got.tree
			}
		}
		c.Want(t, "want", golden.Files(now))
	})
}

// TestComposeKeepsWhatIsNoFile is for what archives cannot hold.
func TestComposeKeepsWhatIsNoFile(t *testing.T) {
	var foreign tree.Builder
	submodule := tree.Entry{Mode: tree.ModeSubmodule, ID: tree.HashBlob([]byte("commit"))}
	run := tree.File("", []byte("#!/bin/sh\n"))
	run.Mode = tree.ModeExecutable
	for path, e := range map[string]tree.Entry{
		"run.sh": run, "link": tree.Link("", "run.sh"), "module": submodule, ".github/hooks/run": run, ".github/link": tree.Link("", "../nowhere"),
		".module": submodule, "tools/link": tree.Link("", "/etc/passwd"), "tools/module": submodule,
	} {
		if err := foreign.AddEntry(path, e); err != nil {
			t.Fatal(err)
		}
	}
	odd := tree.File(`back\slash`, []byte("x"))
	now := tree.FromEntries(append(foreign.Tree().Entries(), odd, tree.Dir("odd", tree.FromEntries([]tree.Entry{odd}))))
	rendered, err := tree.FromFiles(map[string][]byte{"pier/README.md": nil, output.TrackingFile: []byte("1111")})
	if err != nil {
		t.Fatal(err)
	}
	got, err := composeFolder(nil, now, Written{Environment: "dev"}, rendered, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for path, e := range now.Walk() {
		want[path] = fmt.Sprintf("%o %s", e.Mode, e.ID)
	}
	kept := map[string]string{}
	for path, e := range got.tree.Walk() {
		if path != "pier/README.md" && path != output.TrackingFile && path != RecordFile {
			kept[path] = fmt.Sprintf("%o %s", e.Mode, e.ID)
		}
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Error(diff)
	}
}

func TestComposeIsBlockedByWhatIsNoFolder(t *testing.T) {
	rendered, err := tree.FromFiles(map[string][]byte{"pier/README.md": nil})
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]tree.Entry{
		"link": tree.Link("pier", "dock"), "submodule": {Name: "pier", Mode: tree.ModeSubmodule, ID: tree.HashBlob(nil)}, "file": tree.File("pier", nil),
	} {
		var b *problem.Refusal
		if _, err := composeFolder(nil, tree.FromEntries([]tree.Entry{e}), Written{Environment: "dev"}, rendered, nil); !errors.As(err, &b) || b.Hint() == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSameBut compares two folders as they are with what is left of them without the files
// that mean nothing.
func TestSameBut(t *testing.T) {
	paths := []string{RecordFile, output.TrackingFile, ".fairlead/other", ".github/tracking/other", ".github/w.yml", "east/a", "east"}
	random := rand.New(rand.NewPCG(1, 2))
	folder := func() tree.Tree {
		files := map[string][]byte{}
		for _, p := range paths {
			if version := random.IntN(3); version > 0 && random.IntN(3) > 0 {
				files[p] = fmt.Appendf(nil, "%d", version)
			}
		}
		if random.IntN(2) > 0 {
			delete(files, "east")
		} else {
			delete(files, "east/a")
		}
		all, err := tree.FromFiles(files)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	same := 0
	for range 20_000 {
		a, b := folder(), folder()
		got, want := equalExcept("", a, b, RecordFile, output.TrackingFile), tree.Equal(withoutMetadata(a), withoutMetadata(b))
		if got != want {
			t.Fatalf("it is %t that these are the same:\n%s\nand\n%s", got, listed(a), listed(b))
		}
		if got && !tree.Equal(a, b) {
			same++
		}
	}
	if same == 0 {
		t.Error("no two folders were the same but for those files")
	}
}

func listed(all tree.Tree) (text string) {
	for path, data := range all.All() {
		text += fmt.Sprintf("%s: %s\n", path, data)
	}
	return text
}
