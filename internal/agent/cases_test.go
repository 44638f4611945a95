package agent

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/testkit/kubeapi"
)

const (
	platform = "Kustomization/flux-system/fleet"
	workload = "Kustomization/flux-system/checkout-api"
)

var (
	releaseA = "dev@sha1:" + strings.Repeat("1", 40)
	releaseB = "dev@sha1:" + strings.Repeat("2", 40)
)

// putWorkload sets what the workload object of a cluster says.
func putWorkload(t *testing.T, api *kubeapi.Server, condition, applied, attempted, since string) {
	t.Helper()
	api.Put(t, fmt.Sprintf(`
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: checkout-api, namespace: flux-system, generation: 1}
spec: {path: ./large, sourceRef: {kind: GitRepository, name: checkout-api}}
status:
  observedGeneration: 1
  lastAppliedRevision: %q
  lastAttemptedRevision: %q
  conditions:
  - {type: Ready, status: %s, observedGeneration: 1, lastTransitionTime: %q}
`, applied, attempted, condition, at(since).Format(time.RFC3339)))
}

const (
	isReady  = `"True", reason: ReconciliationSucceeded`
	isFailed = `"False", reason: HealthCheckFailed`
)

// history returns the spans of an object, as a store would have them.
func (w *world) history(cluster, object string) []ledger.Span {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []ledger.Span
	for _, write := range w.writes {
		if write.Object != (ledger.Object{Cluster: cluster, Name: object}) {
			continue
		}
		i := slices.IndexFunc(all, func(s ledger.Span) bool { return s.Since.Equal(write.Span.Since) })
		switch write.Kind {
		case ledger.BeginSpan:
			all = append(all, write.Span)
		case ledger.EndSpan:
			all[i].Until = write.Span.Until
		case ledger.DeleteSpan:
			all = slices.Delete(all, i, i+1)
		}
	}
	return all
}

