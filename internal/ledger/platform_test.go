package ledger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// word is what a cluster says of one of its objects by an event.
type word struct {
	object, revision string
	claims           ledger.Group
	after            time.Duration // the one before
}

// TestPlaceClusters: to which environment a cluster belongs that reports by events, and which of its
// objects pulls the output of that, follows from what is an output, and not from what it claims.
func TestPlaceClusters(t *testing.T) {
	prod, dev := ledger.Group{Environment: "prod", ClusterType: "large"}, ledger.Group{Environment: "dev", ClusterType: "large"}
	none := ledger.Group{}
	const fleet, apps, tenant, helm = "Kustomization/flux-system/fleet", "Kustomization/flux-system/apps", "Kustomization/team/apps", "HelmRelease/web/api"
	origins := map[string][]string{"P1": {"prod"}, "P2": {"prod"}, "D1": {"dev"}, "S1": {"dev", "prod"}}
	for _, c := range []struct {
		name     string
		words    []word
		want     ledger.Group
		platform string
	}{
		{"the object at an output", []word{{apps, "W1", prod, 0}, {fleet, "P1", prod, 0}, {helm, "1.2.3", prod, 0}}, prod, fleet},
		{"no object at an output", []word{{fleet, "W1", prod, 0}}, prod, ""},
		{"a claim that is not true", []word{{fleet, "D1", prod, 0}}, dev, fleet},
		{"no claim", []word{{fleet, "P1", none, 0}}, ledger.Group{Environment: "prod"}, fleet},
		{"an output of two environments, one of which is claimed", []word{{fleet, "S1", prod, 0}}, prod, fleet},
		{"an output of two environments, none of which is claimed", []word{{fleet, "S1", none, 0}}, none, ""},
		{"an output of two environments, and a third is claimed", []word{{fleet, "S1", ledger.Group{Environment: "test"}, 0}}, ledger.Group{Environment: "test"}, ""},
		{"an object of a tenant", []word{{tenant, "P2", prod, 0}, {fleet, "P1", prod, 0}}, prod, fleet},
		{"an object of a tenant at the output that is claimed", []word{{tenant, "P1", prod, 0}, {fleet, "D1", prod, 0}}, dev, fleet},
		{"nothing but the object of a tenant", []word{{tenant, "P1", prod, 0}}, prod, tenant},
		{"the object goes on to a revision that is not known", []word{{fleet, "P1", prod, 0}, {fleet, "X", prod, time.Minute}}, prod, fleet},
		{"the same, and an object of a tenant", []word{{fleet, "P1", prod, 0}, {fleet, "X", prod, time.Minute}, {tenant, "P1", prod, 0}}, prod, fleet},
		{"it moves", []word{{fleet, "D1", dev, 0}, {fleet, "P1", dev, time.Minute}}, prod, fleet},
		{"it claims something else later", []word{{fleet, "P1", prod, 0}, {fleet, "P1", dev, time.Minute}}, prod, fleet},
		{"its type changes", []word{{fleet, "P1", prod, 0}, {fleet, "P1", ledger.Group{Environment: "prod", ClusterType: "small"}, time.Minute}}, ledger.Group{Environment: "prod", ClusterType: "small"}, fleet},
		{"another object takes over", []word{{apps, "P1", prod, 0}, {fleet, "P2", prod, 25 * time.Hour}}, prod, fleet},
		{"of two, the same one, whichever speaks first", []word{{fleet, "P1", prod, 0}, {apps, "P1", prod, time.Minute}}, prod, apps},
	} {
		l := ledger.New(100)
		now := time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)
		for _, w := range c.words {
			now = now.Add(w.after)
			contact := ledger.Contact{Name: "e1", Group: w.claims, Received: now}
			l.Receive(contact, []ledger.Report{{Object: ledger.Object{Name: w.object}, Phase: ledger.Ready, Target: w.revision, Said: now}})
			l.PlaceClusters(origins, now)
		}
		got := l.FindCluster("e1")
		if got.Group != c.want || got.Platform != c.platform {
			t.Errorf("%s: it is %+v by %q, want %+v by %q", c.name, got.Group, got.Platform, c.want, c.platform)
		}
		if again := l.PlaceClusters(origins, now); again != nil {
			t.Errorf("%s: asked again, another place has %v", c.name, again)
		}
	}
}

