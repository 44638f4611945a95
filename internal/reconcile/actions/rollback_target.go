package actions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// rollbackTarget is the commit that an environment goes back to, and why it is that one.
type rollbackTarget struct {
	commit string // "" if there is none
	// unmerged are the newer ones that were passed over because their output was never merged, and
	// unknown those of which that is not known.
	unmerged, unknown []string
	isUnmerged        bool // no older commit is known to be merged, and this is the last one
}

// findRollbackTarget returns the newest older commit that the environment had and whose output was
// merged: an output commit names it, or it has the same output as the last commit before it that one
// names, so that there was nothing to merge. If that is not known of any, it is the last older one.
// had is newest first, and compare compares the output of two commits.
func findRollbackTarget(h promote.History, present string, had []string, merged map[string]bool, compare func(a, b string) sameness) rollbackTarget {
	var t rollbackTarget
	newest := ""
	for i, commit := range had {
		if !isOlder(h, commit, present) || slices.Contains(had[:i], commit) {
			continue
		}
		if newest == "" {
			newest = commit
		}
		is := different
		before := lastNamed(h, commit, had[i+1:], merged)
		switch {
		case merged[commit]:
			is = same
		case before != "":
			is = compare(before, commit)
		}
		switch is {
		case same:
			t.commit = commit
			return t
		case different:
			t.unmerged = append(t.unmerged, commit)
		case notComparable:
			t.unknown = append(t.unknown, commit)
		}
	}
	return rollbackTarget{commit: newest, isUnmerged: len(merged) > 0}
}

// lastNamed returns the commit named by an output commit that the environment had last before
// another one, by its record, which is newest first, or else by the line of the base; "" if there is
// none.
func lastNamed(h promote.History, commit string, before []string, merged map[string]bool) string {
	i := slices.IndexFunc(before, func(c string) bool { return merged[c] && h.Contains(c) })
	if i >= 0 {
		return before[i]
	}
	last := ""
	for c := range merged {
		if h.Contains(c) && h.IsNewer(commit, c) && (last == "" || h.IsNewer(c, last)) {
			last = c
		}
	}
	return last
}

// notes returns what is to be said of the choice.
func (t rollbackTarget) notes(environment string) []string {
	var notes []string
	for _, passed := range []struct {
		commits []string
		why     string
	}{
		{t.unmerged, "whose output was never merged"},
		{t.unknown, "whose output cannot be rendered now, so that it is not known whether it was merged"},
	} {
		if passed.commits != nil {
			notes = append(notes, fmt.Sprintf("passed over %s %s: %s", text.Count(len(passed.commits), "commit"), passed.why, shortIDs(passed.commits)))
		}
	}
	if t.isUnmerged {
		notes = append(notes, fmt.Sprintf("no older commit that %s had is known to be merged; this is the last one", environment))
	}
	return notes
}

// maxNamed bounds how many commits one sentence names.
const maxNamed = 5

// shortIDs returns the short ids of commits.
func shortIDs(commits []string) string {
	var ids []string
	for _, c := range commits[:min(len(commits), maxNamed)] {
		ids = append(ids, text.ShortCommit(c))
	}
	if more := len(commits) - len(ids); more > 0 {
		ids = append(ids, fmt.Sprintf("%d more", more))
	}
	return strings.Join(ids, ", ")
}

// sameness is the result of a comparison of two commits by their output.
type sameness int

const (
	different sameness = iota
	same
	notComparable // one of them cannot be rendered
)

// maxCompared bounds how many commits a rollback renders: a large fleet takes seconds each.
const maxCompared = 30

// outputComparison compares the output of commits of the base for one environment, with the
// environment's branch and the workloads as they are now.
type outputComparison struct {
	session     *Session
	environment string
	cache       output.Cache
	trees       map[string]*tree.Tree // by commit; nil for one that cannot be rendered
}

// render returns the output of a commit; nil if it cannot be rendered.
func (o *outputComparison) render(ctx context.Context, commit string) *tree.Tree {
	known, ok := o.trees[commit]
	if ok || len(o.trees) >= maxCompared {
		return known
	}
	r, err := o.session.source.Render(ctx, o.environment, source.Revisions{Base: commit}, &o.cache)
	if err == nil && !r.Problems.Stops() {
		known = &r.Tree
	}
	if o.trees == nil {
		o.trees = map[string]*tree.Tree{}
	}
	o.trees[commit] = known
	return known
}

// compare compares the output of two commits. One that cannot be rendered beside one that can was
// never merged.
func (o *outputComparison) compare(ctx context.Context, merged, commit string) sameness {
	before := o.render(ctx, merged)
	if before == nil {
		return notComparable
	}
	after := o.render(ctx, commit)
	switch {
	case after == nil && ctx.Err() == nil && len(o.trees) < maxCompared:
		return different
	case after == nil:
		return notComparable
	case publish.EqualContent(*before, *after):
		return same
	}
	return different
}

// HoldsOutput reports whether the output branch of an environment holds what a commit of the base
// renders to, so that going to that commit changes no file. It reports false if that is not known.
func (d *Session) HoldsOutput(ctx context.Context, environment, commit string) bool {
	to, remote, err := d.fetchOutput(ctx, environment)
	if err != nil || to == nil {
		return false
	}
	head, err := remote.Mirror().FindBranch(to.Branch)
	if err != nil || head == "" {
		return false
	}
	outputs := outputComparison{session: d, environment: environment}
	rendered := outputs.render(ctx, commit)
	if rendered == nil {
		return false
	}
	holds, err := git.InspectTree(remote.Mirror(), head, func(t tree.Tree) (bool, error) {
		now := t.Sub(publish.CleanFolder(to.Path))
		var records *publish.Records
		record, err := records.ReadIn(now)
		if err != nil {
			return false, err
		}
		return slices.ContainsFunc(record.Environments, func(w publish.Written) bool {
			return w.Environment == environment && w.HoldsContent(now, *rendered)
		}), nil
	})
	return err == nil && holds
}
