// Package display is how the program shows what it has to say: on terminals, to
// programs, and in the CI of others.
//
// What the package keeps true: names and messages, which hold what people wrote in
// files, cannot move a terminal's cursor, begin a line or change a colour; colour is
// for terminals only, and only if it is wanted; JSON and YAML say the same; the same
// problems give the same text.
package display

import (
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// Stream is standard output or standard error.
type Stream struct {
	io.Writer
	Terminal bool
	colour   bool // it shows colours, and they are wanted
}

// NewStream finds out what can be shown there.
func NewStream(w io.Writer) *Stream {
	f, ok := w.(*os.File)
	terminal := ok && term.IsTerminal(int(f.Fd()))
	return &Stream{w, terminal, terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// The colours.
const (
	Red    = "\x1b[31m"
	Yellow = "\x1b[33m"
	Dim    = "\x1b[2m"
	reset  = "\x1b[0m"
)

// Paint gives text a colour, if the stream shows colours.
func (s *Stream) Paint(colour, text string) string {
	if !s.colour {
		return text
	}
	return colour + text + reset
}

// Visible replaces what would move a terminal's cursor, begin a line or change a
// colour: names and messages hold what people wrote in files.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return harmless(r)
	}, text)
}

// Lines does the same for text of several lines, which stay, as tabs do.
func Lines(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return harmless(r)
	}, text)
}

// harmless replaces a character that a terminal does not show but obeys.
func harmless(r rune) rune {
	if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
		return unicode.ReplacementChar
	}
	return r
}
