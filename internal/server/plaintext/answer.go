package plaintext

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// Facts are what commands print in addition to a page's answer.
type Facts struct {
	Chain     status.Chain
	Standings []fleetview.Standing
	// Filtered reports whether the address selects a part of a list.
	Filtered bool
	Now      time.Time
	// At is the requested moment; "" for now.
	At string
}

// FormatAnswer returns a page's answer as text, equal to the output of the corresponding command if
// one exists.
func FormatAnswer(of any, f Facts) (string, error) {
	to := display.NewStream(io.Discard)
	lines := ""
	switch a := of.(type) {
	case answer.Overview:
		lines = NewChainTable(f.Chain, f.Now).Format(to, false) + formatTimeline(a.Timeline, to)
	case answer.Environments:
		lines = formatSituations(a, to)
		if f.Filtered && len(a.Situations) == 0 {
			lines = "no environment is like that\n"
		}
	case answer.OneEnvironment:
		if a.Stage == nil {
			lines = FormatEnvironments([]status.Environment{a.Report}, to)
			break
		}
		lines = FormatStage(*a.Stage, f.Now, to) + formatStageLanes(*a.Stage) + FormatHint(f.Chain)
	case answer.PullImpact:
		lines = formatPull(a)
	case answer.StackRun:
		lines = formatRun(a)
	case answer.Explanation:
		lines = a.Text
	case answer.Differences:
		for _, p := range a.Proposed {
			runs := "what was merged before"
			if p.Runs != nil {
				runs = text.ShortCommit(p.Runs.ID)
			}
			lines += fmt.Sprintf("%s is compared as pull request %d proposes it; until it is merged, clusters run %s\n", p.Environment, p.Pull.Number, runs)
		}
		lines += a.Text
	case answer.Forecast:
		var all []promote.Arrival
		for _, one := range a.Arrivals {
			all = append(all, one.Arrival)
		}
		lines = FormatArrivals(all, f.Now, to)
		if a.Commit.Unrendered {
			lines = unrenderedText
		}
	case answer.Problems:
		lines = formatProblems(a)
	case answer.Commits:
		lines = newCommitsTable(a, f.Now).Format(to, false)
	case answer.Journey:
		lines = formatJourney(a, f.Now, to)
	case answer.Fleet:
		lines = formatAt(f.At) + formatFleet(a, f, to)
	case answer.History:
		lines = NewHistoryTable(a, f.Now).Format(to, false)
		if f.Filtered && len(a.Items) == 0 && a.At == "" {
			lines = "nothing that was done is like that\n"
		}
	case answer.Workloads:
		lines = formatAt(f.At) + newWorkloadsTable(a, f.Filtered).Format(to, false)
	case answer.ClusterTypes:
		lines = formatAt(f.At) + newClusterTypesTable(a, f.Filtered).Format(to, false)
	case answer.Tabled:
		lines = formatTabled(a, f, to)
	default:
		page, err := formatPage(of, f, to)
		if err != nil {
			return "", err
		}
		lines = page
	}
	return display.SanitizeLines(lines), nil
}

// formatPull also describes a pull request that Git no longer has.
func formatPull(a answer.PullImpact) string {
	if !a.Lost {
		return cmp.Or(a.Text, "it is not known yet what the pull request changes\n")
	}
	ended := a.State.Word
	if a.By != "" {
		ended += " by " + a.By
	}
	if a.Reason != "" {
		ended += ": " + a.Reason
	}
	return a.Pull.Title + "\n" + ended + "\nthe GitOps repository has its commit no longer, so that nothing is known of what it changed\n"
}

// FormatRefusal returns why there is no answer.
func FormatRefusal(sentence, hint string) string {
	lines := display.SanitizeLine(sentence) + "\n"
	if hint != "" {
		lines += "hint: " + display.SanitizeLine(hint) + "\n"
	}
	return lines
}

