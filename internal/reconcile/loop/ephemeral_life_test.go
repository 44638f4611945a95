package loop

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

var lifeNoon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// ephemeralFrom returns an environment that was made from another one at noon, for a day.
func ephemeralFrom(from string) *source.Ephemeral {
	return &source.Ephemeral{Name: "pr-7", Since: lifeNoon, Spec: &model.Ephemeral{From: from, Expires: lifeNoon.Add(24 * time.Hour)}}
}

// TestWantedEphemeral: with environments in the settings, an ephemeral one is looked at if it is among
// them, or is made from one of them, or was looked at before: it is to be removed.
func TestWantedEphemeral(t *testing.T) {
	t.Parallel()
	broken := &source.Ephemeral{Name: "pr-7"} // it does not say what it is made from
	for name, test := range map[string]struct {
		only  []string
		e     *source.Ephemeral
		known bool
		want  bool
	}{
		"all are":             {nil, ephemeralFrom("dev"), false, true},
		"it is named":         {[]string{"pr-7"}, ephemeralFrom("dev"), false, true},
		"made from one":       {[]string{"dev"}, ephemeralFrom("dev"), false, true},
		"made from another":   {[]string{"prod"}, ephemeralFrom("dev"), false, false},
		"known":               {[]string{"prod"}, ephemeralFrom("dev"), true, true},
		"broken":              {[]string{"dev"}, broken, false, false},
		"broken, and known":   {[]string{"dev"}, broken, true, true},
		"broken, and all are": {nil, broken, false, true},
	} {
		f := &ephemeralLife{settings: &config.Settings{Environments: test.only}}
		if got := f.isWanted(test.e, test.known); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestNextLookAtEphemerals: the next look is when the end of one is near, and at the end; nothing is
// known of a broken one.
func TestNextLookAtEphemerals(t *testing.T) {
	t.Parallel()
	broken := ephemeralFrom("dev")
	broken.Problems.Addf(problem.Pos{}, "", "", "it has no end")
	later := ephemeralFrom("dev")
	later.Spec.Expires = later.Spec.Expires.Add(time.Hour)
	near := time.Duration(float64(24*time.Hour) * 0.9)
	for name, test := range map[string]struct {
		after time.Duration // since noon
		all   []*source.Ephemeral
		want  time.Duration // since noon; 0 for never
	}{
		"none":                   {0, nil, 0},
		"it has begun":           {0, []*source.Ephemeral{ephemeralFrom("dev")}, near},
		"its end is near":        {near, []*source.Ephemeral{ephemeralFrom("dev")}, 24 * time.Hour},
		"the first of two":       {near, []*source.Ephemeral{later, ephemeralFrom("dev")}, near + 54*time.Minute},
		"broken":                 {0, []*source.Ephemeral{broken}, 0},
		"broken, beside another": {0, []*source.Ephemeral{broken, ephemeralFrom("dev")}, near},
	} {
		f := &ephemeralLife{now: lifeNoon.Add(test.after)}
		for _, e := range test.all {
			if over, err := f.isOver(t.Context(), e); over || err != nil {
				t.Errorf("%s: it is over: %v, %v", name, over, err)
			}
		}
		want := time.Time{}
		if test.want > 0 {
			want = lifeNoon.Add(test.want)
		}
		if !f.next.Equal(want) {
			t.Errorf("%s: the next look is at %v, want %v", name, f.next, want)
		}
	}
}

// TestMergeOfEphemeral: Fairlead merges, unless the settings say who does.
func TestMergeOfEphemeral(t *testing.T) {
	t.Parallel()
	f := &ephemeralLife{orders: &promoter.Policy{Merge: map[string]string{"pr-7": "manual"}}}
	for name, want := range map[string]publish.Merge{"pr-7": publish.Manual, "pr-8": publish.Direct} {
		if got := f.mergeOf(name); got != want {
			t.Errorf("%s is merged by %s, want %s", name, got, want)
		}
	}
}

// TestTimeUp: a cycle is due when the first of these times comes, and once for each of them.
func TestTimeUp(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) time.Time { return lifeNoon.Add(d) }
	for name, test := range map[string]struct {
		poll, ephemeral, freeze time.Time
		want                    time.Time // of the next poll
		due                     bool      // at noon
	}{
		"as scheduled":            {at(time.Minute), time.Time{}, time.Time{}, at(time.Minute), false},
		"an environment is first": {at(time.Minute), at(time.Second), at(time.Hour), at(time.Second), false},
		"a freeze is first":       {at(time.Minute), time.Time{}, at(0), at(0), true},
		"both have come":          {at(time.Minute), at(-time.Second), at(0), at(-time.Second), true},
		"neither is first":        {at(time.Minute), at(time.Hour), at(time.Hour), at(time.Minute), false},
	} {
		l := &Loop{nextPoll: test.poll, roundTime: lifeNoon, ephemerals: &ephemeralLife{next: test.ephemeral}, orders: promoter.Policy{NextChange: test.freeze}}
		if got := l.nextPollTime(); !got.Equal(test.want) {
			t.Errorf("%s: the next poll is at %v, want %v", name, got, test.want)
		}
		if got := []bool{l.isTimeUp(), l.isTimeUp()}; got[0] != test.due || got[1] {
			t.Errorf("%s: it is time: %v, want %v and then false", name, got, test.due)
		}
	}
}
