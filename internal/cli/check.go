package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/cli/display"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// checkCommand is `fairlead check`.
type checkCommand struct {
	app        *app
	input      input
	strict     bool
	headSource *source.Source // without the revisions of the flags; nil until it is used
}

// checkReport is the result of check.
type checkReport struct {
	Environments []checkedEnvironment         `json:"environments"`
	Promotion    *checkedChain                `json:"promotion,omitempty"` // nil if the environments could not be read
	Problems     []display.EnvironmentProblem `json:"problems"`
}

// checkedEnvironment is the report on one environment.
type checkedEnvironment struct {
	Environment  string         `json:"environment"`
	Ready        bool           `json:"ready"` // no problem stops it
	Problems     int            `json:"problems"`
	Warnings     int            `json:"warnings"`
	ClusterTypes int            `json:"clusterTypes"`
	Targets      int            `json:"targets"`
	Assignments  int            `json:"assignments"`
	Ignored      map[string]int `json:"ignored,omitempty"` // objects by "apiVersion Kind"
}

func newCheck(a *app) *cobra.Command {
	k := &checkCommand{app: a}
	c := &cobra.Command{
		Use:     "check",
		GroupID: groupMain,
		Short:   "Name every problem of a control plane",
		Long: `Check reads and renders every environment (or the one named with -e), names all
problems, each with its file and line, and writes nothing. It exits with 3 if there is
a problem; warnings alone are fine without --strict.

It also says in which order commits get to the environments, and what is wrong with that:
a Promotion, its gates, holds, freezes and approvals.

With --base or --environment-revision it checks a pull request: a policy that selects nothing,
and selects something at the head of the branch, is a problem then, and a warning otherwise.

It is made for the CI of a control plane: --output github prints workflow annotations,
--output sarif a SARIF log for code scanning.`,
		Example: `  fairlead check                                     what is committed, all environments
  fairlead check --base HEAD --output github         a pull request to the base
  fairlead check -e dev --environment-revision HEAD  a pull request to the branch of dev
  fairlead check -v                                  also count what is not Fairlead's`,
		Args:              checkArguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, _ []string) error { return k.runCheck(c.Context()) },
	}
	k.input.addEnvironmentFlag(c, "all")
	c.Flags().BoolVar(&k.strict, "strict", false, "take warnings for problems")
	k.app.addOutputFlag(c, "github", "sarif")
	k.input.addInputFlags(c)
	return c
}

func (k *checkCommand) runCheck(ctx context.Context) error {
	if err := k.input.openSource(ctx); err != nil {
		return err
	}
	names, err := k.input.selectEnvironments(ctx)
	var unread *problemsError
	if err != nil && !errors.As(err, &unread) {
		return err
	}
	all := problemSet{}
	report := checkReport{Environments: []checkedEnvironment{}}
	if unread != nil {
		all.add("", k.applyStrict(unread.list))
	}
	for _, name := range names {
		e, err := k.input.renderEnvironment(ctx, name, source.Revisions{})
		if err != nil {
			return err
		}
		e.Problems, err = k.withIdleSince(ctx, name, e)
		if err != nil {
			return err
		}
		e.Problems = k.applyStrict(e.Problems)
		all.add(name, e.Problems)
		report.Environments = append(report.Environments, newCheckedEnvironment(e))
	}
	if unread == nil {
		chain, err := k.checkChain(ctx, names, all)
		if err != nil {
			return err
		}
		report.Promotion = &chain
	}
	report.Problems = all.sortedProblems()
	if err := k.printReport(report); err != nil {
		return err
	}
	if list := all.list().Sorted(); list.Stops() {
		return &problemsError{summary: "the control plane has " + display.CountProblems(list.Count())}
	}
	return nil
}

// applyStrict returns the list with warnings made problems, if --strict is set.
func (k *checkCommand) applyStrict(list problem.List) problem.List {
	list = slices.Clone(list)
	for i := range list {
		list[i].Warning = list[i].Warning && !k.strict
	}
	return list
}

func newCheckedEnvironment(e source.Rendered) checkedEnvironment {
	problems, warnings := e.Problems.Count()
	return checkedEnvironment{
		Environment: e.Environment, Ready: problems == 0, Problems: problems, Warnings: warnings,
		ClusterTypes: len(e.Model.ClusterTypes), Targets: len(e.Model.Targets),
		Assignments: schedule.Assign(e.Model, nil).Len(), Ignored: e.Model.Ignored,
	}
}

// problemSet maps each problem to the environments that have it; "" stands for all.
type problemSet map[problem.Problem][]string

func (f problemSet) add(environment string, list problem.List) {
	for _, p := range list {
		f[p] = append(f[p], environment)
	}
}

// addNew adds the problems that are not in the set yet: a problem of all environments is
// not reported again as that of one.
func (f problemSet) addNew(environment string, list problem.List) {
	for _, p := range list {
		if _, known := f[p]; !known {
			f[p] = []string{environment}
		}
	}
}

func (f problemSet) list() problem.List { return slices.Collect(maps.Keys(f)) }

// sortedProblems returns the problems in their canonical order.
func (f problemSet) sortedProblems() []display.EnvironmentProblem {
	problems := []display.EnvironmentProblem{}
	for _, p := range f.list().Sorted() {
		problems = append(problems, display.EnvironmentProblem{Problem: p, Environments: slices.DeleteFunc(f[p], func(name string) bool { return name == "" })})
	}
	return problems
}

func (k *checkCommand) printReport(r checkReport) error {
	ci := display.Report{Environments: len(r.Environments), Problems: r.Problems, FileOf: k.input.workingFile}
	switch k.app.format {
	case "github":
		_, err := fmt.Fprint(k.app.stdout, ci.GitHub())
		return err
	case "sarif":
		data, err := ci.SARIF()
		if err != nil {
			return err
		}
		_, err = k.app.stdout.Write(data)
		return err
	}
	return k.app.printValue(r, func() string { return k.reportText(r) })
}

// reportText returns the problems, then a line for each environment.
func (k *checkCommand) reportText(r checkReport) string {
	var b strings.Builder
	b.WriteString(k.problemsText(r))
	for _, e := range r.Environments {
		fmt.Fprintf(&b, "%s: %s (%s, %s, %s)\n", e.Environment, display.CountProblems(e.Problems, e.Warnings),
			display.Plural(e.ClusterTypes, "cluster type"), display.Plural(e.Targets, "deployment target"), display.Plural(e.Assignments, "assignment"))
		if k.app.verbose {
			for _, kind := range slices.Sorted(maps.Keys(e.Ignored)) {
				fmt.Fprintf(&b, "  not read: %d %s\n", e.Ignored[kind], display.SanitizeLine(kind))
			}
		}
	}
	if r.Promotion != nil && k.input.environment == "" {
		b.WriteString(r.Promotion.orderText())
	}
	return b.String()
}

// problemsText returns the problems that all environments have, then those of some, under the
// names of these environments.
func (k *checkCommand) problemsText(r checkReport) string {
	var shared problem.List
	some := map[string]problem.List{}
	for _, p := range r.Problems {
		if !p.InSome(len(r.Environments)) {
			shared = append(shared, p.Problem)
			continue
		}
		names := display.Enumerate(p.Environments, "and")
		some[names] = append(some[names], p.Problem)
	}
	var b strings.Builder
	b.WriteString(display.FormatProblems(shared, k.app.stdout))
	for _, names := range slices.Sorted(maps.Keys(some)) {
		fmt.Fprintf(&b, "in %s:\n%s", names, display.FormatProblems(some[names], k.app.stdout))
	}
	return b.String()
}
