package loop_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// costService is a service that says whether stacks may cost what they do. It counts a component as
// 100, whatever its plan does.
type costService struct {
	*httptest.Server
	budget int
	mu     sync.Mutex
	asked  []costQuestion
}

// costQuestion is what Fairlead sends.
type costQuestion struct {
	Environment, Commit, Output string
	Stacks                      []stackfiles.Summary
}

func newCostService(t *testing.T, budget int) *costService {
	t.Helper()
	c := &costService{budget: budget}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q costQuestion
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		total := 0
		for _, s := range q.Stacks {
			total += 100 * len(s.Components)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asked = append(c.asked, q)
		fmt.Fprintf(w, `{"passed": %v, "total": %d}`, total <= c.budget, total)
	}))
	t.Cleanup(c.Close)
	return c
}

// last returns the last question.
func (c *costService) last(t *testing.T) costQuestion {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.asked) == 0 {
		t.Fatal("the service was not asked")
	}
	return c.asked[len(c.asked)-1]
}

// TestCostGate: an http gate sends the plans of the stacks that an environment has; the commit goes no
// further while the service that gets them says no.
func TestCostGate(t *testing.T) {
	cost := newCostService(t, 150)
	w := fleetOf(t, scaffold.Branches, `
    - name: dev
      merge: direct
      proof: [{name: cost, http: {url: "`+cost.URL+`/check", send: [plans], expect: body.passed, every: 1m}}]
    - {name: stage, after: [dev], merge: direct, proof: []}
`, "dev", "stage")
	w.more += "probes: [{url: \"" + cost.URL + "\"}]\n"
	w.commitNow("dev", "a stack", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": stackFileText})
	first := w.changeNow(1)
	names := map[string]string{first: "1"}
	d := w.begin(w.data)
	d.settle("dev", "stage")
	w.wantLine(names, "dev=1 stage=-")
	d.wantNext("stage", promote.Waiting, "expect is not true yet")
	q := cost.last(t)
	if q.Environment != "dev" || q.Commit != first || q.Output != w.head("out", "dev") || len(q.Stacks) != 1 || len(q.Stacks[0].Components) != 2 {
		t.Fatalf("sent: %+v", q)
	}
	eks, _ := q.Stacks[0].FindComponent("eks")
	module := w.below("dev", "environments/checkout/dev")["eks/objects/gitrepository.yaml"]
	if eks.Module == nil || !strings.Contains(module, eks.Module.Commit) || !strings.HasSuffix(eks.Plan, eks.Module.Commit[:10]) || eks.Module.Path == "" || eks.Inputs == "" {
		t.Errorf("of eks is sent: %+v, %+v", eks, eks.Module)
	}

	// The stack becomes cheaper: what is sent changes, and is asked about at once.
	smaller := strings.Join(strings.Split(strings.TrimSpace(stackFileText), "\n")[:8], "\n") + "\n"
	w.commitNow("dev", "without eks", map[string]string{"stacks/checkout.yaml": smaller})
	d.pass(time.Minute)
	d.settle("dev", "stage")
	w.wantLine(names, "dev=1 stage=1")
	if q := cost.last(t); len(q.Stacks[0].Components) != 1 {
		t.Errorf("sent at last: %+v", q)
	}
}
