package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/impact"
)

// prCommand is what `fairlead pr` was asked to do.
type prCommand struct {
	*app
	repo          string
	all           bool
	commit, cause string

	remote *git.Remote
	forge  *forge.Plain
	done   func()
}

func newPR(a *app) *cobra.Command {
	p := &prCommand{app: a}
	c := &cobra.Command{
		Use:     "pr",
		GroupID: groupDaemon,
		Short:   "List, show, merge and close pull requests of a repository without a forge",
		Long: `Fairlead's pull requests need no forge: in a repository that is only Git, a bare one
on disk or over SSH, they are branches, with what is said about them in
refs/fairlead/pulls. These commands are their review.`,
		Example: `  fairlead pr list --repo /srv/git/gitops.git
  fairlead pr show 3      what it means, and its lines
  fairlead pr merge 3`,
		Args: subcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&p.repo, "repo", "", "the GitOps repository: a `PATH-or-URL` (default: the repository here, or its remote origin)")
	list := p.command("list", "List the open pull requests", arguments(0, 0), p.list)
	list.Flags().BoolVar(&p.all, "all", false, "also those that are merged or closed")
	merge := p.command("merge NUMBER", "Merge a pull request", arguments(1, 1), p.merge)
	merge.Flags().StringVar(&p.commit, "commit", "", "only if the pull request is at this `commit`")
	closing := p.command("close NUMBER", "Close a pull request without merging it", arguments(1, 1), p.close)
	closing.Flags().StringVar(&p.cause, "reason", "", "`text` that says why")
	c.AddCommand(list, p.command("show NUMBER", "Show a pull request, with the lines that it changes", arguments(1, 1), p.show), merge, closing)
	return c
}

// command makes a command of pr, which is given the forge to work with.
func (p *prCommand) command(use, short string, args cobra.PositionalArgs, run func(context.Context, int) error) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: args, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			number := 0
			if len(args) == 1 {
				var err error
				if number, err = strconv.Atoi(strings.TrimPrefix(args[0], "#")); err != nil || number <= 0 {
					return usagef("fairlead pr list --all shows the numbers", "%q is not the number of a pull request", args[0])
				}
			}
			if err := p.open(c.Context()); err != nil {
				return err
			}
			defer p.done()
			err := run(c.Context(), number)
			if errors.Is(err, forge.ErrNotFound) {
				return usagef("fairlead pr list --all shows the numbers", "there is no pull request %d", number)
			}
			return err
		},
	}
	p.addOutput(c)
	return c
}

// open reads the repository.
func (p *prCommand) open(ctx context.Context) error {
	place, err := p.place()
	if err != nil {
		return err
	}
	mirror, err := os.MkdirTemp("", "fairlead-pr-")
	if err != nil {
		return err
	}
	p.done = func() { _ = os.RemoveAll(mirror) }
	p.remote, err = git.NewRemote(git.RemoteOptions{
		URL: place, Dir: filepath.Join(mirror, "git"),
		Credentials: func(context.Context) (git.Credentials, error) { return credentials(), nil },
	})
	if err == nil {
		_, err = p.remote.Sync(ctx)
	}
	if err != nil {
		p.done()
		return err
	}
	p.forge = forge.NewPlain(p.remote, person(), time.Now)
	return nil
}

// place gives the repository that is meant: in a clone, that is where it came from.
func (p *prCommand) place() (string, error) {
	if p.repo != "" {
		if git.IsRemote(p.repo) {
			return p.repo, nil
		}
		return filepath.Abs(git.LocalPath(p.repo))
	}
	here, err := git.Find(".")
	if err != nil {
		return "", &hinted{err, "say where the GitOps repository is with --repo"}
	}
	if remotes := here.Remotes(); len(remotes) > 0 {
		return remotes[0], nil
	}
	return filepath.Abs(".")
}

