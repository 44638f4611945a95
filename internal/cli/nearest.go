package cli

import (
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// findNearest returns the environments whose branch a commit was made from: several for
// folders of one branch, none for the base or if unknown.
func (in *input) findNearest(ctx context.Context, commit string) ([]string, error) {
	base, err := in.source.Base(ctx)
	if err != nil || base.Repo == nil || commit == "" {
		return nil, err
	}
	nearest, err := base.Repo.MergeBase(commit, base.Head)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range base.Environments {
		branch, err := in.source.Branch(ctx, e.Name)
		if err != nil || branch.Repo != base.Repo || branch.Head == "" { // missing in the clone
			continue
		}
		shared, err := base.Repo.MergeBase(commit, branch.Head)
		switch {
		case err != nil:
			return nil, err
		case shared == "":
		case shared == nearest && names != nil:
			names = append(names, e.Name)
		case shared != nearest:
			isNearer := nearest == ""
			if !isNearer {
				isNearer, err = base.Repo.Contains(shared, nearest)
			}
			if err != nil {
				return nil, err
			}
			if isNearer {
				nearest, names = shared, []string{e.Name}
			}
		}
	}
	return names, nil
}

func (in *input) chooseNearest(names []string) (string, error) {
	switch {
	case len(names) == 1:
		return names[0], nil
	case len(names) == 0:
		return "", nil
	case slices.Contains(names, in.environment):
		return in.environment, nil
	}
	return "", usageErrorf("say with -e which of them", "what is checked out was made from the branch of %s", text.Join(names, " and "))
}
