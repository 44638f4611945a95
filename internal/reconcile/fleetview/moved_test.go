package fleetview_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// TestMoved: a cluster that belongs to another environment than before is shown as moved where it was, and what
// it said is shown where it was then.
func TestMoved(t *testing.T) {
	const object = `"object":"Kustomization/flux-system/checkout-api","version":"1.4.1","revision":"main@sha1:1111111111111111111111111111111111111111","phase":"ready",`
	const before = `{"cluster":"west-2","environment":"prod","clusterType":"small",` + object + `"since":"2026-11-23T11:06:00Z","until":"2026-11-23T13:05:00Z"}` + "\n"
	const since = `{"cluster":"west-2","environment":"stage","clusterType":"large",` + object + `"since":"2026-11-23T13:05:00Z"}` + "\n"
	onBothEngines(t, func(t *testing.T, w *ledgerworld.World) {
		w.Recorder.SetListed("prod", map[string]string{"west-2": "small"}, "")
		w.MoveCluster("stage", "large", "west-2")
		for _, c := range []struct{ question, want string }{
			{"clusters?environment=prod&cluster=west-2", `{"name":"west-2","environment":"prod","clusterType":"small","standing":"moved","why":"it belongs to stage, type large, since 2026-11-23T13:05:00Z","firstSeen":"2026-11-23T11:06:00Z","lastSeen":"2026-11-23T13:05:00Z"}` + "\n"},
			{"clusters?standing=moved", `{"name":"west-2","environment":"prod","clusterType":"small","standing":"moved","why":"it belongs to stage, type large, since 2026-11-23T13:05:00Z","firstSeen":"2026-11-23T11:06:00Z","lastSeen":"2026-11-23T13:05:00Z"}` + "\n"},
			{"clusters?environment=stage&cluster=west-2", `{"name":"west-2","environment":"stage","clusterType":"large","standing":"failed","why":"GitRepository/flux-system/gitops cannot be fetched: authentication required","revision":"main@sha1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","since":"2026-11-23T13:05:00Z","firstSeen":"2026-11-23T11:06:00Z","lastSeen":"2026-11-23T13:05:00Z","movedFrom":{"environment":"prod","clusterType":"small","until":"2026-11-23T13:05:00Z"}}` + "\n"},
			{"behind?environment=prod&standing=unheard&type=small", `{"cluster":"west-2","clusterType":"small","clusters":1,"standing":"unheard","cause":"unheard","why":"it belongs to stage, type large, since 2026-11-23T13:05:00Z"}` + "\n"},
			{"history?workload=checkout&cluster=west-2", before + since},
			{"history?workload=checkout&cluster=west-2&environment=prod", before},
			{"history?workload=checkout&cluster=west-2&environment=stage", since},
			{"history?workload=checkout&cluster=west-2&type=small", before},
			{"where?workload=checkout&cluster=west-2", since},
			{"where?workload=checkout&cluster=west-2&at=2026-11-23T12:00:00Z", before},
			{"where?workload=checkout&cluster=west-2&environment=stage&at=2026-11-23T12:00:00Z", ""},
		} {
			diff := cmp.Diff(c.want, answer(t, w, c.question))
			if diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.question, diff)
			}
		}
	})
}
