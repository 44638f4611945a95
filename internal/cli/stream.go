package cli

import (
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// stream is standard output or standard error.
type stream struct {
	io.Writer
	terminal bool
	colour   bool // it shows colours, and they are wanted
}

func newStream(w io.Writer) *stream {
	f, ok := w.(*os.File)
	terminal := ok && term.IsTerminal(int(f.Fd()))
	return &stream{w, terminal, terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	dim    = "\x1b[2m"
	reset  = "\x1b[0m"
)

func (s *stream) paint(colour, text string) string {
	if !s.colour {
		return text
	}
	return colour + text + reset
}

// visible replaces what would move a terminal's cursor, begin a line or change a
// colour: names and messages hold what people wrote in files.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
