package publish_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// recordOf returns the text of a record that an environment's place begins with.
func recordOf(environment string) string {
	return fmt.Sprintf("apiVersion: fairlead.io/v1alpha1\nkind: Output\nenvironments:\n  - environment: %s\n    tree: 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n    from: []\n", environment)
}

// newOwnWorld is newWorld with a record that says that main is the place of dev.
func newOwnWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.commit("main", publish.RecordFile, recordOf("dev"))
	return w
}

// TestPlaceOfAnother: a place that the record of another environment says is its own, that
// lies inside of such a place, or that contains one, is refused.
func TestPlaceOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, branch := range []string{"root", "folders", "Upper", "deep", "broken", "other"} {
		w.git("push", "-q", "origin", "main:"+branch)
	}
	w.commit("root", publish.RecordFile, recordOf("prod"))
	w.commit("folders", "clusters/prod/"+publish.RecordFile, recordOf("prod"))
	w.commit("Upper", publish.RecordFile, recordOf("prod"))
	w.commit("deep", "a/b/c/d/"+publish.RecordFile, recordOf("prod"))
	w.commit("broken", "prod/"+publish.RecordFile, "kind: Output\n")
	w.commit("other", publish.RecordFile, strings.Replace(recordOf("prod"), "    tree:", "    folder: prod\n    tree:", 1))
	p := w.publisher()
	for name, test := range map[string]struct {
		branch, folder string
		taken          bool
	}{
		"the branch":                           {"root", "", true},
		"a folder of the branch":               {"root", "cloud/hello", true},
		"a new folder of the branch":           {"root", "dev", true},
		"the folder":                           {"folders", "clusters/prod", true},
		"the folder, spelled otherwise":        {"folders", "./clusters//prod/", true},
		"the folder, in upper case":            {"folders", "Clusters/PROD", true},
		"in the folder":                        {"folders", "clusters/prod/cloud", true},
		"in the folder, in upper case":         {"folders", "clusters/Prod/cloud", true},
		"above the folder":                     {"folders", "clusters", true},
		"far above the folder":                 {"folders", "", true},
		"above, in upper case":                 {"deep", "A", true},
		"beside the folder":                    {"folders", "clusters/dev", false},
		"beside it, with a name alike":         {"folders", "clusters/prod-2", false},
		"the branch in lower case":             {"upper", "", true},
		"in the branch in lower case":          {"upper", "dev", true},
		"beside the branch":                    {"upper-2", "", false},
		"beside a record that cannot be read":  {"broken", "dev", false},
		"inside a record that cannot be read":  {"broken", "prod/dev", true},
		"a record that names a folder besides": {"other", "prod/x", true},
	} {
		t.Run(name, func(t *testing.T) {
			what := w.simple("a")
			what.Branch, what.Folder, what.Merge = test.branch, test.folder, publish.Direct
			p.Create = true
			before := w.refs()
			r, err := p.try(what)
			var blocked *problem.Refusal
			switch {
			case !test.taken && (err != nil || r.State != publish.Proposed):
				t.Errorf("it is %s, %v", r.State, err)
			case test.taken && (!errors.As(err, &blocked) || blocked.Hint() == "" || !strings.Contains(err.Error(), "the output of dev cannot be in")):
				t.Errorf("it is %s, %v, want a refusal with a hint", r.State, err)
			case test.taken && w.branch(test.branch) != before["refs/heads/"+test.branch]:
				t.Error("the branch was written to")
			}
		})
	}
}

// TestFirstWrite: who merges the first change of a place is a person, whatever the
// environment's merge setting is; where a record names the environment, nobody waits.
func TestFirstWrite(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(*world, *publisher, *publish.Proposal)
		held    bool
	}{
		"files of people":             {func(*world, *publisher, *publish.Proposal) {}, true},
		"a branch that Fairlead made": {func(_ *world, p *publisher, what *publish.Proposal) { p.Create, what.Branch = true, "dev" }, true},
		"an empty folder":             {func(_ *world, _ *publisher, what *publish.Proposal) { what.Folder = "clusters/dev" }, true},
		"another folder than so far": {func(w *world, _ *publisher, what *publish.Proposal) {
			w.commit("main", publish.RecordFile, recordOf("dev"))
			what.Folder = "clusters"
		}, true},
		"the folder above that so far": {func(w *world, _ *publisher, _ *publish.Proposal) {
			w.commit("main", "clusters/"+publish.RecordFile, recordOf("dev"))
		}, true},
		"a record names it": {func(w *world, _ *publisher, _ *publish.Proposal) {
			w.commit("main", publish.RecordFile, recordOf("dev"))
		}, false},
		"Fairlead has chosen a place": {func(_ *world, _ *publisher, what *publish.Proposal) { what.LocationChosen = true }, false},
	} {
		for _, merge := range []publish.Merge{publish.Direct, publish.WhenGreen} {
			t.Run(name+" "+string(merge), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				p := w.publisher()
				what := w.simple("a")
				what.Merge = merge
				test.prepare(w, p, &what)
				r, err := p.try(what)
				if err != nil {
					t.Fatal(err)
				}
				if !test.held {
					equal(t, "reasons to withhold it", len(r.Withheld), 0)
					return
				}
				equal(t, "state", r.State, publish.Proposed)
				if len(r.Withheld) != 1 || r.Withheld[0].Cause != publish.CauseLocation || !strings.Contains(r.Reason, "a person merges the first change") {
					t.Errorf("it is withheld for %v: %s", r.Withheld, r.Reason)
				}
				if !strings.Contains(r.Pull.Body, "Fairlead does not merge this pull request") {
					t.Errorf("the pull request does not say so:\n%s", r.Pull.Body)
				}
				w.git("fetch", "-q", "origin")
				w.git("push", "-q", "origin", "origin/fairlead/dev:"+what.Branch)
				p.want(publish.InSync, what)
				next := w.simple("b")
				next.Merge, next.Branch, next.Folder = merge, what.Branch, what.Folder
				r, err = p.try(next)
				if err != nil || len(r.Withheld) != 0 || merge == publish.Direct && r.State != publish.InSync {
					t.Errorf("the second change is %s, withheld for %v: %v", r.State, r.Withheld, err)
				}
			})
		}
	}
}
