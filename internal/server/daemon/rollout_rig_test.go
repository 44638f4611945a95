package daemon_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// rollouts is a daemon with a ledger over repositories on a server, and the clusters that report to it.
// The time is that of the test. Its types are cloud, which reports by Flux or an agent, and edge, which
// reports by Argo CD.
type rollouts struct {
	*testing.T
	server *gittest.Server
	dir    string
	people *gittest.Work // of the control plane

	mu   sync.Mutex
	now  time.Time
	log  bytes.Buffer
	base string // of the daemon's address

	cycles chan status.Snapshot
	last   status.Snapshot
	stop   func()
	sent   atomic.Uint64 // the reports of agents
	uid    string        // of the objects in events; "" for none
}

// newRollouts fills the repositories: dev has a proof, and so many clusters of each type as an
// annotation says; prod comes after it. "" is no annotation.
func newRollouts(t *testing.T, proof string, cloud, edge string) *rollouts {
	t.Helper()
	w := &rollouts{T: t, server: gittest.Serve(t), dir: t.TempDir(), now: time.Now().UTC().Truncate(time.Second), cycles: make(chan status.Snapshot, 10000)}
	writeSecrets(t, w.dir)
	o := scaffold.Options{ControlPlane: w.server.Create("cp"), GitOps: w.server.Create("out"), Environments: []string{"dev", "prod"}, Sample: true}
	cp, err := scaffold.ControlPlaneBranches(o)
	must(t, err)
	out, err := scaffold.GitOpsBranches(o)
	must(t, err)
	replace := func(i int, changed map[string]string) {
		files := map[string][]byte{}
		for file, text := range cp[i].Files.All() {
			files[file] = text
		}
		for file, text := range changed {
			files[file] = []byte(text)
		}
		cp[i].Files, err = tree.FromFiles(files)
		must(t, err)
	}
	replace(0, map[string]string{".fairlead/promotion.yaml": fmt.Sprintf(`apiVersion: fairlead.io/v1alpha1
kind: Promotion
metadata: {name: fleet}
spec:
  environments:
    - {name: dev, merge: direct, proof: [%s]}
    - {name: prod, after: [dev], merge: direct, proof: []}
`, proof)})
	types := map[string]string{}
	for _, one := range []struct{ name, tool, clusters string }{{"cloud", "flux", cloud}, {"edge", "argocd", edge}} {
		annotation := ""
		if one.clusters != "" {
			annotation = fmt.Sprintf("\n  annotations: {fairlead.io/clusters: %q}", one.clusters)
		}
		types["cluster-types/"+one.name+".yaml"] = fmt.Sprintf("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata:\n  name: %s\n  labels: {location: %s}%s\n"+
			"spec: {reconciler: %s, namespaceService: default, configType: configmap}\n", one.name, one.name, annotation, one.tool)
	}
	replace(1, types)
	fillRemote(t, w.server.PeopleURL("cp"), cp)
	fillRemote(t, w.server.PeopleURL("out"), out)
	w.people = w.server.Work(t, "cp")
	return w
}

// serve starts a daemon.
func (w *rollouts) serve(ledgerSettings string) {
	w.Helper()
	text := fmt.Sprintf("controlPlane: {repo: %q}\nlisten: 127.0.0.1:0\ndataDir: data\nschedule: {interval: 1h}\nwrite: true\nforges: [{host: %q, kind: git}]\n",
		w.server.URL("cp"), strings.TrimPrefix(strings.TrimSuffix(w.server.URL(""), "/.git"), "http://")) + ledgerSettings
	ctx, cancel := context.WithCancel(w.Context())
	address, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- daemon.Serve(ctx, daemon.Options{
			Settings: settings(w.T, w.dir, text), Version: "test", Log: w, Now: w.clock,
			Ready: func(a string) { address <- a }, After: func(s status.Snapshot) { w.cycles <- s },
		})
	}()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Error(err)
		}
	})
	w.Cleanup(func() {
		w.stop()
		if w.Failed() {
			w.Log(w.log.String())
		}
	})
	w.base = "http://" + <-address
}

const ledgerSecret = "ledger: {secret: {file: secret}}\n"

// Write adds to the log.
func (w *rollouts) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(text)
}

func (w *rollouts) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// pass lets time go by, and has the daemon look at it.
func (w *rollouts) pass(d time.Duration) {
	w.Helper()
	w.mu.Lock()
	w.now = w.now.Add(d)
	w.mu.Unlock()
	w.wake()
}

func (w *rollouts) wake() {
	w.Helper()
	if code, body := ask(w.T, "POST", w.base+"/api/v1/wake"); code != http.StatusAccepted {
		w.Fatal(code, body)
	}
}

