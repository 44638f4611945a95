package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/cli/atomicfile"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type renderCommand struct {
	app     *app
	input   input
	all     bool
	outPath string
	force   bool
}

func newRender(a *app) *cobra.Command {
	r := &renderCommand{app: a}
	c := &cobra.Command{
		Use:     "render",
		GroupID: groupMain,
		Short:   "Write the tree that an environment's GitOps branch should hold",
		Long: `Render decides what runs where in an environment, and writes the files that its
branch of the GitOps repository should hold: to a folder, a tar file (.tar, .tar.gz,
.tgz), or standard output.

A folder is replaced as a whole, at once, and only if it is empty or was written by
render (it holds .fairlead/output.yaml, which says from which commits). If a problem stops
any of the environments, all problems of all of them are named, nothing is written, and the
exit code is 3. It is 3 also if problems stop some stacks only: the rest is written, and these
stay as the folder has them. A tar file, standard output and an empty folder are without them.

With --output json or yaml, files that go to standard output are a mapping of paths to
texts; otherwise what is printed says what was written, as .fairlead/output.yaml does.`,
		Example: `  fairlead render -e dev -o out              the control plane in this repository
  fairlead render -e dev --base my-change    with another commit of the base, to be read
  fairlead render --all -o out.tar           all environments, as folders of a tar
  fairlead render -e dev -o out --base-dir base --environment-dir dev --workload shop=shop`,
		Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return r.runRender(c.Context()) },
	}
	r.input.addEnvironmentFlag(c, "the only one there is")
	c.Flags().BoolVar(&r.all, "all", false, "all environments, each in a folder of its name")
	c.Flags().StringVarP(&r.outPath, "out", "o", "-", "`path` of the folder or tar file to write; - is standard output")
	c.Flags().BoolVar(&r.force, "force", false, "replace a folder that render has not written")
	r.app.addOutputFlag(c)
	r.input.addInputFlags(c)
	return c
}

func (r *renderCommand) runRender(ctx context.Context) error {
	switch {
	case r.all && r.input.environment != "":
		return usageErrorf("leave one of them out", "--all and -e exclude each other")
	case r.outPath == "":
		return usageErrorf("name a folder or a tar file; - is standard output", "-o has no path")
	}
	if err := r.input.openSource(ctx); err != nil {
		return err
	}
	names, err := r.input.selectEnvironments(ctx)
	switch {
	case err != nil:
		return err
	case !r.all && len(names) > 1:
		return newAmbiguityError(names)
	}
	r.input.noteAhead(ctx, func(base string) string { return "render it with --base " + base })
	done, err := r.renderAll(ctx, names)
	if err != nil {
		return err
	}
	stopped, err := r.keepStopped(done)
	if err == nil {
		err = r.writeOutput(ctx, done)
	}
	if err != nil || stopped == nil {
		return err
	}
	return &problemsError{summary: "all is written but what problems stop: " + text.Join(stopped, " and ")}
}

// keepStopped keeps stopped stacks as the target folder has them, and returns their
// names.
func (r *renderCommand) keepStopped(done []source.Rendered) (stopped []string, err error) {
	var previous tree.Tree
	var record publish.Record
	for i, e := range done {
		all := e.Problems.StoppedStacks()
		if len(all) == 0 {
			continue
		}
		if stopped == nil && r.outPath != "-" && !atomicfile.IsTar(r.outPath) {
			record, err = readRecord(r.outPath)
			if err == nil && len(record.Environments) > 0 {
				previous, err = source.ReadFolder(r.outPath)
			}
			if err != nil {
				return nil, err
			}
		}
		var mine tree.Tree
		for _, w := range record.Environments {
			if w.Environment == e.Environment {
				mine = previous.Sub(w.Folder)
			}
		}
		done[i].Tree, err = stackfiles.KeepStopped(e.Tree, mine, e.Problems.StopsStack)
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			stopped = append(stopped, fmt.Sprintf("the stack %s in %s", p.Stack, e.Environment))
		}
	}
	return stopped, nil
}

