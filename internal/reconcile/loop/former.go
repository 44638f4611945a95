package loop

import (
	"context"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/ephemeral"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// findFormer returns the environments that have left the control plane and are ours to clean up
// after: with environments in the settings, those that are listed. named are those that seem to
// have left, while a file has their name still.
func (r *retirement) findFormer() (former []*model.Environment, named []string, err error) {
	all, err := r.source.FormerEnvironments()
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, e := range all {
		if r.environments[e.Name] == nil && r.isListed(e.Name) {
			former, names = append(former, e), append(names, e.Name)
		}
	}
	named, err = r.source.StillNamed(names...)
	if err != nil {
		return nil, nil, err
	}
	return slices.DeleteFunc(former, func(e *model.Environment) bool { return slices.Contains(named, e.Name) }), named, nil
}

func (r *retirement) isListed(name string) bool {
	only := r.settings.Environments
	return len(only) == 0 || slices.Contains(only, name)
}

// hasLeft reports whether an environment that the settings list, and that is not in the control
// plane, was there before: the base has had it, or this process has seen its output.
func (r *retirement) hasLeft(name string, certain bool) (bool, error) {
	if !certain {
		return false, nil
	}
	if named, err := r.source.StillNamed(name); err != nil || len(named) > 0 {
		return false, err
	}
	if e := r.environments[name]; e != nil && e.output.Repo != "" {
		return true, nil
	}
	former, err := r.source.FormerEnvironments()
	return hasNamed(former, name), err
}

func hasNamed(all []*model.Environment, name string) bool {
	return slices.ContainsFunc(all, func(e *model.Environment) bool { return e.Name == name })
}

// withdrawRecords closes the pull requests, and removes the branches, that propose a commit of
// the base for environments that have left, whether or not a daemon ran when they did.
func (r *retirement) withdrawRecords(ctx context.Context) error {
	if !r.complete || !mayWrite(ctx, r.settings) {
		return nil
	}
	proposed, err := r.promoter.ProposedRecords()
	if err != nil {
		return err
	}
	present, _, err := r.source.Environments(ctx)
	if err != nil {
		return err
	}
	proposed = slices.DeleteFunc(proposed, func(name string) bool { return hasNamed(present, name) })
	if len(proposed) == 0 {
		return nil
	}
	former, _, err := r.findFormer()
	if err != nil {
		return err
	}
	for _, e := range former {
		if !slices.Contains(proposed, e.Name) {
			continue
		}
		if err := r.promoter.WithdrawRecord(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// closeFormerIssues closes the issues of environments that have left, of which nothing else may
// be in the GitOps repositories. An environment of the same name that another control plane has
// output of there may have an issue of its own, which stays.
func (s *search) closeFormerIssues(ctx context.Context) {
	for _, place := range s.retirement.outputRepositories() {
		out := s.retirement.remotes.KnownRemote(place)
		if out == nil || out.Mirror() == nil {
			continue
		}
		s.isolatePart(ctx, giturl.Redact(place), "", func() error {
			f, err := out.Forge()
			if err != nil { // publishing reports it
				return nil
			}
			for _, name := range s.former {
				if s.foreign[name] {
					continue
				}
				if err := closeIssues(ctx, s.retirement.publishOptions(out, f), issueMark(name)); err != nil {
					return fmt.Errorf("close the issues of %s: %w", name, err)
				}
			}
			return nil
		})
	}
}

// ephemeralOutput returns where the output of an ephemeral environment goes whose branch is no
// longer in the control plane, if what is in a folder is the output of one; nil if not. No
// commit names it any more: the record is of this control plane, and the place is where such an
// environment, made from one that is there, has its output and no other one has.
func (s *search) ephemeralOutput(ctx context.Context, view *git.View, name string, at model.RepoRef, proposed bool) (*model.RepoRef, error) {
	if there, err := s.isKnown(ctx, name); err != nil || there {
		return nil, err
	}
	for _, from := range s.retirement.environments {
		if from.ephemeral != nil || !s.retirement.isListed(from.name) && !s.retirement.isListed(name) || from.output.Repo == "" {
			continue
		}
		shared := s.retirement.remotes.IsSameRepository(from.output.Repo, s.retirement.settings.ControlPlane.Repo)
		to := model.RepoRef{Repo: from.output.Repo}
		to.Branch, to.Path = ephemeral.OutputLocation(name, from.name, from.output, shared)
		to.Path = publish.CleanFolder(to.Path)
		if !s.retirement.remotes.IsSameRepository(to.Repo, at.Repo) || to.Path != at.Path || to.Branch != at.Branch && !proposed {
			continue
		}
		if found, err := publish.FindWritten(view, at.Path, name, s.retirement.isOurs(ctx)); err != nil || found == nil {
			return nil, err
		}
		return &to, nil
	}
	return nil, nil
}

// isKnown reports whether the control plane has an environment, or had one that was no ephemeral
// one, or has its name still in a file.
func (s *search) isKnown(ctx context.Context, name string) (bool, error) {
	lasting, _, err := s.retirement.source.Environments(ctx)
	if err != nil {
		return false, err
	}
	former, err := s.retirement.source.FormerEnvironments()
	if err != nil {
		return false, err
	}
	if hasNamed(lasting, name) || hasNamed(former, name) {
		return true, nil
	}
	temporary, _, err := s.retirement.source.Ephemerals(ctx)
	if err != nil || slices.ContainsFunc(temporary, func(e *source.Ephemeral) bool { return e.Name == name }) {
		return err == nil, err
	}
	named, err := s.retirement.source.StillNamed(name)
	return len(named) > 0, err
}
