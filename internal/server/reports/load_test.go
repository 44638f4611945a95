package reports

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
)

// round is what all agents of a fleet send within a minute.
type round struct {
	names, keys []string
	bodies      [][]byte
	zipped      bool
}

// newFleet returns the states of clusters with 20 objects each.
func newFleet(clusters int) []agentapi.State {
	var all []agentapi.State
	for i := range clusters {
		var entries []agentapi.Entry
		for n := range 20 {
			entries = append(entries, agentapi.Entry{
				Kind: "Kustomization", Namespace: "flux-system", Name: fmt.Sprintf("workload-%02d", n), UID: fmt.Sprintf("%08d-0a43-4a4f-8d3c-%012d", i, n), Phase: "ready",
				Reason: "ReconciliationSucceeded", Revision: "main@sha1:" + strings.Repeat(string("0123456789abcdef"[n%16]), 40), Since: noon.Add(-time.Hour), Observed: true,
				Source: &agentapi.Source{URL: "https://git.example.com/fleet/gitops", Ref: "main", Path: fmt.Sprintf("prod/type-%03d", i%200)}, Inventory: 12,
			})
		}
		all = append(all, agentapi.NewState(entries, nil))
	}
	return all
}

// newRound returns what clusters send: everything, or that all is as it was.
func newRound(t testing.TB, fleet []agentapi.State, full bool, sequence uint64, sent time.Time) round {
	t.Helper()
	r := round{zipped: full}
	for i, state := range fleet {
		name := fmt.Sprintf("cluster-%05d", i)
		request := agentapi.Request{
			Version: 1, Cluster: name, UID: "uid-" + name, Boot: "boot-of-the-agent", Sequence: sequence, Sent: sent, Every: "1m0s", Count: 20, Digest: state.Digest, Agent: "v0.9.0",
		}
		if full {
			request.Full, request.Entries = true, state.Entries()
		}
		r.names = append(r.names, name)
		r.keys = append(r.keys, keyOf(t, name))
		r.bodies = append(r.bodies, []byte(encode(t, request, full)))
	}
	return r
}

// send posts all requests of a round, and wants each to be accepted.
func (r round) send(t testing.TB, handler http.Handler) {
	t.Helper()
	for i, body := range r.bodies {
		request := httptest.NewRequest(http.MethodPost, agentapi.Path, strings.NewReader(string(body)))
		request.Header.Set(agentapi.ClusterHeader, r.names[i])
		request.Header.Set(agentapi.SignatureHeader, agentapi.Sign(r.keys[i], http.MethodPost, body))
		if r.zipped {
			request.Header.Set("Content-Encoding", "gzip")
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, request)
		if w.Code != http.StatusNoContent {
			t.Fatalf("%s: %d, %s", r.names[i], w.Code, w.Body)
		}
	}
}

// read does the least that is needed: it makes the same requests, derives the keys of their clusters, and
// reads and verifies their bodies.
func (r round) read(t testing.TB) {
	t.Helper()
	for i, body := range r.bodies {
		request := httptest.NewRequest(http.MethodPost, agentapi.Path, strings.NewReader(string(body)))
		request.Header.Set(agentapi.ClusterHeader, r.names[i])
		request.Header.Set(agentapi.SignatureHeader, agentapi.Sign(r.keys[i], http.MethodPost, body))
		httptest.NewRecorder()
		keys, err := ledger.Epoch{}.DeriveKeys([]string{secretOfTests}, r.names[i], noon)
		if err != nil || !agentapi.Verify(request.Header.Get(agentapi.SignatureHeader), keys, http.MethodPost, body) {
			t.Fatal(err)
		}
		if _, err := agentapi.Decode(body, r.zipped); err != nil {
			t.Fatal(err)
		}
	}
}

// measure returns what a function uses of processors, without the garbage of what was before it.
func measure(t testing.TB, do func()) time.Duration {
	t.Helper()
	runtime.GC()
	start := cpuTime(t)
	do()
	return cpuTime(t) - start
}

// cpuTime returns what this process has used of processors.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// receiverOf returns a receiver with a ledger in memory.
func receiverOf(now *time.Time) http.Handler {
	known := ledger.New(500_000)
	return New(Options{
		Keys: func(cluster string, now time.Time) ([]string, error) {
			return ledger.Epoch{}.DeriveKeys([]string{secretOfTests}, cluster, now)
		},
		Receive: func(c ledger.Contact, all []ledger.Report) (ledger.Receipt, error) { return known.Receive(c, all), nil },
		Places:  func() []Place { return places }, Now: func() time.Time { return *now },
	})
}

// TestLoad: clusters with 20 objects that report each minute, while nothing changes, cost at most three
// times what reading and verifying their requests costs. Figures are CPU time of one process, the least of
// nine rounds, in turns, as whatever else happens on the machine only adds to it; BenchmarkRound has them
// for 10,000 clusters.
func TestLoad(t *testing.T) {
	const clusters = 1000
	now := noon
	handler, fleet := receiverOf(&now), newFleet(clusters)
	newRound(t, fleet, true, 1, now).send(t, handler)
	var handled, floor []time.Duration
	for i := range 9 {
		now = now.Add(time.Minute)
		r := newRound(t, fleet, false, uint64(i+2), now)
		handled = append(handled, measure(t, func() { r.send(t, handler) }))
		floor = append(floor, measure(t, func() { r.read(t) }))
	}
	least := slices.Min(handled)
	ratio := float64(least) / float64(slices.Min(floor))
	t.Logf("%d clusters: %s, reading alone %s: ratio %.2f, %s a request", clusters, least, slices.Min(floor), ratio, least/time.Duration(clusters))
	if ratio > 3 {
		t.Errorf("a round costs %.1f times what reading it costs, want 3 at most", ratio)
	}
}

// BenchmarkRound is a round of 10,000 agents with 20 objects each: that all is as it was, and everything.
func BenchmarkRound(b *testing.B) {
	for _, full := range []bool{false, true} {
		b.Run(map[bool]string{false: "unchanged", true: "everything"}[full], func(b *testing.B) {
			now := noon
			handler, fleet := receiverOf(&now), newFleet(10_000)
			newRound(b, fleet, true, 1, now).send(b, handler)
			sequence := uint64(1)
			for b.Loop() {
				b.StopTimer()
				now = now.Add(time.Minute)
				sequence++
				r := newRound(b, fleet, full, sequence, now)
				b.StartTimer()
				r.send(b, handler)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/10_000, "µs/request")
		})
	}
}
