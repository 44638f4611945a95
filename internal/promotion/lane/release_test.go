package lane_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
)

// TestNextRelease: a release is made of what is new, has all versions, and none that falls but by hand.
func TestNextRelease(t *testing.T) {
	version := func(commit string) model.FeedVersion {
		return model.FeedVersion{Version: commit, Commit: commit, Registration: "till"}
	}
	last := func(number string, versions map[string]model.FeedVersion) *model.Release {
		return &model.Release{Object: model.Object{Name: "shop-" + number}, Lane: "shop", Versions: versions}
	}
	had := last("7", map[string]model.FeedVersion{"till": version("a1")})
	for name, test := range map[string]struct {
		last      *model.Release
		found     []lane.NewestVersion
		want      map[string]model.FeedVersion // nil for no release
		called    string
		rewritten []string
	}{
		"first":               {nil, []lane.NewestVersion{{Feed: "till", Registration: "till", Commit: "a1"}}, map[string]model.FeedVersion{"till": version("a1")}, "shop-1", nil},
		"first, unknown":      {nil, []lane.NewestVersion{{Feed: "till", Registration: "till"}}, nil, "", nil},
		"newer":               {had, []lane.NewestVersion{{Feed: "till", Registration: "till", Commit: "a2", Follows: true}}, map[string]model.FeedVersion{"till": version("a2")}, "shop-8", nil},
		"the same":            {had, []lane.NewestVersion{{Feed: "till", Registration: "till", Commit: "a1"}}, nil, "", nil},
		"another folder":      {had, []lane.NewestVersion{{Feed: "till", Registration: "till", Commit: "a2", Follows: true, Unchanged: true}}, nil, "", nil},
		"unknown now":         {had, []lane.NewestVersion{{Feed: "till", Registration: "till"}}, nil, "", nil},
		"rewritten":           {had, []lane.NewestVersion{{Feed: "till", Registration: "till", Commit: "b1"}}, nil, "", []string{"till"}},
		"an older one, taken": {had, []lane.NewestVersion{{Feed: "till", Registration: "till", Commit: "a2", Follows: true, Released: true}}, nil, "", nil},
		"no feed any more":    {had, nil, map[string]model.FeedVersion{}, "shop-8", nil},
		"another registration": {had, []lane.NewestVersion{{Feed: "till", Registration: "kiosk", Commit: "b1"}},
			map[string]model.FeedVersion{"till": {Version: "b1", Commit: "b1", Registration: "kiosk"}}, "shop-8", nil},
		"two feeds, one rewritten": {last("9", map[string]model.FeedVersion{"cart": version("c1"), "till": version("a1")}),
			[]lane.NewestVersion{{Feed: "cart", Registration: "till", Commit: "x"}, {Feed: "till", Registration: "till", Commit: "a2", Follows: true}},
			map[string]model.FeedVersion{"cart": version("c1"), "till": version("a2")}, "shop-10", []string{"cart"}},
	} {
		t.Run(name, func(t *testing.T) {
			for i, f := range test.found {
				test.found[i].Version = f.Commit
			}
			next, rewritten := lane.NextRelease("shop", test.last, test.found)
			if !slices.Equal(rewritten, test.rewritten) {
				t.Errorf("rewritten are %q, want %q", rewritten, test.rewritten)
			}
			if next == nil || test.want == nil {
				if (next == nil) != (test.want == nil) {
					t.Errorf("the release is %+v, want %v", next, test.want)
				}
				return
			}
			if diff := cmp.Diff(test.want, next.Versions); diff != "" || next.Name != test.called || next.Lane != "shop" {
				t.Errorf("%s of %s, want %s (-want +got):\n%s", next.Name, next.Lane, test.called, diff)
			}
		})
	}
}
