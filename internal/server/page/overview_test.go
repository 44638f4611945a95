package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// TestFoldedGraph: of more environments than are drawn each column has the most urgent, and a box for the
// others, which leads to the list.
func TestFoldedGraph(t *testing.T) {
	all := []answer.Environment{{Name: "dev"}, {Name: "test", After: []string{"dev"}}}
	for i := range maxDrawn + 7 {
		e := answer.Environment{Name: fmt.Sprintf("prod-%02d", i), After: []string{"test"}, State: answer.State{Tone: answer.Good, Word: "verified"}}
		if i >= maxDrawn {
			e.State = answer.State{Tone: answer.Bad, Word: "failed"}
		}
		all = append(all, e)
	}
	all = append(all, answer.Environment{Name: "last", After: []string{"prod-00", "prod-01", "prod-60"}})
	var boxes, arrows []string
	v := newOverviewView(answer.Overview{Environments: promoteAll(all)}, Frame{})
	for _, b := range v.Graph.Boxes {
		boxes = append(boxes, strings.TrimSpace(b.Title+" "+b.Word))
	}
	for _, a := range v.Graph.Arrows {
		arrows = append(arrows, a.From+" > "+a.To)
	}
	want := "dev, test, prod-60 failed, prod-61 failed, prod-62 failed, prod-63 failed, prod-64 failed, + 62 more 2 need mending, last"
	if got := strings.Join(boxes, ", "); got != want {
		t.Errorf("drawn are %s, want %s", got, want)
	}
	want = "dev > test, test > prod-60, test > prod-61, test > prod-62, test > prod-63, test > prod-64, test > /2, /2 > last, prod-60 > last"
	if got := strings.Join(arrows, ", "); got != want {
		t.Errorf("the arrows are %s, want %s", got, want)
	}
	if few := newOverviewView(answer.Overview{Environments: promoteAll(all[:maxDrawn])}, Frame{}); len(few.Graph.Boxes) != maxDrawn {
		t.Errorf("of %d environments %d are drawn", maxDrawn, len(few.Graph.Boxes))
	}
}

func promoteAll(all []answer.Environment) []answer.Environment {
	for i := range all {
		all[i].Promoted = true
	}
	return all
}

// TestNeedsOfMany: what many environments need for the same reason is one line that names a few of them.
func TestNeedsOfMany(t *testing.T) {
	var needs []answer.Need
	for i := range 66 {
		needs = append(needs, answer.Need{Environment: fmt.Sprintf("prod-%02d", i), Reason: "mend: it"})
	}
	v := newNeeds(needs)
	if len(v) != 1 || len(v[0].Named()) != maxOthers || v[0].More() != 66-1-maxOthers {
		t.Errorf("%d lines, which name %v and %d more", len(v), v[0].Named(), v[0].More())
	}
}

// TestClusterState: a cluster that is ready is not called so beside objects of it that failed.
func TestClusterState(t *testing.T) {
	for want, phases := range map[answer.State][]string{
		{Tone: answer.Good, Word: "ready"}: {"ready", "progressing"}, {Tone: answer.Bad, Word: "1 object failed"}: {"failed", "ready", "waits for approval", "drifted"}, {Tone: answer.Bad, Word: "drifted"}: {"drifted", "ready"}, {Tone: answer.Bad, Word: "2 objects failed"}: {"failed", "failed"},
	} {
		v := clusterView{answer.Cluster{Standings: []answer.ClusterStanding{{State: answer.State{Tone: answer.Good, Word: "ready"}}}}}
		for _, phase := range phases {
			v.Objects = append(v.Objects, fleetview.ClusterObject{Phase: phase})
		}
		if got := v.State(); got != want {
			t.Errorf("with objects that are %v it is %v, want %v", phases, got, want)
		}
	}
}
