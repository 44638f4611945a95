package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

func (d *examination) checkRepository(ctx context.Context, r *repository) {
	remote, err := d.mirrors.Remote(r.url)
	if err != nil {
		d.addError(Fail, r.redactedURL()+": read", err)
		return
	}
	refs, err := remote.ListReferences(ctx)
	if err != nil {
		d.addFailure(r.redactedURL()+": read", findHint(err), "%s", gitReason(r, err))
		return
	}
	count := fmt.Sprintf("%d branches", len(refs.Branches))
	if len(refs.Branches) == 1 {
		count = "1 branch"
	}
	d.addOK(r.redactedURL()+": read", "it can be read, and has %s", count)
	for _, to := range r.outputs {
		d.checkBranch(r, to, refs.Branches[to.branch] != "")
	}
	if len(r.outputs) > 0 || r.controlPlane && r.plain && d.config.Write {
		d.checkPush(ctx, r, remote)
	}
}

func gitReason(r *repository, err error) string {
	text := err.Error()
	if _, rest, ok := strings.Cut(text, r.redactedURL()+": "); ok {
		text = rest
	}
	return strings.TrimRight(text, ": ") // a server may send no reason
}

func (d *examination) checkBranch(r *repository, to output, exists bool) {
	what := fmt.Sprintf("%s: branch %s", r.redactedURL(), to.branch)
	switch {
	case exists:
		d.addOK(what, "it is there, for the output of environment %s", to.environment)
	case d.config.Output.Create:
		d.addOK(what, "it is not there, and is made for the output of environment %s", to.environment)
	} // otherwise the rehearsal reports it
}

func (d *examination) checkPush(ctx context.Context, r *repository, remote *git.Remote) {
	what := r.redactedURL() + ": push"
	err := remote.CheckPush(ctx)
	if err == nil && d.pushes {
		d.tryPush(ctx, r, remote)
		return
	}
	if err == nil {
		d.addOK(what, "the server lets us begin a push; only doctor --push shows whether a hook or a push rule refuses it")
		return
	}
	hint := findHint(err)
	if errors.Is(err, git.ErrAccess) || errors.Is(err, git.ErrNotFound) {
		hint = "it can be read, but not written to: give the credential in remotes of the settings the right to push"
	}
	d.addFinding(d.severity(r), what, gitReason(r, err), hint)
}

// severity returns the level of failures. A control plane works without statuses.
func (d *examination) severity(r *repository) status.Level {
	if r.outputs != nil && d.config.Write {
		return Fail
	}
	return Warn
}

// checkProject checks the name and our access; push is nil if unknown. It reports whether to
// continue.
func (d *examination) checkProject(r *repository, said response, err error, name string, archived bool, push *bool) bool {
	what, kind := r.redactedURL()+": API", r.api.kind
	switch {
	case err != nil:
		d.addError(d.severity(r), what, err)
		return false
	case !said.isGood():
		d.addFinding(d.severity(r), what, kind.server+" does not show it: "+said.message, kind.accessHint)
		return false
	case !strings.EqualFold(name, r.path):
		d.addWarning(what, "write its new "+kind.nameWord+" into the control plane and the settings", "it is now called %s", name)
		return false
	case archived && r.outputs != nil:
		d.addFinding(d.severity(r), what, "it is archived: nothing can be written to it", "unarchive it, or let the GitOpsRepo name another")
	case push == nil:
		d.addOK(what, "%s shows it, and does not tell what we may do", kind.name)
	case *push && r.api.hidesPermissions:
		d.addOK(what, "%s shows it; its account may write to it, and whether the token may is not shown", kind.name)
	case !*push:
		hint := "give the account of the token the right to write: pull requests and statuses need it"
		d.addFinding(d.severity(r), what, kind.name+" shows it, but we may not write to it", hint)
	default:
		d.addOK(what, "%s shows it, and we may write to it", kind.name)
	}
	return true
}

func (d *examination) checkFeatures(r *repository, pulls, issues bool, pullsOff, where string) {
	if !pulls {
		d.addFinding(d.severity(r), r.redactedURL()+": pull requests", pullsOff, "switch them on in the settings of the "+where)
	}
	if !issues {
		d.addWarning(r.redactedURL()+": issues", "switch them on in its settings", "they are off: problems that stop an environment are not told there")
	}
}

func (d *examination) mergesItself(to output) bool {
	how := d.merge[to.environment]
	return d.config.Write && (how == string(publish.Direct) || how == string(publish.WhenGreen))
}

func (d *examination) addMerge(r *repository, to output, allowed bool, by string) {
	what := r.redactedURL() + ": merge into " + to.branch
	if allowed {
		d.addOK(what, "the protection of the branch lets us")
		return
	}
	d.addFinding(Fail, what, fmt.Sprintf("%s keeps us from merging, and merge is %s for %s", by, d.merge[to.environment], to.environment),
		"let the account of the token merge into the branch, or write merge: {"+to.environment+": manual}")
}

func (d *examination) checkAutoMerge(r *repository, allowed bool) {
	var asked []string
	for _, to := range r.outputs {
		if d.merge[to.environment] == string(publish.WhenGreen) {
			asked = append(asked, to.environment)
		}
	}
	what := r.redactedURL() + ": auto-merge"
	switch {
	case allowed:
		d.addOK(what, "it is allowed")
	case asked == nil:
		d.addOK(what, "it is not allowed, and no environment asks for it")
	default:
		d.addWarning(what, "allow auto-merge in the settings of the repository, or write merge: manual", "it is not allowed, and merge is %s for %s", publish.WhenGreen, strings.Join(asked, ", "))
	}
}
