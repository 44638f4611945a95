package reports

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
)

var noon = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

const secretOfTests = "0123456789abcdef0123456789abcdef"

// box is a receiver, and what it has handed on.
type box struct {
	handler  http.Handler
	now      time.Time
	ledger   *ledger.Ledger
	contacts []ledger.Contact
	reports  []ledger.Report
	outcome  string
	broken   error
	keys     func(cluster string, now time.Time) ([]string, error)
	every    time.Duration // to be asked for; 0 for what agents mean
}

func newBox() *box {
	b := &box{now: noon, ledger: ledger.New(10_000)}
	b.keys = func(cluster string, now time.Time) ([]string, error) {
		return ledger.Epoch{}.DeriveKeys([]string{secretOfTests}, cluster, now)
	}
	b.handler = New(Options{
		Keys: func(cluster string, now time.Time) ([]string, error) { return b.keys(cluster, now) },
		Receive: func(c ledger.Contact, all []ledger.Report) (ledger.Receipt, error) {
			b.contacts, b.reports = append(b.contacts, c), all
			return b.ledger.Receive(c, all), b.broken
		},
		Places:  func() []Place { return places },
		Every:   func(asked time.Duration) time.Duration { return cmp.Or(b.every, asked) },
		Now:     func() time.Time { return b.now },
		Observe: func(outcome string) { b.outcome = outcome },
	})
	return b
}

func keyOf(t testing.TB, cluster string) string {
	t.Helper()
	key, err := ledger.DeriveKey(secretOfTests, cluster, 0)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// newRequest returns a good request of east-1.
func newRequest() agentapi.Request {
	return agentapi.Request{
		Version: 1, Cluster: "east-1", UID: "uid-1", Boot: "a", Sequence: 1, Sent: noon, Every: "1m0s", Full: true, Digest: "1",
		Entries: []agentapi.Entry{{Kind: "Kustomization", Namespace: "flux-system", Name: "fleet", Phase: "ready", Revision: "main@sha1:" + strings.Repeat("a", 40)}},
	}
}

// send posts a body that is signed with a key.
func (b *box) send(cluster, key, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, agentapi.Path, strings.NewReader(body))
	r.Header.Set(agentapi.ClusterHeader, cluster)
	r.Header.Set(agentapi.SignatureHeader, agentapi.Sign(key, http.MethodPost, []byte(body)))
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return w
}

