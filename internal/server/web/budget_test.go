package web

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

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

// BenchmarkPages makes each kind of page with 100,000 assignments: anew after a change of the state, and kept.
func BenchmarkPages(b *testing.B) {
	store := largeStore(b)
	h, cycle := open(store), int64(100)
	for _, address := range largePages(store) {
		for _, kept := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/kept=%v", strings.ReplaceAll(strings.Trim(address, "/"), "/", "_"), kept), func(b *testing.B) {
				var took []time.Duration
				askAs(h, address, "", "gzip")
				for b.Loop() {
					if !kept {
						cycle++
						store.SetCycle(status.Cycle{Number: cycle, Outcome: status.OutcomeOK})
					}
					began := time.Now()
					w := askAs(h, address, "", "gzip")
					took = append(took, time.Since(began))
					if w.Code != http.StatusOK {
						b.Fatal(w.Body)
					}
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
				b.ReportMetric(float64(askAs(h, address, "", "gzip").Body.Len()), "bytes")
			})
		}
	}
}

// viewers is how many people look at the page at once.
const viewers = 1000

// BenchmarkViewers has a thousand people look at the overview: they load it, and each is told of a change.
func BenchmarkViewers(b *testing.B) {
	b.Run("load", func(b *testing.B) {
		h := open(largeStore(b))
		for b.Loop() {
			for range viewers {
				r := httptest.NewRequest(http.MethodGet, "/", nil)
				r.Header.Set("Accept-Encoding", "gzip")
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
		}
		b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "cpu-s/1000-viewers")
	})
	b.Run("follow", func(b *testing.B) {
		store := largeStore(b)
		_, network := liveSite(b, Options{Store: store, Now: func() time.Time { return noon }})
		before := heapBytes()
		var connections []net.Conn
		var readers []*bufio.Reader
		for range viewers {
			c, r := network.follow(b)
			readVersion(r)
			connections, readers = append(connections, c), append(readers, r)
		}
		taken := heapBytes() - before
		states := []status.State{status.Failed, status.InSync}
		for i := 0; b.Loop(); i++ {
			store.SetEnvironment(status.Environment{Name: "dev", State: states[i%2], Reason: "it changes", Checked: noon})
			for _, r := range readers {
				if readVersion(r) == "" {
					b.Fatal("a reader is cut off")
				}
			}
		}
		b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s-until-all-know")
		b.ReportMetric(float64(taken)/(1<<20), "MiB/1000-viewers")
		for _, c := range connections {
			_ = c.Close()
		}
	})
}

// heapBytes returns how much memory is in use, with stacks.
func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
