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

// openOutput opens the output's repository; nil if there is none or the change moves it, because
// the new place may belong to someone else.
func (v *Previewer) openOutput(ctx context.Context, old, now source.Rendered) (*model.GitOpsRepo, *repos.Remote, error) {
	if old.Model == nil || now.Model == nil {
		return nil, nil, nil
	}
	was, to := old.Model.OutputRepo(), now.Model.OutputRepo()
	if was == nil || to == nil || was.RepoRef != to.RepoRef {
		return nil, nil, nil
	}
	out, err := v.options.Remotes.OpenOutput(ctx, v.options.Remotes.ReadLocation(to.Repo))
	return to, out, err
}

func followOutput(out *repos.Remote, to *model.GitOpsRepo, both [2]source.Rendered) ([2]source.Rendered, error) {
	head, err := out.Mirror().FindBranch(to.Branch)
	if err != nil {
		return both, err
	}
	if head == "" {
		return followRendered(both)
	}
	return git.InspectTree(out.Mirror(), head, func(whole tree.Tree) (found [2]source.Rendered, err error) {
		for i, r := range both {
			found[i], err = r.FollowOutput(whole.Sub(publish.CleanFolder(to.Path)))
			if err != nil {
				return both, err
			}
		}
		return found, nil
	})
}

func followRendered(both [2]source.Rendered) (_ [2]source.Rendered, err error) {
	if !both[0].Problems.StopsEnvironment() {
		both[1], err = both[1].FollowOutput(both[0].Tree)
	}
	return both, err
}

// findExceeding returns the unacknowledged excesses of a change. Its name is known before the
// merge, because it depends only on the current output and the rendered one.
func (v *Previewer) findExceeding(ctx context.Context, out *repos.Remote, to *model.GitOpsRepo, now source.Rendered) ([]publish.Withholding, error) {
	limits := v.limits(now.Environment)
	result, err := publish.Publish(ctx, publish.Options{Remote: out.Remote, Prefix: v.options.Settings.Output.BranchPrefix, Author: v.options.Author}, publish.Proposal{
		Environment: now.Environment, Branch: to.Branch, Folder: to.Path, Rendered: now.Tree, Inputs: now.Commits,
		Workload: model.WorkloadOf(now.Model), Limits: &limits, Acknowledged: v.source.AcknowledgedChanges(ctx, now),
	})
	if errors.Is(err, publish.ErrBlocked) {
		return nil, nil // the environment reports it
	}
	var exceeding []publish.Withholding
	for _, w := range result.Withheld {
		if w.ChangeID != "" {
			exceeding = append(exceeding, w)
		}
	}
	return exceeding, err
}

func writeExceeding(b *strings.Builder, p environmentPreview) {
	if p.unknown {
		b.WriteString("\nWhether its output would wait for a person, and what it has of stacks, is not known: the GitOps repository cannot be read now.\n")
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
