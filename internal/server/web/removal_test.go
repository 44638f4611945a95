package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// proposeRemovals has a pull request of prod remove and change assignments.
func proposeRemovals(s *status.Store, state status.State) {
	s.SetEnvironment(status.Environment{
		Name: "prod", State: state, Pull: &status.Pull{Number: 41, Title: "prod: REMOVE search", URL: "https://git.example.com/gitops/pull/41", Head: c1},
		Proposed: &impact.Report{Groups: []impact.Group{{Name: "assignment removed", Risk: impact.Deletes, Unit: impact.Assignment, Count: 2, ClusterTypes: 2, Examples: []string{"retired/gone", "small/search"}}}, Touched: []impact.TouchedAssignment{{ClusterType: "retired", Target: "gone", Removed: true}, {ClusterType: "small", Target: "search", Removed: true}, {ClusterType: "large", Target: "checkout"}, {ClusterType: "large", Target: "jobs-0", Added: true}}},
	})
}

// TestProposedRemoval: what a pull request removes is there until it is merged, with a way to the pull request.
func TestProposedRemoval(t *testing.T) {
	store := fleet()
	h := open(store)
	get := func(path string) string { return ask(h, http.MethodGet, path).Body.String() }
	if before := get("/assignments/prod/small/search"); !strings.Contains(before, "Why it is not here") {
		t.Fatalf("small/search is assigned:\n%s", mainOf(before))
	}
	if before := ask(h, http.MethodGet, "/assignments/prod/retired/gone"); before.Code != http.StatusNotFound {
		t.Fatalf("retired/gone is there: %d", before.Code)
	}
	for _, state := range []status.State{status.Proposed, status.Declined, status.DryRun} {
		proposeRemovals(store, state)
		for path, want := range map[string][]string{
			"/assignments/prod/small/search":                                   {"removal proposed", `href="../../../environments/prod/pulls/41"`, "Why it is removed"},
			"/assignments/prod/retired/gone":                                   {"removal proposed", "Why it is removed"},
			"/fleet?env=prod&rows=target&q=gone":                               {"removal proposed", `href="./environments/prod/pulls/41"`},
			"/fleet?env=prod&cols=clusterType&rows=target&q=search&type=small": {"removal proposed"},
			"/fleet?env=prod&rows=environment&cols=environment":                {"removal proposed 2"},
			"/workloads/search":                                                {"removal proposed"},
			"/map?env=prod&pull=41":                                            {"removed 2", "changed 1", "added 1", `src="./map.png?env=prod&amp;pull=41"`},
			"/api/v1/assignments/prod/small/search":                            {`"number": 41`, `"assigned": true`},
		} {
			body := get(path)
			for _, text := range want {
				if !strings.Contains(body, text) {
					t.Errorf("%s, %s has no %s\n%s", state, path, text, mainOf(body))
				}
			}
		}
		if rows := get("/api/v1/map?env=prod&pull=41"); strings.Count(rows, "x") < 2 {
			t.Errorf("the map is\n%s", rows)
		}
	}
	for _, pull := range []string{"40", "nope", "-1"} {
		if got := ask(h, http.MethodGet, fmt.Sprintf("/map?env=prod&pull=%s", pull)); got.Code == http.StatusOK {
			t.Errorf("pull request %s has a map", pull)
		}
	}
	proposeRemovals(store, status.InSync) // it was merged
	if after := get("/assignments/prod/small/search"); strings.Contains(after, "removal proposed") || !strings.Contains(after, "Why it is not here") {
		t.Errorf("after the merge:\n%s", mainOf(after))
	}
}

// TestDiffOfProposed: a comparison says of which environment it has what a pull request proposes, and what runs there
// until it is merged.
func TestDiffOfProposed(t *testing.T) {
	h := open(proposing())
	for target, want := range map[string]string{
		"/diff?from=dev&to=prod":        `prod is shown as <a href="./environments/prod/pulls/41">pull request 41</a> proposes it. Until it is merged, clusters run <span class="commit"><a href="./commits/` + c1,
		"/api/v1/diff?from=prod&to=dev": `"number": 41`,
	} {
		if body := ask(h, http.MethodGet, target).Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s has no %s\n%s", target, want, mainOf(body))
		}
	}
	w := askText(h, "/diff?from=dev&to=prod")
	if want := "prod is compared as pull request 41 proposes it; until it is merged, clusters run " + c1[:7] + "\n"; !strings.HasPrefix(w.Body.String(), want) {
		t.Errorf("the text is\n%s", w.Body)
	}
	if body := ask(open(fleet()), http.MethodGet, "/diff?from=dev&to=prod").Body.String(); strings.Contains(body, "proposes it") {
		t.Errorf("with nothing proposed:\n%s", mainOf(body))
	}
}

// proposing is a store with a pull request of prod that brings it a commit.
func proposing() *status.Store {
	s, c := fleet(), chain()
	i := slices.IndexFunc(c.Stages, func(stage status.Stage) bool { return stage.Environment == "prod" })
	c.Stages[i].Merged, c.Stages[i].Running, c.Stages[i].Turns = false, c1, []status.Turn{{Commit: c.Stages[i].Commit, From: c1, When: noon}}
	s.SetPromotions(c)
	proposeRemovals(s, status.Proposed)
	return s
}
