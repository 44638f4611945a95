package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// repository checks whether a repository can be read, and pushed to where the daemon must.
func (d *doctor) repository(ctx context.Context, r *repository) {
	remote, err := d.remote(r.place)
	if err != nil {
		d.failed(Fail, r.shown()+": read", err)
		return
	}
	branches, err := remote.Branches(ctx)
	if err != nil {
		d.fail(r.shown()+": read", hintOf(err), "%s", why(r, err))
		return
	}
	d.ok(r.shown()+": read", "it can be read, and has %s", counted(len(branches), "branch", "branches"))
	for _, to := range r.outputs {
		d.branch(r, to, branches[to.branch] != "")
	}
	if len(r.outputs) > 0 || r.controlPlane && r.plain && d.config.Write {
		d.push(ctx, r, remote)
	}
}

// why returns the text of a Git error without the URL, which the finding has already.
func why(r *repository, err error) string {
	text := err.Error()
	if _, rest, ok := strings.Cut(text, r.shown()+": "); ok {
		text = rest
	}
	return strings.TrimRight(text, ": ") // a server may send no reason
}

func (d *doctor) branch(r *repository, to output, exists bool) {
	what := fmt.Sprintf("%s: branch %s", r.shown(), to.branch)
	switch {
	case exists:
		d.ok(what, "it is there, for the output of environment %s", to.environment)
	case d.config.Output.Create:
		d.ok(what, "it is not there, and is made for the output of environment %s", to.environment)
	default:
		d.fail(what, "write output: {create: true} into the settings, or make the branch", "there is no such branch for the output of environment %s", to.environment)
	}
}

func (d *doctor) push(ctx context.Context, r *repository, remote *git.Remote) {
	what := r.shown() + ": push"
	err := remote.CanPush(ctx)
	if err == nil {
		d.ok(what, "the server lets us begin a push")
		return
	}
	hint := hintOf(err)
	if errors.Is(err, git.ErrAccess) || errors.Is(err, git.ErrNotFound) {
		hint = "it can be read, but not written to: give the credential in remotes of the settings the right to push"
	}
	d.add(Finding{d.needed(r), what, why(r, err), hint})
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// needed returns the level of a failure in a repository. A control plane works without the
// statuses of its commits.
func (d *doctor) needed(r *repository) Level {
	if r.outputs != nil && d.config.Write {
		return Fail
	}
	return Warn
}

// rights adds whether the credential may push, as the forge reports it. told is whether it
// does.
func (d *doctor) rights(r *repository, push, told, archived bool) {
	what := r.shown() + ": API"
	switch {
	case archived && r.outputs != nil:
		d.add(Finding{d.needed(r), what, "it is archived: nothing can be written to it", "unarchive it, or let the GitOpsRepo name another"})
	case !told:
		d.ok(what, "%s shows it, and does not tell what we may do", r.api.kind.name)
	case !push:
		hint := "give the account of the token the right to write: pull requests and statuses need it"
		d.add(Finding{d.needed(r), what, r.api.kind.name + " shows it, but we may not write to it", hint})
	default:
		d.ok(what, "%s shows it, and we may write to it", r.api.kind.name)
	}
}

// issues adds a warning if issues are off.
func (d *doctor) issues(r *repository, on bool) {
	if !on {
		d.warn(r.shown()+": issues", "switch them on in its settings", "they are off: problems that stop an environment are not told there")
	}
}

// autoMerge checks that a repository lets the forge merge, where that is asked for.
func (d *doctor) autoMerge(r *repository, allowed bool) {
	var asked []string
	for _, to := range r.outputs {
		if d.config.Merge[to.environment] == string(publish.WhenGreen) {
			asked = append(asked, to.environment)
		}
	}
	what := r.shown() + ": auto-merge"
	switch {
	case allowed:
		d.ok(what, "it is allowed")
	case asked == nil:
		d.ok(what, "it is not allowed, and no environment asks for it")
	default:
		d.warn(what, "allow auto-merge in the settings of the repository, or write merge: manual", "it is not allowed, and merge is %s for %s", publish.WhenGreen, strings.Join(asked, ", "))
	}
}
