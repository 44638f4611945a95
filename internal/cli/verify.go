package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/verify"
	"github.com/fairlead-io/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// verifyCommand changes nothing. What it cannot verify is an error.
type verifyCommand struct {
	app                *app
	repo, controlPlane string
	maps               []string
	rendering          render.Options
}

func newVerify(a *app) *cobra.Command {
	v := &verifyCommand{app: a}
	c := &cobra.Command{
		Use:     "verify [COMMIT]",
		GroupID: groupMain,
		Short:   "Render a commit of the GitOps repository again, and compare",
		Long: `Verify reads from a commit of the GitOps repository which commits its output was rendered
from, renders it again from nothing, and compares every file. Without COMMIT it is what is
checked out. It is run in a clone of the GitOps repository.

FAIRLEAD_GIT_TOKEN is shown to the server of --control-plane; without it, to that of the
clone's origin, and not to where the record says that the control plane is.

It exits with 4 if something is different.`,
		Example: `  fairlead verify                         what is checked out here
  fairlead verify origin/prod             the head of a branch
  fairlead verify --repo ../gitops 1a2b3c4 --control-plane ../control-plane`,
		Args:              checkArguments(0, 1),
		ValidArgsFunction: completeArguments(v.completeOutputs),
		RunE: func(c *cobra.Command, args []string) error {
			return v.runVerify(c.Context(), strings.Join(args, ""))
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&v.repo, "repo", "", "the GitOps repository: a `PATH` (default: the repository here)")
	f.StringVar(&v.controlPlane, "control-plane", "", "read the control plane at a `PATH-or-URL` (default: where the record says)")
	f.StringArrayVar(&v.maps, "map", nil, "read a repository elsewhere: `URL=PATH-or-URL` (repeatable)")
	addMissingValuesFlag(f, &v.rendering)
	a.addOutputFlag(c)
	return c
}

func (v *verifyCommand) runVerify(ctx context.Context, revision string) error {
	maps, err := parsePairs("--map", "URL=PATH-or-URL", v.maps)
	if err != nil {
		return err
	}
	const hint = "run it in a clone of the GitOps repository, or say where one is with --repo"
	repo, err := git.FindRepository(cmp.Or(v.repo, "."))
	if v.repo == "" && errors.Is(err, git.ErrNotFound) {
		return usageErrorf(hint, "there is no Git repository here")
	}
	if err != nil {
		return problem.WithHint(err, hint)
	}
	if revision == "" {
		revision = "HEAD"
	}
	commit, err := repo.Resolve(revision)
	if errors.Is(err, git.ErrNoRevision) {
		return usageErrorf("check the name, and that it was fetched", "%v", err)
	}
	if err != nil {
		return err
	}
	done := v.app.stderr.ShowProgress("render " + display.SanitizeLine(revision) + " again")
	results, err := verify.Commit(ctx, repo, commit, func(ctx context.Context, base string) (*source.Source, error) {
		o := source.Options{ControlPlane: base, Map: maps, Parser: model.NewParser(), Credentials: v.app.readCredentials, Rendering: v.rendering}
		origin := giturl.HTTPServer(repo.RemoteURL("origin"))
		switch {
		case v.controlPlane != "":
			o.ControlPlane = v.controlPlane
		case origin != "":
			o.CredentialsFor = origin
		default:
			o.Credentials, o.CredentialsFor = nil, "none"
		}
		return source.Open(ctx, o)
	})
	done()
	if errors.Is(err, verify.ErrNoRecord) {
		return problem.WithHint(fmt.Errorf("commit %s: %w", commit, err), "only what Fairlead has written says what it was rendered from")
	}
	if errors.Is(err, git.ErrNoRevision) { // the record names it, not the caller
		return problem.Refusef("the history may have been rewritten; --control-plane reads a repository that still has the commit", "%v", err)
	}
	if err != nil {
		return err
	}
	names := list.Convert(results, func(r verify.Result) string { return r.Environment })
	if err := v.app.printValue(results, names, func() string { return verificationText(results) }); err != nil {
		return err
	}
	for _, r := range results {
		if r.Count > 0 {
			return errDiffers
		}
	}
	return nil
}

func verificationText(results []verify.Result) string {
	var b strings.Builder
	for _, r := range results {
		where := ""
		if r.Folder != "" {
			where = " in " + display.SanitizeLine(r.Folder)
		}
		if r.Count == 0 {
			fmt.Fprintf(&b, "%s%s: all of %s as rendered\n", r.Environment, where, text.Count(r.Files, "file"))
			if len(r.Unverified) > 0 {
				fmt.Fprintf(&b, "  not verified, because others wrote them: %s\n", strings.Join(r.Unverified, ", "))
			}
			continue
		}
		fmt.Fprintf(&b, "%s%s: %s not as rendered\n", r.Environment, where, text.Count(r.Count, "file"))
		for _, file := range r.Different {
			fmt.Fprintf(&b, "  %s\n", display.SanitizeLine(file))
		}
		if more := r.Count - len(r.Different); more > 0 {
			fmt.Fprintf(&b, "  and %d more\n", more)
		}
	}
	return b.String()
}
