package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/registry"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// commandContext holds what the commands share: where the control plane is, what knows the state
// of its stages, and in whose name a command writes.
type commandContext struct {
	app                            *app
	settingsFile, controlPlaneFlag string // of --config and --control-plane
	daemonURL                      string // of a daemon
	reason                         string
	author                         string
	signKey                        string // the file of a private key
	propose                        bool
	confirm                        func(context.Context, actions.Plan) error // is called before a change is written
	now                            func() time.Time
	// ticks returns the times at which to look again, and a function that ends them.
	ticks func(time.Duration) (<-chan time.Time, func())

	ledgerNoted  bool             // whether it was said that the ledger is read, and no daemon asked
	settings     *config.Settings // nil if there are none
	controlPlane string           // path or URL
}

func newCommandContext(a *app) *commandContext {
	return &commandContext{app: a, now: time.Now, ticks: func(every time.Duration) (<-chan time.Time, func()) {
		t := time.NewTicker(every)
		return t.C, t.Stop
	}}
}

func (cc *commandContext) addControlPlaneFlags(c *cobra.Command) {
	addConfigFlag(c, &cc.settingsFile, "", " (default: "+defaultSettingsFile+", if it is there)")
	addControlPlaneFlag(cc, c)
}

func addControlPlaneFlag(cc *commandContext, c *cobra.Command) {
	c.Flags().StringVar(&cc.controlPlaneFlag, "control-plane", "", "work without settings, on the Git repository of a control plane: a `PATH-or-URL`")
}

func (cc *commandContext) addURLFlag(c *cobra.Command) {
	c.Flags().StringVar(&cc.daemonURL, "url", "", "ask the daemon whose page is at this `URL`, instead of looking oneself")
}

func (cc *commandContext) addActionFlags(c *cobra.Command, why string) {
	addCommitFlags(cc, c, why)
	c.Flags().BoolVar(&cc.propose, "pull-request", false, "open a pull request instead of committing to the branch")
}

func addCommitFlags(cc *commandContext, c *cobra.Command, why string) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&cc.reason, "reason", "", "`text` that says why"+why)
	f.StringVar(&cc.author, "author", "", "whose commit it is: `\"Name <address>\"` (default: as Git is configured here)")
	cc.app.addDryRunFlag(c)
	cc.addControlPlaneFlags(c)
	cc.app.addOutputFlag(c)
}

func (cc *commandContext) newEnvironmentAction(c *cobra.Command, pull func(context.Context, *actions.Session, string) (actions.Result, error)) *cobra.Command {
	c.GroupID, c.Args, c.ValidArgsFunction = groupPromotion, checkArguments(1, 1), completeArguments(cc.completeNames)
	c.RunE = func(c *cobra.Command, args []string) error {
		d, err := cc.openForEnvironments(c.Context(), args[0])
		if err != nil {
			return err
		}
		return cc.finishAction(c.Context())(pull(c.Context(), d, args[0]))
	}
	cc.addActionFlags(c, "")
	return c
}

func (cc *commandContext) requireReason(what string) error {
	if strings.TrimSpace(cc.reason) == "" {
		return usageErrorf("--reason TEXT; it is there for all who wonder later", "%s needs a reason", what)
	}
	return nil
}

func (cc *commandContext) readSettings() error {
	file := cc.settingsFile
	if file == "" && cc.controlPlaneFlag == "" {
		if _, err := os.Stat(defaultSettingsFile); err == nil {
			file = defaultSettingsFile
		}
	}
	if file == "" || cc.settings != nil {
		return nil
	}
	var err error
	cc.settings, err = cc.app.loadSettings(file, config.LoadForCommands)
	if err == nil {
		cc.controlPlane = cc.settings.ControlPlane.Repo
	}
	return err
}

// locateControlPlane sets the control plane: that of the flags, of the settings if there are any, or
// else the repository in the current folder.
func (cc *commandContext) locateControlPlane() error {
	if cc.controlPlaneFlag != "" && cc.settingsFile != "" {
		return usageErrorf("the settings name the control plane", "--config and --control-plane exclude each other")
	}
	err := cc.readSettings()
	if err == nil && cc.settings == nil {
		cc.controlPlane, err = findRepository("--config or --control-plane", cc.controlPlaneFlag, "the control plane")
	}
	return err
}

// cacheFolder returns a folder in the user's cache; where the user has no home, one of their own among
// the temporary ones.
func cacheFolder(name ...string) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return filepath.Join(append([]string{os.TempDir(), fmt.Sprintf("fairlead-cache-%d", os.Getuid())}, name...)...)
	}
	return filepath.Join(append([]string{dir, "fairlead"}, name...)...)
}

// newMirrors returns the repositories as the settings reach them. Without settings the
// credentials of the process environment are for the server of the control plane.
func (cc *commandContext) newMirrors() *repos.Mirrors {
	credentials := func(location string) func(context.Context) (git.Credentials, error) {
		if server := giturl.HTTPServer(location); server == "" || server != giturl.HTTPServer(cc.controlPlane) {
			return nil
		}
		return cc.app.readCredentials(location)
	}
	if cc.settings != nil {
		credentials = access.New(cc.settings, cc.now).GitCredentials
	}
	return &repos.Mirrors{Dir: cacheFolder("git"), Options: func(location string) (git.RemoteOptions, error) {
		return cc.app.newRemoteOptions(credentials(location)), nil
	}}
}