func encode(t testing.TB, r agentapi.Request, compress bool) string {
	t.Helper()
	body, err := r.Encode(compress)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestForged: whoever does not know the key of the cluster causes nothing.
func TestForged(t *testing.T) {
	good := encode(t, newRequest(), false)
	east := keyOf(t, "east-1")
	for _, c := range []struct {
		name, cluster, key, body string
		change                   func(*http.Request)
	}{
		{"no cluster", "", east, good, nil},
		{"a name that cannot be one", "../east-1", east, good, nil},
		{"no key", "east-1", "", good, nil},
		{"another key", "east-1", east + "x", good, nil},
		{"the key of another cluster", "east-1", keyOf(t, "east-2"), good, nil},
		{"another cluster in the header", "east-2", east, good, nil},
		{"another cluster in the body", "east-2", keyOf(t, "east-2"), good, nil},
		{"no signature", "east-1", east, good, func(r *http.Request) { r.Header.Del(agentapi.SignatureHeader) }},
		{"a signature that is none", "east-1", east, good, func(r *http.Request) { r.Header.Set(agentapi.SignatureHeader, "sha256=00") }},
		{"a signature of another method", "east-1", east, good, func(r *http.Request) {
			r.Header.Set(agentapi.SignatureHeader, agentapi.Sign(east, http.MethodPut, []byte(good)))
		}},
		{"another body", "east-1", east, good, func(r *http.Request) {
			r.Header.Set(agentapi.SignatureHeader, agentapi.Sign(east, http.MethodPost, []byte(good+" ")))
		}},
	} {
		b := newBox()
		if w := b.send(c.cluster, c.key, c.body, c.change); w.Code != http.StatusUnauthorized || len(b.contacts) > 0 || b.outcome != "unauthorized" {
			t.Errorf("%s: %d, %s, %d contacts: %s", c.name, w.Code, b.outcome, len(b.contacts), w.Body)
		}
	}
}

// TestMalformed: a body that breaks the rules is refused as a whole.
func TestMalformed(t *testing.T) {
	change := func(f func(*agentapi.Request)) string {
		r := newRequest()
		f(&r)
		return encode(t, r, false)
	}
	entry := func(f func(*agentapi.Entry)) string {
		return change(func(r *agentapi.Request) { f(&r.Entries[0]) })
	}
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	for range 9 {
		if _, err := zip.Write(bytes.Repeat([]byte(" "), 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, body string
		zipped     bool
		want       string
	}{
		{"no JSON", "{", false, "read a report"},
		{"another version", change(func(r *agentapi.Request) { r.Version = 2 }), false, "v is 2, and only 1 is known"},
		{"no number", change(func(r *agentapi.Request) { r.Sequence = 0 }), false, "boot or seq is missing"},
		{"no time", change(func(r *agentapi.Request) { r.Sent = time.Time{} }), false, "sent is missing"},
		{"no digest", change(func(r *agentapi.Request) { r.Digest = "" }), false, "digest is missing"},
		{"too often", change(func(r *agentapi.Request) { r.Every = "1s" }), false, "should be from 10s to 1h0m0s"},
		{"full and a change", change(func(r *agentapi.Request) { r.Base = "x" }), false, "full and base are both given"},
		{"entries of nothing", change(func(r *agentapi.Request) { r.Full = false }), false, "entries are there without full or base"},
		{"too many objects", change(func(r *agentapi.Request) { r.Entries = make([]agentapi.Entry, 4097) }), false, "more than 4096"},
		{"a name with a slash", entry(func(e *agentapi.Entry) { e.Name = "a/b" }), false, "has a slash"},
		{"a name that is too long", entry(func(e *agentapi.Entry) { e.Name = strings.Repeat("x", 254) }), false, "254 bytes"},
		{"an escape code", entry(func(e *agentapi.Entry) { e.Message = "\x1b[31m" }), false, "control character"},
		{"a long message", entry(func(e *agentapi.Entry) { e.Message = strings.Repeat("x", 301) }), false, "301 bytes"},
		{"a line break in a URL", entry(func(e *agentapi.Entry) { e.Source = &agentapi.Source{URL: "a\nb"} }), false, "control character"},
		{"a long past", entry(func(e *agentapi.Entry) { e.Past = make([]agentapi.Past, 9) }), false, "more than 8 states"},
		{"not compressed", encode(t, newRequest(), false), true, "decompress a report"},
		{"half of it", encode(t, newRequest(), true)[:100], true, "decompress a report"},
		{"a bomb", bomb.String(), true, "more than 8388608 bytes"},
	} {
		b := newBox()
		w := b.send("east-1", keyOf(t, "east-1"), c.body, func(r *http.Request) {
			if c.zipped {
				r.Header.Set("Content-Encoding", "gzip")
			}
		})
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), c.want) || len(b.contacts) > 0 {
			t.Errorf("%s: %d, %s", c.name, w.Code, w.Body)
		}
	}
}

// TestTooLarge: a body of more than 1 MiB is refused, whether its length was announced or not.
func TestTooLarge(t *testing.T) {
	for _, announced := range []bool{true, false} {
		b := newBox()
		w := b.send("east-1", keyOf(t, "east-1"), strings.Repeat(" ", agentapi.MaxBody+1), func(r *http.Request) {
			if !announced {
				r.ContentLength = -1
			}
		})
		if w.Code != http.StatusRequestEntityTooLarge || b.outcome != "too-large" {
			t.Errorf("announced %t: %d, %s", announced, w.Code, b.outcome)
		}
	}
}

// TestNewerAgent: what a newer agent says besides is left alone.
func TestNewerAgent(t *testing.T) {
	body := strings.Replace(encode(t, newRequest(), false), "{", `{"mood": "good",`, 1)
	if w := newBox().send("east-1", keyOf(t, "east-1"), body, nil); w.Code != http.StatusNoContent {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}

// TestTooOften: a cluster may send 30 requests at once, and then one a second; others are not kept from
// it, and a stranger cannot use it up.
func TestTooOften(t *testing.T) {
	b := newBox()
	sequence := uint64(0)
	send := func(cluster, key string) *httptest.ResponseRecorder {
		sequence++
		r := newRequest()
		r.Cluster, r.UID, r.Sequence = cluster, cluster, sequence
		return b.send(cluster, key, encode(t, r, false), nil)
	}
	for range 100 {
		send("east-1", "wrong")
	}
	for i := range 30 {
		if w := send("east-1", keyOf(t, "east-1")); w.Code != http.StatusNoContent {
			t.Fatalf("request %d: %d, %s", i, w.Code, w.Body)
		}
	}
	w := send("east-1", keyOf(t, "east-1"))
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
		t.Errorf("%d, %v", w.Code, w.Header())
	}
	if w := send("east-2", keyOf(t, "east-2")); w.Code != http.StatusNoContent {
		t.Errorf("another cluster: %d", w.Code)
	}
	b.now = b.now.Add(time.Second)
	if w := send("east-1", keyOf(t, "east-1")); w.Code != http.StatusNoContent {
		t.Errorf("a second later: %d", w.Code)
	}
	if w := send("east-1", keyOf(t, "east-1")); w.Code != http.StatusTooManyRequests {
		t.Errorf("and once more: %d", w.Code)
	}
	b.now = b.now.Add(time.Hour)
	if w := send("east-1", keyOf(t, "east-1")); w.Code != http.StatusNoContent {
		t.Errorf("an hour later: %d", w.Code)
	}
}

// TestPace: an agent is asked to report less often.
func TestPace(t *testing.T) {
	b := newBox()
	b.every = 2 * time.Minute
	w := b.send("east-1", keyOf(t, "east-1"), encode(t, newRequest(), false), nil)
	if w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != `{"every":"2m0s"}` {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}

// TestUnavailable: an agent is told when to try again, and why not now only in the log.
func TestUnavailable(t *testing.T) {
	b := newBox()
	b.broken = errors.New("disk full in /var/lib/fairlead")
	w := b.send("east-1", keyOf(t, "east-1"), encode(t, newRequest(), true), func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") })
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "disk") {
		t.Errorf("%d, %v: %s", w.Code, w.Header(), w.Body)
	}
}

// TestClocks: the clock of a cluster orders what it says; one that is ahead, or far off, does not.
func TestClocks(t *testing.T) {
	for _, c := range []struct {
		off, sent, said time.Duration // of noon
	}{
		{0, 0, 0},
		{-5 * time.Minute, -5 * time.Minute, -5 * time.Minute},
		{-2 * time.Hour, -2 * time.Hour, 0},
		{5 * time.Minute, 0, 0},
		{2 * time.Hour, 0, 0},
	} {
		b := newBox()
		r := newRequest()
		r.Sent = noon.Add(c.off)
		r.Entries[0].Since = r.Sent.Add(-time.Minute)
		if w := b.send("east-1", keyOf(t, "east-1"), encode(t, r, false), nil); w.Code != http.StatusNoContent {
			t.Fatalf("%s: %s", c.off, w.Body)
		}
		last := b.reports[len(b.reports)-1]
		if sent, said, since := b.contacts[0].Sent.Sub(noon), last.Said.Sub(noon), b.reports[0].Said.Sub(noon); sent != c.sent || said != c.said || since != c.said-time.Minute {
			t.Errorf("a clock that is %s off: sent %s, said %s, since %s", c.off, sent, said, since)
		}
	}
}

// TestRestartedWithABetterClock: an agent whose clock was ahead and is set right is heard after its next
// start.
func TestRestartedWithABetterClock(t *testing.T) {
	b := newBox()
	r := newRequest()
	r.Sent = noon.Add(2 * time.Hour)
	b.send("east-1", keyOf(t, "east-1"), encode(t, r, false), nil)
	b.now = noon.Add(time.Minute)
	r.Boot, r.Sent = "b", b.now
	if w := b.send("east-1", keyOf(t, "east-1"), encode(t, r, false), nil); w.Code != http.StatusNoContent {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}

var places = []Place{
	{"prod", "https://git.example.com/fleet/gitops", "main", "prod"},
	{"stage", "https://git.example.com/fleet/gitops.git", "main", "stage"},
	{"dev", "https://git.example.com/fleet/gitops", "dev", ""},
}

// TestFindPlatform: what a cluster belongs to follows from where its objects come from.
func TestFindPlatform(t *testing.T) {
	const repo = "https://git.example.com/fleet/gitops"
	entry := func(name, url, ref, folder string) agentapi.Entry {
		namespace, name, _ := strings.Cut(name, "/")
		return agentapi.Entry{Kind: "Kustomization", Namespace: namespace, Name: name, Source: &agentapi.Source{URL: url, Ref: ref, Path: folder}}
	}
	for _, c := range []struct {
		name    string
		entries []agentapi.Entry
		want    string
	}{
		{"a folder of a cluster type", []agentapi.Entry{entry("flux-system/fleet", repo, "main", "./prod/large")}, "prod large flux-system/fleet"},
		{"another environment", []agentapi.Entry{entry("flux-system/fleet", repo, "main", "stage/large/")}, "stage large flux-system/fleet"},
		{"an environment without a folder", []agentapi.Entry{entry("flux-system/fleet", repo, "dev", "large")}, "dev large flux-system/fleet"},
		{"over SSH", []agentapi.Entry{entry("flux-system/fleet", "ssh://git@git.example.com/fleet/gitops.git", "main", "prod/large")}, "prod large flux-system/fleet"},
		{"another repository", []agentapi.Entry{entry("flux-system/fleet", repo+"-2", "main", "prod/large")}, ""},
		{"another branch", []agentapi.Entry{entry("flux-system/fleet", repo, "stage", "prod/large")}, ""},
		{"another folder", []agentapi.Entry{entry("flux-system/fleet", repo, "main", "production/large")}, ""},
		{"a path that leaves its folder", []agentapi.Entry{entry("flux-system/fleet", repo, "main", "prod/large/../../stage/small")}, "stage small flux-system/fleet"},
		{"a file of this machine", []agentapi.Entry{entry("flux-system/fleet", "file:///etc", "main", "prod/large")}, ""},
		{"the whole environment", []agentapi.Entry{entry("flux-system/fleet", repo, "main", "prod")}, "prod  flux-system/fleet"},
		{"the whole environment, and a type", []agentapi.Entry{entry("flux-system/all", repo, "main", "prod"), entry("flux-system/fleet", repo, "main", "prod/large")}, "prod large flux-system/fleet, flux-system/all of "},
		{"stacks, and a type", []agentapi.Entry{entry("flux-system/a", repo, "main", "prod/environments"), entry("flux-system/fleet", repo, "main", "prod/large")}, "prod large flux-system/fleet, flux-system/a of environments"},
		{"clusters, stacks, and a type", []agentapi.Entry{entry("flux-system/clusters", repo, "main", "prod/clusters"), entry("flux-system/stacks", repo, "main", "prod/environments"), entry("flux-system/zone", repo, "main", "prod/zone")}, "prod zone flux-system/zone, flux-system/clusters of clusters, flux-system/stacks of environments"},
		{"stacks alone", []agentapi.Entry{entry("flux-system/stacks", repo, "main", "prod/environments")}, "prod environments flux-system/stacks"},
		{"stacks, a type, and a component", []agentapi.Entry{entry("flux-system/stacks", repo, "main", "prod/environments"), entry("zmart-checkout/server", repo, "main", "prod/environments/checkout/server"), entry("flux-system/fleet", repo, "main", "prod/large")}, "prod large flux-system/fleet, flux-system/stacks of environments"},
		{"stacks of a tenant, and a type", []agentapi.Entry{entry("apps/stacks", repo, "main", "prod/environments"), entry("flux-system/fleet", repo, "main", "prod/large")}, "prod large flux-system/fleet"},
		{"stacks of another environment, and a type", []agentapi.Entry{entry("flux-system/stacks", repo, "main", "stage/environments"), entry("flux-system/fleet", repo, "main", "prod/large")}, "prod large flux-system/fleet"},
		{"a folder below", []agentapi.Entry{entry("flux-system/a", repo, "main", "prod/large/checkout"), entry("flux-system/fleet", repo, "main", "prod/large")}, "prod large flux-system/fleet"},
		{"a tenant claims another type", []agentapi.Entry{entry("apps/aaa", repo, "main", "prod/small"), entry("flux-system/fleet", repo, "main", "prod/large")}, "prod large flux-system/fleet"},
		{"a namespace of its own", []agentapi.Entry{entry("platform/fleet", repo, "main", "prod/small")}, "prod small platform/fleet"},
		{"what lies beside the types", []agentapi.Entry{entry("flux-system/fairlead", repo, "main", "prod/.fairlead/connect/east-1")}, ""},
		{"no source", []agentapi.Entry{{Kind: "Kustomization", Name: "x"}}, ""},
		{"nothing", nil, ""},
	} {
		group, object, others := FindPlatform(c.entries, places)
		got := ""
		if object != "" {
			got = fmt.Sprintf("%s %s %s", group.Environment, group.ClusterType, strings.TrimPrefix(object, "Kustomization/"))
		}
		for _, other := range others {
			got += fmt.Sprintf(", %s of %s", strings.TrimPrefix(other.Object, "Kustomization/"), other.Folder)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestAnswers: what is asked of an agent is said in the words that it knows.
func TestAnswers(t *testing.T) {
	b := newBox()
	r := newRequest()
	r.Full, r.Entries = false, nil
	w := b.send("east-1", keyOf(t, "east-1"), encode(t, r, false), nil)
	var answer agentapi.Answer
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK || answer.Want != agentapi.WantFull || b.outcome != "want-everything" {
		t.Errorf("%d, %s, %+v, %v", w.Code, b.outcome, answer, err)
	}
}

// TestCounted: metrics know every outcome.
func TestCounted(t *testing.T) {
	m := metrics.New("")
	for _, a := range []response{unauthorized, replayed, renamed, secondName, tooLarge, notSetUp, keysUnreadable, unavailable, refuseContested(ledger.Contact{}, "uid-2"),
		refuseMalformed("it is not JSON"), tooMany(time.Second)} {
		m.RecordFleetReport(a.outcome)
	}
	for _, outcome := range append(slices.Collect(maps.Values(outcomes)), "want-everything") {
		m.RecordFleetReport(outcome)
	}
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if got := strings.Count(w.Body.String(), "fairlead_fleet_reports_total{"); got != 14 || strings.Contains(w.Body.String(), `"other"`) {
		t.Errorf("%d series in\n%s", got, w.Body)
	}
}
