package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/source"
	"github.com/fairlead-io/fairlead/internal/tree"
)

// renderCommand is what `fairlead render` was asked to do.
type renderCommand struct {
	*app
	input
	all   bool
	to    string
	force bool
}

func newRender(a *app) *cobra.Command {
	r := &renderCommand{app: a}
	c := &cobra.Command{
		Use:   "render",
		Short: "Write the tree that an environment's GitOps branch should hold",
		Long: `Render decides what runs where in an environment, and writes the files that its
branch of the GitOps repository should hold: to a folder, a tar file (.tar, .tar.gz,
.tgz), or standard output.

A folder is replaced as a whole, at once, and only if it is empty or was written by
render (it holds .fairlead/output.yaml). If there is a problem, nothing is written,
and the exit code is 3.`,
		Example: `  fairlead render -e dev -o out                 the control plane in this repository
  fairlead render --all -o out.tar              all environments, as folders of a tar
  fairlead render -e dev --base-dir base --environment-dir env --workload apps=apps`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return r.run(c) },
	}
	r.addFlags(c)
	c.Flags().BoolVar(&r.all, "all", false, "all environments, each in a folder of its name")
	c.Flags().StringVarP(&r.to, "out", "o", "-", "folder or tar file to write; - is standard output")
	c.Flags().BoolVar(&r.force, "force", false, "replace a folder that render has not written")
	_ = c.RegisterFlagCompletionFunc("environment", r.completeEnvironments)
	return c
}

func (r *renderCommand) run(c *cobra.Command) error {
	ctx := c.Context()
	if err := r.checkFormat(); err != nil {
		return err
	}
	if r.all && r.environment != "" {
		return usagef("", "--all and -e exclude each other")
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	var names []string
	var err error
	if r.all {
		names, err = r.environments(ctx)
	} else {
		var name string
		name, err = r.one(ctx)
		names = []string{name}
	}
	if err != nil {
		return err
	}
	var done []rendered
	var failed []string
	for _, name := range names {
		e, err := r.render(ctx, name, source.Revisions{})
		if err != nil {
			return fmt.Errorf("read environment %s: %w", name, err)
		}
		fmt.Fprint(r.err, r.problemText(e.problems))
		if e.problems.Stops() {
			failed = append(failed, name)
		}
		done = append(done, e)
	}
	if failed != nil {
		return &problemsError{summary: fmt.Sprintf("%s: the control plane has problems; nothing was written", strings.Join(failed, ", "))}
	}
	return r.write(done)
}

// write puts the trees where they were asked for. With --all each is in a folder.
func (r *renderCommand) write(done []rendered) error {
	files := done[0].tree
	var names []string
	var entries []tree.Entry
	for _, e := range done {
		names = append(names, e.name)
		entries = append(entries, tree.Dir(e.name, e.tree))
	}
	if r.all {
		files = tree.FromEntries(entries)
	}
	switch {
	case r.to == "-":
		return r.writeStream(files)
	case isTar(r.to):
		return writeTar(r.to, files)
	}
	if err := writeFolder(r.to, files, names, r.force); err != nil {
		return err
	}
	if r.verbose {
		fmt.Fprintf(r.err, "fairlead: wrote %s to %s (tree %s)\n", plural(files.Count(), "file"), r.to, files.ID())
	}
	return nil
}

// writeStream prints all files: one after the other for people, a mapping of paths
// to texts for machines.
func (r *renderCommand) writeStream(files tree.Tree) error {
	if r.format != "text" {
		texts := map[string]string{}
		for path, data := range files.All() {
			texts[path] = string(data)
		}
		return r.print(texts, nil)
	}
	for path, data := range files.All() {
		text := string(data)
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if !strings.HasPrefix(text, "---\n") {
			text = "---\n" + text
		}
		if _, err := fmt.Fprintf(r.out, "# Source: %s\n%s", path, text); err != nil {
			return err
		}
	}
	return nil
}
