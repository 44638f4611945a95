package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/scheduler"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type checkCommand struct {
	app    *app
	input  input
	strict bool
	across acrossCheck
}

type checkReport struct {
	Environments []checkedEnvironment         `json:"environments"`
	Promotion    *checkedChain                `json:"promotion,omitempty"` // nil if the environments could not be read
	Problems     []display.EnvironmentProblem `json:"problems"`
	FollowUps    int                          `json:"followUps,omitempty"` // warnings that may follow from what could not be read
	Followed     []checkedFollowed            `json:"followed,omitempty"`  // what is deployed without being promoted
}

type checkedEnvironment struct {
	Environment  string         `json:"environment"`
	Ready        bool           `json:"ready"` // no problem stops it
	Problems     int            `json:"problems"`
	Warnings     int            `json:"warnings"`
	ClusterTypes int            `json:"clusterTypes"`
	Targets      int            `json:"targets"`
	Assignments  int            `json:"assignments"`
	Stacks       int            `json:"stacks,omitempty"`
	Components   int            `json:"components,omitempty"` // of all stacks
	Manifests    int            `json:"manifests,omitempty"`
	Provisioned  int            `json:"provisionedClusters,omitempty"` // of all manifests
	Ignored      map[string]int `json:"ignored,omitempty"`             // objects by "apiVersion Kind"
}

func newCheck(a *app) *cobra.Command {
	k := &checkCommand{app: a}
	c := &cobra.Command{
		Use:     "check",
		GroupID: groupMain,
		Short:   "Name every problem of a control plane",
		Long: `Check reads and renders every environment (or the one named with -e), names all
problems, each with its file and line, and writes nothing. It exits with 3 if there is
an error; warnings alone are fine without --strict. Errors come first. Beside errors, only
the first five warnings are shown, for most of them follow from the errors; -v shows all. Where a
file cannot be read, warnings that may follow from that are counted.

Objects of kinds that Fairlead does not read are named once by their kinds; -v counts them.

It also says in which order commits get to the environments, and what is wrong with that:
a Promotion, its gates, holds, freezes and approvals. What follows a branch or a range of versions is
not promoted: one line says so, and -v what, and what to write instead.

With --base or --environment-revision it checks a pull request: a policy that selects nothing,
and selects something at the head of the branch, is a problem then, and a warning otherwise. So
are a cluster type or deployment target that no policy selects since its labels were changed, an
object that Flux would keep as it was, and what must not become of clusters, as fairlead cluster
plan says it. Without --base, clusters
are also compared with those that the output has, if the environment has manifests of clusters, or
had some before its last commit; a note says if the output cannot be read.

It is made for the CI of a control plane: --output github prints workflow annotations,
--output sarif a SARIF log for code scanning.`,
		Example: `  fairlead check                                     what is committed, all environments
  fairlead check --base HEAD --output github         a pull request to the base
  fairlead check -e dev --environment-revision HEAD  a pull request to the branch of dev
  fairlead check -v                                  also count what is not Fairlead's`,
		Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return k.runCheck(c.Context()) },
	}
	k.input.addEnvironmentFlag(c, "all")
	c.Flags().BoolVar(&k.strict, "strict", false, "take warnings for problems")
	k.app.addOutputFlag(c, "github", "sarif")
	k.input.addInputFlags(c)
	return c
}

func (k *checkCommand) runCheck(ctx context.Context) error {
	k.across = acrossCheck{app: k.app, input: &k.input}
	if err := k.input.openSource(ctx); err != nil {
		return err
	}
	names, err := k.input.selectEnvironments(ctx)
	var unread *problemsError
	if err != nil && !errors.As(err, &unread) {
		return err
	}
	k.input.noteAhead(ctx, func(base string) string { return "check it with --base " + base })
	var models []*model.Model
	var rendered []source.Rendered
	all, followUps := problemSet{}, problemSet{}
	report := checkReport{Environments: []checkedEnvironment{}}
	if unread != nil {
		all.add("", k.applyStrict(unread.list))
	}
	err = k.input.forEachEnvironment(names, "check", func(name string) error {
		e, err := k.input.renderEnvironment(ctx, name, source.Revisions{}, nil)
		if err == nil {
			e, err = k.across.keepStates(ctx, e)
		}
		if err != nil {
			return err
		}
		e.Problems, err = k.compareWithBefore(ctx, name, e)
		if err != nil {
			return err
		}
		e.Problems = k.applyStrict(append(slices.Clip(e.Problems), scheduler.FindUnknown(e.Model, k.input.settings, true)...))
		all.add(name, e.Problems)
		followUps.add(name, e.FollowUps)
		report.Environments = append(report.Environments, newCheckedEnvironment(e))
		models, rendered = append(models, e.Model), append(rendered, e)
		return nil
	})
	if err != nil {
		return err
	}
	shared, err := k.across.check(ctx, models...)
	if err != nil {
		return err
	}
	rivals := publish.FindRivals(models, func(repo string) string { return giturl.Relocate(repo, k.input.options.Map) })
	for _, e := range report.Environments {
		all.add(e.Environment, k.applyStrict(append(slices.Clip(shared[e.Environment]), rivals[e.Environment]...)))
	}
	if unread == nil {
		chain, err := k.checkChain(ctx, names, models, all)
		if err != nil {
			return err
		}
		report.Promotion = &chain
	}
	report.Followed = listFollowed(rendered)
	list := all.list().Sorted()
	for i := range report.Environments {
		e := &report.Environments[i]
		e.Problems, e.Warnings = all.ofEnvironment(e.Environment).Count()
		e.Ready = e.Problems == 0
	}
	report.FollowUps = len(followUps)
	report.Problems = []display.EnvironmentProblem{}
	for _, p := range list {
		report.Problems = append(report.Problems, display.EnvironmentProblem{Problem: p, Environments: slices.DeleteFunc(all[p], func(name string) bool { return name == "" })})
	}
	if err := k.printReport(report); err != nil || !list.Stops() {
		return err
	}
	return &problemsError{summary: "the control plane has " + display.CountProblems(list.Count())}
}

