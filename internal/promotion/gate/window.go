package gate

import (
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

type windowSpec struct {
	Allow []openingSpec `yaml:"allow"`
	Deny  []openingSpec `yaml:"deny"`
}

type openingSpec struct {
	Cron     string        `yaml:"cron" required:"true"`
	Duration time.Duration `yaml:"duration" required:"true"`
	TimeZone string        `yaml:"timeZone"`
}

// windowGate passes at times that are allowed, or at all times if none are, and not denied.
type window struct {
	named
	allow, deny []opening
}

func newWindow(spec model.GateSpec) (Gate, problem.List) {
	var s windowSpec
	problems := spec.Decode(&s)
	g := window{named: nameOf(spec)}
	if len(problems) == 0 && len(s.Allow) == 0 && len(s.Deny) == 0 {
		problems = append(problems, spec.Problem("as in window: {allow: [{cron: 0 9 * * 1-4, duration: 8h, timeZone: Europe/Berlin}]}",
			"a window has times to allow or to deny"))
	}
	if problems.Stops() {
		return nil, problems
	}
	for _, list := range []struct {
		specs []openingSpec
		to    *[]opening
	}{{s.Allow, &g.allow}, {s.Deny, &g.deny}} {
		for _, one := range list.specs {
			o, found := one.opening(spec)
			*list.to, problems = append(*list.to, o), append(problems, found...)
		}
	}
	if !problems.Stops() {
		problems = append(problems, g.neverOpens(spec)...)
	}
	return g, problems
}

func (s openingSpec) opening(spec model.GateSpec) (opening, problem.List) {
	var problems problem.List
	schedule, err := parseCron(s.Cron)
	if err != nil {
		problems = append(problems, spec.Problem("it has five fields: minute, hour, day of the month, month and day of the week, as in 0 9 * * 1-4",
			"cron cannot be %q: %v", s.Cron, err))
	}
	zone, err := loadZone(s.TimeZone)
	if err != nil {
		hint := problem.DidYouMean(strings.ReplaceAll(s.TimeZone, " ", "_"), knownZones)
		if hint == "" {
			hint = "it is a name of the IANA database, as Europe/Berlin; UTC if it is left out"
		}
		problems = append(problems, spec.Problem(hint, "there is no time zone %q", s.TimeZone))
	}
	if s.Duration < time.Minute || s.Duration > longest {
		problems = append(problems, spec.Problem("it is from 1m to 8784h, which is a year", "duration cannot be %s", s.Duration))
	}
	return opening{schedule, s.Duration, zone}, problems
}

const (
	longest = 366 * 24 * time.Hour
	// horizon is how far ahead is searched: every date is in it, February 29 too.
	horizon = 5 * longest
	// maxSteps bounds how many openings are examined.
	steps = 10_000
	// maxOverlaps bounds how many openings in a row are examined for the time at which they are
	// over.
	overlaps = 100
)

// checkOpens searches for an opening from an arbitrary time: gates are compiled without a clock.
func (g window) neverOpens(spec model.GateSpec) problem.List {
	at, done := g.opens(time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC))
	switch {
	case !at.IsZero():
		return nil
	case done:
		return problem.List{spec.Problem("look for deny that covers all of allow, or a day that no month has", "the window never opens")}
	default:
		return problem.List{spec.Problem("let its parts open less often, and for longer", "when the window opens is too much to find out")}
	}
}

// findOpening returns the first time from now at which the window is open; zero if there is none,
// or, if done is false, if none was found.
func (g window) opens(now time.Time) (at time.Time, done bool) {
	end := now.Add(horizon)
	for range steps {
		if now.After(end) {
			return time.Time{}, true
		}
		if o := firstOpen(g.deny, now); o != nil {
			now = o.closes(now)
			continue
		}
		if len(g.allow) == 0 || firstOpen(g.allow, now) != nil {
			return now, true
		}
		now = nextOf(g.allow, now)
		if now.IsZero() {
			return time.Time{}, true
		}
	}
	return time.Time{}, false
}

func firstOpen(all []opening, now time.Time) *opening {
	for i := range all {
		if all[i].open(now) {
			return &all[i]
		}
	}
	return nil
}

// earliestOpening returns when the first of several opens next; zero for never.
func nextOf(all []opening, now time.Time) time.Time {
	var first time.Time
	for _, o := range all {
		if at := o.next(now); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// Evaluate returns whether the window is open, and when it closes or opens.
func (g window) Check(f Facts) Verdict {
	if year := f.Now.Year(); year < 1 || year > 9999 {
		return g.wait("it is not known what time it is")
	}
	denied := firstOpen(g.deny, f.Now)
	if denied == nil && (len(g.allow) == 0 || firstOpen(g.allow, f.Now) != nil) {
		return g.openNow(f.Now)
	}
	at, _ := g.opens(f.Now)
	if at.IsZero() {
		return g.wait("the window is closed, and it is not known when it opens")
	}
	why := "the window is closed"
	if denied != nil {
		why = "the window is closed for a time that is denied"
	}
	return g.wait("%s; it opens %s", why, stamp(at.In(g.zone()))).until(at, f.Now)
}

// openVerdict returns the verdict of an open window, with the time at which it closes.
func (g window) openNow(now time.Time) Verdict {
	end, known := now, true
	for range overlaps {
		o := firstOpen(g.allow, end)
		known = o == nil
		if known {
			break
		}
		end = o.closes(end)
	}
	if denied := nextOf(g.deny, now); !denied.IsZero() && (end.Equal(now) || denied.Before(end)) {
		end, known = denied, true
	}
	if known && end.After(now) {
		return g.pass("the window is open until %s", stamp(end.In(g.zone()))).until(end, now)
	}
	return g.pass("the window is open").until(end, now)
}

// displayZone is the time zone for people.
func (g window) zone() *time.Location {
	for _, list := range [][]opening{g.allow, g.deny} {
		if len(list) > 0 {
			return list[0].zone
		}
	}
	return time.UTC
}

// Forecast is exact.
func (g window) Forecast(_ Facts, from time.Time) Forecast {
	if year := from.Year(); year < 1 || year > 9999 {
		return Forecast{Waits: "its window"}
	}
	at, _ := g.opens(from)
	if at.IsZero() {
		return Forecast{Waits: "its window"}
	}
	return Forecast{At: at}
}
