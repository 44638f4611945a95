package git

import (
	"slices"

	"github.com/go-git/go-git/v5/config"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// FetchCommand returns the git command that completes a shallow or narrow clone, or "" for any
// other repository.
func (r *Repository) FetchCommand() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fetchCommand()
}

func (r *Repository) fetchCommand() string {
	if r.mirror != "" {
		return ""
	}
	settings, err := r.store.Config()
	if err != nil || settings.Remotes["origin"] == nil {
		return ""
	}
	boundary, err := r.store.Shallow()
	if err != nil {
		return ""
	}
	follows := settings.Remotes["origin"].Fetch
	whole := func(s config.RefSpec) bool { return s.Src() == "refs/heads/*" || s.Src() == "refs/*" }
	isNarrow := len(follows) > 0 && !slices.ContainsFunc(follows, whole)
	switch {
	case isNarrow && len(boundary) > 0:
		return "git remote set-branches origin '*' && git fetch --unshallow"
	case isNarrow:
		return "git remote set-branches origin '*' && git fetch"
	case len(boundary) > 0:
		return "git fetch --unshallow"
	}
	return ""
}

func (r *Repository) withFetchHint(err error) error {
	command := r.fetchCommand()
	if command == "" {
		return err
	}
	return problem.WithHint(err, "this clone has only a part of the repository; fetch the rest: "+command)
}
