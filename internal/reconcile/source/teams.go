package source

import (
	"context"
	"errors"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// readTeam reads the stacks in the repository of a team, at the head of its default branch. What keeps them
// from being read stops the stacks of that team, and nothing else: only the team reviews its repository.
func (r *reading) readTeam(ctx context.Context, team *model.Team) error {
	layer := model.Layer{Kind: model.TeamStacks, Name: stack.TeamLayer(team.TeamName.Text)}
	ref := model.RepoRef{Repo: team.ConfigRepo.Source, Path: team.ConfigRepo.Path, Commit: r.at.Workloads[layer.Name]}
	var err error
	switch {
	case r.source.controlPlane == nil && !r.source.repositories.isMapped(ref.Repo):
		r.problems.Addf(team.Pos, team.Subject(), "say --map "+ref.Repo+"=PATH", "its stacks cannot be read: the control plane is read from folders")
	case r.at.Recorded && ref.Commit == "":
		r.problems.Addf(team.Pos, team.Subject(), "", "%s could not be read when this was rendered", giturl.Redact(ref.Repo))
	default:
		err = r.addRepository(ctx, layer, ref, &team.Object, ref.Commit != "")
	}
	if refused := (*git.InvalidTreeError)(nil); errors.As(err, &refused) {
		why := describeRefused(ref.Repo, refused)
		r.problems.Addf(team.Pos, team.Subject(), why.Hint, "%s", why.Summary)
		err = nil
	}
	r.confineToTeam(layer, team.TeamName.Text)
	return err
}

// confineToTeam has what was found in the repository of a team stop its stacks: they stay as they are. An
// unreachable one is asked again when anything else is.
func (r *reading) confineToTeam(layer model.Layer, team string) {
	r.problems, r.failures, r.unreachable = append(r.problems, r.unreachable...), nil, nil
	first, stops := r.problems.FirstStopping()
	if !stops {
		return
	}
	if r.layers == nil {
		r.layers = []model.Layer{layer}
	}
	r.layers[0].Unread = model.Unread{Summary: first.Summary, Hint: first.Hint}
	r.problems = r.problems.StoppingStack(team + problem.AllStacks)
}

// maxRemoval bounds how many commits are looked at for the one that removed a folder.
const maxRemoval = 500

// findRemoval returns the commit that removed a folder which is not there; "" if there was none. Git has no
// empty folders.
func findRemoval(repo *git.Repository, commit, folder string) (string, error) {
	_, hidden, err := repo.FindEntry(commit, folder) // .sourceignore leaves out what is in it
	if err != nil || hidden {
		return "", err
	}
	since, err := repo.LastChangedBy(commit, folder, maxRemoval)
	if err != nil && repo.FetchCommand() != "" { // a clone without its history
		return "", nil
	}
	if err != nil || len(since.Parents) == 0 {
		return "", err
	}
	_, had, err := repo.FindEntry(since.Parents[0], folder)
	if err != nil || !had {
		return "", err
	}
	return since.ID, nil
}
