package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/drift"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type diffCommand struct {
	app     *app
	input   input
	unified bool
	context uint
	stacks  bool // only what differs between the stacks of two environments
	inside  bool // look into sources that move
	// worktree is the revision of the work tree; "" without --worktree.
	worktree string
	across   acrossCheck // of B; without an input until used
	// committed is the default counterpart of the work tree, or "".
	committed string
}

func newDiff(a *app) *cobra.Command {
	d := &diffCommand{app: a}
	c := &cobra.Command{
		Use:     "diff A B",
		GroupID: groupMain,
		Short:   "Say what a change of the control plane means",
		Long: `Diff renders A and B and says what changes from one to the other: what it means (how
many cluster types and workloads, which kinds of change, what is deleted), identical
changes as one with their count; then, with --unified, line by line.

Of two environments it says what differs and why: other commits of the base, what is
written for one of them only, what policies say of assignments that one of them lacks, and
the configs that set other values. --stacks leaves only the stacks: blueprints, modules,
versions, variables and what each environment sets itself.

Of stacks, B is what becomes of A: one that has no file any more is torn down, and one that a
problem stops stays as it is. A revision does not tell what clusters have, such as a stack that
is being destroyed. To compare with that, name a checkout of the GitOps repository as A.

With --inside it fetches what sources hold that move, such as a commit or a version of a chart, and
says which objects they add, change and remove. Without, it sends no requests to them.

With --worktree B is the work tree here, and A what is checked out, or the revision that
is named.

A and B are each one of
  FOLDER    a folder that was rendered, or a checkout of the GitOps repository
  ENV@REV   a revision of the branch of environment ENV
  REV       the branch of an environment, or a revision of it (dev, dev~1); or else a
            revision of the base, rendered for every environment (or that of -e)
The name of an environment's branch stands for the environment, also if there is a folder of that
name. ./NAME is always a folder, and refs/heads/NAME always a branch.

It exits with 4 if they differ, and with 3 if one of them has problems, or if clusters must not
change so. --output github is
for jobs of GitHub Actions: it also writes to the job's summary, and exits with 0 if they
differ.`,
		Example: `  fairlead diff main my-change                  what merging my-change would do
  fairlead diff dev~1 dev                       what the last commit to dev did
  fairlead diff -u dev dev@my-change            what merging my-change into dev would do
  fairlead diff -e dev ../gitops main           what the GitOps repository lacks
  fairlead diff stage prod                      what differs between two environments
  fairlead diff stage prod --stacks             what differs between their stacks
  fairlead diff --worktree                      what your uncommitted changes would do`,
		ValidArgsFunction: completeFiles,
		RunE: func(c *cobra.Command, args []string) error {
			args, err := d.withWorktree(c.Context(), args)
			if err != nil {
				return err
			}
			return d.runDiff(c.Context(), args[0], args[1])
		},
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if d.input.worktree {
			return checkArguments(0, 1)(c, args)
		}
		return checkSides(c, args)
	}
	d.input.addEnvironmentFlag(c, "all that A and B are of")
	c.Flags().BoolVarP(&d.unified, "unified", "u", false, "also print the changes line by line")
	c.Flags().UintVar(&d.context, "context", 3, "`lines` around each change of --unified")
	c.Flags().BoolVar(&d.stacks, "stacks", false, "of two environments, only what differs between their stacks")
	c.Flags().BoolVar(&d.inside, "inside", false, "fetch what sources hold that move: commits, charts and artifacts")
	d.app.addOutputFlag(c, "github")
	d.input.addInputFlags(c)
	return c
}

func checkSides(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageErrorf("add --worktree for what is not committed here, or name A and B; "+c.CommandPath()+" --help says more", "%s does not say what to compare", c.CommandPath())
	}
	return checkArguments(2, 2)(c, args)
}

