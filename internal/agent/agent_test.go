package agent

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/kubeapi"
)

// record keeps a copy of a request.
func (w *world) record(r *http.Request) *http.Request {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bodies = append(w.bodies, &recorded{r.Header.Clone(), string(body)})
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	return r
}

// fluxSource is the GitRepository of a platform.
const fluxSource = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux-system, generation: 1, uid: 5b0c7c2e-0a43-4a4f-8d3c-1d7c3f0f5a10}
spec: {interval: 1m0s, url: "https://git.example.com/fleet/gitops.git", ref: {branch: main}}
status:
  observedGeneration: 1
  artifact: {revision: %[1]q}
  conditions:
  - {type: Ready, status: "True", reason: Succeeded, observedGeneration: 1, lastTransitionTime: "2026-11-23T10:00:00Z", message: "stored artifact for revision '%[1]s'"}
`

// fluxPlatform is the Kustomization of a platform: its folder, its status, and since when.
const fluxPlatform = `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: fleet, namespace: flux-system, generation: 2, uid: 8f3f0f0c-7b0e-4a52-9c53-6f3b9f7e6c21}
spec: {interval: 10m0s, path: ./prod/%[1]s, prune: true, sourceRef: {kind: GitRepository, name: fleet}}
status:
  observedGeneration: 2
  lastAppliedRevision: %[2]q
  lastAttemptedRevision: %[3]q
  conditions:
  - {type: Ready, status: %[4]q, reason: %[5]q, observedGeneration: 2, lastTransitionTime: %[6]q, message: "as it is"}
`

// putPlatform sets what a cluster's platform object says. A phase is ready, failed or progressing.
func putPlatform(t *testing.T, api *kubeapi.Server, clusterType, phase, applied, attempted, since string) {
	t.Helper()
	status := map[string][2]string{
		"ready": {"True", "ReconciliationSucceeded"}, "failed": {"False", "HealthCheckFailed"}, "progressing": {"Unknown", "Progressing"},
	}[phase]
	api.Put(t, fmt.Sprintf(fluxSource, attempted))
	api.Put(t, fmt.Sprintf(fluxPlatform, clusterType, applied, attempted, status[0], status[1], at(since).Format("2006-01-02T15:04:05Z")))
}

// TestFirstWord is one Kustomization on a cluster, its agent, the address that it reports to, and the
// ledger behind that.
func TestFirstWord(t *testing.T) {
	w := newWorld(t)
	w.setClock(at("12:01"))
	api := kubeapi.Start(t, "uid-1")
	putPlatform(t, api, "large", "ready", outputB, outputB, "12:01")
	e1 := w.join("e1", api)
	w.runUntil("12:01", e1)
	if got := w.state("e1", "Kustomization/flux-system/fleet"); got != "ready main@bb" {
		t.Errorf("the platform object is %s", got)
	}
	c := w.clusters()[0]
	if c.UID != "uid-1" || c.Group.Environment != "prod" || c.Group.ClusterType != "large" || c.Platform != "Kustomization/flux-system/fleet" {
		t.Errorf("the cluster is %+v", c)
	}
	if n := w.count("everything"); n != 1 {
		t.Errorf("the ledger has got everything %d times", n)
	}
}
