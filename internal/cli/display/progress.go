package display

import (
	"fmt"
	"os"
	"time"
	"unicode/utf8"
)

// progressDelay is how long something takes before a person is told what it is.
const progressDelay = time.Second

// clock returns the time now, the times at which to look again, and a function that ends them.
type clock func() (now time.Time, ticks <-chan time.Time, end func())

func systemClock() (time.Time, <-chan time.Time, func()) {
	t := time.NewTicker(progressDelay / 4)
	return time.Now(), t.C, t.Stop
}

// ShowProgress shows on a terminal what a command waits for and since when, if that takes more than a
// second, until the returned function is called, which erases it. What is written meanwhile takes its
// place. Where something is shown already, another one is not.
func (s *Stream) ShowProgress(what string) (stop func()) {
	if !s.Terminal || s.NoProgress || os.Getenv("TERM") == "dumb" || !s.busy.CompareAndSwap(false, true) {
		return func() {}
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
					s.replaceProgress(s.progressText(what, waited))
				}
			case <-quit:
				s.replaceProgress("")
				return
			}
		}
	}()
	return func() {
		end()
		close(quit)
		<-done
		s.busy.Store(false)
	}
}

// replaceProgress erases what is shown, and shows text instead; "" is nothing.
func (s *Stream) replaceProgress(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown || text != "" {
		fmt.Fprint(s.Writer, "\r\x1b[K"+text)
	}
	s.shown = text != ""
}

// Write writes to the stream, in the place of what is shown of a progress.
func (s *Stream) Write(data []byte) (int, error) {
	if s.busy.Load() {
		s.replaceProgress("")
	}
	return s.Writer.Write(data)
}

// progressText returns what is shown, in one line of the terminal.
func (s *Stream) progressText(what string, waited time.Duration) string {
	since := fmt.Sprintf("… %ds", int(waited.Seconds()))
	what = SanitizeLine(what)
	if room := s.Width() - utf8.RuneCountInString(since) - 1; s.Width() > 0 && utf8.RuneCountInString(what) > room {
		what = string([]rune(what)[:max(0, room)])
	}
	return what + since
}
