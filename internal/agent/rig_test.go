package agent

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/config/kubeclient"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/server/reports"
	"github.com/fairlead-io/fairlead/internal/testkit/kubeapi"
)

// The commits of the cases of the ledger's specification.
var (
	outputA = "main@sha1:" + strings.Repeat("a", 40)
	outputB = "main@sha1:" + strings.Repeat("b", 40)
	outputC = "main@sha1:" + strings.Repeat("c", 40)
)

const secretOfTests = "0123456789abcdef0123456789abcdef"

// world is a ledger behind HTTP, and a clock that agents wait by.
type world struct {
	t       *testing.T
	server  *httptest.Server
	outputs *ledger.Outputs

	mu       sync.Mutex
	now      time.Time
	ledger   *ledger.Ledger
	away     bool // whether the server answers 503
	outcomes map[string]int
	refused  map[string]int // by cluster
	writes   []ledger.SpanWrite
	bodies   []*recorded
}

// recorded is a request as somebody on the way could record it.
type recorded struct {
	header http.Header
	body   string
}

// newWorld returns a world at 11:00, in which the outputs A, B and C are merged at 11:00, 12:00 and
// 13:00: B changes both cluster types, C only large.
func newWorld(t *testing.T) *world {
	w := &world{
		t: t, now: at("11:00"), ledger: ledger.New(10_000), outcomes: map[string]int{}, refused: map[string]int{}, outputs: &ledger.Outputs{},
	}
	w.outputs.Add(ledger.Output{Revision: outputA, Merged: at("11:00"), Folders: map[string]string{"large": "l1", "small": "s1"}})
	w.outputs.Add(ledger.Output{Revision: outputB, Merged: at("12:00"), Folders: map[string]string{"large": "l2", "small": "s2"}})
	w.outputs.Add(ledger.Output{Revision: outputC, Merged: at("13:00"), Folders: map[string]string{"large": "l3", "small": "s2"}})
	handler := reports.New(reports.Options{
		Keys: func(cluster string, now time.Time) ([]string, error) {
			return ledger.Epoch{}.DeriveKeys([]string{secretOfTests}, cluster, now)
		},
		Receive: w.receive,
		Places: func() []reports.Place {
			return []reports.Place{{Environment: "prod", Repo: "https://git.example.com/fleet/gitops", Branch: "main", Folder: "prod"}}
		},
		Now: w.clock, Observe: w.observe,
	})
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.isAway() {
			rw.WriteHeader(http.StatusBadGateway)
			return
		}
		handler.ServeHTTP(rw, w.record(r))
	}))
	t.Cleanup(w.server.Close)
	return w
}

func at(clock string) time.Time {
	layout := "15:04:05"
	when, err := time.Parse(layout[:len(clock)], clock)
	if err != nil {
		panic(err)
	}
	return time.Date(2026, time.November, 23, when.Hour(), when.Minute(), when.Second(), 0, time.UTC)
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) setAway(away bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = away
}

func (w *world) isAway() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.away
}

func (w *world) observe(outcome string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outcomes[outcome]++
}

// count returns how many requests have had an outcome.
func (w *world) count(outcome string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outcomes[outcome]
}

// clusters returns what the ledger knows of clusters.
func (w *world) clusters() []ledger.Cluster {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []ledger.Cluster
	for _, c := range w.ledger.Clusters() {
		all = append(all, *c.Clone())
	}
	return all
}

// requests returns what agents have sent.
func (w *world) requests() []*recorded {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.bodies)
}

// countWrites returns how often a span was written.
func (w *world) countWrites() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.writes)
}

func (w *world) receive(c ledger.Contact, all []ledger.Report) (ledger.Receipt, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	receipt := w.ledger.Receive(c, all)
	if receipt.Admission != ledger.Admitted {
		w.refused[c.Name+" "+receipt.Admission.String()]++
	}
	w.writes = append(w.writes, receipt.Writes...)
	return receipt, nil
}

// member is a cluster with an agent.
type member struct {
	*world
	name  string
	api   *kubeapi.Server
	agent *Agent
	next  time.Time
}

// join starts the agent of a cluster, which reports under a name.
func (w *world) join(name string, api *kubeapi.Server) *member {
	w.t.Helper()
	m := &member{world: w, name: name, api: api}
	m.restart()
	return m
}

// restart makes a new agent, as if the old one had been killed.
func (m *member) restart() {
	m.t.Helper()
	key, err := ledger.DeriveKey(secretOfTests, m.name, 0)
	if err != nil {
		m.t.Fatal(err)
	}
	keyFile := filepath.Join(m.t.TempDir(), "key")
	if err := os.WriteFile(keyFile, []byte(key+"\n"), 0o600); err != nil {
		m.t.Fatal(err)
	}
	target, err := NewLedger(m.server.URL, keyFile, "")
	if err != nil {
		m.t.Fatal(err)
	}
	cluster, err := NewCluster(&kubeclient.Config{Host: m.api.URL}, "test")
	if err != nil {
		m.t.Fatal(err)
	}
	m.agent = New(Options{
		Name: m.name, Every: time.Minute, Version: "test", Cluster: cluster, Ledger: target, Logger: slog.New(slog.DiscardHandler),
		Random: rand.New(rand.NewPCG(uint64(len(m.name)), uint64(m.clock().UnixNano()))), Now: m.clock, Wait: Wait,
	})
	m.next = m.clock()
}

// runUntil lets time pass: agents do what they do when it is time to.
func (w *world) runUntil(clock string, members ...*member) {
	w.t.Helper()
	for {
		next := slices.MinFunc(members, func(a, b *member) int { return a.next.Compare(b.next) })
		if next.next.After(at(clock)) {
			break
		}
		w.setClock(next.next)
		next.agent.runRound(context.Background())
		next.next = w.clock().Add(next.agent.reporter.untilNext(w.clock()))
	}
	w.setClock(at(clock))
}

func (w *world) setClock(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.After(w.now) {
		w.now = now
	}
}

// state returns what the ledger knows of an object.
func (w *world) state(cluster, object string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, known := w.ledger.Find(ledger.Object{Cluster: cluster, Name: object})
	if !known {
		return "nothing"
	}
	text := s.Phase.String() + " " + short(s.Revision)
	if s.Attempted != "" {
		text += ", attempted " + short(s.Attempted)
	}
	return text
}

func short(revision string) string {
	if branch, commit, ok := strings.Cut(revision, "@sha1:"); ok {
		return branch + "@" + commit[:2]
	}
	return revision
}