// TestSeveralPlatforms: a cluster that reports by events, which do not say what an object applies, is at an output when all
// objects of the platform are that report one. No tenant can add one, and one that reports no more counts for a day.
func TestSeveralPlatforms(t *testing.T) {
	now := time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)
	prod := ledger.Group{Environment: "prod", ClusterType: "large"}
	const fleet, stacks, tenant = "Kustomization/flux-system/fleet", "Kustomization/flux-system/stacks", "Kustomization/team/apps"
	origins := map[string][]string{"A": {"prod"}, "B": {"prod"}}
	outputs := &ledger.Outputs{}
	outputs.Add(ledger.Output{Revision: "A", Folders: map[string]string{"large": "l1", "environments": "s1"}})
	outputs.Add(ledger.Output{Revision: "B", Folders: map[string]string{"large": "l1", "environments": "s2"}})
	wanted, _ := outputs.Newest()
	l := ledger.New(100)
	for _, step := range []struct {
		after            time.Duration
		object, revision string
		phase            ledger.Phase
		class            ledger.Class
		decides          string
	}{
		{0, fleet, "A", ledger.Ready, ledger.ClassReady, fleet}, // one alone is judged by the folder of its type
		{0, stacks, "A", ledger.Ready, ledger.ClassBehind, fleet},
		{time.Minute, fleet, "B", ledger.Ready, ledger.ClassBehind, stacks},
		{time.Second, stacks, "B", ledger.Failed, ledger.ClassFailed, stacks},
		{time.Second, fleet, "B", ledger.Ready, ledger.ClassFailed, stacks},
		{time.Second, stacks, "B", ledger.Ready, ledger.ClassReady, fleet},
		{time.Second, tenant, "A", ledger.Failed, ledger.ClassReady, fleet},
		{time.Second, stacks, "A", ledger.Ready, ledger.ClassBehind, stacks},
		{23 * time.Hour, fleet, "B", ledger.Ready, ledger.ClassBehind, stacks},
		{2 * time.Hour, fleet, "B", ledger.Ready, ledger.ClassReady, fleet}, // it is gone
	} {
		now = now.Add(step.after)
		l.Receive(ledger.Contact{Name: "e1", Group: prod, Received: now}, []ledger.Report{{Object: ledger.Object{Name: step.object}, Phase: step.phase, Target: step.revision, Said: now}})
		l.PlaceClusters(origins, now)
		all := l.FindStandings(ledger.Wanted{Environment: "prod", Output: wanted}, outputs, now)
		if len(all) != 1 || all[0].Class != step.class || all[0].Object.Name != step.decides {
			t.Errorf("%s at %s: it is %s by %s, want %s by %s", step.object, step.revision, all[0].Class, all[0].Object.Name, step.class, step.decides)
		}
		if again := l.PlaceClusters(origins, now); again != nil {
			t.Errorf("asked again, another place has %v", again)
		}
	}
}

