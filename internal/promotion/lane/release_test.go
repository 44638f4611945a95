package lane_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
)

// TestNextRelease: a release is made of what is new, has all versions, and none that falls but by hand.
func TestNextRelease(t *testing.T) {
	offered := func(registration, commit string) model.FeedVersion {
		return model.FeedVersion{Version: commit, Commit: commit, Registration: registration}
	}
	version := func(commit string) model.FeedVersion { return offered("till", commit) }
	image := func(version, digest, key string) model.FeedVersion {
		return model.FeedVersion{Version: version, Tag: version, Digest: digest, Registration: "till", Sets: model.Sets{Values: map[string]string{key: version}}}
	}
	last := func(number string, versions map[string]model.FeedVersion) *model.Release {
		return &model.Release{Object: model.Object{Name: "shop-" + number}, Lane: "shop", Versions: versions}
	}
	hadImage := last("7", map[string]model.FeedVersion{"till": image("1.4.1", "d1", "tag")})
	had := last("7", map[string]model.FeedVersion{"till": version("a1")})
	for name, test := range map[string]struct {
		last      *model.Release
		found     []lane.NewestVersion
		want      map[string]model.FeedVersion // nil for no release
		called    string
		rewritten []string
	}{
		"first":               {nil, []lane.NewestVersion{{Feed: "till", FeedVersion: offered("till", "a1")}}, map[string]model.FeedVersion{"till": version("a1")}, "shop-1", nil},
		"first, unknown":      {nil, []lane.NewestVersion{{Feed: "till", FeedVersion: offered("till", "")}}, nil, "", nil},
		"newer":               {had, []lane.NewestVersion{{Feed: "till", FeedVersion: offered("till", "a2"), Follows: true}}, map[string]model.FeedVersion{"till": version("a2")}, "shop-8", nil},
		"the same":            {had, []lane.NewestVersion{{Feed: "till", FeedVersion: offered("till", "a1")}}, nil, "", nil},
		"another folder":      {had, []lane.NewestVersion{{Feed: "till", FeedVersion: offered("till", "a2"), Follows: true, Unchanged: true}}, nil, "", nil},
		"unknown now":         {had, []lane.NewestVersion{{Feed: "till", FeedVersion: offered("till", "")}}, nil, "", nil},
		"rewritten":           {had, []lane.NewestVersion{{Feed: "till", FeedVersion: offered("till", "b1")}}, nil, "", []string{"till"}},
		"an older one, taken": {had, []lane.NewestVersion{{Feed: "till", FeedVersion: offered("till", "a2"), Follows: true, Released: true}}, nil, "", nil},
		"a newer image": {hadImage, []lane.NewestVersion{{Feed: "till", FeedVersion: image("1.4.2", "d2", "tag"), Follows: true}},
			map[string]model.FeedVersion{"till": image("1.4.2", "d2", "tag")}, "shop-8", nil},
		"a tag that moved":       {hadImage, []lane.NewestVersion{{Feed: "till", FeedVersion: image("1.4.1", "d2", "tag")}}, nil, "", []string{"till"}},
		"a tag that may move":    {hadImage, []lane.NewestVersion{{Feed: "till", FeedVersion: image("1.4.1", "d2", "tag"), Follows: true}}, map[string]model.FeedVersion{"till": image("1.4.1", "d2", "tag")}, "shop-8", nil},
		"the same image":         {hadImage, []lane.NewestVersion{{Feed: "till", FeedVersion: image("1.4.1", "d1", "tag")}}, nil, "", nil},
		"it sets something else": {hadImage, []lane.NewestVersion{{Feed: "till", FeedVersion: image("1.4.1", "d1", "version")}}, map[string]model.FeedVersion{"till": image("1.4.1", "d1", "version")}, "shop-8", nil},
		"no feed any more":       {had, nil, map[string]model.FeedVersion{}, "shop-8", nil},
		"another registration": {had, []lane.NewestVersion{{Feed: "till", FeedVersion: offered("kiosk", "b1")}},
			map[string]model.FeedVersion{"till": {Version: "b1", Commit: "b1", Registration: "kiosk"}}, "shop-8", nil},
		"two feeds, one rewritten": {last("9", map[string]model.FeedVersion{"cart": version("c1"), "till": version("a1")}),
			[]lane.NewestVersion{{Feed: "cart", FeedVersion: offered("till", "x")}, {Feed: "till", FeedVersion: offered("till", "a2"), Follows: true}},
			map[string]model.FeedVersion{"cart": version("c1"), "till": version("a2")}, "shop-10", []string{"cart"}},
	} {
		t.Run(name, func(t *testing.T) {
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

// teamFeed is a branch of a team: its commits are "BRANCH.NUMBER", and each contains the lower ones of its branch.
type teamFeed struct {
	name           string
	branch, number int
	isGone         bool
}

func (f *teamFeed) commit() string { return fmt.Sprintf("%s%d.%03d", f.name, f.branch, f.number) }

// TestReleaseHistories holds releases against the rules in random histories of pushes, rewritten branches, feeds that come and go, and
// people who take older versions.
func TestReleaseHistories(t *testing.T) {
	histories := uint64(100_000)
	if testing.Short() {
		histories /= 40
	}
	made, byHand := 0, 0
	for seed := range histories {
		random := rand.New(rand.NewPCG(seed, 11))
		feeds := []*teamFeed{{name: "a"}, {name: "b"}, {name: "c", isGone: true}}
		var line []*model.Release // oldest first
		for range 12 {
			f := feeds[random.IntN(3)]
			switch random.IntN(8) {
			case 0:
				f.branch, f.number = f.branch+1, random.IntN(3)
			case 1:
				f.isGone = !f.isGone
			default:
				f.number++
			}
			var last *model.Release
			if len(line) > 0 {
				last = line[len(line)-1]
			}
			hand := random.IntN(6) == 0
			found := offerVersions(feeds, line, random, hand)
			before := fmt.Sprint(line, found)
			next, rewritten := lane.NextRelease("l", last, found)
			if after := fmt.Sprint(line, found); after != before {
				t.Fatalf("seed %d: what was there changed from %s to %s", seed, before, after)
			}
			if broken := checkRelease(last, next, found, rewritten, hand); broken != "" {
				t.Fatalf("seed %d: %s\nlast %v\nfound %+v\nnext %v", seed, broken, last, found, next)
			}
			if next == nil {
				continue
			}
			if made++; hand {
				byHand++
			}
			line = append(line, next)
		}
	}
	if made < int(histories) || byHand < int(histories)/10 {
		t.Errorf("%d releases, %d of them by hand: the histories show too little", made, byHand)
	}
}

// offerVersions returns what feeds offer the daemon, or a person, who takes any version.
func offerVersions(feeds []*teamFeed, line []*model.Release, random *rand.Rand, hand bool) (found []lane.NewestVersion) {
	for _, f := range feeds {
		if f.isGone {
			continue
		}
		one := lane.NewestVersion{Feed: f.name, FeedVersion: model.FeedVersion{Registration: f.name, Version: f.commit(), Commit: f.commit()}, Follows: true}
		switch {
		case hand:
			taken := teamFeed{name: f.name, branch: f.branch, number: random.IntN(f.number + 1)}
			one.Version, one.Commit = taken.commit(), taken.commit()
		case random.IntN(5) == 0:
			one.Version, one.Commit = "", ""
		case len(line) > 0:
			had := line[len(line)-1].Versions[f.name].Commit
			one.Follows = had == "" || had <= one.Commit && had[:strings.Index(had, ".")] == one.Commit[:strings.Index(one.Commit, ".")]
			one.Unchanged = random.IntN(4) == 0
			one.Released = slices.ContainsFunc(line, func(r *model.Release) bool { return r.Versions[f.name].Commit == one.Commit })
		}
		found = append(found, one)
	}
	return found
}

func checkRelease(last, next *model.Release, found []lane.NewestVersion, rewritten []string, hand bool) string {
	had, number := map[string]model.FeedVersion{}, 0
	if last != nil {
		had = last.Versions
		fmt.Sscanf(last.Name, "l-%d", &number)
	}
	has := had
	if next != nil {
		has = next.Versions
		switch {
		case model.EqualVersions(had, has):
			return "a release of nothing new"
		case next.Name != fmt.Sprintf("l-%d", number+1):
			return "its name does not follow"
		}
	}
	for _, f := range found {
		old, wasThere := had[f.Feed]
		v, isThere := has[f.Feed]
		isNew := f.Commit != "" && (!wasThere || f.Follows && !f.Unchanged && !f.Released)
		switch {
		case wasThere && !isThere:
			return f.Feed + " is lost"
		case isThere && !v.Equal(old) && v.Commit != f.Commit:
			return f.Feed + " has a version that nobody offers"
		case !hand && wasThere && !v.Equal(old) && !f.Follows:
			return f.Feed + " fell"
		case isNew && v.Commit != f.Commit:
			return f.Feed + " has not the newest version"
		case slices.Contains(rewritten, f.Feed) && !v.Equal(old):
			return f.Feed + " is rewritten, and taken"
		case !hand && wasThere && f.Commit != "" && !f.Follows && f.Commit != old.Commit && !slices.Contains(rewritten, f.Feed):
			return f.Feed + " is rewritten, and nobody is told"
		}
	}
	for name := range has {
		if !slices.ContainsFunc(found, func(f lane.NewestVersion) bool { return f.Feed == name }) && next != nil {
			return name + " has no feed"
		}
	}
	return ""
}
