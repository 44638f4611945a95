package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type prCommand struct {
	app            *app
	repo           string
	all            bool
	commit, reason string
	force          bool

	isTokenWithheld bool // the repository's server differs from the control plane's
	remote          *git.Remote
	forge           *forge.Plain
	removeMirror    func()

	settings *config.Settings // of the control plane; nil if not needed
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
  fairlead pr view 3      what it means
  fairlead pr diff 3      the lines that it changes
  fairlead pr show dev    both, of the newest one into the branch dev
  fairlead pr merge 3`,
		Args: checkSubcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&p.repo, "repo", "", "the GitOps repository: a `PATH-or-URL` (default: that of the control plane here or of fairlead.yaml here, or what the clone here is of, or the repository here)")
	list := p.newSubcommand("list", "List the open pull requests", checkArguments(0, 0), p.listPulls)
	list.Flags().BoolVar(&p.all, "all", false, "also those that are merged or closed")
	merge := p.newSubcommand("merge NUMBER|BRANCH", "Merge a pull request", checkArguments(1, 1), p.mergePull)
	merge.Flags().StringVar(&p.commit, "commit", "", "only if the pull request is at this `commit`")
	merge.Flags().BoolVar(&p.force, "force", false, "also if problems stop its environment, and it proposes what the files said before")
	merge.Flags().StringVar(&p.reason, "reason", "", "`text` that says why")
	closing := p.newSubcommand("close NUMBER|BRANCH", "Close a pull request without merging it", checkArguments(1, 1), p.closePull)
	closing.Flags().StringVar(&p.reason, "reason", "", "`text` that says why")
	reopening := p.newSubcommand("reopen NUMBER|BRANCH", "Open a pull request again that was closed", checkArguments(1, 1), p.reopenPull)
	reopening.Flags().StringVar(&p.reason, "reason", "", "`text` that says why")
	for _, writing := range []*cobra.Command{merge, closing, reopening} {
		p.app.addDryRunFlag(writing)
	}
	c.AddCommand(list,
		p.newSubcommand("view NUMBER|BRANCH", "Show what a pull request means", checkArguments(1, 1), p.viewPull),
		p.newSubcommand("diff NUMBER|BRANCH", "Show the lines that a pull request changes", checkArguments(1, 1), p.diffPull),
		p.newSubcommand("show NUMBER|BRANCH", "Show a pull request, with the lines that it changes", checkArguments(1, 1), p.showPull), merge, closing, reopening)
	return c
}

type pullAnswer func() error

// newSubcommand prints after it removed the mirror, since a reader that closes the pipe
// early, like head, ends the program.
func (p *prCommand) newSubcommand(use, short string, args cobra.PositionalArgs, run func(context.Context, int) (pullAnswer, error)) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(c *cobra.Command, args []string) error {
			if err := p.openRepository(c.Context()); err != nil {
				return err
			}
			answer, err := p.runSubcommand(c.Context(), args, run)
			p.removeMirror()
			if err != nil {
				return err
			}
			return answer()
		},
	}
	if strings.Contains(use, " ") {
		c.ValidArgsFunction = p.completePulls
	}
	p.app.addOutputFlag(c)
	return c
}

func (p *prCommand) completePulls(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || p.openRepository(c.Context()) != nil {
		return nil, completedInOrder
	}
	defer p.removeMirror()
	all, err := p.forge.AllPulls()
	if err != nil {
		return nil, completedInOrder
	}
	var found []string
	for _, pull := range all {
		wanted := forge.Open
		if c.Name() == "reopen" {
			wanted = forge.Closed
		}
		if pull.State == wanted || c.Name() == "view" || c.Name() == "show" {
			found = append(found, cobra.CompletionWithDesc(fmt.Sprint(pull.Number), display.SanitizeLine(pull.Title)))
		}
	}
	return found, completedInOrder
}

func (p *prCommand) runSubcommand(ctx context.Context, args []string, run func(context.Context, int) (pullAnswer, error)) (pullAnswer, error) {
	if len(args) == 0 {
		return run(ctx, 0)
	}
	number, err := p.findNumber(args[0])
	if err != nil {
		return nil, err
	}
	answer, err := run(ctx, number)
	if errors.Is(err, forge.ErrNotFound) {
		err = usageErrorf(p.listCommand()+" --all shows the numbers", "there is no pull request %d", number)
	}
	return answer, err
}

func (p *prCommand) listCommand() string {
	if p.repo == "" {
		return "fairlead pr list"
	}
	return "fairlead pr list --repo " + text.QuoteShell(giturl.Redact(p.repo))
}

// findNumber accepts a number, or a base branch for its newest pull request.
func (p *prCommand) findNumber(named string) (int, error) {
	number, err := strconv.Atoi(strings.TrimPrefix(named, "#"))
	if err == nil && number > 0 {
		return number, nil
	}
	all, err := p.forge.AllPulls()
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(all, func(pull forge.Pull) bool { return pull.Base == named })
	if i < 0 {
		return 0, usageErrorf(p.listCommand()+" --all shows the numbers and branches", "there is no pull request %s, and none into a branch of that name", named)
	}
	return all[i].Number, nil
}

func (p *prCommand) openRepository(ctx context.Context) error {
	place, err := p.findRepository(ctx)
	if err != nil {
		return err
	}
	mirror, err := os.MkdirTemp("", "fairlead-pr-")
	if err != nil {
		return err
	}
	p.removeMirror = func() { _ = os.RemoveAll(mirror) }
	mirrors := repos.Mirrors{Dir: mirror, Options: func(string) (git.RemoteOptions, error) {
		switch {
		case p.settings != nil:
			return p.app.newRemoteOptions(access.New(p.settings, time.Now).GitCredentials(place)), nil
		case p.isTokenWithheld:
			return p.app.newRemoteOptions(nil), nil
		}
		return p.app.newRemoteOptions(p.app.readCredentials(place)), nil
	}}
	p.remote, err = mirrors.Fetch(ctx, place)
	if err != nil {
		p.removeMirror()
		return withLocationHint(err, "--repo says where the GitOps repository is")
	}
	p.forge = forge.NewPlain(p.remote, defaultAuthor(), time.Now)
	return nil
}

type pullReport struct {
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

func newPullReport(p forge.Pull) pullReport {
	return pullReport{p.Number, p.State, p.Title, p.Head, p.Base, p.Commit, p.Labels, p.Reason, p.Body}
}

func (p *prCommand) listPulls(context.Context, int) (pullAnswer, error) {
	found, err := p.forge.AllPulls()
	if err != nil {
		return nil, err
	}
	l := listing{empty: "there are no pull requests\n", columns: []column{
		{key: "number"}, {key: "state"}, {key: "into"}, {key: "title", fit: display.Shorten},
		{key: "from", wide: true}, {key: "commit", wide: true}, {key: "labels", wide: true, fit: display.Shorten},
	}}
	if !p.all {
		l.empty = "there are no open pull requests\n"
		found = slices.DeleteFunc(found, func(pull forge.Pull) bool { return pull.State != forge.Open })
	}
	shown := make([]pullReport, 0, len(found))
	for _, pull := range found {
		shown = append(shown, newPullReport(pull))
		l.rows = append(l.rows, []any{pull.Number, pull.State, pull.Base, pull.Title, pull.Head, text.ShortCommit(pull.Commit), pull.Labels})
	}
	l.value = shown
	return func() error { return p.app.printListing(l) }, nil
}

func (p *prCommand) mergePull(ctx context.Context, number int) (pullAnswer, error) {
	pull, err := p.checkOpen(number)
	if err != nil {
		return nil, err
	}
	if publish.IsStopped(pull.Body) && !p.force {
		return nil, problem.Refusef(fmt.Sprintf("fairlead pr view %d names the problem: mend it, and the pull request is brought up to date; --force merges it as it is", number),
			"problems stop the environment of pull request %d, which proposes what the files said before", number)
	}
	err = p.forge.MergePullFor(ctx, number, p.commit, p.reason)
	if errors.Is(err, forge.ErrMoved) {
		err = problem.WithHint(err, "the next cycle of the daemon brings it up to date: look at it again")
	}
	return p.newStateAnswer(number, forge.Merged), err
}

func (p *prCommand) reopenPull(ctx context.Context, number int) (pullAnswer, error) {
	err := p.forge.ReopenPull(ctx, number, p.reason)
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		err = problem.WithHint(err, "a change of the content is proposed anew by the daemon")
	}
	return p.newStateAnswer(number, forge.Open), err
}

func (p *prCommand) closePull(ctx context.Context, number int) (pullAnswer, error) {
	if _, err := p.checkOpen(number); err != nil {
		return nil, err
	}
	return p.newStateAnswer(number, forge.Closed), p.forge.ClosePull(ctx, number, p.reason)
}

func (p *prCommand) checkOpen(number int) (forge.Pull, error) {
	pull, err := p.forge.PullByNumber(number)
	if err == nil && pull.State != forge.Open {
		err = usageErrorf(p.listCommand()+" shows those that are open", "pull request %d is %s", number, pull.State)
	}
	return pull, err
}

func (p *prCommand) newAnswer(number int, value any, text string) pullAnswer {
	return func() error {
		return p.app.printValue(value, []string{fmt.Sprint(number)}, func() string { return text })
	}
}

func (p *prCommand) newStateAnswer(number int, state forge.State) pullAnswer {
	return p.newAnswer(number, map[string]any{"number": number, "state": state}, fmt.Sprintf("pull request %d is %s\n", number, state))
}
