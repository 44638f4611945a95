package reports

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
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

// counted is a receiver that counts how often it derives keys, and the objects that it receives.
type counted struct {
	http.Handler
	keys, objects int
}

// receiverOf returns a receiver with a ledger in memory.
func receiverOf(now *time.Time) *counted {
	known, c := ledger.New(500_000), &counted{}
	c.Handler = New(Options{
		Keys: func(cluster string, now time.Time) ([]string, error) {
			c.keys++
			return ledger.Epoch{}.DeriveKeys([]string{secretOfTests}, cluster, now)
		},
		Receive: func(contact ledger.Contact, all []ledger.Report) (ledger.Receipt, error) {
			c.objects += len(all)
			return known.Receive(contact, all), nil
		},
		Places: func() []Place { return places }, Now: func() time.Time { return *now },
	})
	return c
}

// TestLoad: a report that nothing has changed derives the keys of its cluster once, looks at no object, and allocates little
// more than what reading and verifying it takes, however many clusters there are. BenchmarkRound has the times.
func TestLoad(t *testing.T) {
	for _, clusters := range []int{10, 300} {
		now := noon
		handler, fleet := receiverOf(&now), newFleet(clusters)
		newRound(t, fleet, true, 1, now).send(t, handler)
		sequence := uint64(1)
		next := func() round {
			now, sequence = now.Add(time.Minute), sequence+1
			return newRound(t, fleet[:10], false, sequence, now)
		}
		handler.keys, handler.objects = 0, 0
		next().send(t, handler)
		if handler.keys != 10 || handler.objects != 0 {
			t.Errorf("of %d clusters 10 report no change: keys are derived %d times, and %d objects received", clusters, handler.keys, handler.objects)
		}
		making := testing.AllocsPerRun(5, func() { next() })
		handled := testing.AllocsPerRun(5, func() { next().send(t, handler) }) - making
		floor := testing.AllocsPerRun(5, func() { next().read(t) }) - making
		t.Logf("%d clusters: %.0f allocations a request, %.0f for reading alone", clusters, handled/10, floor/10)
		if more := (handled - floor) / 10; more > 15 {
			t.Errorf("of %d clusters a report of no change takes %.0f allocations more than reading it, want 15 at most", clusters, more)
		}
	}
}
