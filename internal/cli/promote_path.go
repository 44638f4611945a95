package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/folders"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type copyCommand struct {
	context                  *commandContext
	path                     bool
	repo, branch             string
	toRepo, toBranch, prefix string
}

// addCopyFlags adds the flags of a promotion from folder to folder to promote, which runs it if
// --path is set.
func (cc *commandContext) addCopyFlags(c *cobra.Command) {
	p := &copyCommand{context: cc, prefix: "fairlead/"}
	f := c.Flags()
	f.BoolVar(&p.path, "path", false, "of a repository without a control plane: propose that the folder TARGET holds what the folder SOURCE holds")
	f.StringVar(&p.repo, "repo", "", "with --path, the repository of SOURCE: a `PATH-or-URL` (default: the one here)")
	f.StringVar(&p.branch, "branch", "", "with --path, its `branch` (default: the repository's own)")
	f.StringVar(&p.toRepo, "to-repo", "", "with --path, the repository of TARGET: a `PATH-or-URL` (default: that of SOURCE)")
	f.StringVar(&p.toBranch, "to-branch", "", "with --path, its `branch` (default: that of SOURCE, or of another repository its own)")
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
					return usageErrorf("there is no environment whose gates would be asked", "--%s does not go with --path", flag)
				}
			}
			return p.runCopy(c.Context(), args)
		}
		for _, flag := range []string{"repo", "branch", "to-repo", "to-branch"} {
			if c.Flags().Changed(flag) {
				return usageErrorf("as in fairlead promote --path clusters/staging clusters/production", "--%s goes with --path", flag)
			}
		}
		return run(c, args)
	}
}

// copyReport is the result of --path.
type copyReport struct {
	From    string        `json:"from"`
	To      string        `json:"to"`
	State   publish.State `json:"state"` // "dry-run" for a dry run with changes
	Pull    *actions.Pull `json:"pull,omitempty"`
	Added   []string      `json:"added"`
	Changed []string      `json:"changed"`
	Removed []string      `json:"removed"`
	Kept    int           `json:"kept"`    // files of the target that stay as they are
	Skipped int           `json:"skipped"` // files of the source that are not copied
}

func (p *copyCommand) runCopy(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return usageErrorf("as in fairlead promote --path clusters/staging clusters/production", "--path needs two folders, SOURCE and TARGET, and there are %d", len(args))
	}
	who, err := commitAuthor(ctx, p.context.author)
	if err != nil && !p.context.app.dryRun {
		return err
	}
	from, to, err := p.openLocations(ctx)
	if err != nil {
		return err
	}
	from.place.Folder, to.place.Folder = args[0], args[1]
	c, err := folders.PlanCopy(from.place, to.place)
	if err != nil {
		return err
	}
	if p.context.app.dryRun {
		state := publish.InSync
		if !c.IsEmpty() {
			state = "dry-run"
		}
		return p.context.app.encodeValue(newCopyReport(c, folders.Result{State: state}), []string{args[1]}, func() string { return display.SanitizeLines(c.Text(true)) })
	}
	o := publish.Options{Remote: to.place.Remote, Prefix: p.prefix, Author: who, Write: true}
	o.Forge, err = p.context.openForge(to.place.Remote, to.url, who)
	if err != nil {
		return err
	}
	done, err := c.Propose(ctx, o, p.context.reason)
	if err != nil {
		return err
	}
	r := newCopyReport(c, done)
	return p.context.app.printValue(r, []string{args[1]}, func() string { return display.SanitizeLines(c.Text(false) + r.resultText()) })
}

func newCopyReport(c folders.Copy, done folders.Result) copyReport {
	r := copyReport{From: c.From.String(), To: c.To.String(), State: done.State, Kept: c.Kept, Skipped: c.Skipped}
	added, changed, removed := c.Changes()
	r.Added, r.Changed, r.Removed = append([]string{}, added...), append([]string{}, changed...), append([]string{}, removed...)
	if done.Pull.Number != 0 {
		r.Pull = &actions.Pull{Number: done.Pull.Number, URL: done.Pull.URL, State: done.Pull.State}
	}
	return r
}

func (r copyReport) resultText() string {
	switch r.State {
	case publish.Proposed:
		return "pull request " + pullText(*r.Pull) + " proposes it\n"
	case publish.Declined:
		return "nothing was done: pull request " + pullText(*r.Pull) + ", which says the same, is closed\n"
	}
	return "nothing to do\n"
}

// copyLocation is a folder in a repository, and the repository's URL.
type copyLocation struct {
	place folders.Location
	url   string
}

// openLocations opens the two repositories; if they are the same, once.
func (p *copyCommand) openLocations(ctx context.Context) (from, to copyLocation, err error) {
	here := readJob()
	if err := p.locateSource(here); err != nil {
		return from, to, err
	}
	ofJob := p.context.settings == nil
	p.context.useJobSettings()
	settings := p.context.settings
	if !ofJob {
		p.prefix = settings.Output.BranchPrefix
		if p.branch == "" && p.repo == "" {
			p.branch = settings.ControlPlane.Branch
		}
	}
	target := p.context.controlPlane
	if p.toRepo != "" {
		target, err = findRepository("--to-repo", p.toRepo, "the repository of TARGET")
		if err != nil {
			return from, to, err
		}
		if ofJob && giturl.Normalize(target) != giturl.Normalize(p.context.controlPlane) {
			settings.Remotes = append(settings.Remotes, here.newSettings(target).Remotes...)
		}
	}
	mirrors := p.context.newMirrors()
	from, err = p.openRepository(ctx, mirrors, p.context.controlPlane, p.branch)
	if err != nil {
		return from, to, err
	}
	if giturl.Normalize(target) == giturl.Normalize(p.context.controlPlane) {
		to = from
		if p.toBranch != "" {
			to.place.Branch = p.toBranch
		}
		return from, to, nil
	}
	to, err = p.openRepository(ctx, mirrors, target, p.toBranch)
	return from, to, err
}

// locateSource sets the repository of SOURCE, which may be another one than that of the settings.
func (p *copyCommand) locateSource(here ciJob) (err error) {
	if p.repo == "" {
		return p.context.locateOrUseJob(here)
	}
	if p.context.settingsFile != "" {
		p.context.settings, err = p.context.app.loadSettings(p.context.settingsFile, config.LoadForCommands)
		if err != nil {
			return err
		}
	}
	p.context.controlPlane, err = findRepository("--repo", p.repo, "the repository of SOURCE")
	return err
}

// openRepository fetches a repository; without a branch it takes the repository's default branch.
func (p *copyCommand) openRepository(ctx context.Context, mirrors *repos.Mirrors, repo, branch string) (copyLocation, error) {
	location := access.ReadLocation(p.context.settings, repo)
	remote, err := mirrors.Fetch(ctx, location)
	if err != nil {
		return copyLocation{}, withLocationHint(err, "--repo and --to-repo say where the repositories are")
	}
	if branch == "" {
		branch = remote.Mirror().DefaultBranch()
		if branch == "" {
			return copyLocation{}, usageErrorf("--branch names that of SOURCE, --to-branch that of TARGET", "it is not known which branch of %s is meant", remote.URL())
		}
	}
	return copyLocation{folders.Location{Remote: remote, Branch: branch}, location}, nil
}
