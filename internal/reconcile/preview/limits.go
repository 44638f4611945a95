package preview

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// findExceeding returns what of a change exceeds the limits of its environment and is not
// acknowledged. The name of the change is known before the merge: it is of what the
// output's place holds now and of what would be rendered. A change that moves the output
// waits for a person in any case, and is not looked at: its place may be a stranger's.
func (v *Previewer) findExceeding(ctx context.Context, old, now source.Rendered) ([]publish.Withholding, error) {
	was, to := old.Model.OutputRepo(), now.Model.OutputRepo()
	if was == nil || to == nil || was.RepoRef != to.RepoRef {
		return nil, nil
	}
	out, err := v.options.Remotes.OpenOutput(ctx, v.options.Remotes.ReadLocation(to.Repo))
	if err != nil {
		return nil, err
	}
	now, err = followHead(out, to, now)
	if err != nil {
		return nil, err
	}
	limits := v.limits(now.Environment)
	result, err := publish.Publish(ctx, publish.Options{Remote: out.Remote, Prefix: v.options.Settings.Output.BranchPrefix, Author: v.options.Author}, publish.Proposal{
		Environment: now.Environment, Branch: to.Branch, Folder: to.Path, Rendered: now.Tree, Inputs: now.Commits,
		Workload: model.WorkloadOf(now.Model), Limits: &limits, Acknowledged: v.source.AcknowledgedChanges(ctx, now),
	})
	if errors.Is(err, publish.ErrBlocked) {
		return nil, nil // the environment's own report has it
	}
	var exceeding []publish.Withholding
	for _, w := range result.Withheld {
		if w.ChangeID != "" {
			exceeding = append(exceeding, w)
		}
	}
	return exceeding, err
}

// followHead returns a rendered environment as it follows what its place holds now.
func followHead(out *repos.Remote, to *model.GitOpsRepo, r source.Rendered) (source.Rendered, error) {
	head, err := out.Mirror().FindBranch(to.Branch)
	if err != nil || head == "" {
		return r, err
	}
	return git.InspectTree(out.Mirror(), head, func(whole tree.Tree) (source.Rendered, error) {
		return r.FollowOutput(whole.Sub(publish.CleanFolder(to.Path)))
	})
}

// writeExceeding writes what a person has to acknowledge, and how that is done before
// the merge.
func writeExceeding(b *strings.Builder, p environmentPreview) {
	if p.unknown {
		b.WriteString("\nWhether its output would wait for a person is not known: the GitOps repository cannot be read now.\n")
	}
	if len(p.exceeding) == 0 {
		return
	}
	b.WriteString("\nIts output would wait for a person:\n")
	for _, w := range p.exceeding {
		fmt.Fprintf(b, "- %s\n", forge.EscapeMarkdown(w.Reason))
	}
	name := p.exceeding[0].ChangeID
	fmt.Fprintf(b, "\nTo acknowledge exactly this change beforehand, annotate the environment's GitOpsRepo with `%s: %s`, or run `fairlead approve %s %s --removals --ahead`. "+
		"The name holds as long as nothing else changes the output.\n", model.AcknowledgeAnnotation, name, p.environment, name)
}
