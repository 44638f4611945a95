package publish

import (
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/git"
)

type owner int

const (
	ownerUs     owner = iota // or merged, so that nothing is lost
	ownerEdited              // ours, with another author's commit
	ownerForeign
)

const maxBranchCommits = 200

type ownership struct {
	repo   *git.Repository
	target string // head of the base branch; "" if missing
	// isMarked reports whether a commit has our trailers; isIntact also checks its digest.
	isMarked, isIntact func(git.CommitInfo) bool
}

func (w *attempt) outputOwnership() ownership {
	return newOutputOwnership(w.repo, w.target, w.p.Environment)
}

func newOutputOwnership(repo *git.Repository, target, environment string) ownership {
	return ownership{
		repo: repo, target: target,
		isMarked: func(c git.CommitInfo) bool { return hasTrailers(c, environment) },
		isIntact: func(c git.CommitInfo) bool {
			return hasTrailers(c, environment) && Trailers(c.Message)[trailerDigest][0] == treeDigest(environment, c.Tree)
		},
	}
}

// IsOurs reports whether a commit proposes an environment's output and is unmodified.
func IsOurs(c git.CommitInfo, environment string) bool {
	return newOutputOwnership(nil, "", environment).isIntact(c)
}

// IsOutputOnly reports whether a branch has only proposed output. target is its base branch's head;
// "" if gone.
func IsOutputOnly(repo *git.Repository, head, target, environment string) (bool, error) {
	whose, err := newOutputOwnership(repo, target, environment).ownerOf(head)
	return whose == ownerUs, err
}

func (o ownership) ownerOf(head string) (owner, error) {
	info, err := o.repo.Commit(head)
	if err != nil {
		return ownerUs, err
	}
	for _, isOurs := range []func(git.CommitInfo) (bool, error){
		func(c git.CommitInfo) (bool, error) { return o.isIntact(c), nil },
		func(c git.CommitInfo) (bool, error) { return o.isMerged(c.ID) },
		o.onlyUpdates,
	} {
		if ok, err := isOurs(info); err != nil || ok {
			return ownerUs, err
		}
	}
	if o.isMarked(info) { // ours, but amended
		return ownerEdited, nil
	}
	below, err := searchCommits(o.repo, info.Parents, func(c git.CommitInfo, _ int) (found, last bool, err error) {
		merged, err := o.isMerged(c.ID)
		return !merged && o.isMarked(c), merged, err
	})
	if err != nil || below { // an unmerged commit of ours
		return ownerEdited, err
	}
	return ownerForeign, nil
}

const maxRecordHistory = 15

func (w *attempt) wasOurs() (bool, error) {
	if w.target == "" {
		return false, nil
	}
	return searchCommits(w.repo, []string{w.target}, func(c git.CommitInfo, before int) (found, last bool, err error) {
		if slices.Contains(Trailers(c.Message)[trailerEnvironment], w.p.Environment) {
			return true, true, nil
		}
		if before >= maxRecordHistory {
			return false, false, nil
		}
		_, found, err = w.repo.FindEntry(c.ID, path.Join(CleanFolder(w.p.Folder), RecordFile))
		return found, false, err
	})
}

// searchCommits searches commits and their ancestors, nearest first. look gets the number of
// earlier commits; last skips the ancestors.
func searchCommits(repo *git.Repository, next []string, look func(c git.CommitInfo, before int) (found, last bool, err error)) (bool, error) {
	seen := map[string]bool{}
	for len(next) > 0 && len(seen) < maxBranchCommits {
		id := next[0]
		next = next[1:]
		if seen[id] {
			continue
		}
		c, err := repo.Commit(id)
		if err != nil {
			return false, err
		}
		found, last, err := look(c, len(seen))
		if err != nil || found {
			return err == nil, err
		}
		seen[id] = true
		if !last {
			next = append(next, c.Parents...)
		}
	}
	return false, nil
}

func (o ownership) isMerged(commit string) (bool, error) {
	if o.target == "" {
		return false, nil
	}
	return o.repo.Contains(o.target, commit)
}

func hasTrailers(c git.CommitInfo, environment string) bool {
	t := Trailers(c.Message)
	env := t[trailerEnvironment]
	return len(env) == 1 && env[0] == environment && len(t[trailerDigest]) == 1
}
