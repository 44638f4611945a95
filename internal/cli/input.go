package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/fetch"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// input is the control plane that the flags name.
type input struct {
	environment string
	options     source.Options
	workloads   []string // NAME=DIR
	maps        []string // URL=PATH-or-URL
	worktree    bool     // read the work tree
	isClone     bool     // local branches are read
	stderr      func() io.Writer
	credentials *credentialReader
	settings    *config.Settings // here; nil if there are none that may be used

	parser   *model.Parser
	source   *source.Source
	contents *fetch.Fetcher          // nil until something is looked into
	notRead  map[source.NotRead]bool // already noted
}

func (in *input) addEnvironmentFlag(c *cobra.Command, without string) {
	c.Flags().SortFlags = false
	c.Flags().VarP(&singleValue{flag: "-e", value: &in.environment}, "environment", "e", "`name` of the environment (default: "+without+")")
	_ = c.RegisterFlagCompletionFunc("environment", in.completeEnvironments)
}

func (in *input) addInputFlags(c *cobra.Command) {
	in.options.Barrier.Report = func(work, of string, e *panics.Error) {
		fmt.Fprintf(c.ErrOrStderr(), "fairlead: panic %s: %s %s: %s\n%s", e.ID, work, of, e.Kind, e.Stack)
	}
	in.stderr, in.credentials, in.notRead = c.ErrOrStderr, &credentialReader{}, map[source.NotRead]bool{}
	f := c.Flags()
	f.BoolVar(&in.worktree, "worktree", false, "read the work tree here, with what is not committed, instead of the branch that is checked out")
	f.StringVar(&in.options.ControlPlane, "control-plane", "", "Git repository of the control plane: a `PATH-or-URL` (default: the repository here, or else that of fairlead.yaml here)")
	f.StringVar(&in.options.Base, "base", "", "`revision` of the base (default: what the environment's BaseRepo says)")
	f.StringVar(&in.options.EnvironmentRevision, "environment-revision", "", "`revision` of the environment's branch (default: its head)")
	f.StringArrayVar(&in.maps, "map", nil, "read a repository elsewhere: `URL=PATH-or-URL` (repeatable)")
	f.StringVar(&in.options.BaseDir, "base-dir", "", "read the base from a plain `folder`")
	f.StringVar(&in.options.EnvironmentDir, "environment-dir", "", "read the environment from a plain `folder`")
	f.StringArrayVar(&in.workloads, "workload", nil, "read a registration's workloads from a plain folder: `NAME=DIR` (repeatable)")
	addMissingValuesFlag(f, &in.options.Rendering)
	_ = c.MarkFlagDirname("base-dir")
	_ = c.MarkFlagDirname("environment-dir")
}

func (in *input) isPlain() bool {
	return in.options.ControlPlane == "" && (in.options.BaseDir != "" || in.options.EnvironmentDir != "")
}

func (in *input) openSource(ctx context.Context) error {
	if err := in.checkFlags(); err != nil {
		return err
	}
	var err error
	in.options.Workloads, err = parsePairs("--workload", "NAME=DIR", in.workloads)
	if err != nil {
		return err
	}
	in.options.Map, err = parsePairs("--map", "URL=PATH-or-URL", in.maps)
	if err != nil {
		return err
	}
	here := in.options.ControlPlane == "" && !in.isPlain()
	if here {
		in.options.ControlPlane = "."
	}
	in.parser = model.NewParser()
	in.options.Parser = in.parser
	in.options.ReportUnreachable = true
	in.options.Credentials = func(location string) func(context.Context) (git.Credentials, error) {
		return in.credentials.newSource(in.stderr(), location)
	}
	if here {
		in.addMapOfSettings(ctx)
	}
	done := in.showProgress("read the control plane")
	in.source, err = source.Open(ctx, in.options)
	isOfSettings := false
	if here && !in.worktree && errors.Is(err, git.ErrNotFound) {
		isOfSettings, err = in.openOfSettings(ctx, err)
	}
	done()
	switch {
	case isOfSettings:
		return withSettingsHint(err)
	case errors.Is(err, git.ErrNotFound) && here:
		return newNoControlPlaneError("there is no Git repository here")
	case err != nil && here:
		return problem.WithHint(err, "run it in a clone of the control plane, or say where it is with --control-plane, or --base-dir and --environment-dir")
	case err != nil || !here:
		return err
	case in.worktree:
		return in.useWorktree(ctx)
	}
	in.isClone = true
	in.noteUncommitted(ctx)
	return nil
}

func (in *input) showProgress(what string) (stop func()) {
	return in.startProgress(display.Step{What: what}).Stop
}

func (in *input) startProgress(first display.Step) *display.Progress {
	stream := display.NewStream(io.Discard)
	if in.stderr != nil {
		if known, ok := in.stderr().(*display.Stream); ok {
			stream = known
		}
	}
	return stream.StartProgress(first)
}

func (in *input) forEachEnvironment(names []string, what string, do func(name string) error) error {
	step := display.Step{What: what, Total: len(names), Unit: "environment"}
	if len(names) == 1 {
		step.Total = 0
	}
	progress := in.startProgress(step)
	defer progress.Stop()
	for i, name := range names {
		step.What, step.Done = what+" "+name, i
		progress.Show(step)
		if err := do(name); err != nil {
			return err
		}
	}
	return nil
}

