package forge

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Markdown returns the annotation as a comment, with its text escaped.
func (a Annotation) Markdown() string {
	kind := "Problem"
	if a.Warning {
		kind = "Warning"
	}
	return "**" + kind + ":** " + EscapeMarkdown(a.Text)
}

// MaxLineComments bounds the line comments of one update, so that people's comments stay readable.
const MaxLineComments = 50

// LineComment is an annotation and the text of its comment.
type LineComment struct {
	Annotation Annotation
	Text       string
}

// AnnotateChange makes notes our only line comments with this mark. It removes outdated ones, or
// resolves those with replies. It returns notes that the diff does not show, or that exceed
// MaxLineComments.
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

// DiffLines maps the lines of the new file that a unified diff shows to lines of the old file, or 0
// if added.
func DiffLines(diff string) map[int]int {
	lines := map[int]int{}
	old, now, inside := 0, 0, false
	for line := range strings.Lines(diff) {
		if m := hunkHead.FindStringSubmatch(line); m != nil {
			old, _ = strconv.Atoi(m[1])
			now, _ = strconv.Atoi(m[2])
			inside = true
			continue
		}
		switch {
		case !inside:
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
