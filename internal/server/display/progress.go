package display

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

const progressDelay = time.Second

const barWidth = 10

// clock returns the start, ticks, and a function to stop them.
type clock func() (now time.Time, ticks <-chan time.Time, end func())

func systemClock() (time.Time, <-chan time.Time, func()) {
	t := time.NewTicker(progressDelay / 4)
	return time.Now(), t.C, t.Stop
}

// Step is what a command is doing.
type Step struct {
	What string // such as "render stage"
	// Done of Total units are complete. A Total of 0 is not counted.
	Done, Total int
	Unit        string
}

// Progress shows what a command is doing until stopped.
type Progress struct {
	step atomic.Pointer[Step]
	stop func()
}

// Show replaces the step. It is safe for concurrent use.
func (p *Progress) Show(step Step) { p.step.Store(&step) }

// Stop erases the progress.
func (p *Progress) Stop() { p.stop() }

// ShowProgress is StartProgress with one step; stop erases it.
func (s *Stream) ShowProgress(what string) (stop func()) {
	return s.StartProgress(Step{What: what}).Stop
}

// StartProgress shows on a terminal what a command is doing, its progress and duration, after a
// second. Output replaces it. A second concurrent progress is not shown.
func (s *Stream) StartProgress(first Step) *Progress {
	p := &Progress{stop: func() {}}
	p.Show(first)
	if !s.Terminal || s.NoProgress || os.Getenv("TERM") == "dumb" || !s.busy.CompareAndSwap(false, true) {
		return p
	}
	started, ticks, end := s.clock()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case now := <-ticks:
				waited := now.Sub(started)
				if waited >= progressDelay {
					s.replaceProgress(s.progressText(*p.step.Load(), waited))
				}
			case <-quit:
				s.replaceProgress("")
				return
			}
		}
	}()
	p.stop = func() {
		end()
		close(quit)
		<-done
		s.busy.Store(false)
	}
	return p
}

func (s *Stream) replaceProgress(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown || text != "" {
		fmt.Fprint(s.Writer, "\r\x1b[K"+text)
	}
	s.shown = text != ""
}

// Write replaces a shown progress with output.
func (s *Stream) Write(data []byte) (int, error) {
	if s.busy.Load() {
		s.replaceProgress("")
	}
	return s.Writer.Write(data)
}

func (s *Stream) progressText(step Step, waited time.Duration) string {
	since := fmt.Sprintf("… %ds", int(waited.Seconds()))
	what := step.barText() + SanitizeLine(step.What)
	if room := s.Width() - utf8.RuneCountInString(since) - 1; s.Width() > 0 && utf8.RuneCountInString(what) > room {
		what = string([]rune(what)[:max(0, room)])
	}
	return what + since
}

func (step Step) barText() string {
	if step.Total <= 0 {
		return ""
	}
	full := min(barWidth, barWidth*step.Done/step.Total)
	bar := strings.Repeat("#", full) + strings.Repeat("-", barWidth-full)
	return fmt.Sprintf("[%s] %d of %s: ", bar, step.Done, text.Count(step.Total, step.Unit))
}