// commit commits files of the base, and has the daemon look at them.
func (w *rollouts) commit(files map[string]string) string {
	w.Helper()
	w.people.Pull("main")
	for file, text := range files {
		w.people.Write(file, text)
	}
	id := w.people.Commit("change")
	w.people.Push("main")
	w.wake()
	return id
}

// baseConfig returns a config of the base; of one cluster type, if that is not "".
func baseConfig(name, clusterType, value string) map[string]string {
	label := ""
	if clusterType != "" {
		label = ", location: " + clusterType
	}
	return map[string]string{"configs/" + name + ".yaml": fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {platform-config: \"true\"%s}}\ndata: {%s: %q}\n",
		name, label, strings.ToUpper(name), value)}
}

// betweenRounds is more than the time in which events wait for those that come with them.
const betweenRounds = 6 * time.Second

// await waits for a cycle after which something is so, a little later. The last one may be it.
func (w *rollouts) await(what string, is func(status.Snapshot) bool) {
	w.Helper()
	w.pass(betweenRounds)
	limit := time.After(5 * time.Minute)
	for !is(w.last) {
		select {
		case w.last = <-w.cycles:
		case <-w.Context().Done():
			w.Fatalf("%s: the test ended", what)
		case <-limit:
			w.Fatalf("%s: nothing came of it; the stages are\n%s", what, stagesOf(w.last))
		}
	}
}

// awaitVerdict waits until the proof of dev says something.
func (w *rollouts) awaitVerdict(status string, words ...string) {
	w.Helper()
	w.await(status+": "+strings.Join(words, ", "), func(s snapshot) bool {
		stage, ok := s.Chain.FindStage("dev")
		if !ok || string(stage.Proof.Status) != status {
			return false
		}
		text := reasonsOf(stage)
		for _, word := range words {
			if !strings.Contains(text, word) {
				return false
			}
		}
		return true
	})
}

// wantStanding waits until what people are told of the clusters of dev is what the gate counts: the new
// output is recorded a little after the cycle.
func (w *rollouts) wantStanding(want string) {
	w.Helper()
	limit := time.After(5 * time.Minute)
	for tick := time.Tick(10 * time.Millisecond); ; {
		var answer struct{ Items []fleetview.Standing }
		must(w.T, json.Unmarshal([]byte(w.page("/api/v1/fleet/standing?environment=dev")), &answer))
		got := ""
		for _, s := range answer.Items {
			got = fmt.Sprintf("ready=%d expected=%d unheard=%d failed=%d", s.Ready, s.Expected, s.Unheard, s.Failed)
		}
		if got == want {
			return
		}
		select {
		case <-tick:
		case <-limit:
			w.Fatalf("the clusters stand so: %s, want %s", got, want)
		}
	}
}

type snapshot = status.Snapshot

func reasonsOf(stage status.Stage) string {
	text := stage.Proof.Reason
	for _, part := range stage.Proof.Parts {
		text += "\n" + part.Reason
	}
	return text
}

// head returns the newest output of an environment.
func (w *rollouts) head(environment string) string {
	w.Helper()
	return gittest.Git(w, w.server.Dir("out"), "rev-parse", environment)
}

// said returns the status of an environment on the newest commit of the base, as the forge has it.
func (w *rollouts) said(environment string) string {
	w.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: w.server.PeopleURL("cp"), Dir: filepath.Join(w.TempDir(), "person")})
	must(w.T, err)
	_, err = remote.Sync(w.Context())
	must(w.T, err)
	all, err := forge.NewPlain(remote, git.Signature{Name: "person", Email: "person@localhost"}, w.clock).Statuses(w.Context(), baseHead(w))
	must(w.T, err)
	for _, s := range all {
		if s.Context == environment+" environment" {
			return fmt.Sprintf("%s %s", s.Outcome, s.Description)
		}
	}
	return ""
}

func (w *rollouts) wantSaid(environment, want string) {
	w.Helper()
	if said := w.said(environment); said != want {
		w.Errorf("the status of %s is %q, want %q", environment, said, want)
	}
}

// key returns the key of a cluster.
func (w *rollouts) key(cluster string) string {
	w.Helper()
	key, err := ledger.DeriveKey(strings.Repeat("0123456789", 4), cluster, 0)
	must(w.T, err)
	return key
}

// post posts what a cluster reports, and returns the status.
func (w *rollouts) post(path string, body []byte, header map[string]string) *http.Response {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.base+path, bytes.NewReader(body))
	must(w.T, err)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	must(w.T, err)
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return answer
}

// wantCode checks the status of an answer.
func (w *rollouts) wantCode(answer *http.Response, want ...int) {
	w.Helper()
	for _, code := range want {
		if answer.StatusCode == code {
			return
		}
	}
	w.Fatalf("%s of %s, want one of %v", answer.Status, answer.Request.URL.Path, want)
}

