package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/internal/cli/display"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
)

// prCommand is `fairlead pr` with its subcommands.
type prCommand struct {
	*command.App
	repo          string
	all           bool
	commit, cause string

	remote *git.Remote
	forge  *forge.Plain
	done   func()
}

func newPR(a *command.App) *cobra.Command {
	p := &prCommand{App: a}
	c := &cobra.Command{
		Use:     "pr",
		GroupID: command.GroupDaemon,
		Short:   "List, show, merge and close pull requests of a repository without a forge",
		Long: `Fairlead's pull requests need no forge: in a repository that is only Git, a bare one
on disk or over SSH, they are branches, with what is said about them in
refs/fairlead/pulls. These commands are their review.`,
		Example: `  fairlead pr list --repo /srv/git/gitops.git
  fairlead pr show 3      what it means, and its lines
  fairlead pr merge 3`,
		Args: command.Subcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&p.repo, "repo", "", "the GitOps repository: a `PATH-or-URL` (default: what the clone here is of, or the repository here)")
	list := p.command("list", "List the open pull requests", command.Arguments(0, 0), p.list)
	list.Flags().BoolVar(&p.all, "all", false, "also those that are merged or closed")
	merge := p.command("merge NUMBER", "Merge a pull request", command.Arguments(1, 1), p.merge)
	merge.Flags().StringVar(&p.commit, "commit", "", "only if the pull request is at this `commit`")
	closing := p.command("close NUMBER", "Close a pull request without merging it", command.Arguments(1, 1), p.close)
	closing.Flags().StringVar(&p.cause, "reason", "", "`text` that says why")
	c.AddCommand(list, p.command("show NUMBER", "Show a pull request, with the lines that it changes", command.Arguments(1, 1), p.show), merge, closing,
		p.command("reopen NUMBER", "Open a pull request again that was closed", command.Arguments(1, 1), p.reopen))
	return c
}

// printed is the output of a command, for programs and for people.
type printed struct {
	value any
	text  string
}

// command returns a subcommand of pr that opens the repository, calls run with the number
// of the pull request, and prints the answer.
//
// It prints after it has removed the mirror: a reader that closes the pipe early, as head
// does, ends the program.
func (p *prCommand) command(use, short string, args cobra.PositionalArgs, run func(context.Context, int) (printed, error)) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: args, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			number := 0
			if len(args) == 1 {
				var err error
				number, err = strconv.Atoi(strings.TrimPrefix(args[0], "#"))
				if err != nil || number <= 0 {
					return command.Usagef("fairlead pr list --all shows the numbers", "%q is not the number of a pull request", args[0])
				}
			}
			if err := p.open(c.Context()); err != nil {
				return err
			}
			answer, err := run(c.Context(), number)
			p.done()
			if errors.Is(err, forge.ErrNotFound) {
				return command.Usagef("fairlead pr list --all shows the numbers", "there is no pull request %d", number)
			}
			if err != nil {
				return err
			}
			return p.Print(answer.value, func() string { return answer.text })
		},
	}
	p.AddOutput(c)
	return c
}

// open fetches the repository into a temporary mirror.
func (p *prCommand) open(ctx context.Context) error {
	place, err := command.Repository("--repo", p.repo, "the GitOps repository")
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
		Credentials: func(context.Context) (git.Credentials, error) { return command.Credentials(), nil },
	})
	if err == nil {
		_, err = p.remote.Sync(ctx)
	}
	if err != nil {
		p.done()
		return command.Elsewhere(err, "--repo says where the GitOps repository is; FAIRLEAD_GIT_TOKEN is what a server is shown")
	}
	p.forge = forge.NewPlain(p.remote, command.Person(), time.Now)
	return nil
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

func (p *prCommand) list(context.Context, int) (printed, error) {
	found, err := p.forge.AllPulls()
	if err != nil {
		return printed{}, err
	}
	none := "there are no pull requests\n"
	if !p.all {
		none = "there are no open pull requests\n"
		found = slices.DeleteFunc(found, func(pull forge.Pull) bool { return pull.State != forge.Open })
	}
	shown := make([]shownPull, 0, len(found))
	for _, pull := range found {
		shown = append(shown, shownOf(pull))
	}
	if len(shown) == 0 {
		return printed{shown, none}, nil
	}
	rows := [][]string{{"NUMBER", "STATE", "INTO", "TITLE"}}
	for _, s := range shown {
		rows = append(rows, []string{fmt.Sprint(s.Number), string(s.State), s.Base, s.Title})
	}
	return printed{shown, display.Table(rows)}, nil
}

func (p *prCommand) show(_ context.Context, number int) (printed, error) {
	pull, err := p.forge.PullByNumber(number)
	if err != nil || p.Format != "text" {
		return printed{value: shownOf(pull)}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s, from %s into %s\n\n%s\n", display.Visible(pull.Title), pull.State, display.Visible(pull.Head), display.Visible(pull.Base), display.Lines(pull.Body))
	if pull.Reason != "" {
		fmt.Fprintf(&b, "%s: %s\n", pull.State, display.Visible(pull.Reason))
	}
	if pull.State == forge.Open {
		err = p.lines(&b, pull)
	}
	return printed{text: b.String()}, err
}

// unifiedContext is the number of unchanged lines around a change.
const unifiedContext = 3

// lines writes the lines that merging a pull request changes.
func (p *prCommand) lines(b *strings.Builder, pull forge.Pull) error {
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
		b.WriteString(display.Lines(piece))
	}
	return errors.Join(before.Err(), after.Err())
}

func (p *prCommand) merge(ctx context.Context, number int) (printed, error) {
	if err := p.isOpen(number); err != nil {
		return printed{}, err
	}
	err := p.forge.MergePull(ctx, number, p.commit)
	if errors.Is(err, forge.ErrMoved) {
		err = command.Hint(err, "the next cycle of the daemon brings it up to date: look at it again")
	}
	return ended(number, forge.Merged), err
}

func (p *prCommand) reopen(ctx context.Context, number int) (printed, error) {
	err := p.forge.ReopenPull(ctx, number)
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		err = command.Hint(err, "a change of the content is proposed anew by the daemon")
	}
	return ended(number, forge.Open), err
}

func (p *prCommand) close(ctx context.Context, number int) (printed, error) {
	if err := p.isOpen(number); err != nil {
		return printed{}, err
	}
	return ended(number, forge.Closed), p.forge.ClosePull(ctx, number, p.cause)
}

// isOpen returns an error if a pull request is not open.
func (p *prCommand) isOpen(number int) error {
	pull, err := p.forge.PullByNumber(number)
	if err == nil && pull.State != forge.Open {
		err = command.Usagef("fairlead pr list shows those that are open", "pull request %d is %s", number, pull.State)
	}
	return err
}

func ended(number int, state forge.State) printed {
	return printed{map[string]any{"number": number, "state": state}, fmt.Sprintf("pull request %d is %s\n", number, state)}
}
