package webhook

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
)

const ledgerSecret = "0123456789abcdef0123456789abcdef"

// fleetBox is a receiver for clusters with keys, whose reports go where the daemon's do.
type fleetBox struct {
	*box
	t       *testing.T
	reports *recorder.Recorder
	keys    *observe.KeyRing
}

// openReports opens what clusters report, which is nothing yet.
func openReports(t *testing.T) *recorder.Recorder {
	t.Helper()
	known := recorder.Open(t.Context(), recorder.Options{Path: filepath.Join(t.TempDir(), "ledger.db"), Now: func() time.Time { return noon }, Logger: slog.New(slog.DiscardHandler)})
	if err := known.Check(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := known.Close(); err != nil {
			t.Error(err)
		}
	})
	return known
}

func newFleetBox(t *testing.T) *fleetBox {
	t.Helper()
	b := &fleetBox{&box{now: noon}, t, openReports(t), observe.NewKeyRing(func() ([]string, error) { return []string{ledgerSecret}, nil })}
	b.renew("none", ledger.Epoch{})
	o := b.options(nil)
	o.ClusterKeys, o.Report = b.keys.FindKeys, b.reports.Add
	b.Handler = New(o)
	return b
}

// renew has the base say that a cluster has another key.
func (b *fleetBox) renew(cluster string, e ledger.Epoch) {
	b.keys.SetEpochs(observe.ReadEpochs(&model.Progress{Keys: []*model.ClusterKey{{Object: model.Object{Name: cluster}, Epoch: e.Number, Renewed: e.Renewed}}}))
}

func (b *fleetBox) key(cluster string, epoch int) string {
	b.t.Helper()
	key, err := ledger.DeriveKey(ledgerSecret, cluster, epoch)
	if err != nil {
		b.t.Fatal(err)
	}
	return key
}

// post sends an event of Flux to an address, signed with a key; "" for no signature. A cluster that is
// refused is told where its key is.
func (b *fleetBox) post(cluster, key, body string) int {
	b.t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/webhooks/flux"+cluster, strings.NewReader(body))
	if key != "" {
		r.Header.Set("X-Signature", "sha256="+mac(key, body))
	}
	w := b.deliver(r)
	if told := strings.Contains(w.Body.String(), "fairlead fleet token prints"); told != (w.Code == 401 && cluster != "") {
		b.t.Errorf("%s is answered %d: %s", cluster, w.Code, w.Body)
	}
	return w.Code
}

// known is what was reported, by cluster.
func (b *fleetBox) known(environment string) string {
	var all []string
	for _, r := range b.reports.Reports(func(e observe.Event) (bool, bool) { return true, e.Environment == environment }) {
		all = append(all, r.Source+" "+string(r.Phase))
	}
	return strings.Join(all, ", ")
}

// fluxEvent is an event of a Kustomization; the cluster in its metadata is the one named, if any is.
func fluxEvent(said time.Time, severity, environment, named string) string {
	cluster := ""
	if named != "" {
		cluster = fmt.Sprintf(`"cluster": %q, `, named)
	}
	return fmt.Sprintf(`{"involvedObject": {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "namespace": "flux-system", "name": "fleet"},
		"severity": %q, "timestamp": %q, "reason": "ReconciliationSucceeded", "message": "Reconciliation finished in 1s, next run in 10m0s",
		"metadata": {"kustomize.toolkit.fluxcd.io/revision": "prod@sha1:%s", %s"environment": %q}}`, severity, said.Format(time.RFC3339), commit, cluster, environment)
}