// TestChangesPlaceNobody: a report of what has changed does not show what else applies the output, so it moves no cluster:
// where it would, everything is asked for.
func TestChangesPlaceNobody(t *testing.T) {
	now := time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)
	prod, stacks := ledger.Group{Environment: "prod", ClusterType: "large"}, ledger.Group{Environment: "prod", ClusterType: "environments"}
	const fleet, other, tenant = "Kustomization/flux-system/fleet", "Kustomization/flux-system/stacks", "Kustomization/team/apps"
	for _, c := range []struct {
		name   string
		change ledger.Contact
		said   string
		wants  bool
	}{
		{"the platform object", ledger.Contact{Group: prod, Platform: fleet}, fleet, false},
		{"the other one", ledger.Contact{Group: stacks, Platform: other}, other, false},
		{"an object of a tenant", ledger.Contact{}, tenant, false},
		{"an object of a tenant that reads the output", ledger.Contact{Group: ledger.Group{Environment: "stage", ClusterType: "large"}, Platform: tenant}, tenant, false},
		{"a third one", ledger.Contact{Group: prod, Platform: "Kustomization/flux-system/third"}, "Kustomization/flux-system/third", true},
		{"it applies another folder", ledger.Contact{Group: stacks, Platform: fleet}, fleet, true},
		{"it applies nothing of the output", ledger.Contact{}, other, true},
		{"it is of another environment", ledger.Contact{Group: ledger.Group{Environment: "stage", ClusterType: "large"}, Platform: fleet}, fleet, true},
		{"one is gone", ledger.Contact{Gone: []string{other}}, tenant, true},
	} {
		l := ledger.New(100)
		first := ledger.Contact{Name: "e1", UID: "1", Group: prod, Platform: fleet, Others: []ledger.Applier{{Object: other, Folder: "environments"}}, Boot: "1", Sequence: 1,
			Sent: now, Received: now, Scope: ledger.Everything, Digest: "1"}
		l.Receive(first, []ledger.Report{{Object: ledger.Object{Name: fleet}, Phase: ledger.Ready, Target: "A", Said: now}, {Object: ledger.Object{Name: other}, Phase: ledger.Ready, Target: "A", Said: now}})
		c.change.Name, c.change.UID, c.change.Boot, c.change.Sequence, c.change.Scope, c.change.Base, c.change.Digest = "e1", "1", "1", 2, ledger.Changes, "1", "2"
		c.change.Sent, c.change.Received = now.Add(time.Minute), now.Add(time.Minute)
		receipt := l.Receive(c.change, []ledger.Report{{Object: ledger.Object{Name: c.said}, Phase: ledger.Ready, Target: "B", Said: now}})
		got := l.FindCluster("e1")
		if receipt.WantsEverything != c.wants || got.Group != prod || got.Platform != fleet || len(got.Others) != 1 {
			t.Errorf("%s: everything is wanted: %t, want %t; it is %+v by %s and %v", c.name, receipt.WantsEverything, c.wants, got.Group, got.Platform, got.Others)
		}
	}
}

// TestPlaceClustersLeaves: a cluster with an agent, and one that does not prove its name, are left alone,
// and their revisions are not asked for.
func TestPlaceClustersLeaves(t *testing.T) {
	now := time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)
	prod := ledger.Group{Environment: "prod", ClusterType: "large"}
	l := ledger.New(100)
	ready := []ledger.Report{{Object: ledger.Object{Name: "P"}, Phase: ledger.Ready, Target: "D1", Said: now}}
	l.Receive(ledger.Contact{Name: "agent", Group: prod, Platform: "P", Boot: "1", Sequence: 1, Every: time.Minute, Sent: now, Received: now, Scope: ledger.Everything}, ready)
	l.Receive(ledger.Contact{Name: "agent", Group: ledger.Group{Environment: "dev"}, Received: now}, ready)
	l.Receive(ledger.Contact{Name: "unproven", Group: prod, Unproven: true, Received: now}, ready)
	if all := l.FindRevisions(now.Add(time.Hour)); all != nil {
		t.Errorf("asked for are %q", all)
	}
	if all := l.PlaceClusters(map[string][]string{"D1": {"dev"}}, now.Add(time.Hour)); all != nil {
		t.Errorf("placed are %v", all)
	}
	for _, c := range l.Clusters() {
		if c.Group != prod {
			t.Errorf("%s is %+v", c.ID, c.Group)
		}
	}
	l.Receive(ledger.Contact{Name: "events", Group: prod, Received: now}, ready)
	if all := strings.Join(l.FindRevisions(now), " "); all != "D1" {
		t.Errorf("asked for are %q", all)
	}
}