// person is who works here, for the commits of what is said.
func person() git.Signature {
	name := os.Getenv("GIT_AUTHOR_NAME")
	if u, err := user.Current(); err == nil && name == "" {
		name = u.Username
	}
	email := os.Getenv("GIT_AUTHOR_EMAIL")
	if email == "" {
		email = name + "@localhost"
	}
	return git.Signature{Name: name, Email: email}
}

// shownPull is a pull request as it is printed.
type shownPull struct {
	Number int         `json:"number"`
	State  forge.State `json:"state"`
	Title  string      `json:"title"`
	Head   string      `json:"head"`
	Base   string      `json:"base"`
	Commit string      `json:"commit,omitempty"`
	Labels []string    `json:"labels,omitempty"`
	Reason string      `json:"reason,omitempty"`
	Body   string      `json:"body,omitempty"`
}

func shownOf(p forge.Pull) shownPull {
	return shownPull{p.Number, p.State, p.Title, p.Head, p.Base, p.Commit, p.Labels, p.Reason, p.Body}
}

func (p *prCommand) list(context.Context, int) error {
	found, err := p.forge.List()
	if err != nil {
		return err
	}
	if !p.all {
		found = slices.DeleteFunc(found, func(pull forge.Pull) bool { return pull.State != forge.Open })
	}
	shown := make([]shownPull, 0, len(found))
	for _, pull := range found {
		shown = append(shown, shownOf(pull))
	}
	return p.print(shown, func() string {
		if len(shown) == 0 {
			return "there are no open pull requests\n"
		}
		rows := [][]string{{"NUMBER", "STATE", "INTO", "TITLE"}}
		for _, s := range shown {
			rows = append(rows, []string{fmt.Sprint(s.Number), string(s.State), s.Base, s.Title})
		}
		return table(rows)
	})
}

func (p *prCommand) show(_ context.Context, number int) error {
	pull, err := p.forge.Find(number)
	if err != nil {
		return err
	}
	if p.format != "text" {
		return p.print(shownOf(pull), nil)
	}
	fmt.Fprintf(p.out, "%s\n\n%s, from %s into %s\n\n%s\n", visible(pull.Title), pull.State, pull.Head, pull.Base, printable(pull.Body))
	if pull.Reason != "" {
		fmt.Fprintf(p.out, "%s: %s\n", pull.State, visible(pull.Reason))
	}
	if pull.State != forge.Open {
		return nil
	}
	return p.lines(pull)
}

// printable makes text of several lines harmless for a terminal.
func printable(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = visible(line)
	}
	return strings.Join(lines, "\n")
}

// unifiedContext is the number of lines around a change.
const unifiedContext = 3

// lines shows what merging a pull request changes.
func (p *prCommand) lines(pull forge.Pull) error {
	repo := p.remote.Mirror()
	base, err := repo.Branch(pull.Base)
	if err != nil {
		return err
	}
	before, err := repo.View(base)
	if err != nil {
		return err
	}
	after, err := repo.View(pull.Commit)
	if err != nil {
		return err
	}
	for piece := range impact.Unified(before.Tree, after.Tree, unifiedContext) {
		fmt.Fprint(p.out, printable(piece))
	}
	return errors.Join(before.Err(), after.Err())
}

func (p *prCommand) merge(ctx context.Context, number int) error {
	err := p.forge.Merge(ctx, number, p.commit)
	if errors.Is(err, forge.ErrMoved) {
		return &hinted{err, "the next cycle of the daemon brings it up to date: look at it again"}
	}
	if err != nil {
		return err
	}
	return p.say(number, "merged")
}

func (p *prCommand) close(ctx context.Context, number int) error {
	pull, err := p.forge.Find(number)
	if err != nil {
		return err
	}
	if pull.State != forge.Open {
		return usagef("", "pull request %d is %s", number, pull.State)
	}
	if err := p.forge.Close(ctx, number, p.cause); err != nil {
		return err
	}
	return p.say(number, "closed")
}

func (p *prCommand) say(number int, what string) error {
	return p.print(map[string]any{"number": number, "state": what}, func() string { return fmt.Sprintf("pull request %d is %s\n", number, what) })
}
