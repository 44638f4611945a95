package source_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// TestRenderTimeout: an environment that takes too long to render fails with what to
// change, gives no tree, and leaves nothing behind that the next run would take for whole.
func TestRenderTimeout(t *testing.T) {
	cp := t.TempDir()
	base := branch(t, cp, "main", map[string]string{".environments/dev.yaml": environment("dev", "dev")})
	branch(t, cp, "dev", map[string]string{
		"base-repo.yaml": object("BaseRepo", "main", "{repo: "+cpURL+", branch: main, path: ., commit: "+base+"}"),
		"gitops.yaml":    object("GitOpsRepo", "dev", "{repo: https://git.example.com/gitops, branch: dev, path: .}"),
	})
	var cache output.Cache
	trees := map[time.Duration]string{}
	for _, limit := range []time.Duration{time.Nanosecond, 0, time.Nanosecond, time.Hour} {
		s, err := source.Open(t.Context(), source.Options{ControlPlane: cp, Parser: model.NewParser(), RenderTimeout: limit})
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Render(t.Context(), "dev", source.Revisions{}, &cache)
		if limit != time.Nanosecond {
			if err != nil || r.Problems.Stops() || r.Tree.IsEmpty() {
				t.Fatalf("limit %s: %v %v", limit, err, r.Problems)
			}
			trees[limit] = r.Tree.ID().String()
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "render environment dev: timed out after 1ns; the setting renderTimeout allows more") {
			t.Errorf("limit %s: it ends with %v", limit, err)
		}
	}
	if trees[0] != trees[time.Hour] {
		t.Errorf("the trees are %v", trees)
	}
}
