package ledger_test

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// TestBound: a cluster whose key is bound to environments belongs to no other one, and to none with a closed list that does not
// name it, whatever it reports by an agent or by events, also if it has belonged there before. The environment that it is excluded
// from is known, until it is no longer.
func TestBound(t *testing.T) {
	var open ledger.Membership
	testBound(t, open.WithBound(map[string][]string{"zz-3": {"dev", "stage"}}))
	list := ledger.ClosedList{Subject: "ClusterList/prod", Types: map[string]string{"east-1": "large"}}
	testBound(t, open.WithClosed("stage", list).WithClosed("prod", list).WithClosed("stage", ledger.ClosedList{}))
}

func testBound(t *testing.T, limits ledger.Membership) {
	t.Helper()
	noon := time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)
	const fleet = "Kustomization/flux-system/fleet"
	origins := map[string][]string{"P1": {"prod"}, "D1": {"dev"}}
	for _, c := range []struct {
		name, environment, revision string
		agent, late                 bool // the key is bound after the first contact
		want                        string
	}{
		{"events of its environment", "dev", "D1", false, false, "dev"},
		{"events of another one", "prod", "P1", false, false, ""},
		{"events that claim another one", "prod", "D1", false, false, "dev"},
		{"events of another one before", "prod", "P1", false, true, ""},
		{"an agent of its environment", "dev", "D1", true, false, "dev"},
		{"an agent of another one", "prod", "P1", true, false, ""},
		{"an agent of another one before", "prod", "P1", true, true, ""},
	} {
		l := ledger.New(100)
		if !c.late {
			l.SetMembership(limits)
		}
		contact := ledger.Contact{Name: "zz-3", Group: ledger.Group{Environment: c.environment, ClusterType: "large"}, Received: noon}
		if c.agent {
			contact.Boot, contact.Sequence, contact.Sent, contact.Platform, contact.Scope, contact.Digest = "1", 1, noon, fleet, ledger.Everything, "1"
		}
		l.Receive(contact, []ledger.Report{{Object: ledger.Object{Name: fleet}, Phase: ledger.Ready, Target: c.revision, Said: noon}})
		l.PlaceClusters(origins, noon)
		now := noon.Add(time.Minute)
		l.SetMembership(limits)
		moved := l.RemoveExcluded(now)
		l.PlaceClusters(origins, now)
		got := l.FindCluster("zz-3")
		if got.Group.Environment != c.want || (got.Platform == "") != (c.want == "") || (len(moved) > 0) != c.late {
			t.Errorf("%s: it is of %q by %q, want %q; %v", c.name, got.Group.Environment, got.Platform, c.want, moved)
		}
		if wantExcluded := c.environment == "prod"; (got.Excluded == "prod") != wantExcluded {
			t.Errorf("%s: it is excluded from %q", c.name, got.Excluded)
		}
		if again := l.RemoveExcluded(now); again != nil {
			t.Errorf("%s: removed again are %v", c.name, again)
		}
		l.SetMembership(ledger.Membership{})
		if again := l.RemoveExcluded(now); again != nil || got.Excluded != "" {
			t.Errorf("%s: once nobody is excluded it is from %q, and removed are %v", c.name, got.Excluded, again)
		}
	}
}

// TestSilence: a cluster is silent after three contacts are missing, and by events, which do not come in time, not before
// three minutes.
func TestSilence(t *testing.T) {
	noon := time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		boot        string
		every, want time.Duration
	}{
		{"1", 10 * time.Second, 30 * time.Second}, {"1", time.Second, 30 * time.Second}, {"1", time.Minute, 3 * time.Minute},
		{"", 10 * time.Second, 3 * time.Minute}, {"", 10 * time.Minute, 30 * time.Minute},
	} {
		l := ledger.New(10)
		l.Receive(ledger.Contact{Name: "e1", Boot: c.boot, Sequence: 1, Sent: noon, Received: noon, Every: c.every}, nil)
		if got := l.FindCluster("e1").SilentAt().Sub(noon); got != c.want {
			t.Errorf("boot %q, every %s: silent after %s, want %s", c.boot, c.every, got, c.want)
		}
	}
}
