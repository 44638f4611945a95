package gate

import (
	"testing"
	"time"
)

// minutes is a slow, plain statement of when a window is open: by looking at the clocks
// of its zone every minute.
type minutes struct {
	begin time.Time
	open  []bool
}

func (o opening) everyMinute(t *testing.T, begin time.Time, n int) minutes {
	t.Helper()
	all := minutes{begin, make([]bool, n)}
	left := 0 // minutes for which it is open yet
	warm := int(o.length / time.Minute)
	for i := -warm; i < n; i++ {
		now := begin.Add(time.Duration(i) * time.Minute)
		if o.opensAt(now) {
			left = warm
		}
		if i >= 0 {
			all.open[i] = left > 0
		}
		left--
	}
	return all
}

// opensAt reports whether clocks show, or skip, a time that matches.
func (o opening) opensAt(now time.Time) bool {
	shows := func(t time.Time) time.Time {
		l := t.In(o.zone)
		return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
	}
	matches := func(clock time.Time) bool { return o.schedule.Next(clock.Add(-time.Second)).Equal(clock) }
	if matches(shows(now)) {
		return true
	}
	for clock := shows(now.Add(-time.Minute)).Add(time.Minute); clock.Before(shows(now)); clock = clock.Add(time.Minute) {
		if matches(clock) {
			return true
		}
	}
	return false
}

// TestWindowEveryMinute compares verdicts with looking at the clock each minute, where
// clocks are changed.
func TestWindowEveryMinute(t *testing.T) {
	const weeks = 2
	utc := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	tests := []struct {
		name, gate string
		begin      time.Time
	}{
		{"office hours, spring", "window: {allow: [{cron: 0 9 * * 1-4, duration: 8h, timeZone: Europe/Berlin}]}", utc(2026, 3, 20)},
		{"office hours, autumn", "window: {allow: [{cron: 0 9 * * mon-thu, duration: 8h, timeZone: America/New_York}]}", utc(2026, 10, 20)},
		{"the hour that is skipped", "window: {allow: [{cron: 30 2 * * *, duration: 90m, timeZone: Europe/Berlin}]}", utc(2026, 3, 20)},
		{"the hour that comes twice", "window: {allow: [{cron: 30 2 * * *, duration: 90m, timeZone: Europe/Berlin}]}", utc(2026, 10, 15)},
		{"midnight is skipped", "window: {deny: [{cron: 0 0 * * *, duration: 45m, timeZone: Africa/Cairo}]}", utc(2026, 4, 15)},
		{"half an hour is skipped", "window: {allow: [{cron: 10 2 * * *, duration: 30m, timeZone: Australia/Lord_Howe}]}", utc(2026, 9, 25)},
		{"half an hour comes twice", "window: {allow: [{cron: 40 1 * * *, duration: 5m, timeZone: Australia/Lord_Howe}]}", utc(2026, 3, 28)},
		{"a day is skipped", "window: {allow: [{cron: 0 12 30 12 *, duration: 2h, timeZone: Pacific/Apia}]}", utc(2011, 12, 20)},
		{"several, and zones", `window: {allow: [{cron: 0 9 * * 1-4, duration: 8h, timeZone: Europe/Berlin}, {cron: 0 9 * * *, duration: 3h, timeZone: America/Los_Angeles}],
      deny: [{cron: '30 12 * * 2', duration: 26h, timeZone: Asia/Tokyo}, {cron: '0 */5 * * *', duration: 20m}]}`, utc(2026, 10, 20)},
		{"openings that overlap", "window: {allow: [{cron: '*/20 1-3 * * *', duration: 50m, timeZone: Europe/London}], deny: [{cron: '15 * * * *', duration: 10m}]}", utc(2026, 10, 15)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := made(t, test.gate).(windowGate)
			n := weeks * 7 * 24 * 60
			open := make([]bool, n)
			for i := range open {
				open[i] = len(g.allow) == 0
			}
			for _, o := range g.allow {
				for i, on := range o.everyMinute(t, test.begin, n).open {
					open[i] = open[i] || on
				}
			}
			for _, o := range g.deny {
				for i, on := range o.everyMinute(t, test.begin, n).open {
					open[i] = open[i] && !on
				}
			}
			compareMinutes(t, g, test.begin, open)
		})
	}
}