// describeHistory returns the spans of an object as text: "ready main@bb 12:01-".
func (w *world) describeHistory(cluster, object string) string {
	var parts []string
	for _, s := range w.history(cluster, object) {
		text := s.Phase.String() + " " + short(s.Target()) + " " + s.Since.Format("15:04") + "-"
		if !s.Until.IsZero() {
			text += s.Until.Format("15:04")
		}
		if s.Late {
			text += " late"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// standing returns how a cluster stands to an output, of those that are known.
func (w *world) standing(cluster, wanted string, outputs *ledger.Outputs) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	output, _ := outputs.Find(wanted)
	for _, s := range w.ledger.FindStandings(ledger.Wanted{Environment: "prod", Output: output}, outputs, w.now) {
		if s.Cluster != nil && s.Cluster.Name() == cluster {
			return s.Class.String()
		}
	}
	return "nothing"
}

func wantText(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// TestNothingChanges is case 2 of the specification.
func TestNothingChanges(t *testing.T) {
	w := newWorld(t)
	w.setClock(at("12:01"))
	api := kubeapi.Start(t, "uid-1")
	putPlatform(t, api, "large", "ready", outputB, outputB, "12:01")
	putWorkload(t, api, isReady, releaseB, releaseB, "12:01")
	e1 := w.join("e1", api)
	w.runUntil("12:01:30", e1)
	before := w.countWrites()
	w.runUntil("12:59:30", e1)
	if after := w.countWrites(); after != before {
		t.Errorf("%d spans were written while nothing changed", after-before)
	}
	wantText(t, "P", w.describeHistory("e1", platform), "ready main@bb 12:01-")
	wantText(t, "W", w.describeHistory("e1", workload), "ready dev@22 12:01-")
	if seen := w.clusters()[0].LastSeen; seen.Before(at("12:58:15")) {
		t.Errorf("it was last seen at %s", seen)
	}
	if unchanged, changes, everything := w.count("unchanged"), w.count("changes"), w.count("everything"); unchanged < 50 || changes > 0 || everything > 6 {
		t.Errorf("the ledger has got %d digests, %d changes and %d times everything", unchanged, changes, everything)
	}
}

// TestReplay is case 9: a request that was recorded is refused, by its number and after the next start.
func TestReplay(t *testing.T) {
	w := newWorld(t)
	api := kubeapi.Start(t, "uid-1")
	putPlatform(t, api, "large", "ready", outputA, outputA, "11:00")
	e1 := w.join("e1", api)
	w.runUntil("11:08", e1)
	post := func(r *recorded) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.server.URL+agentapi.Path, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header = r.header
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	for _, old := range w.requests() {
		if code := post(old); code != http.StatusUnauthorized {
			t.Errorf("a replay is answered with %d", code)
		}
	}
	putPlatform(t, api, "large", "failed", outputA, outputB, "11:09")
	e1.restart()
	w.runUntil("11:10", e1)
	wantText(t, "P", w.state("e1", platform), "failed main@aa, attempted main@bb")
	seen := w.clusters()[0].LastSeen
	w.setClock(at("11:11"))
	if code := post(w.requests()[0]); code != http.StatusUnauthorized {
		t.Errorf("a replay from before the start is answered with %d", code)
	}
	wantText(t, "P", w.state("e1", platform), "failed main@aa, attempted main@bb")
	if !w.clusters()[0].LastSeen.Equal(seen) {
		t.Error("a replay makes a cluster seen")
	}
}

// TestOneNameTwoClusters is case 11.
func TestOneNameTwoClusters(t *testing.T) {
	w := newWorld(t)
	w.setClock(at("12:01"))
	first, second := kubeapi.Start(t, "uid-1"), kubeapi.Start(t, "uid-2")
	putPlatform(t, first, "large", "ready", outputB, outputB, "12:01")
	putPlatform(t, second, "large", "ready", outputA, outputA, "11:30")
	e1, other := w.join("e1", first), w.join("e1", second)
	other.next = at("12:01:30")
	w.runUntil("12:03", e1, other)
	wantText(t, "P", w.describeHistory("e1", platform), "ready main@bb 12:01-")
	wantText(t, "standing", w.standing("e1", outputB, w.outputs), "contested")
	c := w.clusters()[0]
	if c.UID != "uid-1" || c.Rival != "uid-2" {
		t.Errorf("%s is contested by %q", c.UID, c.Rival)
	}
	if err := other.agent.findTrouble(); err == nil || !strings.Contains(err.Error(), "409") {
		t.Errorf("the second agent says %v", err)
	}
	if err := e1.agent.findTrouble(); err != nil {
		t.Errorf("the first agent says %v", err)
	}
}

// TestRenamed is case 12.
func TestRenamed(t *testing.T) {
	w := newWorld(t)
	w.setClock(at("12:01"))
	api := kubeapi.Start(t, "uid-1")
	putPlatform(t, api, "large", "ready", outputB, outputB, "12:01")
	e1 := w.join("e1", api)
	w.runUntil("12:01:30", e1)
	w.setClock(at("12:30"))
	east := w.join("east-1", api)
	w.runUntil("12:30", east)
	e1.next = at("12:31")
	w.runUntil("12:31", e1, east)
	all := w.clusters()
	if len(all) != 1 || all[0].Name() != "east-1" || all[0].NameAt(at("12:15")) != "e1" {
		t.Errorf("the clusters are %+v", all)
	}
	wantText(t, "P", w.describeHistory("e1", platform), "ready main@bb 12:01-")
	if err := e1.agent.findTrouble(); err == nil || !strings.Contains(err.Error(), "another name") {
		t.Errorf("the old agent says %v", err)
	}
}

// TestUnknownThenKnown is case 13: the cluster is faster than our poll.
func TestUnknownThenKnown(t *testing.T) {
	w := newWorld(t)
	api := kubeapi.Start(t, "uid-1")
	w.setClock(at("13:00:20"))
	putPlatform(t, api, "large", "ready", outputC, outputC, "13:00:20")
	e1 := w.join("e1", api)
	w.runUntil("13:00:30", e1)
	before := &ledger.Outputs{}
	for _, known := range []string{outputA, outputB} {
		o, _ := w.outputs.Find(known)
		before.Add(o)
	}
	wantText(t, "before the poll", w.standing("e1", outputB, before), "unknown")
	wantText(t, "after it", w.standing("e1", outputC, w.outputs), "ready")
	c, _ := w.outputs.Find(outputC)
	if a := ledger.FindArrival(w.history("e1", platform), w.outputs, c, "large"); a.Ready != 20*time.Second {
		t.Errorf("it arrived after %s", a.Ready)
	}
}

// TestLedgerAway is case 14: what happened while the ledger was away is told afterwards, as far as Flux
// remembers it.
func TestLedgerAway(t *testing.T) {
	w := newWorld(t)
	w.setClock(at("11:02"))
	api := kubeapi.Start(t, "uid-1")
	putPlatform(t, api, "large", "ready", outputA, outputA, "11:01")
	putWorkload(t, api, isReady, releaseA, releaseA, "11:01")
	e1 := w.join("e1", api)
	w.runUntil("11:55", e1)
	w.setAway(true)
	w.runUntil("12:30", e1)
	if err := e1.agent.findTrouble(); err == nil || !strings.Contains(err.Error(), "502") {
		t.Errorf("the agent says %v", err)
	}
	putPlatform(t, api, "large", "ready", outputB, outputB, "12:20")
	api.Put(t, strings.Replace(fmt.Sprintf(fluxPlatform, "large", outputB, outputB, "True", "ReconciliationSucceeded", "2026-11-23T12:20:00Z"), "status:", `status:
  history:
  - {digest: "sha256:2", firstReconciled: "2026-11-23T12:03:00Z", lastReconciled: "2026-11-23T12:50:00Z", lastReconciledStatus: ReconciliationSucceeded, metadata: {revision: "`+outputB+`"}}
  - {digest: "sha256:1", firstReconciled: "2026-11-23T11:01:00Z", lastReconciled: "2026-11-23T11:59:00Z", lastReconciledStatus: ReconciliationSucceeded, metadata: {revision: "`+outputA+`"}}`, 1))
	putWorkload(t, api, isFailed, releaseA, releaseB, "12:04")
	w.runUntil("12:55", e1)
	requests := len(w.requests())
	if requests > 70 {
		t.Errorf("%d requests were sent", requests)
	}
	w.setAway(false)
	w.runUntil("12:58", e1)
	wantText(t, "P", w.describeHistory("e1", platform), "ready main@aa 11:01-12:03, ready main@bb 12:03- late")
	wantText(t, "W", w.describeHistory("e1", workload), "ready dev@11 11:01-12:04, failed dev@22 12:04- late")
	if err := e1.agent.findTrouble(); err != nil {
		t.Errorf("the agent says %v", err)
	}
}

// TestForthAndBack: what happened while the ledger was away is told even if all is as it was before.
func TestForthAndBack(t *testing.T) {
	w := newWorld(t)
	api := kubeapi.Start(t, "uid-1")
	putPlatform(t, api, "large", "ready", outputA, outputA, "11:00")
	e1 := w.join("e1", api)
	w.runUntil("11:55", e1)
	w.setAway(true)
	w.runUntil("12:20", e1)
	api.Put(t, strings.Replace(fmt.Sprintf(fluxPlatform, "large", outputA, outputA, "True", "ReconciliationSucceeded", "2026-11-23T11:00:00Z"), "status:", `status:
  history:
  - {digest: "sha256:1", firstReconciled: "2026-11-23T11:00:00Z", lastReconciled: "2026-11-23T12:50:00Z", lastReconciledStatus: ReconciliationSucceeded, metadata: {revision: "`+outputA+`"}}
  - {digest: "sha256:2", firstReconciled: "2026-11-23T12:03:00Z", lastReconciled: "2026-11-23T12:10:00Z", lastReconciledStatus: HealthCheckFailed, metadata: {revision: "`+outputB+`"}}`, 1))
	w.runUntil("12:30", e1)
	w.setAway(false)
	w.runUntil("12:33", e1)
	all := w.history("e1", platform)
	if len(all) != 3 || short(all[1].Target()) != "main@bb" || all[1].Phase != ledger.Failed || !all[1].Since.Equal(at("12:03")) || all[1].Until.IsZero() {
		t.Errorf("the history is %s", w.describeHistory("e1", platform))
	}
	wantText(t, "P", w.state("e1", platform), "ready main@aa")
}

// TestHelm is case 16.
func TestHelm(t *testing.T) {
	w := newWorld(t)
	api := kubeapi.Start(t, "uid-1")
	put := func(history, tried, ready, reason string) {
		api.Put(t, fmt.Sprintf(`
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: api, namespace: web, generation: 1}
status:
  observedGeneration: 1
  lastAttemptedRevision: %q
  history: [%s]
  conditions: [{type: Ready, status: %q, reason: %s, observedGeneration: 1}]
`, tried, history, ready, reason))
	}
	const first = `{chartVersion: 2.1.0+0cc9a8446c95, appVersion: 6.6.1, status: deployed, version: 1}`
	put(first, "2.1.0+0cc9a8446c95", "True", "UpgradeSucceeded")
	e1 := w.join("e1", api)
	w.runUntil("11:01", e1)
	wantText(t, "upgraded", w.state("e1", "HelmRelease/web/api"), "ready 2.1.0+0cc9a8446c95")
	put(`{chartVersion: 2.2.0, appVersion: 6.7.0, status: failed, version: 2}, `+first, "2.2.0", "False", "UpgradeFailed")
	w.runUntil("11:11", e1)
	wantText(t, "failed", w.state("e1", "HelmRelease/web/api"), "failed 2.1.0+0cc9a8446c95, attempted 2.2.0")
	put(strings.Replace(first, "version: 1", "version: 3", 1)+`, {chartVersion: 2.2.0, status: superseded, version: 2}`, "2.2.0", "False", "RollbackSucceeded")
	w.runUntil("11:15", e1)
	wantText(t, "rolled back", w.state("e1", "HelmRelease/web/api"), "failed 2.1.0+0cc9a8446c95, attempted 2.2.0")
}

// TestLostStore is case 19: one round of digests makes a ledger right that has forgotten everything.
func TestLostStore(t *testing.T) {
	w := newWorld(t)
	w.setClock(at("12:04"))
	e1, e2 := kubeapi.Start(t, "uid-1"), kubeapi.Start(t, "uid-2")
	putPlatform(t, e1, "large", "ready", outputB, outputB, "12:02")
	putPlatform(t, e2, "large", "failed", outputA, outputB, "12:03")
	members := []*member{w.join("e1", e1), w.join("e2", e2)}
	w.runUntil("12:30", members...)
	w.mu.Lock()
	w.ledger = ledger.New(100)
	w.mu.Unlock()
	w.runUntil("12:31:10", members...)
	wantText(t, "e1", w.state("e1", platform)+", "+w.standing("e1", outputB, w.outputs), "ready main@bb, ready")
	wantText(t, "e2", w.state("e2", platform)+", "+w.standing("e2", outputB, w.outputs), "failed main@aa, attempted main@bb, failed")
	if w.count("want-everything") == 0 {
		t.Error("the ledger did not ask for everything")
	}
}

// TestRollOut: while an object is on its way the cluster is read every 15 seconds, and what has changed is
// reported at once.
func TestRollOut(t *testing.T) {
	w := newWorld(t)
	api := kubeapi.Start(t, "uid-1")
	putPlatform(t, api, "large", "ready", outputA, outputA, "11:00")
	e1 := w.join("e1", api)
	w.runUntil("12:00", e1)
	putPlatform(t, api, "large", "progressing", outputA, outputB, "12:00")
	w.runUntil("12:01:10", e1)
	wantText(t, "at work", w.state("e1", platform), "progressing main@aa, attempted main@bb")
	putPlatform(t, api, "large", "ready", outputB, outputB, "12:01:10")
	w.runUntil("12:01:27", e1)
	wantText(t, "done", w.state("e1", platform), "ready main@bb")
	api.Delete("Kustomization", "flux-system", "fleet")
	w.runUntil("12:03", e1)
	wantText(t, "removed", w.state("e1", platform), "nothing")
}