// TestAbuse has what others than the cluster itself may try, in the order of the specification.
func TestAbuse(t *testing.T) {
	b := newFleetBox(t)
	ready := func(seconds int) string {
		return fluxEvent(noon.Add(time.Duration(seconds-60)*time.Second), "info", "prod", "")
	}
	a, other := b.key("east-1", 0), b.key("east-2", 0)
	for _, c := range []struct {
		name, cluster, key, body string
		code                     int
		want                     string // what is known of prod
	}{
		{"forged: no key", "/east-1", "", ready(1), 401, ""},
		{"forged: wrong key", "/east-1", "hunter3", ready(1), 401, ""},
		{"forged: not even an event", "/east-1", "hunter3", "{", 401, ""},
		{"the secret of all clusters", "/east-1", secret, ready(1), 401, ""},
		{"the secret that keys are made of", "/east-1", ledgerSecret, ready(1), 401, ""},
		{"the key of another cluster", "/east-1", other, ready(1), 401, ""},
		{"the key of a cluster for all", "", a, ready(1), 401, ""},
		{"no name", "/East", a, ready(1), 401, ""},
		{"its own", "/east-1", a, ready(1), 202, "east-1 ready"},
		{"another name in the event", "/east-1", a, fluxEvent(noon, "error", "prod", "east-2"), 400, "east-1 ready"},
		{"the same name in the event", "/east-1", a, fluxEvent(noon.Add(-58*time.Second), "info", "prod", "east-1"), 200, "east-1 ready"},
		{"one that has no key takes the name", "", secret, fluxEvent(noon, "error", "prod", "east-1"), 409, "east-1 ready"},
		{"another one has no key", "", secret, fluxEvent(noon.Add(-time.Minute), "info", "prod", "old-1"), 202, "east-1 ready, old-1 ready"},
		{"and proves its name from now on, with an older word", "/old-1", b.key("old-1", 0), fluxEvent(noon.Add(-2*time.Minute), "error", "prod", ""), 202, "east-1 ready, old-1 failed"},
		{"a cluster is in one environment", "/old-1", b.key("old-1", 0), fluxEvent(noon.Add(-time.Minute), "info", "stage", ""), 202, "east-1 ready"},
		{"a replay", "/east-1", a, ready(1), 200, "east-1 ready"},
		{"something newer", "/east-1", a, fluxEvent(noon.Add(-50*time.Second), "error", "prod", ""), 202, "east-1 failed"},
		{"a replay after that", "/east-1", a, ready(1), 200, "east-1 failed"},
		{"one that was lost", "/east-1", a, ready(2), 200, "east-1 failed"},
		{"one of the day before", "/east-3", b.key("east-3", 0), fluxEvent(noon.Add(-24*time.Hour), "info", "prod", ""), 202, "east-1 failed, east-3 ready"},
		{"an older one", "/east-4", b.key("east-4", 0), fluxEvent(noon.Add(-24*time.Hour-time.Second), "info", "prod", ""), 400, "east-1 failed, east-3 ready"},
		{"one of a clock that is ahead", "/east-4", b.key("east-4", 0), fluxEvent(noon.Add(10*time.Minute), "info", "prod", ""), 202, "east-1 failed, east-3 ready, east-4 ready"},
		{"which does not hide the next", "/east-4", b.key("east-4", 0), fluxEvent(noon, "error", "prod", ""), 202, "east-1 failed, east-3 ready, east-4 failed"},
		{"one too far ahead", "/east-4", b.key("east-4", 0), fluxEvent(noon.Add(10*time.Minute+time.Second), "info", "prod", ""), 400, "east-1 failed, east-3 ready, east-4 failed"},
	} {
		before := len(b.events)
		if code := b.post(c.cluster, c.key, c.body); code != c.code || b.known("prod") != c.want || (len(b.events) > before) != (code == 202) {
			t.Errorf("%s: %d, and known is %q; want %d, %q", c.name, code, b.known("prod"), c.code, c.want)
		}
	}
}

// TestRenewedKey: a stolen key is of no use once it was renewed, at the latest a day after.
func TestRenewedKey(t *testing.T) {
	b := newFleetBox(t)
	old, next := b.key("east-1", 0), b.key("east-1", 1)
	for _, c := range []struct {
		name      string
		renewed   bool
		after     time.Duration
		old, next bool
	}{
		{"before", false, 0, true, false},
		{"at once", true, time.Second, true, true},
		{"a day after", true, 24*time.Hour - time.Second, true, true},
		{"later", true, 24 * time.Hour, false, true},
	} {
		if c.renewed {
			b.renew("east-1", ledger.Epoch{Number: 1, Renewed: noon})
		}
		b.now = noon.Add(c.after)
		for key, good := range map[string]bool{old: c.old, next: c.next} {
			if code := b.post("/east-1", key, fluxEvent(b.now, "info", "prod", "")); (code != 401) != good || code > 202 && code != 401 {
				t.Errorf("%s: %d, want it taken: %t", c.name, code, good)
			}
		}
	}
}

// TestKeysUnknown: nothing is believed, and nothing refused for good, before it is known which keys were
// revoked.
func TestKeysUnknown(t *testing.T) {
	b := newFleetBox(t)
	b.keys = observe.NewKeyRing(func() ([]string, error) { return []string{ledgerSecret}, nil })
	o := b.options(nil)
	o.ClusterKeys, o.Report = b.keys.FindKeys, b.reports.Add
	b.Handler = New(o)
	event := fluxEvent(noon, "info", "prod", "")
	if code := b.post("/east-1", b.key("east-1", 0), event); code != 503 || b.known("prod") != "" {
		t.Errorf("%d, %s", code, b.known("prod"))
	}
	b.renew("none", ledger.Epoch{})
	if code := b.post("/east-1", b.key("east-1", 0), event); code != 202 {
		t.Errorf("%d", code)
	}
}

