package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/edit"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/schemas"
)

// editCommand is what create, set and delete share.
type editCommand struct {
	*commandContext
	environment string
	plan        actions.Plan // of what is written
}

// editHelp is in the help of all commands that edit the control plane.
const editHelp = `

The change is one commit of yours to the base, or to the branch of the environment that -e names;
with --pull-request it is proposed. Layout and comments of files stay. Before anything is written,
the control plane is read and rendered with the change, as fairlead check does: a change that adds
a problem is refused. What it changes in the output of environments is printed, and is in the pull
request. --dry-run writes nothing; with --output yaml it prints the files as they would be.`

func newEditCommand(a *app) *editCommand { return &editCommand{commandContext: newCommandContext(a)} }

func (e *editCommand) addEditFlags(c *cobra.Command, environment string) {
	c.Flags().SortFlags = false
	if environment != "" {
		c.Flags().VarP(&singleValue{flag: "-e", value: &e.environment}, "environment", "e", environment)
		_ = c.RegisterFlagCompletionFunc("environment", e.completeNames)
	}
	e.addActionFlags(c, "")
}

// runEdit opens the control plane, and runs an edit. The environments must exist; "" does.
func (e *editCommand) runEdit(ctx context.Context, do func(*actions.Session) (actions.Result, error), environments ...string) error {
	environments = slices.DeleteFunc(environments, func(name string) bool { return name == "" })
	e.confirm = func(_ context.Context, p actions.Plan) error {
		e.plan = p
		return nil
	}
	d, err := e.openForEnvironments(ctx, environments...)
	if err != nil {
		return err
	}
	r, err := do(d)
	if err == nil && e.app.dryRun && e.app.format == "yaml" {
		return e.printFiles()
	}
	return e.finishAction(ctx)(r, err)
}

func (e *editCommand) printFiles() error {
	for _, f := range e.plan.Files {
		text := "---\n# " + f.Path + "\n" + strings.TrimPrefix(f.After, "---\n")
		if f.After == "" {
			text = "---\n# " + f.Path + " is removed\n"
		}
		if _, err := fmt.Fprint(e.app.stdout, text); err != nil {
			return err
		}
	}
	return nil
}

func (e *editCommand) findObject(given string) (actions.ObjectRef, error) {
	word, name, ok := strings.Cut(given, "/")
	kind, found := edit.FindKind(word, schemas.Kinds())
	var words []string
	for _, k := range edit.Kinds {
		words = append(words, k.Word)
	}
	switch {
	case !found || kind == edit.StackKind:
		return actions.ObjectRef{}, newUnknownError("kind", word, words)
	case !ok || name == "":
		return actions.ObjectRef{}, usageErrorf("as in policy/edge, or target/WORKLOAD/NAME", "%s has no name: write KIND/NAME", given)
	}
	return actions.ObjectRef{Kind: kind, Name: name, Environment: e.environment}, nil
}

