package source_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// TestCopiedRoot: a root module that is copied is read at a commit that is recorded; a new commit of its
// branch changes the output, and what was recorded is rendered again as it was.
func TestCopiedRoot(t *testing.T) {
	const root = "terraform {\n  backend \"s3\" {\n    bucket = \"a\"\n    key    = \"b\"\n  }\n}\n"
	w := newStackWorld(t, "modules: false", stackText("checkout", "dev", "{subtype: config, module: {source: '{vpc}', path: roots/net}}"))
	w.push("vpc", "main", map[string]string{"roots/net/main.tf": root, "roots/net/values/a.yaml": "a: 1\n", "roots/other/main.tf": "other\n"})
	if err := w.source.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := w.render(source.Revisions{})
	if first.Problems.Stops() {
		t.Fatal(first.Problems)
	}
	folder := first.Tree.Sub("team/checkout-team-environment/dev-environment-component/net/terraform")
	var files []string
	for file := range folder.All() {
		files = append(files, file)
	}
	if got := strings.Join(files, " "); got != "main.tf values/a.yaml" {
		t.Errorf("the files are %s", got)
	}
	recorded := recordedOf(first)
	if len(recorded.Workloads) != 1 {
		t.Fatalf("the recorded commits are %v", recorded.Workloads)
	}
	w.push("vpc", "main", map[string]string{"roots/net/main.tf": root + "# more\n"})
	if err := w.source.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if second := w.render(source.Revisions{}); second.Problems.Stops() || second.Tree.ID() == first.Tree.ID() {
		t.Errorf("a new commit changes nothing: %v", second.Problems)
	}
	if again := w.render(recorded); again.Tree.ID() != first.Tree.ID() {
		t.Errorf("at the recorded commits it is another output: %v", again.Problems)
	}
	missing := newStackWorld(t, "", stackText("checkout", "dev", "{subtype: config, module: {source: '{nowhere}'}}"))
	if first, _ := missing.render(source.Revisions{}).Problems.FirstStopping(); !strings.Contains(first.Summary, "there is no repository at") {
		t.Errorf("a root module that cannot be read: %v", first)
	}
}