func formatProblems(a answer.Problems) string {
	if len(a.Items) == 0 {
		none := display.CountProblems(0, 0)
		if a.Total > 0 {
			none = "no problem is like that"
		}
		return none + "\n" + formatResolved(a.Resolved)
	}
	var b strings.Builder
	for _, p := range a.Items {
		for _, place := range locateProblem(p) {
			fmt.Fprintf(&b, "%s: %s\n", p.Kind, display.SanitizeLine(place.String()))
		}
		if p.Hint != "" {
			fmt.Fprintf(&b, "  hint: %s\n", display.SanitizeLine(p.Hint))
		}
	}
	return b.String() + formatRest(len(a.Items), a.Found, a.Page) + formatResolved(a.Resolved)
}

func locateProblem(p answer.Problem) (places problem.List) {
	for _, one := range append([]answer.ProblemPlace{{Place: p.Place, Subject: p.Subject, Environments: p.Environments}}, p.Others...) {
		summary := p.Summary
		if len(one.Environments) > 0 {
			summary = strings.Join(one.Environments, ", ") + ": " + summary
		}
		places = append(places, problem.Problem{Pos: problem.Pos{File: one.Place}, Subject: one.Subject, Summary: summary})
	}
	return places
}

func formatResolved(a answer.ResolvedProblems) string {
	var b strings.Builder
	for _, p := range a.Items {
		with := "without a new commit"
		if c := p.Commit; c != nil {
			with = fmt.Sprintf("with %s %s (%s, %s)", text.ShortCommit(c.ID), c.Subject, c.Author, display.FormatMoment(c.When))
		}
		for _, place := range locateProblem(p.Problem) {
			fmt.Fprintf(&b, "resolved: %s\n", display.SanitizeLine(place.String()))
		}
		fmt.Fprintf(&b, "  from %s until %s, %s\n", display.FormatMoment(p.Since), display.FormatMoment(p.Until), display.SanitizeLine(with))
	}
	if shown := len(a.Items); shown < a.Found {
		fmt.Fprintf(&b, "these are the newest %d of %s\n", shown, text.Count(a.Found, "resolved problem"))
	}
	if !a.KeptSince.IsZero() {
		fmt.Fprintf(&b, "resolved problems are kept since %s, when Fairlead started\n", display.FormatMoment(a.KeptSince))
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String()
}

func formatRest(shown, all, page int) string {
	if shown == all {
		return ""
	}
	return fmt.Sprintf("page %d, with %d of %s; ?page=NUMBER has the others\n", page, shown, text.Count(all, "row"))
}

func newCommitsTable(a answer.Commits, now time.Time) Table {
	t := Table{Above: formatAt(a.At), Empty: "no commit\n", Columns: []Column{{Key: "commit"}, {Key: "age"}, {Key: "author"}}, Below: formatRest(len(a.Items), a.Found, a.Page)}
	for _, e := range a.Environments {
		t.Columns = append(t.Columns, Column{Key: e.Name})
	}
	t.Columns = append(t.Columns, Column{Key: "subject"})
	for _, c := range a.Items {
		row := []any{text.ShortCommit(c.Commit.ID), NewAge(c.Commit.When, now), c.Commit.Author}
		for i, mark := range c.Marks {
			row = append(row, markText(mark, a.Environments[i]))
		}
		subject := c.Commit.Subject
		if c.Branch != "" {
			subject += " (on the branch of " + c.Branch + ")"
		}
		t.Rows = append(t.Rows, append(row, subject))
	}
	return t
}

func markText(mark string, e answer.Environment) string {
	if (mark == answer.MarkHas || mark == answer.MarkProposed || mark == answer.MarkLane) && e.CommitState.Tone != answer.Unknown {
		return e.CommitState.Word
	}
	return answer.MarkText(mark)
}

const unrenderedText = "no environment gets it: it changes nothing that is rendered\n"

func formatJourney(a answer.Journey, now time.Time, to *display.Stream) string {
	t := Table{Above: formatAt(a.At), Columns: []Column{{Key: "environment"}, {Key: "mark"}, {Key: "state"}, {Key: "age"}, {Key: "why"}}, Empty: unrenderedText}
	for _, s := range a.Stops {
		t.Rows = append(t.Rows, []any{s.Environment.Name, s.Mark, s.State.Word, NewAge(s.Since, now), stopText(s)})
	}
	about := fmt.Sprintf("%s %s (%s, %s)", text.ShortCommit(a.Commit.ID), a.Commit.Subject, a.Commit.Author, display.FormatMoment(a.Commit.When))
	return display.SanitizeLine(about) + "\n\n" + t.Format(to, false)
}

func stopText(s answer.Stop) string {
	newer := ""
	if s.Newer != nil {
		newer = text.ShortCommit(s.Newer.ID)
	}
	var parts []string
	switch {
	case s.Mark == answer.MarkBack:
		parts = append(parts, strings.TrimSuffix(fmt.Sprintf("rolled back to %s by %s: %s", text.ShortCommit(s.Back.To.ID), s.Back.Who, s.Back.Reason), ": "))
		if newer != "" {
			parts = append(parts, "it has the newer "+newer+" now, which contains it")
		}
	case s.Mark == answer.MarkLane:
		parts = append(parts, "has it by its lanes")
	case newer == "":
	case s.Mark == answer.MarkRuns:
		parts = append(parts, "runs until the newer "+newer+" is merged")
	case s.Mark == answer.MarkIn, s.Mark == answer.MarkLeftOut:
		parts = append(parts, "the newer "+newer+" contains it")
	case s.Mark == answer.MarkWithin:
		parts = append(parts, "it never had it by itself: the newer "+newer+" contains it")
	case s.Mark == answer.MarkWith:
		parts = append(parts, "it comes with the newer "+newer)
	}
	if s.Reason != "" {
		parts = append(parts, s.Reason)
	}
	return strings.Join(parts, "; ")
}

func formatFleet(a answer.Fleet, f Facts, to *display.Stream) string {
	lines := ""
	if a.Ledger && !a.LedgerFails {
		lines = NewStandingsTable(f.Standings, f.Now).Format(to, false) + "\n"
	}
	return lines + formatMatrix(a, f.Filtered, to)
}

func formatCell(c answer.FleetCell) string {
	if c.Assignments == 0 {
		return ""
	}
	var parts []string
	for _, v := range c.Versions {
		parts = append(parts, fmt.Sprintf("%s ×%d", cmp.Or(v.Version, "?"), v.Assignments))
	}
	if c.MoreVersions > 0 {
		parts = append(parts, fmt.Sprintf("+%d", c.MoreVersions))
	}
	if c.State != nil {
		parts = append(parts, fmt.Sprintf("%s %d/%d", c.State.Word, c.Worst, c.Assignments))
	}
	return strings.Join(parts, " ")
}

// NewHistoryTable returns the activity as a table.
func NewHistoryTable(a answer.History, now time.Time) Table {
	empty := "nothing was done\n"
	switch {
	case len(a.Actions) > 0:
		empty = "nothing that was done is like that\n"
	case a.At != "":
		empty = "nothing was done until " + a.At + "\n"
	}
	t := Table{Above: formatAt(a.At), Empty: empty, Below: formatRest(len(a.Items), a.Total, a.Page), Columns: []Column{{Key: "since"}, {Key: "age", People: true}, {Key: "by"}, {Key: "environment"}, {Key: "action"}, {Key: "from"}, {Key: "to"}, {Key: "title"}, {Key: "why"}, {Key: "via"}}}
	for _, e := range a.Items {
		why := e.Reason
		if e.Forced != "" {
			why = strings.Join(append([]string{"forced: " + e.Forced}, e.Overrides...), "; ")
		}
		if own := e.OwnCommit; own != nil {
			why = strings.TrimPrefix(fmt.Sprintf("%s; with %s %s (%s) of the branch of %s", why, text.ShortCommit(own.ID), own.Subject, own.Author, e.Environment), "; ")
		}
		action := strings.ReplaceAll(e.Action, "-", " ")
		if e.Pull > 0 {
			action = fmt.Sprintf("%s pull request %d", e.Action, e.Pull)
		}
		t.Rows = append(t.Rows, []any{FormatTime(e.Time), NewAge(e.Time, now), e.Who, cmp.Or(e.Environment, strings.Join(e.Environments, ", ")), action, CommitID(e.From), CommitID(e.To), e.Title, why, e.Via})
	}
	return t
}
