package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

func useFleet(m *Metrics) {
	m.RecordFleetReport("everything")
	m.RecordFleetReport("nonsense")
	m.RecordWebhook("flux", "woken")
	m.RecordLever("hold", "done")
	m.RecordWebhook("argocd", "unauthorized")
	m.SetFleet("dev", []ledger.Standing{{Type: "large", Class: ledger.ClassSilent}, {Type: "left", Class: ledger.ClassReady}}, time.Minute)
	m.SetFleet("dev", []ledger.Standing{
		{Type: "large", Class: ledger.ClassReady}, {Type: "large", Class: ledger.ClassReady}, {Type: "small", Class: ledger.ClassReady}, {Type: "small", Class: ledger.ClassFailed},
	}, 90*time.Second)
	m.RecordRefusal(ledger.RefusedReplay)
	m.SetPendingChanges(7)
	m.RecordFlush(time.Second)
	m.SetStoreSize(4096)
}

// TestFleet: clusters are counted by environment and type, those of types that are no more too no
// longer.
func TestFleet(t *testing.T) {
	for _, c := range []struct {
		name        string
		do          func(*Metrics)
		want, never []string
	}{
		{
			"not all ready", func(*Metrics) {},
			[]string{
				`clusters{environment="dev",standing="ready"} 3`, `clusters{environment="dev",standing="failed"} 1`, `clusters{environment="dev",standing="silent"} 0`,
				`clusters_by_type{cluster_type="small",environment="dev",standing="failed"} 1`, `clusters_by_type{cluster_type="large",environment="dev",standing="silent"} 0`,
				`rollout_percent{environment="dev"} 75`, `rollout_age_seconds{environment="dev"} 90`,
			},
			[]string{`"left"`},
		},
		{
			"all ready", func(m *Metrics) {
				m.SetFleet("dev", []ledger.Standing{{Type: "large", Class: ledger.ClassReady}}, time.Hour)
			},
			[]string{`rollout_percent{environment="dev"} 100`, `rollout_age_seconds{environment="dev"} 0`}, nil,
		},
		{
			"no clusters", func(m *Metrics) { m.SetFleet("dev", nil, time.Hour) },
			[]string{`clusters{environment="dev",standing="ready"} 0`}, []string{"rollout_percent{", "rollout_age_seconds{"},
		},
		{
			"merged by a clock that is ahead", func(m *Metrics) { m.SetFleet("dev", []ledger.Standing{{Class: ledger.ClassBehind}}, -time.Hour) },
			[]string{`rollout_age_seconds{environment="dev"} 0`, `rollout_percent{environment="dev"} 0`}, nil,
		},
		{"forgotten", func(m *Metrics) { m.ForgetFleet("dev") }, nil, []string{`environment="dev",standing`, "rollout_percent{"}},
		{"500 types", func(m *Metrics) { m.SetFleet("prod", manyTypes(498), 0) }, []string{`clusters_by_type{cluster_type="t497",environment="prod",standing="ready"} 1`}, nil},
		{
			"501 types", func(m *Metrics) { m.SetFleet("prod", manyTypes(499), 0) },
			[]string{`clusters{environment="prod",standing="ready"} 499`, `clusters{environment="dev",standing="ready"} 3`}, []string{"clusters_by_type{"},
		},
	} {
		m := busy()
		c.do(m)
		body := scrape(m).Body.String()
		for _, line := range c.want {
			if !strings.Contains(body, "\nfairlead_fleet_"+line+"\n") {
				t.Errorf("%s: %s is missing", c.name, line)
			}
		}
		for _, text := range c.never {
			if strings.Contains(body, text) {
				t.Errorf("%s: there is %s", c.name, text)
			}
		}
	}
}

func manyTypes(n int) (all []ledger.Standing) {
	for i := range n {
		all = append(all, ledger.Standing{Type: fmt.Sprintf("t%d", i), Class: ledger.ClassReady})
	}
	return all
}
