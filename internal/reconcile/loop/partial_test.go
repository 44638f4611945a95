package loop_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestPartialMirror goes through the life of a change twice: with mirrors that are whole,
// and with ones that lack what nobody has read, begun anew for each cycle or kept. Everybody
// sees the same.
func TestPartialMirror(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	kept := t.TempDir()
	compare := func(what string) {
		t.Helper()
		before, now := w.save(), w.now
		gittest.Git(t, w.server.Dir("out"), "config", "uploadpack.allowFilter", "false")
		whole := t.TempDir()
		w.life(whole)
		if w.isPartial(whole) {
			t.Fatal("the mirror is not whole")
		}
		want := w.outcome()
		for name, data := range map[string]string{"begun anew": t.TempDir(), "kept": kept} {
			w.restore(before)
			w.now = now
			w.life(data)
			w.wantOutcome(what+", with a mirror that is "+name, want)
			if !w.isPartial(data) {
				t.Errorf("%s: the mirror that is %s is whole", what, name)
			}
		}
	}
	compare("a first run")
	w.level("debug", "warning")
	compare("a change")
	w.merge("dev")
	compare("a merge")
	person := w.server.Work(t, "out")
	person.Switch("dev")
	person.Write("README.md", "Theirs.\n")
	person.Write("edge/hello-web/platform-config.yaml", "Also theirs.\n")
	person.Write("edge/hello-web/more/file.yaml", "Not ours.\n")
	person.Remove("cloud/hello-web")
	person.Commit("edit what is generated")
	person.Push("dev")
	compare("what people edit in the output")
	w.level("warning", "info")
	compare("a change of what people have edited")
	w.merge("dev")
	w.people.Pull("dev")
	w.people.Remove("cluster-types/cloud.yaml")
	w.people.Commit("no cloud")
	w.people.Push("dev")
	compare("a cluster type that goes")
}

// isPartial reports whether the mirror of the GitOps repository lacks something.
func (w *world) isPartial(data string) bool {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(data, "git", giturl.FolderName(w.server.URL("out")), "config"))
	if err != nil {
		w.Fatal(err)
	}
	return strings.Contains(string(text), "partialclonefilter")
}
