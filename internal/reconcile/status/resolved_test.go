package status_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// mistakeAt returns a problem that stops an environment: "base/f.yaml:3 sentence", with "?" at its end a warning, and
// with " of shop/dev" one that stops a stack.
func mistakeAt(line string) problem.Problem {
	place, sentence, _ := strings.Cut(line, " ")
	layer, rest, _ := strings.Cut(place, "/")
	p := problem.Problem{Pos: problem.Pos{Layer: layer}, Subject: "Config/c"}
	sentence, p.Stack, _ = strings.Cut(sentence, " of ")
	p.Summary, p.Warning = strings.CutSuffix(sentence, "?")
	p.Pos.File, _, _ = strings.Cut(rest, ":")
	fmt.Sscanf(rest[len(p.Pos.File):], ":%d", &p.Pos.Line)
	return p
}

// TestResolved: what a cycle no longer finds is resolved with the commit that has moved since it was found last, unless
// a newer problem may hide it, it is only elsewhere, or it comes back.
func TestResolved(t *testing.T) {
	type cycle struct {
		found    []string // as mistakeAt reads them
		base     string   // commits
		dev      string
		resolved []string // after it: "sentence since-until with"; cycles are counted from 0
	}
	for name, cycles := range map[string][]cycle{
		"mended":                        {{[]string{"base/a:1 x", "base/b:2 y?"}, "b1", "d1", nil}, {[]string{"base/b:2 y?"}, "b2", "d1", []string{"x 0-1 b2"}}, {nil, "b3", "d1", []string{"y 0-2 b3", "x 0-1 b2"}}},
		"in its own repository":         {{[]string{"dev/a x", "base/a y"}, "b1", "d1", nil}, {nil, "b2", "d2", []string{"y 0-1 b2", "x 0-1 d2"}}},
		"by another repository":         {{[]string{"dev/a x"}, "b1", "d1", nil}, {nil, "b2", "d1", []string{"x 0-1 b2"}}},
		"without a commit":              {{[]string{"dev/a x"}, "b1", "d1", nil}, {nil, "b1", "d1", []string{"x 0-1 -"}}},
		"of a commit that is not known": {{[]string{"dev/a x"}, "b1", "d1", nil}, {nil, "unknown", "d1", []string{"x 0-1 -"}}},
		"it comes back":                 {{[]string{"base/a x"}, "b1", "d1", nil}, {nil, "b2", "d1", []string{"x 0-1 b2"}}, {[]string{"base/a x"}, "b3", "d1", nil}, {nil, "b4", "d1", []string{"x 2-3 b4"}}},
		"the line moves":                {{[]string{"base/a:1 x, as base/b:7 says"}, "b1", "d1", nil}, {[]string{"base/a:9 x, as base/b:8 says"}, "b2", "d1", nil}},
		"it becomes a warning":          {{[]string{"base/a:1 x"}, "b1", "d1", nil}, {[]string{"base/a:1 x?"}, "b2", "d1", nil}},
		"the file has another name":     {{[]string{"base/a:1 x"}, "b1", "d1", nil}, {[]string{"base/z:1 x"}, "b2", "d1", nil}, {nil, "b3", "d1", []string{"x 0-2 b3"}}},
		"one of two lines":              {{[]string{"base/a:1 x", "base/a:5 x"}, "b1", "d1", nil}, {[]string{"base/a:4 x"}, "b2", "d1", nil}, {nil, "b3", "d1", []string{"x 0-2 b3"}}},
		"a newer one hides it":          {{[]string{"base/a:1 x?"}, "b1", "d1", nil}, {[]string{"base/b:1 not YAML"}, "b2", "d1", nil}, {[]string{"base/a:1 x?"}, "b3", "d1", []string{"not YAML 1-2 b3"}}, {nil, "b4", "d1", []string{"x 0-3 b4", "not YAML 1-2 b3"}}},
		"a newer one hid that it went":  {{[]string{"base/a:1 x?"}, "b1", "d1", nil}, {[]string{"base/b:1 not YAML"}, "b2", "d1", nil}, {nil, "b3", "d1", []string{"x 0-2 b3", "not YAML 1-2 b3"}}},
		"by a promotion":                {{[]string{"dev/a x", "base/b y"}, "b1", "d1", nil}, {nil, "b2", "promotion", []string{"y 0-1 b2", "x 0-1 b2"}}},
		"by a promotion alone":          {{[]string{"dev/a x"}, "b1", "d1", nil}, {nil, "b1", "promotion", []string{"x 0-1 promotion"}}},
		"one of another stack":          {{[]string{"base/a x", "base/b y of shop/dev", "base/c z of shop/*", "base/d v of shop/prod", "base/e w?"}, "b1", "d1", nil}, {[]string{"base/f new of shop/dev"}, "b2", "d1", []string{"x 0-1 b2", "v 0-1 b2"}}},
		"one of all stacks":             {{[]string{"base/a x of shop/dev", "base/b y of blog/dev"}, "b1", "d1", nil}, {[]string{"base/f new of shop/*"}, "b2", "d1", []string{"y 0-1 b2"}}},
		"a newer warning hides nothing": {{[]string{"base/a:1 x"}, "b1", "d1", nil}, {[]string{"base/b:1 odd?"}, "b2", "d1", []string{"x 0-1 b2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var l status.ProblemLog
			for i, c := range cycles {
				var found problem.List
				for _, line := range c.found {
					found = append(found, mistakeAt(line))
				}
				inputs := []status.Input{{Layer: "base", Commit: c.base, About: status.Commit{ID: c.base}}, {Layer: "dev", Commit: c.dev, About: status.Commit{ID: c.dev}, Promotes: c.dev == "promotion"}}
				if c.base == "unknown" {
					inputs[0].About = status.Commit{}
				}
				before := fmt.Sprint(l)
				next := l.Follow(found.Sorted(), inputs, noon.Add(time.Duration(i)*time.Minute))
				if fmt.Sprint(l) != before {
					t.Errorf("cycle %d changes the log of before", i)
				}
				l = next
				var resolved []string
				for _, r := range l.Resolved {
					with := "-"
					if r.With != nil {
						with = r.With.About.ID
					}
					resolved = append(resolved, fmt.Sprintf("%s %.0f-%.0f %s", r.Summary, r.Since.Sub(noon).Minutes(), r.Until.Sub(noon).Minutes(), with))
				}
				if !slices.Equal(resolved, c.resolved) {
					t.Errorf("after cycle %d are resolved %q, want %q", i, resolved, c.resolved)
				}
			}
		})
	}
}

// TestResolvedBounds: what was resolved is kept for a day, and of an environment at most a hundred, the newest.
func TestResolvedBounds(t *testing.T) {
	var l status.ProblemLog
	for i := range 130 {
		var found problem.List
		found.Addf(problem.Pos{}, "", "", "mistake %d", i)
		l = l.Follow(found, nil, noon.Add(time.Duration(2*i)*time.Minute))
		l = l.Follow(nil, nil, noon.Add(time.Duration(2*i+1)*time.Minute))
	}
	if n := len(l.Resolved); n != 100 || l.Resolved[0].Summary != "mistake 129" || l.Resolved[99].Summary != "mistake 30" {
		t.Errorf("%d are kept: %+v", n, l.Resolved)
	}
	var s status.Store
	s.StartCycle(noon)
	resolve := func(at time.Time) {
		s.StartCycle(at)
		s.SetEnvironment(status.Environment{Name: "dev", Problems: problem.List{{Summary: "x"}}, Checked: at})
		s.SetCycle(status.Cycle{Started: at})
		s.StartCycle(at.Add(time.Minute))
		s.SetEnvironment(status.Environment{Name: "dev", Checked: at.Add(90 * time.Second)})
		s.SetPromotions(status.Chain{})
	}
	resolve(noon)
	count := func(want int, what string) {
		t.Helper()
		if got := s.Snapshot(); len(got.ProblemLogs["dev"].Resolved) != want || !got.KeptSince.Equal(noon) {
			t.Errorf("%s: %+v", what, got.ProblemLogs)
		}
	}
	count(1, "resolved")
	if r := s.Snapshot().ProblemLogs["dev"].Resolved[0]; !r.Until.Equal(noon.Add(time.Minute)) {
		t.Errorf("it is resolved at %s, and not when its cycle began", r.Until)
	}
	s.SetCycle(status.Cycle{Started: noon.Add(24 * time.Hour)})
	count(1, "for almost a day")
	s.SetCycle(status.Cycle{Started: noon.Add(24*time.Hour + time.Minute)})
	count(0, "after a day")
	resolve(noon.Add(30 * time.Hour))
	s.SetEnvironment(status.Environment{Name: "dev", State: status.Failed, Checked: noon.Add(31 * time.Hour)})
	count(1, "an operation has failed")
	s.RetainEnvironments([]string{"prod"})
	count(0, "the environment is gone")
}
