package loop_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
)

// TestVerify has every rendering made again from nothing.
func TestVerify(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.more += "verify: 100%\n"
	m := metrics.New("test")
	d := w.begin(w.data, func(o *loop.Options) { o.Metrics = m })
	d.cycle()
	w.edit("dev", "configs/environment.yaml", "LOG_LEVEL: debug", "LOG_LEVEL: warning")
	d.cycle()
	d.cycle() // nothing is rendered that was not compared already
	if err := d.VerifyLie("dev"); err == nil || !strings.Contains(err.Error(), "rendered from nothing it is") {
		t.Errorf("of a memory that lies is said %v", err)
	}
	d.cycle() // from nothing
	answer := httptest.NewRecorder()
	m.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{`fairlead_verifications_total{outcome="different"} 1`, `fairlead_verifications_total{outcome="same"} 2`} {
		if !strings.Contains(answer.Body.String(), want+"\n") {
			t.Errorf("the metrics lack %s:\n%s", want, answer.Body)
		}
	}
}
