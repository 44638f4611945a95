package web

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
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
