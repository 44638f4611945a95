package plaintext

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// FormatLanes returns how many commits would not wait with lanes, and a line for each lane.
func FormatLanes(r lane.Report, to *display.Stream) string {
	if len(r.Decisions) == 0 {
		return fmt.Sprintf("With lanes: no lane has a newer version for %s.\n", r.Environment)
	}
	rows := make([][]string, len(r.Decisions))
	for i, d := range r.Decisions {
		rows[i] = []string{d.Lane, text.ShortCommit(d.Candidate), string(d.State), display.SanitizeLine(d.Explain())}
	}
	lines := to.FormatRows([]display.Column{{Heading: "LANE"}, {Heading: "VERSION"}, {Heading: "STATE"}, {Heading: "WHY", Fit: display.Wrap}}, rows)
	return countLaneCommits(r) + strings.Join(lines, "")
}

func countLaneCommits(r lane.Report) string {
	moves, independent := 0, 0
	for _, c := range r.Commits {
		switch {
		case c.Moves:
			moves++
		case c.Independent:
			independent++
		}
	}
	said := fmt.Sprintf("With lanes, %d of %s that wait could be in %s, if its gates allow it.", moves, text.Count(len(r.Commits), "commit"), r.Environment)
	if independent > 0 {
		said += fmt.Sprintf(" %d more would wait for nothing but the verification of what they change.", independent)
	}
	return said + "\n"
}

// formatLanePositions returns a line for each lane of which environments have different commits, or one waits for a commit.
func formatLanePositions(c status.Chain) string {
	lanes := map[string]bool{}
	for _, s := range c.Stages {
		for _, l := range s.Lanes {
			lanes[l.Name] = true
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(lanes)) {
		var has, waits []string
		for _, s := range c.Stages {
			l := s.FindLane(name)
			if commit := cmp.Or(l.Commit, s.Commit); commit != "" {
				has = append(has, fmt.Sprintf("%s has %s", s.Environment, text.ShortCommit(commit)))
			}
			if l.Reason != "" {
				waits = append(waits, fmt.Sprintf("; waits in %s: %s", s.Environment, l.Reason))
			}
		}
		b.WriteString(display.SanitizeLine("lane "+name+": "+strings.Join(has, ", ")+strings.Join(waits, "")) + "\n")
	}
	return b.String()
}
