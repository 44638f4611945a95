package plaintext

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// FormatLanes returns how many commits would not have to wait if an environment had lanes, and a line for each lane.
func FormatLanes(r lane.Report, to *display.Stream) string {
	if len(r.Decisions) == 0 {
		return fmt.Sprintf("With lanes: no lane has a newer version for %s.\n", r.Environment)
	}
	rows := make([][]string, len(r.Decisions))
	for i, d := range r.Decisions {
		rows[i] = []string{d.Lane, text.ShortCommit(d.Candidate), string(d.State), display.SanitizeLine(laneText(d))}
	}
	lines := to.FormatRows([]display.Column{{Heading: "LANE"}, {Heading: "VERSION"}, {Heading: "STATE"}, {Heading: "WHY", Fit: display.Wrap}}, rows)
	return countLaneCommits(r) + strings.Join(lines, "")
}

// countLaneCommits says how many of the commits that wait would move with lanes.
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

// laneText returns why a lane could move, or what it waits for.
func laneText(d lane.Decision) string {
	with := ""
	if len(d.With) > 0 {
		with = " together with " + text.Join(d.With, " and ")
	}
	switch reason := d.Reason; reason.Kind {
	case lane.NotProven:
		return reason.Text
	case lane.Joint:
		return fmt.Sprintf("%s changes %s too, which waits", text.ShortCommit(reason.Commit), reason.Lane)
	case lane.Shared:
		return fmt.Sprintf("it changes %s of lane %s too, so both have to move together", reason.Folder, reason.Lane)
	case lane.Context:
		return fmt.Sprintf("%s was verified in %s as a part of %s, with newer commits of others that change %s too", text.ShortCommit(d.Candidate), reason.Environment, text.ShortCommit(reason.Commit), reason.Folder)
	case lane.Unrendered:
		return "the environment cannot be rendered with it: " + reason.Text
	case lane.Unreported:
		return fmt.Sprintf("it would move by itself%s; clusters of %s do not report its objects one by one, so it is unknown whether they are ready", with, reason.Environment)
	}
	return "it could move by itself" + with
}
