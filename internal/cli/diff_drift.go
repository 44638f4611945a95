package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/change/drift"
	"github.com/fairlead-io/fairlead/internal/cli/display"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// hasTwoEnvironments reports whether the sides are of two environments.
func (d *diffCommand) hasTwoEnvironments(sides [2]side) bool {
	a, b := sides[0].environment, sides[1].environment
	return d.input.environment == "" && a != "" && b != "" && a != b
}

// runDrift reports what differs between two environments, and why.
func (d *diffCommand) runDrift(ctx context.Context, sides [2]side) error {
	var made [2]source.Rendered
	var both [2]drift.Side
	var failed []string
	var problems problem.List
	for i, s := range sides {
		var err error
		made[i], err = s.in.renderEnvironment(ctx, s.environment, s.revisions)
		if err != nil {
			return err
		}
		if made[i].Problems.Stops() {
			failed, problems = append(failed, s.environment), append(problems, made[i].Problems...)
		}
		both[i] = drift.Side{Model: made[i].Model, Tree: made[i].Tree, Base: baseCommit(made[i])}
	}
	if failed != nil {
		return &problemsError{summary: display.Enumerate(failed, "and") + " cannot be compared: there are problems", list: problems.Sorted()}
	}
	if err := d.findAhead(ctx, &both); err != nil {
		return err
	}
	report := drift.Compare(both[0], both[1])
	full := diffReport{Environments: []environmentDiff{}, Drift: &report}
	if d.unified {
		full.Unified = d.unifiedText(made[0].Tree, made[1].Tree)
	}
	if err := d.printReport(full); err != nil {
		return err
	}
	return d.differenceError(!report.IsEmpty())
}

// baseCommit returns the commit of the base that an environment was rendered from.
func baseCommit(r source.Rendered) string {
	for _, c := range r.Commits {
		if c.Layer == "base" {
			return c.Commit
		}
	}
	return ""
}

// maxAhead bounds the commits between two commits of the base.
const maxAhead = 1000

// findAhead adds to each side the commits of the base that the other side lacks.
func (d *diffCommand) findAhead(ctx context.Context, both *[2]drift.Side) error {
	if both[0].Base == both[1].Base || both[0].Base == "" || both[1].Base == "" {
		return nil
	}
	base, err := d.input.source.Base(ctx)
	if err != nil || base.Repo == nil {
		return err
	}
	for i := range both {
		commits, err := base.Repo.CommitsBetween(both[1-i].Base, both[i].Base, maxAhead)
		if err != nil {
			return err
		}
		for _, c := range commits {
			both[i].Ahead = append(both[i].Ahead, drift.Commit{ID: c.ID, Title: c.Subject()})
		}
	}
	return nil
}

// maxSummary bounds, in bytes, the report of one environment in the summary of a job, which
// GitHub limits to a megabyte.
const maxSummary = 100_000

// writeSummary prints the report, and appends it to the summary of a job of GitHub Actions.
func (d *diffCommand) writeSummary(r diffReport) error {
	fmt.Fprint(d.app.stdout, r.reportText())
	file := os.Getenv("GITHUB_STEP_SUMMARY")
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	if _, err := f.WriteString(r.markdownText()); err != nil {
		_ = f.Close()
		return fmt.Errorf("write the summary: %w", err)
	}
	return f.Close()
}

// markdownText returns the report as Markdown.
func (d diffReport) markdownText() string {
	var b strings.Builder
	b.WriteString("## What changes\n")
	if len(d.Environments) == 0 && d.Drift == nil {
		b.WriteString("\nNothing.\n")
	}
	if d.Drift != nil {
		b.WriteString("\n")
		for line := range strings.Lines(d.Drift.Text()) { // as code, in which Markdown is inert
			b.WriteString("    " + display.SanitizeLine(strings.TrimSuffix(line, "\n")) + "\n")
		}
	}
	for _, e := range d.Environments {
		fmt.Fprintf(&b, "\n### %s\n\n", e.Environment)
		if e.Report == nil {
			b.WriteString("Problems stop it; its output would stay as it is.\n")
			continue
		}
		b.WriteString(strings.TrimSpace(e.Report.Markdown(maxSummary)) + "\n")
	}
	return b.String()
}