func (in *input) checkFlags() error {
	o := in.options
	switch {
	case o.Base != "" && o.BaseDir != "":
		return usageErrorf("a plain folder has no revisions", "--base and --base-dir exclude each other")
	case o.EnvironmentRevision != "" && o.EnvironmentDir != "":
		return usageErrorf("a plain folder has no revisions", "--environment-revision and --environment-dir exclude each other")
	case in.isPlain() && o.BaseDir == "":
		return usageErrorf("give --base-dir too, or --control-plane to read the base from", "there is no base")
	case in.isPlain() && o.EnvironmentDir == "":
		return usageErrorf("give --environment-dir too, or --control-plane to read the environment from", "there is no environment")
	case in.worktree && (o.ControlPlane != "" || o.BaseDir != "" || o.EnvironmentDir != ""):
		return usageErrorf("run it in the clone of the control plane", "--worktree is for the repository here")
	}
	return nil
}

func (in *input) selectEnvironments(ctx context.Context) ([]string, error) {
	if in.environment != "" && in.options.EnvironmentDir != "" {
		return []string{in.environment}, nil
	}
	if in.isPlain() {
		return nil, usageErrorf("give it a name with -e: plain folders are one environment", "the environment has no name")
	}
	names, problems, err := in.listEnvironments(ctx)
	if err != nil {
		return nil, err
	}
	names, err = in.chooseEnvironments(names, problems)
	if err == nil && in.isClone {
		branches := names
		if in.options.EnvironmentRevision != "" {
			branches = nil
		}
		noteBranches(ctx, in.stderr(), in.source, branchNote{isBase: in.options.Base == ""}, branches)
	}
	return names, err
}

func (in *input) chooseEnvironments(names []string, problems problem.List) ([]string, error) {
	if in.environment != "" {
		err := checkEnvironments(names, in.environment)
		if err != nil && problems.Stops() { // an unreadable file may declare it
			err = newProblemsError(problems)
		}
		return []string{in.environment}, err
	}
	switch {
	case len(names) == 0 && problems.Stops():
		return nil, newProblemsError(problems)
	case len(names) == 0:
		return nil, newNoControlPlaneError(in.describeRepository() + " is no control plane: it has no objects of kind Environment in .environments")
	case len(names) > 1 && in.options.EnvironmentRevision != "":
		return nil, usageErrorf("say with -e which environment it is of: "+text.Join(names, " or "), "--environment-revision is for one environment")
	case len(names) > 1 && in.options.EnvironmentDir != "":
		return nil, usageErrorf("say with -e which environment it is: "+text.Join(names, " or "), "--environment-dir is for one environment")
	}
	return names, nil
}

func (in *input) describeRepository() string {
	if in.options.ControlPlane == "." {
		return "the repository here"
	}
	return giturl.Redact(in.options.ControlPlane)
}

// listEnvironments returns all environments in order of promotion, then unpromoted
// ones. It includes an ephemeral environment only if -e names it.
func (in *input) listEnvironments(ctx context.Context) ([]string, problem.List, error) {
	found, problems, err := in.source.Environments(ctx)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, e := range found {
		names = append(names, e.Name)
	}
	base, err := in.source.Base(ctx)
	if err != nil {
		return nil, nil, err
	}
	chain, _ := model.NewChain(base.Progress, found, nil) // check reports its problems
	names = chain.SortNames(slices.Compact(names))
	if in.environment == "" || slices.Contains(names, in.environment) {
		return names, problems, nil
	}
	temporary, _, err := in.source.Ephemerals(ctx)
	if slices.ContainsFunc(temporary, func(e *source.Ephemeral) bool { return e.Name == in.environment }) {
		names = append(names, in.environment)
	}
	return names, problems, err
}

func newAmbiguityError(names []string) error {
	return usageErrorf("name one with -e: "+text.Join(names, " or "), "there is more than one environment")
}

// workingFile returns a problem's file in the working folder, or "". It is below a
// flag's plain folder, or in the layer that is checked out. Other layers may have a
// file with the same name, which must not be blamed.
func (in *input) workingFile(pos problem.Pos) string {
	checkedOut := "base" // most likely
	if in.options.EnvironmentRevision != "" {
		checkedOut = in.environment
	}
	dir := in.options.Workloads[pos.Layer]
	switch pos.Layer {
	case "base":
		dir = in.options.BaseDir
	case in.environment:
		dir = in.options.EnvironmentDir
	}
	if pos.File == "" || dir == "" && pos.Layer != checkedOut {
		return ""
	}
	return path.Join(filepath.ToSlash(dir), pos.File)
}

func (in *input) completeEnvironments(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	in.stderr = func() io.Writer { return io.Discard } // the shell would show it in the typed line
	if in.openSource(c.Context()) != nil || in.isPlain() {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _, _ := in.listEnvironments(c.Context())
	temporary, _, _ := in.source.Ephemerals(c.Context())
	for _, e := range temporary {
		names = append(names, e.Name)
	}
	return names, completedInOrder
}

// renderEnvironment renders an environment; cache may be nil. A panic becomes a problem
// of that environment only.
func (in *input) renderEnvironment(ctx context.Context, env string, at source.Revisions, cache *output.Cache) (r source.Rendered, err error) {
	defer in.showProgress("render " + env)()
	err = in.options.Barrier.Run("render", env, func() (err error) {
		r, err = in.source.Render(ctx, env, at, cache)
		return err
	})
	in.noteNotRead(r.NotRead)
	var e *panics.Error
	if !errors.As(err, &e) {
		return r, err
	}
	r = source.Rendered{Environment: env, Model: &model.Model{Environment: env}}
	r.Problems.Addf(problem.Pos{}, "Environment/"+env, "report it with the stack that was printed", "it cannot be rendered: %v", e)
	return r, nil
}
