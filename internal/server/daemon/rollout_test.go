package daemon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestRolloutStops: a rollout that fails on 2 of 40 clusters, which report by agents, Flux and Argo CD with
// keys of their own, stops with their names in the verdict, on the page, and in the answer of the API. When
// they are mended it goes on; and clusters whose type a commit does not change need not report it.
func TestRolloutStops(t *testing.T) {
	w := newRollouts(t, "rollout: {of: expected, percent: 90, failures: {percent: 2}}", "30", "10")
	first := baseHead(w)
	w.serve(ledgerSecret)
	w.await("the first output", merged("dev"))
	output := w.head("dev")
	ready := func(cluster int) {
		switch {
		case cluster < 15:
			name := fmt.Sprintf("agent-%d", cluster)
			w.agent(name, w.entry("fleet", "cloud", "ready", "dev@sha1:"+output, ""), w.entry("web", "", "ready", "master@sha1:"+strings.Repeat("7", 40), ""))
		case cluster < 30:
			w.flux(fmt.Sprintf("flux-%d", cluster), "fleet", "dev@sha1:"+output, "")
			w.flux(fmt.Sprintf("flux-%d", cluster), "web", "master@sha1:"+strings.Repeat("7", 40), "")
		default:
			w.argoCD(fmt.Sprintf("argo-%d", cluster), "Healthy", output)
		}
	}
	for i := range 35 {
		ready(i)
	}
	w.awaitVerdict("wait", "35 of 40 clusters ready", "5 unheard (of edge)")
	w.wantStanding("ready=35 expected=40 unheard=5 failed=0")
	for i := range 40 {
		ready(i)
	}
	w.awaitVerdict("pass")
	w.await("prod has the first commit", has("prod", first))

	second := w.commit(baseConfig("level", "", "1"))
	w.await("dev has the second commit", has("dev", second))
	w.await("it is merged", merged("dev"))
	output = w.head("dev")
	w.pass(time.Minute)
	for i := range 40 {
		switch i {
		case 20:
			w.flux("flux-20", "fleet", "dev@sha1:"+output, "timeout waiting for Deployment/web")
		case 33:
			w.argoCD("argo-33", "Degraded", output)
		default:
			ready(i)
		}
	}
	w.awaitVerdict("fail", "2 of 40 clusters failed, and 2% may", "flux-20: timeout waiting for Deployment/web", "argo-33")
	w.wantStanding("ready=38 expected=40 unheard=0 failed=2")
	for _, path := range []string{"/", "/api/v1/status"} {
		text := w.page(path)
		for _, word := range []string{"flux-20: timeout waiting for Deployment/web", "argo-33"} {
			if !strings.Contains(text, word) {
				t.Errorf("%s does not have %q", path, word)
			}
		}
	}
	w.pass(time.Minute)
	w.await("another cycle", has("prod", first))

	w.pass(time.Minute)
	ready(20)
	ready(33)
	w.awaitVerdict("pass")
	w.await("prod has the second commit", has("prod", second))

	third := w.commit(baseConfig("cloudy", "cloud", "1"))
	w.await("dev has the third commit", has("dev", third))
	w.await("it is merged", merged("dev"))
	output = w.head("dev")
	w.pass(time.Minute)
	for i := range 29 {
		ready(i)
	}
	w.await("prod has the third commit", has("prod", third))
}

// baseHead returns the newest commit of the base.
func baseHead(w *rollouts) string {
	w.people.Pull("main")
	return strings.TrimSpace(gittest.Git(w, w.people.Dir, "rev-parse", "HEAD"))
}