func (r *renderCommand) renderAll(ctx context.Context, names []string) ([]source.Rendered, error) {
	var done []source.Rendered
	var problems problem.List
	var failed []string
	across := acrossCheck{app: r.app, input: &r.input}
	err := r.input.forEachEnvironment(names, "render", func(name string) error {
		e, err := r.input.renderEnvironment(ctx, name, source.Revisions{}, nil)
		if err == nil {
			e, err = across.keepStates(ctx, e)
		}
		done = append(done, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	found, err := across.check(ctx, list.Convert(done, func(e source.Rendered) *model.Model { return e.Model })...)
	if err != nil {
		return nil, err
	}
	for i, e := range done {
		if !e.Problems.StopsEnvironment() {
			e, err = e.StopStacks(found[e.Environment])
			if err != nil {
				return nil, err
			}
			done[i] = e
		}
		problems = append(problems, e.Problems...)
		if e.Problems.StopsEnvironment() {
			failed = append(failed, e.Environment)
		}
	}
	problems = problems.Sorted()
	if failed != nil {
		return nil, &problemsError{summary: fmt.Sprintf("%s: %s; nothing was written", text.Join(failed, " and "), display.CountProblems(problems.Count())), list: problems}
	}
	fmt.Fprint(r.app.stderr, display.FormatProblems(problems, r.app.stderr))
	return done, nil
}

func (r *renderCommand) writeOutput(ctx context.Context, done []source.Rendered) error {
	files, err := r.combineTrees(done)
	if err != nil {
		return err
	}
	count := 0
	switch {
	case r.outPath == "-":
		return r.writeStream(files)
	case atomicfile.IsTar(r.outPath):
		count, err = atomicfile.WriteTar(ctx, r.outPath, files)
	default:
		var mark []byte
		mark, err = r.newRecord(done).Text(recordComment)
		if err == nil {
			count, err = atomicfile.WriteFolder(ctx, r.outPath, files, atomicfile.Mark{Path: publish.RecordFile, Text: mark}, r.force)
		}
	}
	if err != nil {
		return err
	}
	if r.app.verbose || r.app.stderr.Terminal {
		fmt.Fprintf(r.app.stderr, "fairlead: wrote %s to %s (tree %s)\n", text.Count(count, "file"), r.outPath, files.ID())
	}
	for _, left := range atomicfile.FindLeftovers(r.outPath) {
		fmt.Fprintf(r.app.stderr, "fairlead: hint: %s is left from a render that was killed, if none is running: it may be deleted\n", left)
	}
	if r.app.isText() {
		return nil
	}
	return r.app.printValue(r.newRecord(done), []string{r.outPath}, nil)
}

func (r *renderCommand) combineTrees(done []source.Rendered) (tree.Tree, error) {
	if !r.all {
		return done[0].Tree, nil
	}
	var b tree.Builder
	for _, e := range done {
		if err := b.AddEntry(e.Environment, tree.Dir("", e.Tree)); err != nil {
			return tree.Tree{}, fmt.Errorf("environment %s: %w", e.Environment, err)
		}
	}
	return b.Tree(), nil
}

// writeStream prints YAML documents with path comments, or a mapping of paths to texts
// for programs.
func (r *renderCommand) writeStream(files tree.Tree) error {
	if !r.app.isText() {
		texts := map[string]string{}
		for path, data := range files.All() {
			texts[path] = string(data)
		}
		return r.app.printValue(texts, slices.Sorted(maps.Keys(texts)), nil)
	}
	out := bufio.NewWriter(r.app.stdout)
	for path, data := range files.All() {
		document := strings.TrimPrefix(string(data), "---\n")
		if document != "" && !strings.HasSuffix(document, "\n") {
			document += "\n"
		}
		if _, err := fmt.Fprintf(out, "---\n# Source: %s\n%s", path, document); err != nil {
			return err
		}
	}
	return out.Flush()
}

const recordComment = "Written by fairlead render, which replaces this folder as a whole."

func (r *renderCommand) newRecord(done []source.Rendered) publish.Record {
	var all []publish.Written
	for _, e := range done {
		w := publish.Written{Environment: e.Environment, Tree: e.Tree.ID().String(), From: publish.Inputs(e.Commits)}
		if r.all {
			w.Folder = e.Environment
		}
		for _, p := range e.Problems.StoppedStacks() {
			w.Stopped = append(w.Stopped, p.Stack)
		}
		for _, entry := range e.Tree.Entries() { // committed records then list the generated folders
			if entry.IsDir() && !strings.HasPrefix(entry.Name, ".") {
				w.Folders = append(w.Folders, entry.Name)
			}
		}
		all = append(all, w)
	}
	return publish.NewRecord(all...)
}

func readRecord(dir string) (publish.Record, error) {
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(publish.RecordFile)))
	if errors.Is(err, fs.ErrNotExist) {
		return publish.Record{}, nil
	}
	if err != nil {
		return publish.Record{}, fmt.Errorf("read the record of %s: %w", dir, err)
	}
	r, err := publish.ReadRecord(data)
	if err != nil {
		return r, fmt.Errorf("%s: %w", dir, err)
	}
	return r, nil
}
