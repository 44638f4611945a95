package publish_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// assigned returns files of assignments: cluster type a has targets 0 to n-1, each of a
// workload of its own, in which text stands.
func assigned(n int, text string) map[string]string {
	files := map[string]string{"a/README.md": "x"}
	for i := range n {
		files[fmt.Sprintf("a/t%d/reconciler.yaml", i)] = "kind: Puller\nfrom: " + text + "\n"
	}
	return files
}

// terraform returns the files of one assignment, whose module is destroyed, or not, when it is removed.
func terraform(destroyed string) map[string]string {
	files := assigned(1, "a")
	files["a/t0/terraform.yaml"] = "kind: Terraform\nmetadata: {name: t0}\nspec: {path: ./t0, destroyResourcesOnDeletion: " + destroyed + "}\n"
	return files
}

// renamed returns the files of an assignment with another name for its Terraform object.
func renamed(files map[string]string) map[string]string {
	files["a/t0/terraform.yaml"] = strings.Replace(files["a/t0/terraform.yaml"], "name: t0", "name: t1", 1)
	return files
}

// causes returns why a proposal is withheld.
func causes(r publish.Result) string {
	var all []string
	for _, w := range r.Withheld {
		all = append(all, string(w.Cause)+": "+w.Reason)
	}
	return strings.Join(all, "\n")
}

// TestLimits: each row is limits, a change from some assignments to others, and why it is
// withheld; "" is that it is merged.
func TestLimits(t *testing.T) {
	t.Parallel()
	limits := func(change func(l *model.Limits)) *model.Limits {
		l := model.DefaultLimits()
		l.Last = true
		change(&l)
		return &l
	}
	none := func(*model.Limits) {}
	for _, test := range []struct {
		name     string
		limits   *model.Limits
		from, to map[string]string
		want     string
	}{
		{"the first output", nil, nil, assigned(2, "a"), ""},
		{"the last of a workload", nil, assigned(20, "a"), assigned(19, "a"), "removals: it removes t19 from a (the last assignment of workload t19)"},
		{"few", limits(none), assigned(20, "a"), assigned(17, "a"), ""},
		{"more than few", limits(none), assigned(20, "a"), assigned(16, "a"),
			"removals: it removes 4 deployment targets from a (4 of 20 assignments, and the limit is 10%; 4 of 20 namespaces, and the limit is 10%)"},
		{"more than few, and not more than the share", limits(none), assigned(40, "a"), assigned(36, "a"), ""},
		{"no few", limits(func(l *model.Limits) { l.Few = 0 }), assigned(9, "a"), assigned(8, "a"),
			"removals: it removes t8 from a (1 of 9 assignments, and the limit is 10%; 1 of 9 namespaces, and the limit is 10%)"},
		{"a share of nothing", limits(func(l *model.Limits) { l.Few, l.Removals = 0, 0 }), assigned(40, "a"), assigned(39, "a"),
			"removals: it removes t39 from a (1 of 40 assignments, and the limit is 0%; 1 of 40 namespaces, and the limit is 0%)"},
		{"all, where that is allowed", limits(func(l *model.Limits) { l.Removals = 100 }), assigned(9, "a"), map[string]string{"b/x/reconciler.yaml": "x"}, ""},
		{"all changes, by default", nil, assigned(9, "a"), assigned(9, "b"), ""},
		{"too many changes", limits(func(l *model.Limits) { l.Changes = 50 }), assigned(9, "a"), assigned(9, "b"), "changes: it changes 9 of 9 assignments, and the limit is 50%"},
		{"additions are no changes", limits(func(l *model.Limits) { l.Changes = 0 }), assigned(9, "a"), assigned(19, "a"), ""},
		{"infrastructure that is destroyed", nil, terraform("true"), assigned(1, "a"), "removals: it removes what Terraform made of t0 (Terraform destroys infrastructure as soon as clusters get this, without asking for approval of a plan)"},
		{"infrastructure of an object that gets another name", nil, terraform("true"), renamed(terraform("true")), "removals: it removes what Terraform made of t0 (Terraform destroys infrastructure as soon as clusters get this, without asking for approval of a plan)"},
		{"infrastructure that is destroyed, where that is allowed", limits(none), terraform("true"), assigned(1, "a"), ""},
		{"infrastructure that stays", nil, terraform("false"), assigned(1, "a"), ""},
		{"the first output changes nothing", limits(func(l *model.Limits) { l.Changes = 0 }), nil, assigned(9, "a"), ""},
		{"both", limits(func(l *model.Limits) { l.Changes, l.Last = 50, false }), assigned(3, "a"), assigned(2, "b"),
			"removals: it removes t2 from a (the last assignment of workload t2)\nchanges: it changes 3 of 3 assignments, and the limit is 50%"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newOwnWorld(t)
			p := w.publisher()
			propose := func(version string, files map[string]string, limits *model.Limits) publish.Result {
				t.Helper()
				proposal := w.proposal(version, files)
				proposal.Merge, proposal.Limits = publish.Direct, limits
				r, err := p.try(proposal)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			if test.from != nil {
				propose("1", test.from, &model.Limits{Removals: 100, Last: true, Changes: 100})
			}
			r := propose("2", test.to, test.limits)
			equal(t, "withheld", causes(r), test.want)
			equal(t, "merged", r.State == publish.InSync, test.want == "")
			for _, h := range r.Withheld {
				equal(t, "label", h.Label, map[publish.Cause]string{publish.CauseRemovals: "removals"}[h.Cause])
				if len(h.ChangeID) != 40 || !strings.Contains(r.Reason, h.ChangeID) || !strings.Contains(r.Pull.Body, h.ChangeID) {
					t.Errorf("the change is called %q; it says %s\n%s", h.ChangeID, r.Reason, r.Pull.Body)
				}
			}
		})
	}
}

// TestAcknowledged: a change has one name as long as it is the same, and once a person has
// acknowledged it the commit stays as it was and is merged.
func TestAcknowledged(t *testing.T) {
	t.Parallel()
	w := newOwnWorld(t)
	p := w.publisher()
	known := ""
	propose := func(version string, n int, text string) publish.Result {
		t.Helper()
		proposal := w.proposal(version, assigned(n, text))
		proposal.Merge, proposal.Acknowledged = publish.Direct, func() ([]string, error) { return []string{known}, nil }
		r, err := p.try(proposal)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	propose("1", 2, "a")
	first := propose("2", 1, "a")
	if len(first.Withheld) != 1 {
		t.Fatalf("it is not withheld: %+v", first)
	}
	change := first.Withheld[0].ChangeID
	equal(t, "the change, by another commit of the base", propose("3", 1, "a").Withheld[0].ChangeID, change)
	w.commit("main", "beside/notes.txt", "of people\n")
	equal(t, "the change, beside a commit of a person", propose("3", 1, "a").Withheld[0].ChangeID, change)
	if other := propose("3", 1, "b").Withheld[0].ChangeID; other == change {
		t.Error("another change has the same name")
	}
	last := propose("3", 1, "a")
	known = change
	merged := propose("3", 1, "a")
	equal(t, "state", merged.State, publish.InSync)
	equal(t, "commit", merged.Commit, last.Commit)

	equal(t, "what was removed comes back", propose("4", 2, "a").State, publish.InSync)
	again := propose("5", 1, "a")
	if len(again.Withheld) != 1 || again.Withheld[0].ChangeID == change {
		t.Errorf("the same removal is acknowledged for good: %+v", again)
	}
}
