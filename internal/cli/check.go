package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/problem"
	"github.com/fairlead-io/fairlead/internal/source"
)

// checkCommand is what `fairlead check` was asked to do.
type checkCommand struct {
	*app
	input
	strict bool
}

// checked is the report on one environment.
type checked struct {
	Environment  string         `json:"environment"`
	ClusterTypes int            `json:"clusterTypes"`
	Targets      int            `json:"deploymentTargets"`
	Files        int            `json:"files"`
	Ignored      map[string]int `json:"ignored,omitempty"`
	Problems     problem.List   `json:"problems"`
}

func newCheck(a *app) *cobra.Command {
	k := &checkCommand{app: a}
	c := &cobra.Command{
		Use:   "check",
		Short: "Name every problem of a control plane",
		Long: `Check reads and renders every environment (or the one named with -e), names all
problems, each with its file and line, and writes nothing. It is made for the CI of a
control plane: --output github prints workflow annotations, --output sarif a SARIF
log. It exits with 3 if there is a problem; warnings alone are fine without --strict.`,
		Example: `  fairlead check                                 the control plane in this repository
  fairlead check -e dev --output github          in a GitHub Actions workflow
  fairlead check -v                              also count what is not Fairlead's`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return k.run(c.Context()) },
	}
	k.addFlags(c)
	c.Flags().BoolVar(&k.strict, "strict", false, "take warnings for problems")
	_ = c.RegisterFlagCompletionFunc("environment", k.completeEnvironments)
	return c
}

func (k *checkCommand) run(ctx context.Context) error {
	if err := k.checkFormat("github", "sarif"); err != nil {
		return err
	}
	if err := k.open(ctx); err != nil {
		return err
	}
	names, err := k.environments(ctx)
	if err != nil {
		return err
	}
	var reports []checked
	var all problem.List
	for _, name := range names {
		e, err := k.render(ctx, name, source.Revisions{})
		if err != nil {
			return fmt.Errorf("read environment %s: %w", name, err)
		}
		reports = append(reports, k.report(e))
		all = append(all, e.problems...)
	}
	all = all.Sorted()
	if err := k.show(reports, all); err != nil {
		return err
	}
	problems, warnings := all.Count()
	if problems > 0 || k.strict && warnings > 0 {
		return &problemsError{summary: "the control plane has " + counted(all)}
	}
	return nil
}

func (k *checkCommand) report(e rendered) checked {
	problems := e.problems
	if problems == nil {
		problems = problem.List{}
	}
	return checked{
		Environment: e.name, ClusterTypes: len(e.model.ClusterTypes), Targets: len(e.model.Targets),
		Files: e.tree.Count(), Ignored: e.model.Ignored, Problems: problems,
	}
}

func (k *checkCommand) show(reports []checked, all problem.List) error {
	switch k.format {
	case "github":
		_, err := fmt.Fprint(k.out, annotations(all))
		return err
	case "sarif":
		data, err := marshalJSON(sarif(all))
		if err != nil {
			return err
		}
		_, err = k.out.Write(data)
		return err
	}
	return k.print(reports, func() string { return k.text(reports, all) })
}

// text gives the problems, then a line for each environment. Problems that
// environments share are said once.
func (k *checkCommand) text(reports []checked, all problem.List) string {
	var b strings.Builder
	b.WriteString(k.problemText(all))
	for _, r := range reports {
		fmt.Fprintf(&b, "%s: %s (%s, %s, %s)\n", r.Environment, counted(r.Problems),
			plural(r.ClusterTypes, "cluster type"), plural(r.Targets, "deployment target"), plural(r.Files, "file"))
		if k.verbose {
			for _, kind := range sortedKeys(r.Ignored) {
				fmt.Fprintf(&b, "  not read: %d %s\n", r.Ignored[kind], kind)
			}
		}
	}
	return b.String()
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