func compareMinutes(t *testing.T, g windowGate, begin time.Time, open []bool) {
	t.Helper()
	change := -1 // the next minute at which it is another
	for i := len(open) - 1; i >= 0; i-- {
		if i+1 < len(open) && open[i] != open[i+1] {
			change = i + 1
		}
		near := change > 0 && change-i < 3
		if i%11 != 0 && !near {
			continue
		}
		now := begin.Add(time.Duration(i) * time.Minute)
		v := g.Evaluate(Facts{Now: now})
		if (v.Status == Pass) != open[i] {
			t.Fatalf("at %s (%s) the clock says %v, and the gate %s", now, now.In(g.displayZone()), open[i], tell(v))
		}
		if want := begin.Add(time.Duration(change) * time.Minute); change > 0 && !v.ValidUntil.Equal(want) {
			t.Fatalf("at %s it is another at %s, and the gate says %s", now, want, tell(v))
		}
	}
}

func TestWindow(t *testing.T) {
	at := func(text string) Facts {
		now, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return Facts{Now: now}
	}
	const berlin = "window: {allow: [{cron: 0 9 * * 1-4, duration: 8h, timeZone: Europe/Berlin}], deny: [{cron: 0 0 24 12 *, duration: 336h, timeZone: Europe/Berlin}]}"
	checkCases(t, []verdictCase{
		{"open", berlin, at("2026-11-23T12:00:00Z"), "pass: the window is open until Mon 2026-11-23 17:00 CET [11-23 16:00]"},
		{"opens", berlin, at("2026-11-23T07:59:59Z"), "wait: the window is closed; it opens Mon 2026-11-23 09:00 CET [11-23 08:00]"},
		{"weekend", berlin, at("2026-03-27T12:00:00Z"), "wait: the window is closed; it opens Mon 2026-03-30 09:00 CEST [03-30 07:00]"},
		{"closes", berlin, at("2026-11-23T16:00:00Z"), "wait: the window is closed; it opens Tue 2026-11-24 09:00 CET [11-24 08:00]"},
		{"denied", berlin, at("2026-12-24T10:00:00Z"), "wait: the window is closed by deny; it opens Thu 2027-01-07 09:00 CET [01-07 08:00]"},
		{"will be denied", berlin, at("2026-12-23T15:00:00Z"), "pass: the window is open until Wed 2026-12-23 17:00 CET [12-23 16:00]"},
		{"denied in between", "window: {deny: [{cron: 0 2 * * *, duration: 1h}]}", at("2026-12-23T15:00:00Z"), "pass: the window is open until Thu 2026-12-24 02:00 UTC [12-24 02:00]"},
		{"a leap day", "window: {allow: [{cron: 0 9 29 2 *, duration: 8h}]}", at("2025-01-01T00:00:00Z"), "wait: the window is closed; it opens Tue 2028-02-29 09:00 UTC [02-29 09:00]"},
		{"always", "window: {allow: [{cron: '* * * * *', duration: 24h}]}", at("2026-12-23T15:00:00Z"), "pass: the window is open [04-02 15:00]"},
		{"a clock that is wrong", berlin, Facts{Now: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)}, "wait: the current time is not known"},
	})
}

// TestParseCron: what the parser would take beyond five fields is refused, and what it
// cannot take does not stop the program.
func TestParseCron(t *testing.T) {
	for _, text := range []string{"@daily", "@every 1h", "TZ=0", "CRON_TZ=UTC * * * * *", "0 0 9 * * *", "", "* * * *", "61 * * * *"} {
		if s, err := parseCron(text); err == nil {
			t.Errorf("%q: %v", text, s)
		}
	}
}

func BenchmarkWindow(b *testing.B) {
	g := made(b, "window: {allow: [{cron: 0 9 * * 1-4, duration: 8h, timeZone: Europe/Berlin}], deny: [{cron: 0 0 24 12 *, duration: 336h, timeZone: Europe/Berlin}]}")
	for b.Loop() {
		g.Evaluate(facts())
	}
}

func BenchmarkWindowThatIsTooMuch(b *testing.B) {
	spec := stage(b, "- window: {deny: [{cron: '* * * * *', duration: 1m, timeZone: Europe/Berlin}]}").Gates[0]
	for b.Loop() {
		New(spec)
	}
}
