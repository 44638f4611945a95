package promoter

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// Reversal is a commit of an environment's branch by which a person gave the environment, or a lane of it, an older commit
// of the base, as git revert of a promotion does. It is a rollback: the environment stays there until it is released.
type Reversal struct {
	Commit string // of the environment's branch
	Author string
}

// cachedReversal is the result of FindReversal for a head.
type cachedReversal struct {
	read       bool
	head, base string
	found      *Reversal
}

func (m *Promoter) findReversal(base source.Base, branch source.Branch, environment string) (*Reversal, error) {
	known := &m.memoryOf(environment).reversal
	if known.read && known.head == branch.Head && known.base == base.Head {
		return known.found, nil
	}
	found, err := FindReversal(base, branch, environment)
	if err == nil {
		*known = cachedReversal{true, branch.Head, base.Head, found}
	}
	return found, err
}

// FindReversal returns the commit by which a person reverted the record of an environment, or that of its lanes; nil if
// there is none, or its hold was released since.
func FindReversal(base source.Base, b source.Branch, environment string) (*Reversal, error) {
	if base.Repo == nil || b.Repo == nil {
		return nil, nil
	}
	found, err := findReversalOf(b, b.Record, environment, func(by git.CommitInfo) (bool, error) { return revertsRecord(base, b, by.ID) })
	if found != nil || err != nil || b.Lanes == nil && DefinedLanes(base) == nil {
		return found, err
	}
	return findReversalOf(b, source.LanesFile(b.Folder), environment, func(by git.CommitInfo) (bool, error) { return revertsLanes(base, b, by) })
}

// findReversalOf returns the last change of a file if a person made it, it is a reversal and its hold was not released;
// otherwise nil.
func findReversalOf(b source.Branch, file, environment string, reverts func(by git.CommitInfo) (bool, error)) (*Reversal, error) {
	by, err := b.Repo.LastChangedBy(b.Head, file, maxRecords)
	if err != nil || slices.ContainsFunc(b.Progress.HoldReleases, func(r *model.HoldRelease) bool { return isAbbreviation(r.Commit, by.ID) }) {
		return nil, err
	}
	trailers := publish.Trailers(by.Message)
	if slices.Contains(trailers["Fairlead-Promotion"], environment) || trailers["Fairlead-Action"] != nil || trailers["Fairlead-Lever"] != nil { // it is ours; the second is of older versions
		return nil, nil
	}
	if held, err := isHeldBy(b, by, environment); err != nil || held { // a rollback that says so itself
		return nil, err
	}
	if back, err := reverts(by); err != nil || !back {
		return nil, err
	}
	return &Reversal{by.ID, cmp.Or(by.Author.Email, by.Author.Name, "an unknown author")}, nil
}

func revertsRecord(base source.Base, b source.Branch, commit string) (bool, error) {
	were, err := recordedCommits(base, b, commit)
	if err != nil {
		return false, err
	}
	back := promote.IsReverted(were, func(a, b string) (after bool) {
		after, err = base.Repo.Contains(a, b)
		return after
	})
	return back, err
}

// FindReversal returns the commit by which a person reverted the release of an environment; nil if there is none, or its hold was
// released since.
func (r Releases) FindReversal(b source.Branch, environment string) (*Reversal, error) {
	return findReversalOf(b, model.PinsFile(b.Folder, r.Lane), environment, func(by git.CommitInfo) (bool, error) { return r.reverts(b, by) })
}

func (r Releases) reverts(b source.Branch, by git.CommitInfo) (bool, error) {
	if len(by.Parents) == 0 {
		return false, nil
	}
	was, err := b.PinsAt(by.Parents[0], r.Lane)
	if err != nil || was == nil {
		return false, err
	}
	is, err := b.PinsAt(by.ID, r.Lane)
	return err == nil && (is == nil || r.Line.IsNewer(was.Commit, is.Commit)), err
}

func revertsLanes(base source.Base, b source.Branch, by git.CommitInfo) (bool, error) {
	if len(by.Parents) == 0 {
		return false, nil
	}
	before, err := compositionAt(base, b, by.Parents[0])
	if err != nil {
		return false, err
	}
	after, err := compositionAt(base, b, by.ID)
	if err != nil {
		return false, err
	}
	names := maps.Clone(before.Lanes)
	maps.Copy(names, after.Lanes)
	for name := range names {
		was, is := cmp.Or(before.Lanes[name], before.Platform), cmp.Or(after.Lanes[name], after.Platform)
		if was == is || !source.IsCommit(was) || !source.IsCommit(is) {
			continue
		}
		back, err := base.Repo.Contains(was, is)
		if err == nil && back {
			return true, nil
		}
		if err != nil && !errors.Is(err, git.ErrNoRevision) {
			return false, err
		}
	}
	return false, nil
}

func compositionAt(base source.Base, b source.Branch, commit string) (lane.Composition, error) {
	platform, err := b.CommitAt(commit)
	if err != nil {
		return lane.Composition{}, err
	}
	lanes, err := b.LanesAt(commit)
	return ResolveBase(base, lane.Composition{Platform: platform, Lanes: lanes}), err
}

func isHeldBy(b source.Branch, c git.CommitInfo, environment string) (bool, error) {
	before := ""
	if len(c.Parents) > 0 {
		before = c.Parents[0]
	}
	return git.InspectTrees(b.Repo, []string{before, c.ID}, func(t []tree.Tree) (bool, error) {
		if _, held := t[1].Lookup(HoldFile(b.Folder)); held {
			return true, nil
		}
		var changed tree.Builder
		for change := range tree.Diff(t[0].Sub(b.Folder), t[1].Sub(b.Folder)) {
			if change.Removed() {
				continue
			}
			if err := changed.AddEntry(change.Path, change.New); err != nil {
				return false, err
			}
		}
		layer := model.Layer{Kind: model.Env, Name: environment, Files: source.Filter(changed.Tree())}
		added := model.NewParser().Progress(environment, layer)
		return len(added.Holds)+len(added.LaneHolds) > 0, nil
	})
}

// isAbbreviation reports whether a text, of at least 7 digits, is the beginning of a commit's id.
func isAbbreviation(short, commit string) bool {
	return len(short) >= 7 && strings.HasPrefix(commit, short)
}

// recordedCommits returns the commits of the base that the record named at a commit of the branch
// and before, newest first; "" first if it names none there. Commits that the base's branch does
// not have are left out: leaving them is not going back.
func recordedCommits(base source.Base, b source.Branch, head string) ([]string, error) {
	now, err := b.CommitAt(head)
	if err != nil {
		return nil, err
	}
	var were []string
	if now == "" {
		were = append(were, "")
	}
	versions, err := b.Repo.FileVersions(head, b.Record, maxRecords, maxVersions)
	if err != nil {
		return nil, err
	}
	for i, text := range versions {
		written, err := promote.RecordedCommit(text)
		if err != nil || written == "" {
			continue
		}
		commit, err := base.Repo.Resolve(written)
		on := false
		if err == nil {
			on, err = base.Repo.Contains(base.Head, commit)
		}
		switch {
		case err != nil && !errors.Is(err, git.ErrNoRevision):
			return nil, err
		case on:
			were = append(were, commit)
		case i == 0 && now != "": // it went nowhere that is known
			return nil, nil
		}
	}
	return were, nil
}
