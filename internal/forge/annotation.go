package forge

import (
	"regexp"
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
