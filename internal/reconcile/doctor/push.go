package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
)

// tryPush pushes an empty commit to a new branch and removes it: hooks and push rules refuse a push
// only when they see it.
func (d *examination) tryPush(ctx context.Context, r *repository, remote *git.Remote) {
	what, branch := r.redactedURL()+": push", d.config.Output.BranchPrefix+"doctor-"+strings.ToLower(rand.Text()[:8])
	commit, err := d.pushBranch(ctx, r, remote, "refs/heads/"+branch)
	if err != nil {
		hint := findHint(err)
		if errors.Is(err, git.ErrRefused) {
			hint = "let hooks and push rules accept what this account pushes to the branches " + d.config.Output.BranchPrefix + "**; the daemon meets the same answer"
		}
		d.addFinding(d.severity(r), what, gitReason(r, err), hint)
		return
	}
	err = remote.Push(context.WithoutCancel(ctx), nil, git.RefUpdate{Ref: "refs/heads/" + branch, Old: commit})
	if err != nil {
		d.addFailure(what, fmt.Sprintf("let the account remove the branches %s**, then run: git push %s --delete %s", d.config.Output.BranchPrefix, giturl.Redact(r.url), branch),
			"the branch %s could be pushed, and not removed again: %s", branch, gitReason(r, err))
		return
	}
	d.addOK(what, "a commit was pushed to a new branch %sdoctor-…, and the branch was removed again", d.config.Output.BranchPrefix)
}

// pushBranch returns the commit. A lost answer is not an error if the branch exists.
func (d *examination) pushBranch(ctx context.Context, r *repository, remote *git.Remote, ref string) (string, error) {
	if _, err := remote.Sync(ctx); err != nil {
		return "", err
	}
	sign, err := loop.NewSigner(d.config.Signing)
	if err != nil {
		return "", err
	}
	c := git.Commit{
		Author: git.Signature{Name: d.config.Author.Name, Email: d.config.Author.Email}, Sign: sign, When: d.now(),
		Message: "Check that Fairlead may push\n\nfairlead doctor --push removes this branch at once.\n",
	}
	for _, to := range r.outputs {
		head, err := remote.Mirror().FindBranch(to.branch)
		if err != nil {
			return "", err
		}
		if head == "" {
			continue
		}
		view, err := remote.Mirror().View(head)
		if err != nil {
			return "", err
		}
		c.Parents, c.Tree = []string{head}, view.Tree
		c.Known = append(c.Known, view.Tree)
		break
	}
	pack, err := remote.Write(ctx, c)
	if err != nil {
		return "", err
	}
	return pack.Commits[0], remote.Push(ctx, pack, git.RefUpdate{Ref: ref, New: pack.Commits[0]})
}
