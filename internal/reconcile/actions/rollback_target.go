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
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// rollbackTarget is the commit that an environment goes back to, and why it is that one.
type rollbackTarget struct {
	commit string // "" if there is none
	// These are the newer commits that were passed over: failed have failed there, unverified were never verified
	// there, unmerged have an output that was never merged, and of unknown that is not known.
	failed, unverified, unmerged, unknown []string
	isUnverified                          bool   // no older commit is known to be verified
	isUnmerged                            bool   // no older commit is known to be merged, and this is the last one
	isFailed                              bool   // it was asked for, and has failed there
	unread                                string // why it is not known what was verified; "" if it is known
}

// rollbackSearch finds the commit that an environment goes back to.
type rollbackSearch struct {
	history promote.Line
	merged  map[string]bool // commits that an output commit names
	compare func(a, b string) sameness
	prove   func(commit string) promoter.Evidence
}

// find returns the newest older commit that was verified in the environment; or else the newest one that has
// not failed there and whose output was merged: an output commit names it, or it has the same output as the
// last commit before it that one names, so that there was nothing to merge. If that is not known of any, it is
// the last older one that has not failed. had is what the environment had, newest first.
func (s rollbackSearch) find(present string, had []string) rollbackTarget {
	var t, merged, last rollbackTarget
	for i, commit := range had {
		if !isOlder(s.history, commit, present) || slices.Contains(had[:i], commit) {
			continue
		}
		proven := s.prove(commit)
		if proven == promoter.Failed {
			t.failed = append(t.failed, commit)
			continue
		}
		if last.commit == "" {
			last = rollbackTarget{commit: commit, failed: slices.Clone(t.failed), isUnmerged: len(s.merged) > 0}
		}
		switch s.wasMerged(commit, had[i+1:]) {
		case same:
			if proven == promoter.Verified {
				t.commit = commit
				return t
			}
			if merged.commit == "" {
				merged = t
				merged.commit, merged.isUnverified, merged.failed = commit, true, slices.Clone(t.failed)
			}
			t.unverified = append(t.unverified, commit)
		case different:
			t.unmerged = append(t.unmerged, commit)
		case notComparable:
			t.unknown = append(t.unknown, commit)
		}
	}
	switch {
	case merged.commit != "":
		return merged
	case last.commit != "":
		return last
	}
	return rollbackTarget{failed: t.failed}
}

// wasMerged reports whether the output of a commit was merged; before is what the environment had before it,
// newest first.
func (s rollbackSearch) wasMerged(commit string, before []string) sameness {
	if s.merged[commit] {
		return same
	}
	named := lastNamed(s.history, commit, before, s.merged)
	if named == "" {
		return different
	}
	return s.compare(named, commit)
}

// lastNamed returns the commit named by an output commit that the environment had last before
// another one, by its record, which is newest first, or else by the line of the base; "" if there is
// none.
func lastNamed(h promote.Line, commit string, before []string, merged map[string]bool) string {
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

func (t rollbackTarget) notes(environment string) []string {
	var notes []string
	for _, passed := range []struct {
		commits []string
		why     string
	}{
		{t.failed, "that failed in " + environment},
		{t.unverified, "that " + environment + " never verified"},
		{t.unmerged, "whose output was never merged"},
		{t.unknown, "whose output cannot be rendered now, so that it is not known whether it was merged"},
	} {
		if passed.commits != nil {
			notes = append(notes, fmt.Sprintf("passed over %s %s: %s", text.Count(len(passed.commits), "commit"), passed.why, shortIDs(passed.commits)))
		}
	}
	switch {
	case t.isFailed:
		notes = append(notes, fmt.Sprintf("%s failed in %s", text.ShortCommit(t.commit), environment))
	case t.unread != "":
		notes = append(notes, fmt.Sprintf("whether %s verified %s is unknown: %s", environment, text.ShortCommit(t.commit), t.unread))
	case t.isUnverified:
		notes = append(notes, fmt.Sprintf("no older commit that %s had is known to be verified there; this is the last one that was merged and did not fail", environment))
	}
	if t.isUnmerged {
		notes = append(notes, fmt.Sprintf("no older commit that %s had is known to be merged; this is the last one", environment))
	}
	return notes
}

// maxNamed bounds how many commits one sentence names.
const maxNamed = 5

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
	repo, folder, head, err := findOutput(ctx, d, environment)
	if err != nil || head == "" {
		return false
	}
	outputs := outputComparison{session: d, environment: environment}
	rendered := outputs.render(ctx, commit)
	if rendered == nil {
		return false
	}
	holds, err := git.InspectTree(repo, head, func(t tree.Tree) (bool, error) {
		now := t.Sub(folder)
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
