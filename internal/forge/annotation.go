package forge

import (
	"context"
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

// AnnotateChange makes notes the only comments of ours with this mark at lines of a pull
// request. Those that are there already stay. One that is out of date is removed; if people
// have answered it, it is resolved. Lines that the diff does not show are returned, and those
// that are too many.
func (h *Hosted[P]) AnnotateChange(ctx context.Context, c Change, mark string, notes []Annotation) ([]Annotation, error) {
	user, err := h.User(ctx)
	if err != nil {
		return nil, err
	}
	var wanted []LineComment
	for _, n := range notes {
		text, err := FormatComment(mark, h.dialect.Escape(n.Markdown()), h.dialect.MaxComment)
		if err != nil {
			return nil, err
		}
		if c := (LineComment{n, text}); !slices.Contains(wanted, c) {
			wanted = append(wanted, c)
		}
	}
	missing, err := h.calls.TidyLineComments(ctx, c, mark, user, wanted)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	return h.calls.AddLineComments(ctx, c, missing)
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