// flux has a cluster of the type cloud report an object by an event of Flux. A message is that of a
// failure.
func (w *rollouts) flux(cluster, object, revision, message string) {
	w.Helper()
	w.wantCode(w.postFlux(cluster, object, revision, message), http.StatusAccepted, http.StatusOK)
}

func (w *rollouts) postFlux(cluster, object, revision, message string) *http.Response {
	w.Helper()
	return w.postSigned("/webhooks/flux/"+cluster, w.key(cluster), cluster, object, revision, message)
}

// shared has a cluster report with the secret of all clusters.
func (w *rollouts) shared(cluster, revision, message string) {
	w.Helper()
	w.wantCode(w.postSigned("/webhooks/flux", sharedSecret, cluster, "fleet", revision, message), http.StatusAccepted, http.StatusOK)
}

// postSigned posts an event of Flux.
func (w *rollouts) postSigned(path, key, cluster, object, revision, message string) *http.Response {
	w.Helper()
	severity, reason, text := "info", "ReconciliationSucceeded", "Reconciliation finished in 1.27s, next run in 10m0s"
	if message != "" {
		severity, reason, text = "error", "HealthCheckFailed", message
	}
	body := fmt.Appendf(nil, `{"involvedObject": {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "namespace": "flux-system", "name": %q, "uid": %q},
		"severity": %q, "timestamp": %q, "reason": %q, "message": %q,
		"metadata": {"revision": %q, "cluster": %q, "environment": "dev", "clusterType": "cloud"}}`,
		object, w.uid, severity, w.clock().Format(time.RFC3339), reason, text, revision, cluster)
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(body)
	return w.post(path, body, map[string]string{"X-Signature": "sha256=" + hex.EncodeToString(mac.Sum(nil))})
}

// argoCD has a cluster of the type edge report by Argo CD's notifications.
func (w *rollouts) argoCD(cluster, health, revision string) {
	w.Helper()
	body := fmt.Appendf(nil, `{"app": "fleet", "namespace": "argocd", "environment": "dev", "clusterType": "edge", "sync": "Synced", "health": %q, "revision": %q, "time": %q}`,
		health, revision, w.clock().Format(time.RFC3339))
	w.wantCode(w.post("/webhooks/argocd/"+cluster, body, map[string]string{"Authorization": "Bearer " + w.key(cluster)}), http.StatusAccepted, http.StatusOK)
}

// entry returns an object as an agent reads it. That of the platform comes from the folder of its type.
func (w *rollouts) entry(name, clusterType, phase, revision, message string) agentapi.Entry {
	e := agentapi.Entry{Kind: "Kustomization", Namespace: "flux-system", Name: name, Phase: phase, Revision: revision, Message: message, Observed: true}
	if clusterType != "" {
		e.Source = &agentapi.Source{URL: w.server.URL("out"), Ref: "dev", Path: "./" + clusterType}
	}
	return e
}

// agent has an agent of a cluster report all objects.
func (w *rollouts) agent(cluster string, entries ...agentapi.Entry) {
	w.Helper()
	w.wantCode(w.postAgent(cluster, cluster, "uid-"+cluster, entries...), http.StatusNoContent, http.StatusOK)
}

// postAgent posts the report of an agent, signed with the key of a cluster, which may be another one.
func (w *rollouts) postAgent(cluster, signer, uid string, entries ...agentapi.Entry) *http.Response {
	w.Helper()
	state := agentapi.NewState(entries, nil)
	request := agentapi.Request{Version: 1, Cluster: cluster, UID: uid, Boot: "boot-" + uid, Sequence: w.sent.Add(1), Sent: w.clock(), Every: "1m0s",
		Count: len(entries), Full: true, Digest: state.Digest, Entries: state.Entries()}
	body, err := json.Marshal(request)
	must(w.T, err)
	return w.post(agentapi.Path, body, map[string]string{
		agentapi.ClusterHeader: cluster, agentapi.SignatureHeader: agentapi.Sign(w.key(signer), http.MethodPost, body),
	})
}

// page returns the page of an environment.
func (w *rollouts) page(path string) string {
	w.Helper()
	code, body := ask(w.T, "GET", w.base+path)
	if code != http.StatusOK {
		w.Fatalf("%s is %d: %s", path, code, body)
	}
	return body
}

// loseStore removes the database of the ledger.
func (w *rollouts) loseStore() {
	w.Helper()
	for _, name := range []string{"ledger.db", "ledger.db-wal", "ledger.db-shm"} {
		err := os.Remove(filepath.Join(w.dir, "data", name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.Fatal(err)
		}
	}
}
