// Package display formats results for terminals, programs and CI systems.
//
// What the package keeps true: names and messages from people's files cannot move a terminal's
// cursor, begin a line or change a colour. Only terminals get colour, unless NO_COLOR is set. JSON
// and YAML have the same content.
package display

import (
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"golang.org/x/term"
)

// Stream is standard output or standard error.
type Stream struct {
	io.Writer
	Terminal bool
	// NoProgress is set if a program reads the output.
	NoProgress bool

	clock  clock
	busy   atomic.Bool // a progress is shown or pending
	mu     sync.Mutex  // guards shown, and writes during a progress
	shown  bool
	colour bool
	width  func() int
}

// NewStream returns the stream of a writer, with colour if it is a terminal.
func NewStream(w io.Writer) *Stream {
	f, ok := w.(*os.File)
	terminal := ok && term.IsTerminal(int(f.Fd()))
	s := &Stream{Writer: w, Terminal: terminal, clock: systemClock}
	if terminal {
		s.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		s.width = func() int {
			width, _, _ := term.GetSize(int(f.Fd()))
			return width
		}
	}
	return s
}

// NewTerminal returns a terminal of a width, with colour.
func NewTerminal(w io.Writer, width int) *Stream {
	return &Stream{Writer: w, Terminal: true, clock: systemClock, colour: true, width: func() int { return width }}
}

// Width returns the characters per line; 0 for unlimited. COLUMNS takes precedence over the
// terminal.
func (s *Stream) Width() int {
	if s.width == nil {
		return 0
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	return s.width()
}

// The colours.
const (
	Red    = "\x1b[31m"
	Green  = "\x1b[32m"
	Yellow = "\x1b[33m"
	Bold   = "\x1b[1m"
	Dim    = "\x1b[2m"
	reset  = "\x1b[0m"
)

// Paint returns text in a colour, if the stream shows colours.
func (s *Stream) Paint(colour, text string) string {
	if !s.colour || colour == "" {
		return text
	}
	return colour + text + reset
}

// SanitizeLine returns text from people's files as one line without control characters.
func SanitizeLine(text string) string {
	return spaces.Replace(SanitizeLines(text))
}

var spaces = strings.NewReplacer("\n", " ", "\t", " ")

// SanitizeLines is SanitizeLine, but keeps line feeds and tabs.
func SanitizeLines(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