func newCheckedEnvironment(e source.Rendered) checkedEnvironment {
	components := 0
	for _, s := range e.Model.Stacks.List {
		components += len(s.Components)
	}
	provisioned := 0
	for _, m := range e.Model.Clusters.Manifests {
		provisioned += len(m.Spec.Kubernetes.Clusters)
	}
	return checkedEnvironment{
		Environment: e.Environment, ClusterTypes: len(e.Model.ClusterTypes), Targets: len(e.Model.Targets),
		Assignments: schedule.NewPlan(e.Model, nil).Len(), Ignored: e.Model.Ignored,
		Stacks: len(e.Model.Stacks.List), Components: components,
		Manifests: len(e.Model.Clusters.Manifests), Provisioned: provisioned,
	}
}

func (k *checkCommand) applyStrict(list problem.List) problem.List {
	list = slices.Clone(list)
	for i := range list {
		list[i].Warning = list[i].Warning && !k.strict
	}
	return list
}

func (k *checkCommand) printReport(r checkReport) error {
	ci := display.Report{Environments: len(r.Environments), Problems: r.Problems, FileOf: k.input.workingFile}
	switch k.app.format {
	case "github":
		_, err := fmt.Fprint(k.app.stdout, ci.GitHub())
		return err
	case "sarif":
		data, err := ci.SARIF()
		if err == nil {
			_, err = k.app.stdout.Write(data)
		}
		return err
	}
	names := list.Convert(r.Environments, func(e checkedEnvironment) string { return e.Environment })
	return k.app.printValue(r, names, func() string { return k.reportText(r) })
}

func (k *checkCommand) reportText(r checkReport) string {
	var b strings.Builder
	b.WriteString(k.problemsText(r))
	for _, e := range r.Environments {
		fmt.Fprintf(&b, "%s: %s (%s)\n", e.Environment, display.CountProblems(e.Problems, e.Warnings), e.contentText())
		if k.app.verbose {
			for _, kind := range slices.Sorted(maps.Keys(e.Ignored)) {
				fmt.Fprintf(&b, "  not read: %d %s\n", e.Ignored[kind], display.SanitizeLine(kind))
			}
		}
	}
	if !k.app.verbose {
		b.WriteString(r.ignoredText())
	}
	if r.Promotion != nil && k.input.environment == "" {
		b.WriteString(r.Promotion.orderText())
		b.WriteString(r.followedText(k.app.verbose))
	}
	return b.String()
}

// maxIgnored bounds the kinds that are named of objects that are not read.
const maxIgnored = 8

// ignoredText returns a line that names the kinds of objects that Fairlead does not know; "" if there are none.
func (r checkReport) ignoredText() string {
	unknown := map[string]bool{}
	for _, e := range r.Environments {
		for kind := range e.Ignored {
			if model.IsForeign(kind) {
				unknown[kind] = true
			}
		}
	}
	kinds := slices.Sorted(maps.Keys(unknown))
	if len(kinds) > maxIgnored {
		kinds = append(kinds[:maxIgnored], fmt.Sprintf("%d more kinds", len(kinds)-maxIgnored))
	}
	if len(kinds) == 0 {
		return ""
	}
	return display.SanitizeLine("not read: "+text.Join(kinds, " and ")+" (-v counts them)") + "\n"
}

// contentText says how much there is in the environment; stacks and manifests of clusters only where
// there are some.
func (e checkedEnvironment) contentText() string {
	content := []string{text.Count(e.ClusterTypes, "cluster type"), text.Count(e.Targets, "deployment target"), text.Count(e.Assignments, "assignment")}
	if e.Stacks > 0 {
		content = append(content, text.Count(e.Stacks, "stack"), text.Count(e.Components, "component"))
	}
	if e.Manifests > 0 {
		content = append(content, text.Count(e.Manifests, "InputManifest"), text.Count(e.Provisioned, "provisioned cluster"))
	}
	return strings.Join(content, ", ")
}

