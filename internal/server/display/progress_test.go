package display

import (
	"bytes"
	"testing"
	"time"
)

// TestShowProgress: what takes more than a second is shown on a terminal, and erased at the end.
func TestShowProgress(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("COLUMNS", "")
	start := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	show := func(s *Stream, out *bytes.Buffer, what string, after ...time.Duration) string {
		ticks, ended := make(chan time.Time), false
		s.clock = func() (time.Time, <-chan time.Time, func()) { return start, ticks, func() { ended = true } }
		stop := s.ShowProgress(what)
		s.ShowProgress("another one")() // is not shown
		for _, d := range after {
			ticks <- start.Add(d)
		}
		stop()
		if !ended {
			t.Error("the clock was not ended")
		}
		return out.String()
	}
	for _, test := range []struct {
		name  string
		width int
		after []time.Duration
		want  string
	}{
		{"a moment", 80, []time.Duration{250 * time.Millisecond, 750 * time.Millisecond}, ""},
		{"seconds", 80, []time.Duration{time.Second, 2500 * time.Millisecond}, "\r\x1b[Kfetch a\ufffdb… 1s\r\x1b[Kfetch a\ufffdb… 2s\r\x1b[K"},
		{"a narrow terminal", 10, []time.Duration{time.Second}, "\r\x1b[Kfetch… 1s\r\x1b[K"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			if got := show(NewTerminal(&out, test.width), &out, "fetch a\rb", test.after...); got != test.want {
				t.Errorf("it shows %q, want %q", got, test.want)
			}
		})
	}
	var out bytes.Buffer
	terminal := NewTerminal(&out, 80)
	show(terminal, &out, "fetch", time.Second)
	if got := show(terminal, &out, "render", time.Second); got != "\r\x1b[Kfetch… 1s\r\x1b[K\r\x1b[Krender… 1s\r\x1b[K" {
		t.Errorf("two after each other are %q", got)
	}
}

// TestProgressCounts: what is counted has a bar and numbers, which stay where the terminal is narrow.
func TestProgressCounts(t *testing.T) {
	t.Setenv("COLUMNS", "")
	for _, test := range []struct {
		step  Step
		width int
		want  string
	}{
		{Step{What: "render dev", Done: 0, Total: 3, Unit: "environment"}, 80, "[----------] 0 of 3 environments: render dev… 4s"},
		{Step{What: "render prod", Done: 2, Total: 3, Unit: "environment"}, 80, "[######----] 2 of 3 environments: render prod… 4s"},
		{Step{What: "compare", Done: 1, Total: 1, Unit: "environment"}, 80, "[##########] 1 of 1 environment: compare… 4s"},
		{Step{What: "render a-long-name", Done: 1, Total: 2, Unit: "environment"}, 40, "[#####-----] 1 of 2 environments: r… 4s"},
		{Step{What: "fetch"}, 80, "fetch… 4s"},
	} {
		if got := NewTerminal(&bytes.Buffer{}, test.width).progressText(test.step, 4*time.Second); got != test.want {
			t.Errorf("it shows %q, want %q", got, test.want)
		}
	}
}

// TestProgressMoves: the line follows the steps, and the time is that of the whole.
func TestProgressMoves(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("COLUMNS", "")
	var out bytes.Buffer
	s, ticks, start := NewTerminal(&out, 80), make(chan time.Time), time.Now()
	s.clock = func() (time.Time, <-chan time.Time, func()) { return start, ticks, func() {} }
	p := s.StartProgress(Step{What: "render dev", Total: 2, Unit: "environment"})
	s.StartProgress(Step{What: "another one"}).Stop() // is not shown, and ends nothing
	ticks <- start.Add(time.Second)
	ticks <- start // the one before it is shown now
	p.Show(Step{What: "render prod", Done: 1, Total: 2, Unit: "environment"})
	ticks <- start.Add(3 * time.Second)
	p.Stop()
	want := "\r\x1b[K[----------] 0 of 2 environments: render dev… 1s\r\x1b[K[#####-----] 1 of 2 environments: render prod… 3s\r\x1b[K"
	if got := out.String(); got != want {
		t.Errorf("it shows %q, want %q", got, want)
	}
}

// TestWriteDuringProgress: a warning has a line of its own.
func TestWriteDuringProgress(t *testing.T) {
	t.Setenv("TERM", "xterm")
	var out bytes.Buffer
	s, ticks, start := NewTerminal(&out, 80), make(chan time.Time), time.Now()
	s.clock = func() (time.Time, <-chan time.Time, func()) { return start, ticks, func() {} }
	stop := s.ShowProgress("fetch")
	ticks <- start.Add(time.Second)
	ticks <- start // the one before it is shown now
	if _, err := s.Write([]byte("warning\n")); err != nil {
		t.Fatal(err)
	}
	stop()
	if got, want := out.String(), "\r\x1b[Kfetch… 1s\r\x1b[Kwarning\n"; got != want {
		t.Errorf("it shows %q, want %q", got, want)
	}
}

// TestNoProgress: in a pipe, with the output of programs, and on a terminal that cannot erase, nothing is
// shown, and no clock is begun.
func TestNoProgress(t *testing.T) {
	t.Setenv("TERM", "xterm")
	quiet, dumb := NewTerminal(&bytes.Buffer{}, 80), NewTerminal(&bytes.Buffer{}, 80)
	quiet.NoProgress = true
	for name, s := range map[string]*Stream{"a pipe": NewStream(&bytes.Buffer{}), "JSON": quiet, "a dumb terminal": dumb} {
		t.Run(name, func(t *testing.T) {
			if s == dumb {
				t.Setenv("TERM", "dumb")
			}
			s.clock = func() (time.Time, <-chan time.Time, func()) {
				t.Error("it begins")
				return time.Time{}, nil, func() {}
			}
			s.ShowProgress("fetch")()
		})
	}
}