func (cc *commandContext) actionOptions(who git.Signature) (actions.Options, error) {
	if err := cc.locateControlPlane(); err != nil {
		return actions.Options{}, err
	}
	o := actions.Options{ControlPlane: cc.controlPlane, Mirrors: cc.newMirrors(), Prefix: "fairlead/", Author: who, Now: cc.now, Confirm: cc.confirm}
	if cc.settings != nil {
		o.BaseBranch, o.Map, o.Next, o.Prefix = cc.settings.ControlPlane.Branch, cc.settings.Map, cc.settings.NextEnvironment, cc.settings.Output.BranchPrefix
		o.Rendering.PublishMissing = cc.settings.MissingValues == "publish"
		o.Registries = registry.FromSettings(cc.settings, access.New(cc.settings, cc.now), cc.now)
	}
	o.Statuses = func(remote *git.Remote, place string) (forge.Forge, error) { return cc.openForge(remote, place, who) }
	var err error
	o.Sign, err = readSignKey(cc.signKey)
	if err != nil {
		return o, err
	}
	if cc.propose {
		o.Forge = func(remote *git.Remote, place string) (forge.Forge, error) { return cc.openForge(remote, place, who) }
	}
	return o, nil
}

func (cc *commandContext) withControlPlaneHint(err error) error {
	var other *source.UnreachableError
	if errors.As(err, &other) { // of a repository that the control plane names
		return problem.WithHint(err, "map in fairlead.yaml reads it elsewhere")
	}
	if cc.settings != nil {
		return withSettingsHint(err)
	}
	return withLocationHint(err, "--config or --control-plane says where the control plane is")
}

func (cc *commandContext) openSession(ctx context.Context, who git.Signature) (*actions.Session, error) {
	o, err := cc.actionOptions(who)
	if err != nil {
		return nil, err
	}
	d, err := actions.Open(ctx, o)
	if err != nil {
		return nil, cc.withControlPlaneHint(err)
	}
	return d, nil
}

// openForEnvironments opens the control plane for actions of the person who calls; it returns an error
// if one of the environments does not exist.
func (cc *commandContext) openForEnvironments(ctx context.Context, environments ...string) (*actions.Session, error) {
	who, err := commitAuthor(ctx, cc.author)
	if err != nil {
		return nil, err
	}
	d, err := cc.openSession(ctx, who)
	if err != nil {
		return nil, err
	}
	names, err := d.Environments(ctx)
	if err != nil {
		return nil, err
	}
	return d, checkEnvironments(names, environments...)
}

// openForEphemeral opens the control plane as openForEnvironments, and takes the name of an ephemeral
// environment too.
func (cc *commandContext) openForEphemeral(ctx context.Context, environment string) (*actions.Session, error) {
	d, err := cc.openForEnvironments(ctx)
	if err != nil {
		return nil, err
	}
	isEphemeral, err := d.IsEphemeral(ctx, environment)
	if err != nil || isEphemeral {
		return d, err
	}
	names, err := d.Environments(ctx)
	if err != nil {
		return nil, err
	}
	return d, checkEnvironments(names, environment)
}

func checkEnvironments(names []string, asked ...string) error {
	for _, name := range asked {
		if !slices.Contains(names, name) {
			return newUnknownError("environment", name, names)
		}
	}
	return nil
}

func (cc *commandContext) printResult(r actions.Result, err error) error {
	if err := cc.explainActionError(err); err != nil {
		return err
	}
	return cc.app.printValue(r, resultNames(r), func() string { return doneText(r) })
}

func (cc *commandContext) explainActionError(err error) error {
	var added *actions.ProblemsError
	if errors.As(err, &added) {
		return &problemsError{summary: "nothing was written: the change adds " + display.CountProblems(added.List.Count()), list: added.List}
	}
	if errors.Is(err, git.ErrRefused) {
		err = problem.WithHint(err, "if the branch is protected, --pull-request proposes it")
	}
	if err != nil {
		err = cc.withControlPlaneHint(err)
	}
	return err
}

func resultNames(r actions.Result) []string { return []string{cmp.Or(r.Name, r.Environment)} }

// finishAction returns what prints the result of an action, and then has the daemon look at it, if it is
// known where one is.
func (cc *commandContext) finishAction(ctx context.Context) func(actions.Result, error) error {
	return func(r actions.Result, err error) error {
		changed := err == nil && r.Commit != ""
		if changed && cc.app.dryRun { // it is printed with the rest
			cc.wakeKnownDaemon(ctx)
		}
		err = cc.printResult(r, err)
		if err == nil && changed && !cc.app.dryRun {
			cc.wakeKnownDaemon(ctx)
		}
		return err
	}
}

func doneText(r actions.Result) string {
	said := r.Summary
	switch {
	case r.Pull != nil && r.Pull.State == forge.Open:
		said += ", once pull request " + pullText(*r.Pull) + " is merged"
	case r.Pull != nil:
		said = "nothing was done: pull request " + pullText(*r.Pull) + ", which says the same, is " + string(r.Pull.State)
	case !r.Changed:
		said = "nothing to do: " + said
	default:
		said += " (commit " + text.ShortCommit(r.Commit) + " on " + r.Branch + ")"
	}
	for _, note := range r.Notes {
		said += "\n" + note
	}
	for _, against := range r.Forced {
		said += "\nforced, though " + against
	}
	return display.SanitizeLines(said) + "\n"
}
