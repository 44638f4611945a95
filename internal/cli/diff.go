package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/impact"
	"github.com/fairlead-io/fairlead/internal/model"
	"github.com/fairlead-io/fairlead/internal/output"
	"github.com/fairlead-io/fairlead/internal/source"
	"github.com/fairlead-io/fairlead/internal/tree"
)

// diffCommand is what `fairlead diff` was asked to do.
type diffCommand struct {
	*app
	input
	unified bool
	context int
}

func newDiff(a *app) *cobra.Command {
	d := &diffCommand{app: a}
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Say what a change of the control plane means",
		Long: `Diff renders A and B and says what changes from one to the other: first what it
means (how many cluster types and workloads, which kinds of change, what is deleted),
identical changes as one with their count; then, with --unified, line by line.

A and B are each one of
  REV       a revision of the base, rendered for every environment (or that of -e);
            a branch of an environment stands for that environment's branch
  ENV@REV   a revision of the branch of environment ENV
  FOLDER    a folder that was rendered, or a checkout of the GitOps repository

It exits with 4 if they differ, and with 3 if one of them has problems.`,
		Example: `  fairlead diff main my-change                  what merging my-change would do
  fairlead diff dev@dev~1 dev@dev               what the last commit to dev did
  fairlead diff -e dev ../gitops main           what is not in the GitOps repository yet`,
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(c *cobra.Command, args []string) error { return d.run(c.Context(), args[0], args[1]) },
	}
	d.addFlags(c)
	c.Flags().BoolVarP(&d.unified, "unified", "u", false, "also print the changes line by line")
	c.Flags().IntVar(&d.context, "context", 3, "lines of context around each change of --unified")
	_ = c.RegisterFlagCompletionFunc("environment", d.completeEnvironments)
	return c
}

// side is A or B: what it names, and for which environment ("" for all).
type side struct {
	folder      string
	environment string
	at          source.Revisions
}

// difference is the report on one environment.
type difference struct {
	Environment string `json:"environment"`
	impact.Report
	Unified string `json:"unified,omitempty"`
}

func (d *diffCommand) run(ctx context.Context, from, to string) error {
	if err := d.checkFormat(); err != nil {
		return err
	}
	if err := d.open(ctx); err != nil {
		return err
	}
	old, err := d.side(ctx, from)
	if err != nil {
		return err
	}
	new, err := d.side(ctx, to)
	if err != nil {
		return err
	}
	names, err := d.compared(ctx, old, new)
	if err != nil {
		return err
	}
	differences := []difference{}
	var failed []error
	for _, name := range names {
		r, err := d.compare(ctx, name, old, new)
		var problems *problemsError
		switch {
		case errors.As(err, &problems):
			failed = append(failed, err)
		case err != nil:
			return err
		case !r.Empty():
			differences = append(differences, r)
		}
	}
	if err := d.print(differences, func() string { return diffText(differences) }); err != nil {
		return err
	}
	if len(failed) > 0 {
		return failed[0]
	}
	if len(differences) > 0 {
		return errDiffers
	}
	return nil
}

// side finds out what an argument names.
func (d *diffCommand) side(ctx context.Context, arg string) (side, error) {
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		return side{folder: arg}, nil
	}
	if d.options.ControlPlane == "" {
		return side{}, usagef("a revision needs --control-plane; plain folders have none", "%s is not a folder", arg)
	}
	environments, _, err := d.source.Environments(ctx)
	if err != nil {
		return side{}, err
	}
	if env, rev, ok := strings.Cut(arg, "@"); ok && env != "" {
		for _, e := range environments {
			if e.Name == env {
				return side{environment: env, at: source.Revisions{Environment: rev}}, nil
			}
		}
	}
	branch := arg
	if i := strings.IndexAny(arg, "^~"); i >= 0 {
		branch = arg[:i]
	}
	for _, e := range environments {
		if e.ControlPlane.Branch == branch {
			return side{environment: e.Name, at: source.Revisions{Environment: arg}}, nil
		}
	}
	return side{at: source.Revisions{Base: arg}}, nil
}

// compared gives the environments that both sides can be rendered for.
func (d *diffCommand) compared(ctx context.Context, sides ...side) ([]string, error) {
	folder := false
	for _, s := range sides {
		folder = folder || s.folder != ""
		if s.environment == "" {
			continue
		}
		if d.environment != "" && d.environment != s.environment {
			return nil, usagef("", "%s and %s are different environments", d.environment, s.environment)
		}
		d.environment = s.environment
	}
	if sides[0].folder != "" && sides[1].folder != "" {
		return []string{d.environment}, nil
	}
	if folder {
		name, err := d.one(ctx)
		return []string{name}, err
	}
	return d.environments(ctx)
}

func (d *diffCommand) compare(ctx context.Context, env string, from, to side) (difference, error) {
	workloads := map[string]string{}
	old, err := d.tree(ctx, env, from, workloads)
	if err != nil {
		return difference{}, err
	}
	new, err := d.tree(ctx, env, to, workloads)
	if err != nil {
		return difference{}, err
	}
	options := impact.Options{Workload: func(target string) string { return workloads[target] }}
	r := difference{Environment: env, Report: impact.Of(old, new, options)}
	if d.unified {
		var b strings.Builder
		for line := range impact.Unified(old, new, d.context) {
			b.WriteString(line)
		}
		r.Unified = b.String()
	}
	return r, nil
}

// tree gives one side of an environment, and notes which workload each target is
// of.
func (d *diffCommand) tree(ctx context.Context, env string, s side, workloads map[string]string) (tree.Tree, error) {
	if s.folder != "" {
		files, err := source.Folder(s.folder)
		if err != nil {
			return tree.Tree{}, err
		}
		return output.Owned(files), nil
	}
	r, err := d.render(ctx, env, s.at)
	if err != nil {
		return tree.Tree{}, fmt.Errorf("read environment %s: %w", env, err)
	}
	if r.problems.Stops() {
		fmt.Fprint(d.err, d.problemText(r.problems))
		return tree.Tree{}, &problemsError{summary: fmt.Sprintf("%s at %s has %s", env, revision(s.at), counted(r.problems))}
	}
	noteWorkloads(r.model, workloads)
	return r.tree, nil
}

func noteWorkloads(m *model.Model, into map[string]string) {
	for _, t := range m.Targets {
		into[t.Name] = t.Workload
	}
}

func revision(at source.Revisions) string {
	if at.Environment != "" {
		return at.Environment
	}
	return at.Base
}

func diffText(differences []difference) string {
	if len(differences) == 0 {
		return "no differences\n"
	}
	var b strings.Builder
	for _, r := range differences {
		name := r.Environment
		if name == "" {
			name = "output"
		}
		fmt.Fprintf(&b, "%s: %s\n", name, r.Summary())
	}
	for _, r := range differences {
		fmt.Fprintf(&b, "\n%s%s", r.Text(), r.Unified)
	}
	return b.String()
}
