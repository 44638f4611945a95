package web

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/chainworld"
	syntheticfleet "github.com/fairlead-io/fairlead/internal/testkit/fleet"
)

// The budgets of a first view, on any machine: what is loaded, in how many requests, and what a browser has to
// lay out.
const (
	maxLoaded   = 40 << 10
	maxRequests = 4
	maxNodes    = 3000
)

// largeStore is a state with 100,000 assignments in one environment, and the chain of fleet.
func largeStore(t testing.TB) *status.Store {
	t.Helper()
	m, problems := model.Parse(syntheticfleet.Environment, syntheticfleet.New(syntheticfleet.Large).Layers()...)
	if problems.StopsEnvironment() {
		t.Fatal(problems)
	}
	store := fleet()
	plan := schedule.NewPlan(m, nil)
	if plan.Len() < 100_000 {
		t.Fatalf("the fleet has %d assignments", plan.Len())
	}
	store.SetPlan("prod", plan)
	return store
}

// largePages are pages of each kind in such a fleet.
func largePages(store *status.Store) []string {
	m := store.Snapshot().Plans["prod"].Model()
	clusterType, target := m.ClusterTypes[0].Name, m.Targets[0]
	return []string{
		"/", "/environments", "/environments/prod", "/commits", "/commits/" + c4, "/problems", "/health", "/fleet", "/fleet?rows=target&cols=clusterType&env=prod",
		"/workloads", "/workloads/" + target.Workload, "/cluster-types", "/cluster-types/" + clusterType, "/assignments/prod/" + clusterType + "/" + target.Name, "/search?q=a",
	}
}

var (
	asset  = regexp.MustCompile(`(?:href|src)="(?:\.\./|\./)*(assets/[^"]+)"`)
	markup = regexp.MustCompile(`<[a-z]`)
)

// TestPageBudgets: what a first view of a page loads, packed, its requests, and its nodes are within the budgets,
// with 100,000 assignments too.
func TestPageBudgets(t *testing.T) {
	store := largeStore(t)
	h := open(store)
	for _, address := range largePages(store) {
		first := askAs(h, address, "", "gzip")
		plain := askAs(h, address, "", "").Body.String()
		if first.Code != http.StatusOK {
			t.Fatalf("%s is %d: %s", address, first.Code, plain)
		}
		loaded, requests := first.Body.Len(), 1
		for _, m := range asset.FindAllStringSubmatch(plain, -1) {
			if strings.HasSuffix(m[1], "icon.svg") { // the browser asks for it when all else is there
				continue
			}
			loaded, requests = loaded+askAs(h, "/"+m[1], "", "gzip").Body.Len(), requests+1
		}
		if requests < 2 || requests > maxRequests {
			t.Errorf("%s takes %d requests, want 2 to %d", address, requests, maxRequests)
		}
		if loaded > maxLoaded {
			t.Errorf("%s loads %d bytes, more than %d", address, loaded, maxLoaded)
		}
		if nodes := len(markup.FindAllString(plain, -1)); nodes > maxNodes {
			t.Errorf("%s has %d nodes, more than %d", address, nodes, maxNodes)
		}
	}
}

// TestTimelineBudget: the overview of 20 environments and 500 commits is small, now and in the past.
func TestTimelineBudget(t *testing.T) {
	h, names := openTimeline(t)
	if len(names) != 20 {
		t.Fatalf("there are %d environments", len(names))
	}
	for _, address := range []string{"/", "/?at=2026-11-13T00:00:00Z"} {
		w := askAs(h, address, "", "")
		if w.Code != http.StatusOK || strings.Count(w.Body.String(), `<li class="lane`) != len(names) {
			t.Fatalf("%s is %d: %s", address, w.Code, w.Body)
		}
		if size, nodes := w.Body.Len(), len(markup.FindAllString(w.Body.String(), -1)); size > maxTimeline || nodes > maxNodes {
			t.Errorf("%s has %d bytes and %d nodes, more than %d and %d", address, size, nodes, maxTimeline, maxNodes)
		}
	}
}

// maxTimeline is how many bytes an overview may have that is not packed.
const maxTimeline = 150 << 10

// openTimeline returns a site with 20 environments that 500 commits have travelled along, and their names.
func openTimeline(t testing.TB) (h http.Handler, names []string) {
	t.Helper()
	for i := range 20 {
		names = append(names, fmt.Sprintf("env-%02d", i))
	}
	store := &status.Store{}
	chain, done := chainworld.New(names, 500, noon)
	for _, name := range names {
		store.SetEnvironment(status.Environment{Name: name, State: status.InSync, Assignments: 12, ClusterTypes: 3, Checked: noon})
	}
	store.SetPromotions(chain)
	store.SetCycle(status.Cycle{Number: 1, Outcome: status.OutcomeOK})
	past := &Past{Chain: func(context.Context, time.Time) (status.Chain, []history.Output, error) { return chain, nil, nil }}
	return New(Options{Store: store, Now: func() time.Time { return noon }, Past: past, History: func(context.Context) (history.Log, error) { return history.Log{Entries: done}, nil }}), names
}
