package daemon_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/testkit/fleet"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// The benchmark has 2,000 clusters of 40 cluster types, in 10 waves.
const (
	waveTypes, clustersPerType, waveCount = 40, 50, 10
	edgeClusters                          = 500
	mostWave                              = 0.100 // s of CPU of a round
)

// BenchmarkWaves takes a change of all cluster types of an environment through its waves. It fails if a round between two
// waves, in which the reports of all clusters are new, takes more than it may.
func BenchmarkWaves(b *testing.B) {
	waves := ""
	for i := range waveCount - 1 {
		waves += fmt.Sprintf("        - {name: wave-%d, pick: {count: %d}}\n", i, waveTypes/waveCount)
	}
	benchmarkWaves(b, fleet.Size{Workloads: 10, ClusterTypes: waveTypes, Configs: 20}, waves, waveCount, "")
}

// BenchmarkWavesOfClusters takes a change through 500 clusters of one type, which have folders of their own: 1 %, 10 %, and all.
func BenchmarkWavesOfClusters(b *testing.B) {
	var list strings.Builder
	for i := range edgeClusters {
		fmt.Fprintf(&list, "{name: cluster-%d, type: ct-0000}, ", i)
	}
	waves := "        - {name: one, clusters: {}, pick: {percent: 1}}\n        - {name: ten, clusters: {}, pick: {percent: 10}}\n"
	benchmarkWaves(b, fleet.Size{Workloads: 10, ClusterTypes: 1, Configs: 20}, waves, 3, "apiVersion: fairlead.io/v1alpha1\nkind: ClusterList\nmetadata: {name: edge}\nspec: {clusters: ["+list.String()+"]}\n")
}

func benchmarkWaves(b *testing.B, size fleet.Size, waves string, waveCount int, clusters string) {
	program := program(b)
	for b.Loop() {
		s := newSite(b, size, 1)
		promotion := "apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: fleet}\nspec:\n  environments:\n    - name: prod0\n      waves:\n" + waves
		if clusters != "" {
			s.written[0]["clusters.yaml"] = []byte(clusters)
			s.edit(0, "cluster-types/ct-0000.yaml", "  labels:\n", "  annotations: {fairlead.io/per-cluster: \"true\"}\n  labels:\n")
		}
		files, err := tree.Union(s.base, s.one(".fairlead/promotion.yaml", promotion))
		s.must(err)
		s.push("cp", "main", files)
		secret := filepath.Join(s.dir, "secret")
		s.must(os.WriteFile(secret, []byte("a shared secret of all clusters"), 0o600))
		s.more = fmt.Sprintf("webhooks: {flux: {secret: {file: %q}}}\n", secret)
		p := &wavesRun{s.start(program), make(chan struct{}, 10_000), clusters != ""}
		go p.count()
		p.merge()
		p.rounds("in-sync")
		p.reportAll()
		p.rounds("in-sync")
		s.change(0)
		p.rounds("proposed")
		var spent []float64
		for i := range waveCount - 1 {
			p.merge()
			spent = append(spent, p.rounds("waiting"))
			p.reportAll()
			spent = append(spent, p.rounds("proposed"))
			if title := gittest.Git(b, s.server.Dir("out"), "log", "-1", "--format=%s", "fairlead/prod0"); !strings.Contains(title, fmt.Sprintf(" %d/%d: ", i+2, waveCount)) {
				b.Fatalf("after wave %d it proposes %q", i+1, title)
			}
		}
		b.ReportMetric(median(spent)*1e3, "ms/round")
		b.ReportMetric(spent[len(spent)-1]*1e3, "ms/slowest") // median has sorted them
		if got := median(spent); got > mostWave {
			b.Errorf("a round takes %.0f ms of CPU, want at most %.0f", got*1e3, mostWave*1e3)
		}
	}
}

// wavesRun is a daemon whose cycles are counted.
type wavesRun struct {
	*process
	cycles     chan struct{}
	perCluster bool
}

func (p *wavesRun) count() {
	for p.log.Scan() {
		if bytes.Contains(p.log.Bytes(), []byte(`"msg":"cycle"`)) {
			p.cycles <- struct{}{}
		}
	}
}

// rounds has the daemon do cycles until the environment is in a state, and gives the CPU time of the slowest.
func (p *wavesRun) rounds(want string) (spent float64) {
	p.Helper()
	state, reason := "", ""
	for range 3000 { // reports are taken in together, after some seconds
		for len(p.cycles) > 0 {
			<-p.cycles
		}
		before := p.cpu()
		answer, err := http.Post("http://"+p.address+"/api/v1/wake", "", nil)
		p.must(err)
		p.must(answer.Body.Close())
		<-p.cycles
		spent = max(spent, (p.cpu()-before)/float64(1+len(p.cycles)))
		if state, reason = p.stateOf(0); state == want {
			return spent
		}
	}
	p.Fatalf("it is %s (%s), want %s", state, reason, want)
	return 0
}

// reportAll has every cluster report the head of the output.
func (p *wavesRun) reportAll() {
	p.Helper()
	head := gittest.Commit(p, p.server.Dir("out"), "prod0")
	n := waveTypes * clustersPerType
	if p.perCluster {
		n = edgeClusters
	}
	for i := range n {
		clusterType := fmt.Sprintf("ct-%04d", i%waveTypes)
		if p.perCluster {
			clusterType = fmt.Sprintf("cluster-%d", i)
		}
		body := fmt.Sprintf(`{"involvedObject": {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "namespace": "flux-system", "name": "fleet"},
			"severity": "info", "timestamp": %q, "reason": "ReconciliationSucceeded", "message": "done",
			"metadata": {"revision": "prod0@sha1:%s", "cluster": "cluster-%d", "environment": "prod0", "clusterType": %q}}`,
			time.Now().UTC().Format(time.RFC3339), head, i, clusterType)
		mac := hmac.New(sha256.New, []byte("a shared secret of all clusters"))
		mac.Write([]byte(body))
		r, err := http.NewRequest(http.MethodPost, "http://"+p.address+"/webhooks/flux", strings.NewReader(body))
		p.must(err)
		r.Header.Set("X-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		answer, err := http.DefaultClient.Do(r)
		p.must(err)
		p.must(answer.Body.Close())
		if answer.StatusCode >= 300 {
			p.Fatalf("the report is answered with %s", answer.Status)
		}
	}
}
