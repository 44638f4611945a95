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

// windowGate passes at allowed times (default all) that are not denied.
type windowGate struct {
	gateName
	allow, deny []opening
}

func newWindowGate(spec model.GateSpec) (Gate, problem.List) {
	var s windowSpec
	problems := spec.Decode(&s)
	g := windowGate{gateName: gateNameOf(spec)}
	if len(problems) == 0 && len(s.Allow) == 0 && len(s.Deny) == 0 {
		problems = append(problems, spec.Problem("write it as window: {allow: [{cron: 0 9 * * 1-4, duration: 8h, timeZone: Europe/Berlin}]}",
			"the window has neither allow nor deny"))
	}
	if problems.Stops() {
		return nil, problems
	}
	for _, list := range []struct {
		specs []openingSpec
		to    *[]opening
	}{{s.Allow, &g.allow}, {s.Deny, &g.deny}} {
		for _, one := range list.specs {
			o, found := one.compileOpening(spec)
			*list.to, problems = append(*list.to, o), append(problems, found...)
		}
	}
	if !problems.Stops() {
		problems = append(problems, g.checkOpens(spec)...)
	}
	return g, problems
}

func (s openingSpec) compileOpening(spec model.GateSpec) (opening, problem.List) {
	var problems problem.List
	schedule, err := parseCron(s.Cron)
	if err != nil {
		problems = append(problems, spec.Problem("write five fields: minute, hour, day of the month, month and day of the week, as in 0 9 * * 1-4",
			"cron cannot be %q: %v", s.Cron, err))
	}
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil || s.TimeZone == "Local" { // verdicts must not depend on the machine
		hint := problem.DidYouMean(strings.ReplaceAll(s.TimeZone, " ", "_"), knownZones)
		if hint == "" {
			hint = "write a name of the IANA database, such as Europe/Berlin, or nothing for UTC"
		}
		problems = append(problems, spec.Problem(hint, "there is no time zone %q", s.TimeZone))
	}
	if s.Duration < time.Minute || s.Duration > longestOpening {
		problems = append(problems, spec.Problem("write 1m to 8784h, which is a year", "duration cannot be %s", s.Duration))
	}
	return opening{schedule, s.Duration, zone}, problems
}

const (
	longestOpening = 366 * 24 * time.Hour
	// horizon bounds the search and includes every date, also February 29.
	horizon  = 5 * longestOpening
	maxSteps = 10_000
	// maxOverlaps bounds the consecutive openings when searching for the end.
	maxOverlaps = 100
)

// checkOpens searches from a fixed time: gates are compiled without a clock.
func (g windowGate) checkOpens(spec model.GateSpec) problem.List {
	at, done := g.findOpening(time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC))
	switch {
	case !at.IsZero():
		return nil
	case done:
		return problem.List{spec.Problem("check whether deny covers all of allow, or a day that no month has", "the window never opens")}
	default:
		return problem.List{spec.Problem("let its parts open less often and for longer", "finding out when the window opens takes too long")}
	}
}

// findOpening returns the first open time from now, or zero; done is false if it gave up.
func (g windowGate) findOpening(now time.Time) (at time.Time, done bool) {
	end := now.Add(horizon)
	for range maxSteps {
		if now.After(end) {
			return time.Time{}, true
		}
		if o := firstOpen(g.deny, now); o != nil {
			now = o.closingTime(now)
			continue
		}
		if len(g.allow) == 0 || firstOpen(g.allow, now) != nil {
			return now, true
		}
		now = earliestOpening(g.allow, now)
		if now.IsZero() {
			return time.Time{}, true
		}
	}
	return time.Time{}, false
}

func firstOpen(all []opening, now time.Time) *opening {
	for i, o := range all {
		if next := o.nextOpening(now.Add(-o.length)); !next.IsZero() && !next.After(now) {
			return &all[i]
		}
	}
	return nil
}

func earliestOpening(all []opening, now time.Time) time.Time {
	var first time.Time
	for _, o := range all {
		if at := o.nextOpening(now); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

func (g windowGate) Evaluate(f Facts) Verdict {
	if year := f.Now.Year(); year < 1 || year > 9999 {
		return g.wait("the current time is not known")
	}
	denied := firstOpen(g.deny, f.Now)
	if denied == nil && (len(g.allow) == 0 || firstOpen(g.allow, f.Now) != nil) {
		return g.openVerdict(f.Now)
	}
	at, _ := g.findOpening(f.Now)
	if at.IsZero() {
		return g.wait("the window is closed, and it is not known when it opens")
	}
	why := "the window is closed"
	if denied != nil {
		why = "the window is closed by deny"
	}
	at = at.In(g.displayZone())
	return g.wait("%s; it opens %s", why, formatTime(at)).withNamedTime(at, f.Now)
}

func (g windowGate) openVerdict(now time.Time) Verdict {
	end, known := now, true
	for range maxOverlaps {
		o := firstOpen(g.allow, end)
		known = o == nil
		if known {
			break
		}
		end = o.closingTime(end)
	}
	if denied := earliestOpening(g.deny, now); !denied.IsZero() && (end.Equal(now) || denied.Before(end)) {
		end, known = denied, true
	}
	if known && end.After(now) {
		end = end.In(g.displayZone())
		return g.pass("the window is open until %s", formatTime(end)).withNamedTime(end, now)
	}
	return g.pass("the window is open").withValidUntil(end, now)
}

func (g windowGate) displayZone() *time.Location {
	for _, list := range [][]opening{g.allow, g.deny} {
		if len(list) > 0 {
			return list[0].zone
		}
	}
	return time.UTC
}

func (g windowGate) Forecast(_ Facts, from time.Time) Forecast {
	if year := from.Year(); year < 1 || year > 9999 {
		return Forecast{WaitsFor: "its window"}
	}
	at, _ := g.findOpening(from)
	if at.IsZero() {
		return Forecast{WaitsFor: "its window"}
	}
	return Forecast{Time: at}
}
