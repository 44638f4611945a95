package daemon_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestGiteaRollout: on a real Gitea, a rollout that fails on 2 of 40 clusters stops, the verdict and the
// API name them, and the status of the commit says which failed first.
func TestGiteaRollout(t *testing.T) {
	chain := `apiVersion: fairlead.io/v1alpha1
kind: Promotion
metadata: {name: fleet}
spec:
  environments:
    - {name: dev, merge: direct, proof: [rollout: {of: expected, clusters: 40, percent: 90, failures: {percent: 2}}]}
    - {name: prod, after: [dev], merge: direct}
`
	f := newFlow(t, map[string]string{".fairlead/promotion.yaml": chain}, "dev", "prod")
	f.more = "ledger: {secret: {env: LEDGER}}\n"
	f.serve("managed")
	w := &rollouts{T: t, base: f.base, now: time.Now().UTC().Truncate(time.Second)}
	var last status.Snapshot
	f.awaitAll("the output is merged", &last, merged("dev"))
	head, _, _ := strings.Cut(gittest.Git(t, t.TempDir(), "ls-remote", f.server.Remote(f.out), "refs/heads/dev"), "\t")
	for i := range 40 {
		message := ""
		if i == 7 || i == 23 {
			message = "timeout waiting for Deployment/web"
		}
		w.flux(fmt.Sprintf("c%d", i), "fleet", "dev@sha1:"+head, message)
	}
	f.awaitAll("the rollout fails", &last, func(s status.Snapshot) bool {
		now, _ := s.Chain.FindStage("dev")
		text := reasonsOf(now)
		return now.Proof.Status == "fail" && strings.Contains(text, "2 of 40 clusters failed, and 2% may") && strings.Contains(text, "c23") && strings.Contains(text, "c7")
	})
	code, page := ask(t, http.MethodGet, f.base+"/api/v1/status")
	if code != http.StatusOK || !strings.Contains(page, "c23: timeout waiting for Deployment/web") {
		t.Errorf("the status is %d, and does not name c23", code)
	}
	dev, _ := last.Chain.FindStage("dev")
	said := ""
	for _, s := range f.server.Statuses(f.cp, dev.Commit) {
		if s.Context == "dev environment" {
			said = s.State + " " + s.Description
		}
	}
	if !strings.HasPrefix(said, "failure Failed to deploy: ") || !strings.Contains(said, " of 40 clusters failed, and 2% may: c") {
		t.Errorf("the status of the commit is %q", said)
	}
	if prod, _ := last.Chain.FindStage("prod"); prod.Commit != "" {
		t.Errorf("prod has %s", prod.Commit)
	}
}