// completeObject completes KIND/NAME: first kinds, then the names of those on the branch.
func (e *editCommand) completeObject(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	word, _, named := strings.Cut(begun, "/")
	if !named {
		var kinds []string
		for _, k := range edit.Kinds {
			kinds = append(kinds, cobra.CompletionWithDesc(k.Word+"/", k.About))
		}
		return kinds, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	o, err := e.findObject(word + "/-")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	d, err := e.openSession(c.Context(), git.Signature{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := d.ListObjects(c.Context(), o)
	for i, name := range names {
		names[i] = word + "/" + name
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func newCreate(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "create",
		GroupID: groupMain,
		Short:   "Write an object of the control plane",
		Long:    `Create writes a new object of the control plane.` + editHelp,
		Args:    checkSubcommand,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, k := range edit.Kinds {
		switch k.Kind {
		case "Environment":
			c.AddCommand(newCreateEnvironment(a))
		case "DeploymentTarget":
			c.AddCommand(newCreateTarget(a, k))
		default:
			c.AddCommand(newCreateObject(a, k))
		}
	}
	return c
}

// environmentFlags are the usages of -e by the home of a kind.
var environmentFlags = map[edit.Home]string{
	edit.OnBase:        "",
	edit.OnEnvironment: "`name` of the environment on whose branch it is written (required)",
	edit.OnEither:      "`name` of the environment on whose branch it is written (default: the base, for all environments)",
}

func newCreateObject(a *app, k edit.Kind) *cobra.Command {
	e := newEditCommand(a)
	values := newFieldFlags(k)
	example := "  fairlead create " + k.Word + " NAME"
	if k.Home == edit.OnEnvironment {
		example += " -e dev"
	}
	for _, f := range k.Fields {
		if f.Required || f.Type == edit.Pairs {
			example += " " + exampleFlag(f)
		}
	}
	c := &cobra.Command{
		Use:     k.Word + " NAME",
		Short:   "Write a " + k.Kind + ": " + k.About,
		Long:    "Writes a " + k.Kind + ": " + k.About + "." + editHelp,
		Example: example,
		Args:    checkArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if k.Home == edit.OnEnvironment && e.environment == "" {
				return usageErrorf("-e NAME", "a %s is written on the branch of an environment: name it", k.Kind)
			}
			given, err := values.read()
			if err != nil {
				return err
			}
			o := actions.ObjectRef{Kind: k.Kind, Name: args[0], Environment: e.environment}
			return e.runEdit(c.Context(), func(d *actions.Session) (actions.Result, error) {
				return d.CreateObject(c.Context(), o, "", given, e.reason)
			}, e.environment)
		},
	}
	values.add(c)
	e.addEditFlags(c, environmentFlags[k.Home])
	return c
}

func newCreateTarget(a *app, k edit.Kind) *cobra.Command {
	e := newEditCommand(a)
	values, from := newFieldFlags(k), ""
	c := &cobra.Command{
		Use:   "target WORKLOAD/NAME",
		Short: "Write a deployment target of a workload: " + k.About,
		Long: `Adds a deployment target to a Workload of the base, for the environment that -e names. --from
copies the target of this name in another environment; --manifest changes values of the copy.` + editHelp,
		Example: `  fairlead create target cart/api -e dev --manifest repo=https://git.example.com/cart --manifest branch=main --manifest path=./deploy
  fairlead create target cart/api -e prod --from dev --manifest path=./deploy/prod`,
		Args:              checkArguments(1, 1),
		ValidArgsFunction: completeArguments(e.completeWorkload),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case e.environment == "":
				return usageErrorf("-e NAME", "a deployment target is for one environment: name it")
			case !strings.Contains(args[0], "/"):
				return usageErrorf("as in cart/api", "%s does not name the workload: write WORKLOAD/NAME", args[0])
			}
			given, err := values.read()
			if err != nil {
				return err
			}
			o := actions.ObjectRef{Kind: k.Kind, Name: args[0], Environment: e.environment}
			return e.runEdit(c.Context(), func(d *actions.Session) (actions.Result, error) {
				return d.CreateObject(c.Context(), o, from, given, e.reason)
			}, e.environment)
		},
	}
	values.add(c)
	c.Flags().StringVar(&from, "from", "", "copy the target of this name in another `environment`")
	_ = c.RegisterFlagCompletionFunc("from", e.completeNames)
	e.addEditFlags(c, "`name` of the environment that it is for (required)")
	return c
}

func (e *editCommand) completeWorkload(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	d, err := e.openSession(c.Context(), git.Signature{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := d.ListObjects(c.Context(), actions.ObjectRef{Kind: "Workload"})
	for i := range names {
		names[i] += "/"
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func newCreateEnvironment(a *app) *cobra.Command {
	e := newEditCommand(a)
	made := edit.NewEnvironment{}
	c := &cobra.Command{
		Use:   "environment NAME",
		Short: "Make an environment as a copy of another one",
		Long: `Makes an environment as a copy of another one: a branch of the control plane, on which only the
place of the output differs, and on the base its file and its place in the order of promotion.
Holds, approvals and stacks are not copied: the commands that clone the stacks are listed, and so
are platform values that name the other environment.
The branch is pushed first; nothing reads it before the base names it.` + editHelp,
		Example: `  fairlead create environment qa --from dev                 qa comes after dev
  fairlead create environment qa --from dev --before stage  and stage after qa`,
		Args: checkArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			made.Name = args[0]
			if made.From == "" {
				return usageErrorf("--from NAME", "an environment is made as a copy of another one: name it")
			}
			return e.runEdit(c.Context(), func(d *actions.Session) (actions.Result, error) {
				return d.CreateEnvironment(c.Context(), made, e.reason)
			}, slices.Concat([]string{made.From}, made.After, made.Before)...)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&made.From, "from", "", "the `environment` to copy (required)")
	f.StringSliceVar(&made.After, "after", nil, "`environment`s in which a commit has to be verified before (default: the one that is copied)")
	f.StringSliceVar(&made.Before, "before", nil, "`environment`s that come after it from now on")
	for _, name := range []string{"from", "after", "before"} {
		_ = c.RegisterFlagCompletionFunc(name, e.completeNames)
	}
	e.addEditFlags(c, "")
	return c
}

type fieldFlags struct {
	kind  edit.Kind
	given map[string]*[]string
}

func newFieldFlags(k edit.Kind) *fieldFlags {
	return &fieldFlags{k, map[string]*[]string{}}
}

func (v *fieldFlags) add(c *cobra.Command) {
	c.Flags().SortFlags = false
	for _, f := range v.kind.Fields {
		v.given[f.Flag] = &[]string{}
		usage := f.Usage
		switch f.Type {
		case edit.Pairs:
			usage += ": `KEY=VALUE` (repeatable)"
		case edit.Selector:
			usage += ", such as `size=large,!old`"
		case edit.Files:
			usage = "a `file`" + strings.TrimPrefix(usage, "a file") + " (repeatable)"
		}
		if f.Default != "" {
			usage += " (default: " + f.Default + ")"
		}
		if f.Required {
			usage += " (required)"
		}
		c.Flags().StringArrayVar(v.given[f.Flag], f.Flag, nil, usage)
		if f.Type == edit.Files {
			_ = c.RegisterFlagCompletionFunc(f.Flag, completeFiles)
		}
	}
}

func (v *fieldFlags) read() (edit.Values, error) {
	values := edit.Values{}
	for _, f := range v.kind.Fields {
		given := *v.given[f.Flag]
		if len(given) > 1 && (f.Type == edit.Text || f.Type == edit.Selector) {
			return nil, usageErrorf("leave one of them out", "--%s is given twice", f.Flag)
		}
		for _, text := range given {
			if f.Type == edit.Files {
				data, err := os.ReadFile(text)
				if err != nil {
					return nil, problem.WithHint(err, "--"+f.Flag+" names a file of this machine")
				}
				text = string(data)
			}
			values[f.Flag] = append(values[f.Flag], text)
		}
	}
	return values, nil
}

func exampleFlag(f edit.Field) string {
	return "--" + f.Flag + " " + map[edit.FieldType]string{edit.Text: "VALUE", edit.Pairs: "size=large", edit.Selector: "size=large", edit.Files: "FILE"}[f.Type]
}
