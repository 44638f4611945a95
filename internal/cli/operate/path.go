package operate

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/internal/cli/display"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/folders"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// pathCopy is `fairlead promote --path`.
type pathCopy struct {
	*station
	path, dryRun             bool
	repo, branch             string
	toRepo, toBranch, prefix string
}

// addPath adds the flags of a promotion from folder to folder to promote, which runs it if
// --path is set.
func (s *station) addPath(c *cobra.Command) {
	p := &pathCopy{station: s, prefix: "fairlead/"}
	f := c.Flags()
	f.BoolVar(&p.path, "path", false, "of a repository without a control plane: propose that the folder TARGET holds what the folder SOURCE holds")
	f.StringVar(&p.repo, "repo", "", "with --path, the repository of SOURCE: a `PATH-or-URL` (default: the one here)")
	f.StringVar(&p.branch, "branch", "", "with --path, its `branch` (default: the repository's own)")
	f.StringVar(&p.toRepo, "to-repo", "", "with --path, the repository of TARGET: a `PATH-or-URL` (default: that of SOURCE)")
	f.StringVar(&p.toBranch, "to-branch", "", "with --path, its `branch` (default: that of SOURCE, or of another repository its own)")
	f.BoolVar(&p.dryRun, "dry-run", false, "with --path, only say what would change")
	c.Long += `

With --path it is about repositories without a control plane, in which environments are
folders: it proposes, by one pull request, that the folder TARGET holds what the folder
SOURCE holds. Folders called flux-system stay as they are, and so does what the file
.fairlead-keep in TARGET names, in the syntax of .gitignore.`
	c.Example += `
  fairlead promote --path clusters/staging clusters/production --dry-run`
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if p.path {
			for _, flag := range []string{"force", "url"} {
				if c.Flags().Changed(flag) {
					return command.Usagef("there is no environment whose gates would be asked", "--%s does not go with --path", flag)
				}
			}
			return p.run(c.Context(), args)
		}
		for _, flag := range []string{"repo", "branch", "to-repo", "to-branch", "dry-run"} {
			if c.Flags().Changed(flag) {
				return command.Usagef("as in fairlead promote --path clusters/staging clusters/production", "--%s goes with --path", flag)
			}
		}
		return run(c, args)
	}
}

// copied is the result of --path.
type copied struct {
	From    string        `json:"from"`
	To      string        `json:"to"`
	State   folders.State `json:"state"` // "dry-run" for a dry run with changes
	Pull    *actions.Pull `json:"pull,omitempty"`
	Added   []string      `json:"added"`
	Changed []string      `json:"changed"`
	Removed []string      `json:"removed"`
	Kept    int           `json:"kept"`    // files of the target that stay as they are
	Skipped int           `json:"skipped"` // files of the source that are not copied
}

func (p *pathCopy) run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return command.Usagef("as in fairlead promote --path clusters/staging clusters/production", "--path needs two folders, SOURCE and TARGET, and there are %d", len(args))
	}
	who, err := author(ctx, p.author)
	if err != nil && !p.dryRun {
		return err
	}
	keys, from, to, err := p.places(ctx)
	if err != nil {
		return err
	}
	from.Folder, to.Folder = args[0], args[1]
	c, err := folders.Plan(from.Place, to.Place)
	if err != nil {
		return err
	}
	if p.dryRun {
		state := folders.InSync
		if !c.Empty() {
			state = "dry-run"
		}
		return p.Print(report(c, folders.Result{State: state}), func() string { return display.Lines(c.Text(true)) })
	}
	o := publish.Options{Remote: to.Remote, Prefix: p.prefix, Author: who, Write: true}
	o.Forge, err = keys.OpenForge(to.at, access.Observer{}, plainForge(to.Remote, who, p.now))
	if err != nil {
		return err
	}
	done, err := c.Propose(ctx, o, p.reason)
	if err != nil {
		return err
	}
	r := report(c, done)
	return p.Print(r, func() string { return display.Lines(c.Text(false) + r.text()) })
}