type diffReport struct {
	Environments []environmentDiff `json:"environments"`
	// Drift compares two environments; nil for revisions.
	Drift *drift.Report `json:"drift,omitempty"`
	// Unified has the lines that differ between the environments.
	Unified string `json:"unified,omitempty"`
	title   string // what is compared, unless the arguments name it
}

type environmentDiff struct {
	Environment string `json:"environment,omitempty"` // "" for two folders
	*impact.Report
	Unified  string       `json:"unified,omitempty"`
	Problems problem.List `json:"problems,omitempty"`
	// Refused has the cluster changes that must not be merged.
	Refused problem.List `json:"refused,omitempty"`
}

func (d *diffCommand) runDiff(ctx context.Context, from, to string) error {
	sides, err := d.openSides(ctx, from, to)
	if err != nil {
		return err
	}
	d.noteBranches(ctx, sides)
	d.noteAhead(ctx, sides)
	if a, b := sides[0].environment, sides[1].environment; d.input.environment == "" && a != "" && b != "" && a != b {
		if d.inside {
			return usageErrorf("name two revisions of one environment, as in fairlead diff --inside dev~1 dev", "--inside does not compare environments")
		}
		return d.runDrift(ctx, sides)
	}
	if d.stacks {
		return usageErrorf("as in fairlead diff stage prod --stacks", "--stacks compares two environments")
	}
	names, err := d.comparedEnvironments(sides)
	if err != nil {
		return err
	}
	report := diffReport{Environments: []environmentDiff{}, title: d.worktreeTitle(ctx, from)}
	var failed, stopped []string
	var refused problem.List
	err = d.input.forEachEnvironment(names, "compare", func(name string) error {
		r, err := d.compareSides(ctx, name, sides)
		if err != nil {
			return err
		}
		if r.Problems.StopsEnvironment() {
			failed = append(failed, name)
		}
		for _, p := range r.Problems.StoppedStacks() {
			stopped = append(stopped, p.Stack)
		}
		refused = append(refused, r.Refused...)
		if r.Problems != nil || len(r.Refused) > 0 || !r.IsEmpty() {
			report.Environments = append(report.Environments, r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := d.printReport(report); err != nil {
		return err
	}
	if len(refused) > 0 {
		fmt.Fprint(d.app.stderr, display.FormatProblems(refused, d.app.stderr))
	}
	if failed != nil {
		return &problemsError{summary: text.Join(failed, " and ") + " cannot be compared: there are problems"}
	}
	if refused.Stops() {
		return errRefusedChange
	}
	if stopped != nil {
		return &problemsError{summary: "all is compared but what problems stop: " + text.Join(slices.Compact(stopped), " and ")}
	}
	return d.differenceError(len(report.Environments) > 0)
}

func (d *diffCommand) printReport(r diffReport) error {
	if d.app.format != "github" {
		names := list.Convert(r.Environments, func(e environmentDiff) string { return e.Environment })
		return d.app.printValue(r, names, r.reportText)
	}
	fmt.Fprint(d.app.stdout, r.reportText())
	return appendJobFile("GITHUB_STEP_SUMMARY", "the summary", r.markdownText())
}

// differenceError returns errDiffers for differences, which are no failure in GitHub
// Actions.
func (d *diffCommand) differenceError(yes bool) error {
	if yes && d.app.format != "github" {
		return errDiffers
	}
	return nil
}

// errRefusedChange follows printed reasons.
var errRefusedChange = &problemsError{summary: "the change must not be merged as it is"}

func (d *diffCommand) compareSides(ctx context.Context, env string, sides [2]side) (environmentDiff, error) {
	both, err := d.readSides(ctx, env, sides)
	if err != nil {
		return environmentDiff{}, err
	}
	result := environmentDiff{Environment: env}
	if both[0].Problems.Stops() || both[1].Problems.Stops() {
		d.printProblems(env, sides, both)
		result.Problems = slices.Concat(both[0].Problems, both[1].Problems).Sorted()
	}
	if result.Problems.StopsEnvironment() {
		return result, nil
	}
	opt := impact.Options{Workload: model.WorkloadOf(modelsOf(both)...), Chosen: model.ChosenIn(modelsOf(both)...)}
	if d.inside {
		opt.Contents, err = d.input.findContents(ctx, both[0].Tree, both[1].Tree)
		if err != nil {
			return result, err
		}
	}
	report := impact.Compare(both[0].Tree, both[1].Tree, opt)
	result.Report = &report
	if d.unified {
		result.Unified = d.unifiedText(both[0].Tree, both[1].Tree)
	}
	result.Refused = d.checkClusters(sides, both).Sorted()
	return result, nil
}

func (d *diffCommand) checkClusters(sides [2]side, both [2]source.Rendered) problem.List {
	switch models := modelsOf(both); {
	case len(models) == len(sides):
		return provision.CheckModel(provision.NewStates(models[0]), models[1])
	case len(models) == 1 && sides[0].folder:
		return clusterfiles.CheckPrevious(models[0], both[0].Tree)
	}
	return nil
}

func (d *diffCommand) unifiedText(from, to tree.Tree) string {
	var b strings.Builder
	for piece := range impact.UnifiedDiff(from, to, int(d.context)) {
		b.WriteString(piece)
	}
	return b.String()
}

func (d *diffCommand) printProblems(env string, sides [2]side, both [2]source.Rendered) {
	problems := [2]problem.List{both[0].Problems, both[1].Problems}
	if slices.Equal(problems[0], problems[1]) {
		fmt.Fprintf(d.app.stderr, "%s at %s and at %s:\n%s", env, d.label(sides[0]), d.label(sides[1]), display.FormatProblems(problems[0], d.app.stderr))
		return
	}
	for i, list := range problems {
		if list.Stops() {
			fmt.Fprintf(d.app.stderr, "%s at %s:\n%s", env, d.label(sides[i]), display.FormatProblems(list, d.app.stderr))
		}
	}
}

// readSides makes the second side follow the first as the daemon does: without stacks
// of other environments, and with teardowns of stacks without a file.
func (d *diffCommand) readSides(ctx context.Context, env string, sides [2]side) (both [2]source.Rendered, err error) {
	var cache output.Cache // shares rendering between the sides
	for i, s := range sides {
		both[i], err = d.readSide(ctx, env, s, &cache)
		if err != nil {
			return both, err
		}
	}
	if both[0].Problems.StopsEnvironment() {
		return both, nil
	}
	if both[1].Model != nil && !both[1].Problems.StopsEnvironment() {
		both[1], err = d.stopClaimed(ctx, sides[1], both)
		if err != nil {
			return both, err
		}
	}
	both[1], err = both[1].FollowOutput(both[0].Tree)
	return both, err
}

// stopClaimed stops stacks of the second side that other environments have: newly
// claimed ones, else what the daemon stops anyway.
func (d *diffCommand) stopClaimed(ctx context.Context, s side, both [2]source.Rendered) (source.Rendered, error) {
	from, to := both[0], both[1]
	if from.Model != nil {
		claimed, err := s.in.source.FindClaimed(ctx, from.Model, to.Model, s.known, "")
		if err != nil {
			return to, err
		}
		if len(claimed) > 0 {
			return to.StopStacks(claimed)
		}
	}
	if d.across.input == nil {
		d.across = acrossCheck{app: d.app, input: s.in, byOrder: true}
	}
	if from.Model == nil { // a checkout of the output
		claims, err := source.ReadClaims(from.Tree)
		if err != nil {
			return to, err
		}
		d.across.outputs = map[string]source.OutputClaims{to.Environment: claims}
	}
	return d.across.stop(ctx, to)
}

func (d *diffCommand) readSide(ctx context.Context, env string, s side, cache *output.Cache) (source.Rendered, error) {
	if s.folder {
		files, err := source.ReadFolder(s.argument)
		return source.Rendered{Tree: output.OwnedTree(files)}, err
	}
	if s.in.options.EnvironmentDir == "" && !slices.Contains(s.known, env) { // without output or unreadable, as the problems explain
		return source.Rendered{Problems: s.problems}, nil
	}
	return s.in.renderEnvironment(ctx, env, s.revisions, cache)
}

func modelsOf(both [2]source.Rendered) []*model.Model {
	var models []*model.Model
	for _, r := range both {
		if r.Model != nil {
			models = append(models, r.Model)
		}
	}
	return models
}

func (d diffReport) reportText() string {
	if d.Drift != nil {
		text := display.SanitizeLines(d.Drift.Text())
		if d.Unified != "" {
			text += "\n" + d.Unified
		}
		return text
	}
	if len(d.Environments) == 0 {
		return strings.TrimPrefix(d.title+": no differences\n", ": ")
	}
	var b strings.Builder
	if d.title != "" {
		b.WriteString(d.title + ":\n")
	}
	for _, r := range d.Environments {
		if r.Report == nil {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if r.Environment != "" {
			b.WriteString(r.Environment + ": ")
		}
		b.WriteString(r.Text())
		if r.Unified != "" {
			b.WriteString("\n" + r.Unified)
		}
	}
	return b.String()
}

func (d *diffCommand) runDrift(ctx context.Context, sides [2]side) error {
	var made [2]source.Rendered
	var both [2]drift.Side
	var failed []string
	var problems problem.List
	for i, s := range sides {
		var err error
		made[i], err = s.in.renderEnvironment(ctx, s.environment, s.revisions, nil)
		if err != nil {
			return err
		}
		if made[i].Problems.Stops() {
			failed, problems = append(failed, s.environment), append(problems, made[i].Problems...)
		}
		both[i] = drift.Side{Model: made[i].Model, Tree: made[i].Tree}
		if at := slices.IndexFunc(made[i].Commits, func(c source.Commit) bool { return c.Layer == "base" }); at >= 0 {
			both[i].Base = made[i].Commits[at].Commit
		}
	}
	if failed != nil {
		return &problemsError{summary: text.Join(failed, " and ") + " cannot be compared: there are problems", list: problems.Sorted()}
	}
	if err := d.findAhead(ctx, &both); err != nil {
		return err
	}
	report := drift.Compare(both[0], both[1])
	if d.stacks {
		report = report.Select(drift.Stacks)
	}
	full := diffReport{Environments: []environmentDiff{}, Drift: &report}
	if d.unified {
		full.Unified = d.unifiedText(made[0].Tree, made[1].Tree)
	}
	if err := d.printReport(full); err != nil {
		return err
	}
	return d.differenceError(!report.IsEmpty())
}

const maxAhead = 1000

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
			unrendered, err := promoter.IsActionCommit(base, c.ID)
			if err != nil {
				return err
			}
			both[i].Ahead = append(both[i].Ahead, drift.Commit{ID: c.ID, Title: c.Subject(), Unrendered: unrendered})
		}
	}
	return nil
}

// maxSummary bounds a report in bytes: GitHub limits a job's summary to a megabyte.
const maxSummary = 100_000

func (d diffReport) markdownText() string {
	var b strings.Builder
	b.WriteString("## What changes\n")
	if d.title != "" {
		b.WriteString("\n" + forge.EscapeMarkdown(d.title) + ".\n")
	}
	if len(d.Environments) == 0 && d.Drift == nil {
		b.WriteString("\nNothing.\n")
	}
	if d.Drift != nil {
		b.WriteString("\n")
		for line := range strings.Lines(d.Drift.Text()) { // as code, where Markdown is inert
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
		for _, p := range e.Refused {
			fmt.Fprintf(&b, "\n- %s\n", forge.EscapeMarkdown(display.SanitizeLine(p.String())))
		}
	}
	return b.String()
}
