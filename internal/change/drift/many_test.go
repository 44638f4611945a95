package drift_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/change/drift"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// TestMany: of much that differs alike, a few names are shown, and all are counted.
func TestMany(t *testing.T) {
	from, to := &model.Model{Environment: "dev"}, &model.Model{Environment: "prod"}
	for i := range 30 {
		object := model.Object{Kind: "ClusterType", Name: fmt.Sprintf("c%02d", i), Pos: problem.Pos{Layer: "dev", File: "fleet/types.yaml", Line: i}}
		from.ClusterTypes = append(from.ClusterTypes, &model.ClusterType{Object: object, Reconciler: "flux"})
	}
	var ahead []drift.Commit
	for i := range 12 {
		ahead = append(ahead, drift.Commit{ID: fmt.Sprintf("%040d", i), Title: fmt.Sprintf("change %d", i)})
	}
	r := drift.Compare(drift.Side{Model: from, Base: ahead[0].ID, Ahead: ahead}, drift.Side{Model: to, Base: strings.Repeat("f", 40)})
	want := `dev → prod
  base commit: dev has 12 commits more
  cluster types: 30 only in dev

base commit
  dev has 0000000, prod has fffffff
`
	for i := range 10 {
		want += fmt.Sprintf("  only in dev: 0000000 change %d\n", i)
	}
	want += `  only in dev: and 2 more

cluster types
  only in dev: 30, c00, c01, c02, c03, c04 and 25 more
      it is written in the branch of dev: dev/fleet/
`
	if diff := cmp.Diff(want, r.Text()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if f := r.Topics[0].Findings[0]; f.Count != 30 || len(f.Names) != 20 || f.Names[19] != "c19" {
		t.Errorf("the finding is %+v", f)
	}
}