// problemsText returns the errors, and then the warnings: those that all environments have, then
// those of some, under the names of these environments.
func (k *checkCommand) problemsText(r checkReport) string {
	isWarning := func(p display.EnvironmentProblem) bool { return p.Warning }
	all, folded := r.Problems, ""
	if !k.app.verbose {
		all, folded = display.FoldFollowUps(all, isWarning, " (-v shows all)", k.app.stdout)
	}
	stops := slices.IndexFunc(all, isWarning)
	if stops < 0 {
		stops = len(all)
	}
	if r.FollowUps > 0 {
		folded += k.app.stdout.Paint(display.Yellow, "warning: ") + text.Count(r.FollowUps, "more warning") + " may follow from what could not be read: fix that first\n"
	}
	return k.groupsText(all[:stops], len(r.Environments)) + k.groupsText(all[stops:], len(r.Environments)) + folded
}

func (k *checkCommand) groupsText(problems []display.EnvironmentProblem, environments int) string {
	var shared problem.List
	some := map[string]problem.List{}
	for _, p := range problems {
		if !p.InSome(environments) {
			shared = append(shared, p.Problem)
			continue
		}
		names := text.Join(p.Environments, " and ")
		some[names] = append(some[names], p.Problem)
	}
	var b strings.Builder
	b.WriteString(display.FormatProblems(shared, k.app.stdout))
	for _, names := range slices.Sorted(maps.Keys(some)) {
		fmt.Fprintf(&b, "in %s:\n%s", names, display.FormatProblems(some[names], k.app.stdout))
	}
	return b.String()
}

// compareWithBefore returns the problems of an environment, with those of what changes: what must not become of
// the clusters that the output has, and of a revision that a flag names also of those at the head of the branch that
// it is to be merged into, and a policy that selects nothing any more.
func (k *checkCommand) compareWithBefore(ctx context.Context, name string, e source.Rendered) (problem.List, error) {
	of := k.input.options
	if of.EnvironmentDir != "" || of.BaseDir != "" || e.Problems.Stops() {
		return e.Problems, nil
	}
	before, all := k.loadPrevious(ctx, e), e.Problems
	if of.Base != "" || of.EnvironmentRevision != "" {
		head, problems, err := k.across.headModel(ctx, name)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil: // the clone of a CI job need not have it
			fmt.Fprintf(k.app.stderr, "fairlead: note: %s is not compared with the branch's head: %s\n", name, display.SanitizeLine(err.Error()))
		case head == nil:
			fmt.Fprintf(k.app.stderr, "fairlead: note: %s is not compared with the branch's head, which has %s\n", name, display.CountProblems(problems.Count()))
		}
		names, err := k.input.source.EnvironmentNames(ctx)
		if err != nil {
			return nil, err
		}
		before, all = head, output.WithIdleSince(head, e.Model, names, all)
		if head != nil {
			all = append(all, provision.CheckModel(provision.NewStates(head), e.Model)...)
		}
	}
	if of.Base == "" && slices.ContainsFunc([]*model.Model{before, e.Model}, func(m *model.Model) bool { return m != nil && len(m.Clusters.Manifests) > 0 }) {
		all = append(slices.Clip(all), k.checkOutput(ctx, e.Model)...)
	}
	return all.Sorted(), ctx.Err()
}

// loadPrevious returns the model of an environment before the last commit of its branch, if it has no manifests of
// clusters now; nil if there is none, or it is not known.
func (k *checkCommand) loadPrevious(ctx context.Context, e source.Rendered) *model.Model {
	i := slices.IndexFunc(e.Commits, func(c source.Commit) bool { return c.Layer == e.Environment && c.Commit != "" })
	if i < 0 || len(e.Model.Clusters.Manifests) > 0 {
		return nil
	}
	before, _, err := k.input.source.LoadModel(ctx, e.Environment, source.Revisions{Environment: e.Commits[i].Commit + "~1"})
	if err != nil { // the first commit has none before it
		return nil
	}
	return before
}

// checkOutput returns what must not become of the clusters that the output of an environment has; none, with a note,
// if it cannot be read.
func (k *checkCommand) checkOutput(ctx context.Context, m *model.Model) problem.List {
	lists := clusterListCommand{commandContext: newCommandContext(k.app), input: k.input}
	found, err := lists.checkOutput(ctx, m)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(k.app.stderr, "fairlead: note: what becomes of the clusters of %s is not checked, because its output cannot be read: %s; fairlead cluster plan compares two commits\n", m.Environment, display.SanitizeLine(err.Error()))
	}
	return found
}
