package forge

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Markdown returns an annotation as a comment: what it is, and its text, escaped.
func (a Annotation) Markdown() string {
	kind := "Problem"
	if a.Warning {
		kind = "Warning"
	}
	return "**" + kind + ":** " + EscapeMarkdown(a.Text)
}

// MaxLineComments bounds how many comments at lines are made at once, so that people can
// still read the others.
const MaxLineComments = 50

// LineComment is an annotation, and the text of its comment.
type LineComment struct {
	Annotation Annotation
	Text       string
}

// FormatNotes returns annotations with the texts of their comments, each once.
func (h *Hosted[P]) FormatNotes(mark string, notes []Annotation) ([]LineComment, error) {
	var all []LineComment
	for _, n := range notes {
		text, err := FormatComment(mark, h.dialect.Escape(n.Markdown()), h.dialect.MaxComment)
		if err != nil {
			return nil, err
		}
		if c := (LineComment{n, text}); !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all, nil
}

var hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

// DiffLines returns the lines of the new file that a unified diff of one file shows, and
// the line of the old file that each was; 0 for one that is new.
func DiffLines(diff string) map[int]int {
	lines := map[int]int{}
	old, now, inside := 0, 0, false
	for line := range strings.Lines(diff) {
		if m := hunkHead.FindStringSubmatch(line); m != nil {
			old, _ = strconv.Atoi(m[1]) // they are digits
			now, _ = strconv.Atoi(m[2])
			inside = true
			continue
		}
		switch {
		case !inside: // the head of the file
		case line[0] == '+':
			lines[now] = 0
			now++
		case line[0] == '-':
			old++
		case line[0] == ' ' || line[0] == '\n':
			lines[now] = old
			old, now = old+1, now+1
		}
	}
	return lines
}
