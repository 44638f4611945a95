package plaintext

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
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

func formatLanePositions(c status.Chain) string {
	var b strings.Builder
	for _, name := range status.LaneNames(c) {
		var has, stops []string
		for _, s := range c.Stages {
			l := s.FindLane(name)
			if commit := cmp.Or(l.Commit, s.Commit); commit != "" {
				has = append(has, fmt.Sprintf("%s has %s", s.Environment, text.ShortCommit(commit)))
			}
			if stop := formatLaneStop(l, s.Environment); stop != "" {
				stops = append(stops, "; "+stop)
			}
		}
		b.WriteString(display.SanitizeLine("lane "+name+": "+strings.Join(has, ", ")+strings.Join(stops, "")) + "\n")
	}
	var lanes []string
	for _, s := range c.Stages {
		lanes = append(lanes, list.Convert(s.Releases, func(r status.Release) string { return r.Lane })...)
	}
	slices.Sort(lanes)
	for _, lane := range slices.Compact(lanes) {
		var has, stops []string
		for _, s := range c.Stages {
			r, _ := s.FindRelease(lane)
			has = append(has, fmt.Sprintf("%s has %s", s.Environment, cmp.Or(r.Name, "none")))
			if r.Failure != "" {
				stops = append(stops, fmt.Sprintf("; %s failed in %s: %s", r.Name, s.Environment, r.Failure))
			}
			if stop := formatReleaseStop(r); stop != "" {
				stops = append(stops, fmt.Sprintf("; %s in %s", stop, s.Environment))
			}
		}
		b.WriteString(display.SanitizeLine("releases of "+lane+": "+strings.Join(has, ", ")+strings.Join(stops, "")) + "\n")
	}
	return b.String()
}

// formatReleaseStop returns what a release waits for; "" if nothing waits.
func formatReleaseStop(r status.Release) string {
	switch {
	case r.Verdict.Status == gate.Pass:
		return ""
	case r.Next == "":
		return r.Verdict.Reason
	}
	return fmt.Sprintf("%s (%s) waits: %s", r.Next, strings.Join(r.Change, ", "), r.Verdict.Reason)
}

func formatStageLanes(s status.Stage) string {
	var b strings.Builder
	for _, l := range s.Lanes {
		line := fmt.Sprintf("lane %s: %s", l.Name, text.ShortCommit(cmp.Or(l.Commit, s.Commit)))
		if stop := formatLaneStop(l, s.Environment); stop != "" {
			line += "; " + stop
		}
		b.WriteString("\n" + display.SanitizeLine(line))
	}
	b.WriteString(FormatReleases(s))
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// FormatReleases returns a line for each lane's versions in an environment.
func FormatReleases(s status.Stage) string {
	var b strings.Builder
	for _, r := range s.Releases {
		line := fmt.Sprintf("releases of %s: %s", r.Lane, cmp.Or(r.Name, "none"))
		if len(r.Versions) > 0 {
			line += fmt.Sprintf(" (%s), %s", strings.Join(r.Versions, ", "), r.State)
			if r.Failure != "" {
				line += ": " + r.Failure
			}
		}
		if stop := formatReleaseStop(r); stop != "" {
			line += "; " + stop
		}
		b.WriteString("\n" + display.SanitizeLine(line))
	}
	return b.String()
}

// formatLaneStop returns what a lane waits for in an environment; "" if it does not wait.
func formatLaneStop(l status.Lane, environment string) string {
	switch {
	case l.Failure != "":
		return fmt.Sprintf("failed in %s: %s", environment, l.Failure)
	case l.Waiting > 1 && l.Reason != "":
		return fmt.Sprintf("%d versions wait in %s: %s", l.Waiting, environment, l.Reason)
	case l.Reason != "":
		return fmt.Sprintf("waits in %s: %s", environment, l.Reason)
	case l.Hold != "":
		return fmt.Sprintf("held in %s: %s", environment, l.Hold)
	}
	return ""
}
