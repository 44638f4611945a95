package publish

import (
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/git"
)

// owner is whose a branch is.
type owner int

const (
	ownerUs      owner = iota // or merged, so that nothing is lost
	ownerEdited               // ours, with a commit of another author on it
	ownerForeign              // not ours
)

// maxBranchCommits bounds how far a branch is looked into.
const maxBranchCommits = 200

// ownership decides whose a branch is that Fairlead proposes from.
type ownership struct {
	repo   *git.Repository
	target string // the head of the branch that it is proposed to; "" if there is none
	// isMarked reports whether a commit says that it is ours, and isIntact whether it is,
	// and holds what it says.
	isMarked, isIntact func(git.CommitInfo) bool
}

// outputOwnership returns that of our branch with the output.
func (w *attempt) outputOwnership() ownership {
	return newOutputOwnership(w.repo, w.target, w.p.Environment)
}

// newOutputOwnership is that of branches with the output of an environment.
func newOutputOwnership(repo *git.Repository, target, environment string) ownership {
	return ownership{
		repo: repo, target: target,
		isMarked: func(c git.CommitInfo) bool { return hasTrailers(c, environment) },
		isIntact: func(c git.CommitInfo) bool {
			return hasTrailers(c, environment) && Trailers(c.Message)[trailerDigest][0] == treeDigest(environment, c.Tree)
		},
	}
}

// IsOurs reports whether a commit proposes the output of an environment, and holds what we
// have made it hold.
func IsOurs(c git.CommitInfo, environment string) bool {
	return newOutputOwnership(nil, "", environment).isIntact(c)
}

// IsOutputOnly reports whether a branch from which the output of an environment was
// proposed has nothing on it but that: target is the head of the branch that it was
// proposed to, "" if there is none any more.
func IsOutputOnly(repo *git.Repository, head, target, environment string) (bool, error) {
	whose, err := newOutputOwnership(repo, target, environment).ownerOf(head)
	return whose == ownerUs, err
}

// ownerOf returns whose the branch with this head is.
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
	if o.isMarked(info) { // ours, and changed since: amended
		return ownerEdited, nil
	}
	below, err := searchCommits(o.repo, info.Parents, func(c git.CommitInfo, _ int) (found, last bool, err error) {
		merged, err := o.isMerged(c.ID)
		return !merged && o.isMarked(c), merged, err
	})
	if err != nil || below { // a commit of ours that is not merged
		return ownerEdited, err
	}
	return ownerForeign, nil
}

// maxRecordHistory is how many of the last commits of the output branch are looked into for a record.
const maxRecordHistory = 15

// wasOurs reports whether the output branch has had output of this environment from us: one of
// its last commits says so, or has the record, which need not be there any more.
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

// searchCommits looks for a commit among some and those before them, the nearest first. look is given
// how many came before; nothing before one that it calls the last is looked at.
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

// isMerged reports whether a commit is in the branch that ours is proposed to.
func (o ownership) isMerged(commit string) (bool, error) {
	if o.target == "" {
		return false, nil
	}
	return o.repo.Contains(o.target, commit)
}

// hasTrailers reports whether a commit says that it is ours, and for an environment.
func hasTrailers(c git.CommitInfo, environment string) bool {
	t := Trailers(c.Message)
	env := t[trailerEnvironment]
	return len(env) == 1 && env[0] == environment && len(t[trailerDigest]) == 1
}
