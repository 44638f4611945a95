package fleetview

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestReleaseList: a version is a release when the first cluster of an environment runs it; a cluster that comes
// late to it, or that becomes ready again, is none, and one that goes back is.
func TestReleaseList(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, time.November, 23, 12, minute, 0, 0, time.UTC) }
	span := func(cluster, version, phase string, since, until int) Placement {
		p := Placement{Environment: "prod", Cluster: cluster, Object: "Kustomization/shop/api", Version: version, Phase: phase, Since: at(since)}
		if until > 0 {
			p.Until = at(until)
		}
		return p
	}
	r := releases{target: "api", ran: map[string]map[string]bool{}, last: map[string]string{}}
	for _, p := range []Placement{
		span("east", "1", "ready", 0, 10), span("east", "2", "ready", 10, 20), span("east", "2", "failed", 20, 25), span("east", "1", "ready", 25, 40), span("east", "3", "ready", 40, 0),
		span("late", "1", "ready", 5, 15), span("late", "", "progressing", 15, 22), span("late", "2", "ready", 22, 0),
		span("west", "1", "ready", 1, 30), span("west", "1", "failed", 30, 0),
	} {
		r.add(p)
	}
	want := []Release{
		{Target: "api", Environment: "prod", Version: "3", Since: at(40), Clusters: 1},
		{Target: "api", Environment: "prod", Version: "1", Since: at(25), Until: at(40), Clusters: 1, Failed: 1},
		{Target: "api", Environment: "prod", Version: "2", Since: at(10), Until: at(25), Clusters: 1},
		{Target: "api", Environment: "prod", Version: "1", Since: at(0), Until: at(10)},
	}
	if diff := cmp.Diff(want, r.list()); diff != "" {
		t.Errorf("releases (-want +got):\n%s", diff)
	}
}
