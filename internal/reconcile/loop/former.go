package loop

import (
	"context"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/ephemeral"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// findFormer returns the environments that have left the control plane and are ours to clean up
// after: with environments in the settings, those that are listed. named are those that seem to
// have left, while a file has their name still.
func (l *Loop) findFormer() (former []*model.Environment, named []string, err error) {
	all, err := l.source.FormerEnvironments()
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, e := range all {
		if l.environments[e.Name] == nil && l.isListed(e.Name) {
			former, names = append(former, e), append(names, e.Name)
		}
	}
	named, err = l.source.StillNamed(names...)
	if err != nil {
		return nil, nil, err
	}
	return slices.DeleteFunc(former, func(e *model.Environment) bool { return slices.Contains(named, e.Name) }), named, nil
}

// isListed reports whether an environment is one that this daemon looks after.
func (l *Loop) isListed(name string) bool {
	only := l.options.Settings.Environments
	return len(only) == 0 || slices.Contains(only, name)
}

// hasLeft reports whether an environment that the settings list, and that is not in the control
// plane, was there before: the base has had it, or this process has seen its output.
func (l *Loop) hasLeft(name string, certain bool) (bool, error) {
	if !certain {
		return false, nil
	}
	if named, err := l.source.StillNamed(name); err != nil || len(named) > 0 {
		return false, err
	}
	if e := l.environments[name]; e != nil && e.output.Repo != "" {
		return true, nil
	}
	former, err := l.source.FormerEnvironments()
	return slices.ContainsFunc(former, func(e *model.Environment) bool { return e.Name == name }), err
}

// withdrawRecords closes the pull requests, and removes the branches, that propose a commit of
// the base for environments that have left, whether or not a daemon ran when they did.
func (l *Loop) withdrawRecords(ctx context.Context) error {
	if !l.complete || !l.options.Settings.Write {
		return nil
	}
	proposed, err := l.promoter.ProposedRecords()
	if err != nil {
		return err
	}
	present, _, err := l.source.Environments(ctx)
	if err != nil {
		return err
	}
	proposed = slices.DeleteFunc(proposed, func(name string) bool {
		return slices.ContainsFunc(present, func(e *model.Environment) bool { return e.Name == name })
	})
	if len(proposed) == 0 {
		return nil
	}
	former, _, err := l.findFormer()
	if err != nil {
		return err
	}
	for _, e := range former {
		if !slices.Contains(proposed, e.Name) {
			continue
		}
		if err := l.promoter.WithdrawRecord(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// closeFormerIssues closes the issues of environments that have left, of which nothing else may
// be in the GitOps repositories. An environment of the same name that another control plane has
// output of there may have an issue of its own, which stays.
func (s *search) closeFormerIssues(ctx context.Context) {
	for _, place := range s.outputRepositories() {
		out := s.remotes.KnownRemote(place)
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
				if err := s.closeIssues(ctx, f, name); err != nil {
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
func (s *search) ephemeralOutput(ctx context.Context, name string, at status.Output, proposed bool, written func() (*publish.Written, error)) (*status.Output, error) {
	if there, err := s.isKnown(ctx, name); err != nil || there {
		return nil, err
	}
	for _, from := range s.environments {
		if from.ephemeral != nil || !s.isListed(from.name) && !s.isListed(name) || from.output.Repo == "" {
			continue
		}
		shared := s.isSameRepo(from.output.Repo, s.options.Settings.ControlPlane.Repo)
		to := status.Output{Repo: from.output.Repo}
		to.Branch, to.Folder = ephemeral.OutputLocation(name, from.name, model.RepoRef{Repo: from.output.Repo, Branch: from.output.Branch, Path: from.output.Folder}, shared)
		to.Folder = publish.CleanFolder(to.Folder)
		if !s.isSameRepo(to.Repo, at.Repo) || to.Folder != at.Folder || to.Branch != at.Branch && !proposed {
			continue
		}
		if found, err := written(); err != nil || found == nil {
			return nil, err
		}
		return &to, nil
	}
	return nil, nil
}

// isKnown reports whether the control plane has an environment, or had one that was no ephemeral
// one, or has its name still in a file.
func (s *search) isKnown(ctx context.Context, name string) (bool, error) {
	lasting, _, err := s.source.Environments(ctx)
	if err != nil {
		return false, err
	}
	former, err := s.source.FormerEnvironments()
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(append(former, lasting...), func(e *model.Environment) bool { return e.Name == name }) {
		return true, nil
	}
	temporary, _, err := s.source.Ephemerals(ctx)
	if err != nil {
		return false, err
	}
	for _, e := range temporary {
		if e.Name == name {
			return true, nil
		}
	}
	named, err := s.source.StillNamed(name)
	return len(named) > 0, err
}
