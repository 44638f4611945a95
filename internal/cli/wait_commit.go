package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"regexp"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/git"
)

// locate sets the control plane, which may be unknown with a daemon.
func (w *waitCommand) locate() error {
	err := w.context.locateOrUseJob(readJob())
	if err != nil && w.context.daemonURL != "" && w.context.settingsFile == "" && w.context.controlPlaneFlag == "" {
		return nil
	}
	if err != nil {
		return err
	}
	w.context.useJobSettings()
	return nil
}

var (
	fullID  = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	shortID = regexp.MustCompile(`^[0-9a-f]{7,63}$`)
)

// resolveCommit accepts any full id, other revisions of the repository here, and short
// ids of the control plane. If only a daemon knows the commits, it returns a short id
// unchanged.
func (w *waitCommand) resolveCommit(ctx context.Context, revision string, open sessionOpener) (string, error) {
	if fullID.MatchString(revision) {
		return revision, nil
	}
	here, err := git.FindRepository(".")
	if err == nil {
		commit, err := here.Resolve(revision)
		if !errors.Is(err, git.ErrNoRevision) {
			return commit, err
		}
	}
	isHere := err == nil
	switch {
	case !shortID.MatchString(revision):
		return "", newNoCommitError(revision, isHere)
	case w.context.controlPlane == "":
		return revision, nil
	}
	session, err := open()
	if err != nil && w.context.daemonURL != "" {
		return revision, nil
	}
	if err != nil {
		return "", err
	}
	commit, err := session.ResolveCommit(ctx, revision)
	if errors.Is(err, git.ErrNoRevision) {
		return "", newNoCommitError(revision, isHere)
	}
	return commit, err
}

func newNoCommitError(revision string, isHere bool) error {
	shown := text.QuoteShell(revision)
	hint := "git rev-parse " + shown + " prints the id in a clone of the control plane that has the commit; 7 digits of it are enough"
	switch {
	case shortID.MatchString(revision):
		return usageErrorf(hint, "the control plane has no commit %s", revision)
	case isHere:
		return usageErrorf(hint, "%s is neither a commit id nor a revision of the repository here", cmp.Or(revision, shown))
	}
	return usageErrorf(hint, "%s is not a commit id, and there is no Git repository here that has a revision of that name", cmp.Or(revision, shown))
}

func (cc *commandContext) useJobSettings() {
	if cc.settings == nil {
		cc.settings = readJob().newSettings(cc.controlPlane)
	}
}

// locateOrUseJob defaults to the job's repository without flags and settings.
func (cc *commandContext) locateOrUseJob(here ciJob) error {
	_, err := os.Stat(defaultSettingsFile)
	if here.url == "" || cc.controlPlaneFlag != "" || cc.settingsFile != "" || err == nil {
		return cc.locateControlPlane()
	}
	cc.controlPlane = here.url
	return nil
}
