package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/model"
	"github.com/fairlead-io/fairlead/internal/output"
	"github.com/fairlead-io/fairlead/internal/problem"
	"github.com/fairlead-io/fairlead/internal/source"
	"github.com/fairlead-io/fairlead/internal/tree"
	"github.com/fairlead-io/fairlead/templates"
)

// input says where a command's control plane comes from.
type input struct {
	environment string
	options     source.Options
	workloads   []string // NAME=DIR
	maps        []string // URL=PATH-or-URL

	parser *model.Parser
	source *source.Source
}

// addFlags gives a command the flags that say where its input is.
func (in *input) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVarP(&in.environment, "environment", "e", "", "environment")
	f.StringVar(&in.options.ControlPlane, "control-plane", "", "control plane: a local Git repository or a URL (default: the repository here)")
	f.StringVar(&in.options.Base, "base", "", "revision of the base (default: what the environment's BaseRepo says)")
	f.StringVar(&in.options.EnvironmentRevision, "environment-revision", "", "revision of the environment's branch (default: its head)")
	f.StringArrayVar(&in.maps, "map", nil, "read a repository elsewhere: `URL=PATH-or-URL` (repeatable)")
	f.StringVar(&in.options.BaseDir, "base-dir", "", "read the base from a plain `folder`")
	f.StringVar(&in.options.EnvironmentDir, "environment-dir", "", "read the environment from a plain `folder`")
	f.StringArrayVar(&in.workloads, "workload", nil, "read a registration's workloads from a plain folder: `NAME=DIR` (repeatable)")
}

// open makes the source ready.
func (in *input) open(ctx context.Context) error {
	var err error
	if in.options.Workloads, err = splitPairs("--workload", "NAME=DIR", in.workloads); err != nil {
		return err
	}
	if in.options.Map, err = splitPairs("--map", "URL=PATH-or-URL", in.maps); err != nil {
		return err
	}
	plain := in.options.BaseDir != "" || in.options.EnvironmentDir != ""
	if in.options.ControlPlane == "" && !plain {
		in.options.ControlPlane = "."
	}
	if plain && in.options.ControlPlane == "" && (in.options.BaseDir == "" || in.options.EnvironmentDir == "") {
		return usagef("", "plain folders need both --base-dir and --environment-dir")
	}
	in.parser = model.NewParser()
	in.options.Parser = in.parser
	in.source, err = source.Open(ctx, in.options)
	return err
}

// splitPairs reads the values of a flag that takes KEY=VALUE. The value of a URL
// may contain "=", so that the last one counts where the key is a URL.
func splitPairs(flag, form string, values []string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, v := range values {
		i := strings.LastIndex(v, "=")
		if strings.HasPrefix(form, "NAME") {
			i = strings.Index(v, "=")
		}
		if i <= 0 || i == len(v)-1 {
			return nil, usagef("", "%s %s: it should be %s", flag, v, form)
		}
		if _, twice := pairs[v[:i]]; twice {
			return nil, usagef("", "%s is given twice for %s", flag, v[:i])
		}
		pairs[v[:i]] = v[i+1:]
	}
	return pairs, nil
}

// environments gives the names of the environments to work on: the one that was
// asked for, or all.
func (in *input) environments(ctx context.Context) ([]string, error) {
	if in.environment != "" {
		return []string{in.environment}, nil
	}
	if in.options.ControlPlane == "" {
		return nil, usagef("plain folders hold one environment: name it with -e", "which environment?")
	}
	found, problems, err := in.source.Environments(ctx)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && problems.Stops() {
		return nil, &problemsError{list: problems}
	}
	var names []string
	for _, e := range found {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return nil, &hinted{fmt.Errorf("the control plane has no environments"),
			"an object of kind Environment in .environments/ of the base makes one"}
	}
	return names, nil
}

// one gives the environment to work on, if there is no doubt about it.
func (in *input) one(ctx context.Context) (string, error) {
	names, err := in.environments(ctx)
	if err != nil {
		return "", err
	}
	if len(names) > 1 {
		return "", usagef("name one with -e: "+strings.Join(names, ", "), "there is more than one environment")
	}
	return names[0], nil
}

// rendered is an environment with what came of it.
type rendered struct {
	name     string
	model    *model.Model
	tree     tree.Tree // empty if a problem stops the environment
	problems problem.List
}

// builtIn is the layer of templates that every environment has.
func builtIn() model.Layer {
	return model.Layer{Kind: model.BuiltIn, Name: "built-in", Files: templates.Files()}
}

// render reads and renders an environment at some revisions.
func (in *input) render(ctx context.Context, env string, at source.Revisions) (rendered, error) {
	read, problems, err := in.source.ReadAt(ctx, env, at)
	if err != nil {
		return rendered{}, err
	}
	m, more := in.parser.Parse(env, append(read.Layers, builtIn())...)
	problems = append(problems, more...)
	files, more := output.Environment(m, nil)
	problems = append(problems, more...).Sorted()
	if problems.Stops() {
		files = tree.Tree{}
	}
	return rendered{name: env, model: m, tree: files, problems: problems}, nil
}

// completeEnvironments offers the names of the environments to the shell.
func (in *input) completeEnvironments(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	if in.open(c.Context()) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	in.environment = ""
	names, err := in.environments(c.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