func report(c folders.Copy, done folders.Result) copied {
	r := copied{From: c.From.String(), To: c.To.String(), State: done.State, Kept: c.Kept, Skipped: c.Skipped}
	added, changed, removed := c.Changes()
	r.Added, r.Changed, r.Removed = append([]string{}, added...), append([]string{}, changed...), append([]string{}, removed...)
	if done.Pull.Number != 0 {
		r.Pull = &actions.Pull{Number: done.Pull.Number, URL: done.Pull.URL, State: done.Pull.State}
	}
	return r
}

// text returns what became of the proposal.
func (r copied) text() string {
	switch r.State {
	case folders.Proposed:
		return "pull request " + pullText(*r.Pull) + " proposes it\n"
	case folders.Declined:
		return "nothing was done: pull request " + pullText(*r.Pull) + ", which says the same, is closed\n"
	}
	return "nothing to do\n"
}

// placed is a folder in a repository, and the repository's URL.
type placed struct {
	folders.Place
	at string
}

// places opens the two repositories; if they are the same, once.
func (p *pathCopy) places(ctx context.Context) (*access.Keyring, placed, placed, error) {
	var from, to placed
	here := jobHere()
	if err := p.source(here); err != nil {
		return nil, from, to, err
	}
	settings := p.settings
	if settings == nil {
		settings = here.settings(p.place)
	} else {
		p.prefix = settings.Output.BranchPrefix
		if p.branch == "" && p.repo == "" {
			p.branch = settings.ControlPlane.Branch
		}
	}
	target := p.place
	if p.toRepo != "" {
		named, err := command.Repository("--to-repo", p.toRepo, "the repository of TARGET")
		if err != nil {
			return nil, from, to, err
		}
		target = named
		if p.settings == nil && giturl.Normalize(target) != giturl.Normalize(p.place) {
			settings.Remotes = append(settings.Remotes, here.settings(target).Remotes...)
		}
	}
	keys := access.New(settings, p.now)
	from, err := p.open(ctx, keys, settings, p.place, p.branch)
	if err != nil {
		return nil, from, to, err
	}
	if giturl.Normalize(target) == giturl.Normalize(p.place) {
		to = from
		if p.toBranch != "" {
			to.Branch = p.toBranch
		}
		return keys, from, to, nil
	}
	to, err = p.open(ctx, keys, settings, target, p.toBranch)
	return keys, from, to, err
}

// source sets the repository of SOURCE, which may be another one than that of the settings.
func (p *pathCopy) source(here job) (err error) {
	if p.repo == "" {
		return p.locateOr(here)
	}
	if p.config != "" {
		p.settings, err = p.Settings(p.config)
		if err != nil {
			return err
		}
	}
	p.place, err = command.Repository("--repo", p.repo, "the repository of SOURCE")
	return err
}

// open fetches a repository; without a branch it takes the repository's default branch.
func (p *pathCopy) open(ctx context.Context, keys *access.Keyring, settings *config.Settings, repo, branch string) (placed, error) {
	at := access.ReadLocation(settings, repo)
	remote, err := git.NewRemote(git.RemoteOptions{URL: at, Dir: cache("git", giturl.FolderName(at)), Credentials: keys.GitCredentials(at)})
	if err != nil {
		return placed{}, err
	}
	if _, err := remote.Sync(ctx); err != nil {
		return placed{}, command.Elsewhere(err, "--repo and --to-repo say where the repositories are; FAIRLEAD_GIT_TOKEN is what a server is shown without settings")
	}
	if branch == "" {
		branch = remote.Mirror().DefaultBranch()
		if branch == "" {
			return placed{}, command.Usagef("--branch names that of SOURCE, --to-branch that of TARGET", "it is not known which branch of %s is meant", remote.URL())
		}
	}
	return placed{folders.Place{Remote: remote, Branch: branch}, at}, nil
}