// TestReportSize: a report must be smaller than what forges may send.
func TestReportSize(t *testing.T) {
	b := newFleetBox(t)
	key := b.key("east-1", 0)
	event := fluxEvent(noon, "info", "prod", "")
	for _, c := range []struct{ size, code int }{{maxReportSize - 1, 202}, {maxReportSize, 413}} {
		body := event + strings.Repeat(" ", c.size-len(event))
		if code := b.post("/east-1", key, body); code != c.code {
			t.Errorf("%d bytes: %d, want %d", c.size, code, c.code)
		}
		r := httptest.NewRequest(http.MethodPost, "/webhooks/flux/east-1", strings.NewReader(body))
		r.Header.Set("X-Signature", "sha256="+mac(key, body))
		r.ContentLength = -1
		if w := b.deliver(r); (w.Code == 413) != (c.code == 413) {
			t.Errorf("%d bytes that are not announced: %d", c.size, w.Code)
		}
	}
}

// TestArgoCDKey: Argo CD signs nothing, and sends the key.
func TestArgoCDKey(t *testing.T) {
	b := newFleetBox(t)
	body := fmt.Sprintf(`{"app": "fleet", "namespace": "argocd", "environment": "prod", "sync": "Synced", "health": "Healthy", "revision": %q, "time": %q}`, commit, noon.Format(time.RFC3339))
	for _, c := range []struct {
		cluster, authorization, body string
		code                         int
		closes                       bool
	}{
		{"east-1", "", body, 401, true},
		{"east-1", b.key("east-1", 0), body, 401, true},
		{"east-1", "Bearer ", body, 401, true},
		{"east-1", "Bearer " + b.key("east-2", 0), body, 401, true},
		{"east-1", "Bearer " + b.key("east-1", 1), body, 401, true},
		{"east-1", "Bearer " + b.key("east-1", 0), "{", 400, true},
		{"east-1", "Bearer " + b.key("east-1", 0), body, 202, true},
		{"east-1", "Bearer " + b.key("east-1", 0), body, 200, true},
	} {
		r := httptest.NewRequest(http.MethodPost, "/webhooks/argocd/"+c.cluster, strings.NewReader(c.body))
		r.Header.Set("Authorization", c.authorization)
		if w := b.deliver(r); w.Code != c.code || (w.Header().Get("Connection") == "close") != c.closes {
			t.Errorf("%q: %d, want %d\n%s", c.authorization, w.Code, c.code, w.Body)
		}
	}
	if got := b.known("prod"); got != "east-1 "+string(rollout.Ready) {
		t.Errorf("known is %q", got)
	}
	if w := b.deliver(httptest.NewRequest(http.MethodPost, "/webhooks/argocd", strings.NewReader(body))); w.Code != 404 {
		t.Errorf("without a cluster: %d", w.Code)
	}
}

// TestTooManyEvents: a cluster that sends more events than a rollout has is asked to wait, and no other
// one; time makes room again.
func TestTooManyEvents(t *testing.T) {
	b := newFleetBox(t)
	body := func(cluster string) string {
		return fmt.Sprintf(`{"involvedObject": {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "namespace": "flux-system", "name": "fleet"},
			"severity": "info", "timestamp": %q, "reason": "ReconciliationSucceeded", "message": "x", "metadata": {"revision": "main@sha1:%s", "cluster": %q}}`,
			noon.Format(time.RFC3339), strings.Repeat("1", 40), cluster)
	}
	send := func(cluster string) int { return b.post("/"+cluster, b.key(cluster, 0), body(cluster)) }
	for i := range burst {
		if code := send("east-1"); code >= 300 {
			t.Fatalf("event %d is answered with %d", i, code)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/webhooks/flux/east-1", strings.NewReader(body("east-1")))
	r.Header.Set("X-Signature", "sha256="+mac(b.key("east-1", 0), body("east-1")))
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
		t.Errorf("one too many is answered with %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
	if code := send("west-1"); code >= 300 {
		t.Errorf("another cluster is answered with %d", code)
	}
	if code := b.post("/east-1", "wrong", body("east-1")); code != http.StatusUnauthorized {
		t.Errorf("without the key the answer is %d", code)
	}
	b.now = b.now.Add(refill)
	if first, second := send("east-1"), send("east-1"); first >= 300 || second != http.StatusTooManyRequests {
		t.Errorf("a moment later the answers are %d and %d", first, second)
	}
}
