package actions

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/git/sign"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// Plan is what an action is about to write.
type Plan struct {
	Result
	// Repo is the repository of the branch, and Head the commit of it that the action was decided on.
	Repo, Head string
	// Current is the commit of the base that the environment has, or has of the lane, and Next what it is rendered from then: of an
	// action on one lane, zero unless it moves that.
	Current string
	Next    source.Revisions
	// Held are the reasons why the environment is held.
	Held []string
	// Had are the commits that a released environment had, as far back as its record is read.
	Had []string
	// Approvals are the people who approved To for the environment.
	Approvals []gate.Approval
	Message   string
	// Files are those that the action writes, sorted by path; none if there is nothing to do.
	Files []FileEdit
}

// FileEdit is one file that an action writes.
type FileEdit struct {
	Path string `json:"path"`
	// Before is what it holds, and After what it is to hold; "" for no file.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

func (v snapshot) newPlan(r Result, c change, repo, head string) (Plan, error) {
	p := Plan{Result: r, Repo: giturl.Redact(repo), Head: head, Message: c.commitMessage(), Next: source.Revisions{Base: c.to}}
	if c.lane != "" {
		p.Next = source.Revisions{Base: c.base.Platform, Workloads: c.workloads}
		if lanes := promoter.DefinedLanes(v.base); lanes != nil {
			p.Next.Lanes = source.Lanes{Partition: lane.NewPartition(*lanes), Commits: c.base.Lanes}
		}
	}
	from := v.base.Repo
	if v.branch.Repo != nil {
		from = v.branch.Repo
		var err error
		p.Current, err = v.currentCommit()
		if err != nil {
			return p, err
		}
		switch {
		case c.workloads != nil:
			p.Next.Base = p.Current
			p.Next.Lanes.Commits = promoter.ResolveBase(v.base, lane.Composition{Lanes: promoter.ListedLanes(v.branch)}).Lanes
		case c.lane != "":
			p.Current = c.from
		}
		if c.action == releaseAction {
			p.Had, err = v.previousCommits()
			if err != nil {
				return p, err
			}
		}
		for _, h := range v.branch.Progress.Holds {
			p.Held = append(p.Held, h.Reason)
		}
		if c.to != "" {
			p.Approvals, err = promoter.ReadApprovals(v.branch, c.to, c.lane, sign.Keys{})
			if err != nil {
				return p, err
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		e, found, err := from.FindEntry(head, path)
		if err != nil {
			return p, err
		}
		edit := FileEdit{Path: path, After: string(c.files[path])}
		if found {
			edit.Before = string(e.Data)
		}
		p.Files = append(p.Files, edit)
	}
	return p, nil
}

// PreviousCommit is a commit of the base that an environment had.
type PreviousCommit struct {
	git.CommitInfo
	Evidence promoter.Evidence // of it in that environment
}

// ListPrevious returns the commits that an environment had and can go back to, newest first, at most limit.
func (d *Session) ListPrevious(ctx context.Context, environment string, limit int) ([]PreviousCommit, error) {
	v, err := d.readSnapshot(ctx, environment)
	if err != nil {
		return nil, err
	}
	present, err := v.currentCommit()
	if err != nil {
		return nil, err
	}
	had, err := v.previousCommits()
	if err != nil {
		return nil, err
	}
	var all []PreviousCommit
	for i, commit := range had {
		if !isOlder(v.history, commit, present) || slices.Contains(had[:i], commit) {
			continue
		}
		info, err := v.base.Repo.Commit(commit)
		if err != nil {
			return nil, err
		}
		all = append(all, PreviousCommit{info, d.readEvidence(ctx, environment, commit)})
		if len(all) == limit {
			break
		}
	}
	return all, nil
}

// CompareCommits returns what changes in the output of an environment when it gets one commit of the base
// after another one; from "" is an environment without a commit. What clusters have before is what the output
// branch has, whatever the first commit is rendered to: it may not be merged, and stacks that are torn down or
// stopped are only there. Without an output branch, it is what that is rendered to.
func (d *Session) CompareCommits(ctx context.Context, environment, from string, to source.Revisions) (impact.Report, error) {
	var cache output.Cache
	after, err := d.renderBase(ctx, environment, to, &cache)
	if err != nil {
		return impact.Report{}, err
	}
	repo, folder, head, err := findOutput(ctx, d, environment)
	if err != nil {
		return impact.Report{}, err
	}
	before := source.Rendered{}
	if from != "" {
		before, err = d.renderBase(ctx, environment, source.Revisions{Base: from}, &cache)
		if err != nil && head == "" {
			return impact.Report{}, err
		}
	}
	if head == "" {
		return compareOutputs(before.Tree, before.Model, after)
	}
	return git.InspectTree(repo, head, func(whole tree.Tree) (impact.Report, error) {
		return compareOutputs(output.OwnedTree(whole.Sub(folder)), before.Model, after)
	})
}

func (d *Session) renderBase(ctx context.Context, environment string, at source.Revisions, cache *output.Cache) (source.Rendered, error) {
	r, err := d.source.Render(ctx, environment, at, cache)
	if err != nil {
		return r, fmt.Errorf("render %s with %s: %w", environment, text.ShortCommit(at.Base), err)
	}
	if p, stops := r.Problems.FirstStopping(); stops {
		return source.Rendered{}, problem.Refusef("", "%s cannot be rendered with %s: %s", environment, text.ShortCommit(at.Base), p)
	}
	return r, nil
}

func compareOutputs(before tree.Tree, was *model.Model, after source.Rendered) (impact.Report, error) {
	after, err := after.FollowOutput(before)
	if err != nil {
		return impact.Report{}, err
	}
	models := slices.DeleteFunc([]*model.Model{was, after.Model}, func(m *model.Model) bool { return m == nil })
	return impact.Compare(before, after.Tree, impact.Options{Workload: model.WorkloadOf(models...), Chosen: model.ChosenIn(models...)}), nil
}
