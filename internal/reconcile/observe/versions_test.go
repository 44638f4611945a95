package observe_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

// withheldMessage begins what notification-controller 1.8.0 to 1.8.3 do not forward to providers of
// the types generic and generic-hmac.
const withheldMessage = "Reconciliation finished"

// TestVersions posts the events of testdata/versions.txtar in their order: what one cluster's
// kustomize-controller says while commit 1 and then commit 2, which changes nothing on the cluster,
// reach it, and what is known after each. With notification-controller 1.8.0 to 1.8.3 the cluster
// never reports the second commit, and is not heard of again.
func TestVersions(t *testing.T) {
	file := filepath.Join("testdata", "versions.txtar")
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, withholds string }{{"1.9", ""}, {"1.8.0 to 1.8.3", withheldMessage}} {
		known := openRecorder(t)
		var got strings.Builder
		for _, f := range archive.Files {
			if !strings.HasSuffix(f.Name, ".json") || c.withholds != "" && strings.Contains(string(f.Data), c.withholds) {
				continue
			}
			e, err := observe.ParseFlux(f.Data, "")
			if err != nil {
				t.Fatal(f.Name, err)
			}
			news, err := known.Add(e)
			if err != nil {
				t.Fatal(err)
			}
			known.Reports(func(e observe.Event) (bool, bool) {
				fmt.Fprintf(&got, "%s: %s at %.7s, said at %s, news: %t\n", f.Name, e.Phase, e.Commit, e.When.Format("15:04:05"), news)
				return true, true
			})
		}
		want := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == c.name })
		if diff := cmp.Diff(string(archive.Files[want].Data), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
