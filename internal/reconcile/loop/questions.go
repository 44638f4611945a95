package loop

import (
	"context"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/change/drift"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// maxAhead bounds the commits between two commits of the base.
const maxAhead = 1000

// Explain answers a question about an environment, as it is rendered now. Any goroutine may call it: it
// waits, until ctx ends, for the cycle that runs. For a question that has no answer the error is an
// [*explain.QueryError].
func (l *Loop) Explain(ctx context.Context, environment, query string) (explain.Answer, error) {
	endTurn, err := l.takeTurn(ctx)
	if err != nil {
		return explain.Answer{}, err
	}
	defer endTurn()
	var answer explain.Answer
	err = l.barrier.Run("explain", environment, func() error {
		r, err := l.renderAgain(ctx, environment)
		if err != nil {
			return err
		}
		o := explain.Options{Rendering: l.sourceOptions().Rendering, Environment: environment}
		if !r.Model.Clusters.IsEmpty() {
			states, err := l.environments[environment].readClusters()
			if err != nil {
				return err
			}
			o.Clusters = func() []provision.State { return states }
		}
		branch, err := l.source.Branch(ctx, environment)
		if err != nil {
			return err
		}
		o.PlacedSince, o.ChangedLast = source.PlacedSince(branch), source.ChangedLast(branch)
		answer, err = explain.AnswerQuery(r.Model, query, o)
		return err
	})
	return answer, err
}

// CompareEnvironments returns what differs between two environments as they are rendered now, and why. It
// waits as Explain does.
func (l *Loop) CompareEnvironments(ctx context.Context, from, to string) (drift.Report, error) {
	endTurn, err := l.takeTurn(ctx)
	if err != nil {
		return drift.Report{}, err
	}
	defer endTurn()
	var report drift.Report
	err = l.barrier.Run("compare", from, func() error {
		var sides [2]drift.Side
		for i, name := range []string{from, to} {
			r, err := l.renderAgain(ctx, name)
			if err != nil {
				return err
			}
			if p, stops := r.Problems.FirstStopping(); stops {
				return problem.WithHint(fmt.Errorf("environment %s cannot be compared: %s", name, p), "mend its problems first")
			}
			sides[i] = newSide(r)
		}
		err := l.findAhead(ctx, &sides)
		if err != nil {
			return err
		}
		report = drift.Compare(sides[0], sides[1])
		return l.classifyDifferences(ctx, report, sides)
	})
	return report, err
}

func newSide(r source.Rendered) drift.Side {
	side := drift.Side{Model: r.Model, Tree: r.Tree}
	at := slices.IndexFunc(r.Commits, func(c source.Commit) bool { return c.Layer == "base" })
	if at >= 0 {
		side.Base = r.Commits[at].Commit
	}
	return side
}

// classifyDifferences sets what each difference means, if both environments can be rendered from one commit of
// the base: the one that is behind, from the commit of the other.
func (l *Loop) classifyDifferences(ctx context.Context, report drift.Report, sides [2]drift.Side) error {
	if sides[0].Base == "" || sides[1].Base == "" {
		return nil
	}
	behind := 1
	if len(sides[0].Ahead) == 0 && len(sides[1].Ahead) > 0 {
		behind = 0
	}
	if sides[0].Base != sides[1].Base {
		name := sides[behind].Model.Environment
		r, err := l.source.Render(ctx, name, source.Revisions{Base: sides[1-behind].Base, Ending: l.ephemerals.ending[name]}, &output.Cache{})
		if err != nil {
			return err
		}
		if r.Problems.Stops() { // which that commit has for it
			return nil
		}
		sides[behind].Model, sides[behind].Tree = r.Model, r.Tree
	}
	report.Classify(drift.Compare(sides[0], sides[1]))
	return nil
}

// renderAgain renders an environment of the last cycle from what that has read, mostly from its cache.
func (l *Loop) renderAgain(ctx context.Context, name string) (source.Rendered, error) {
	e := l.environments[name]
	if l.source == nil || e == nil {
		return source.Rendered{}, ErrNotRead
	}
	return l.source.Render(ctx, name, source.Revisions{Ending: l.ephemerals.ending[name]}, e.cache)
}

func (l *Loop) findAhead(ctx context.Context, sides *[2]drift.Side) error {
	if sides[0].Base == sides[1].Base || sides[0].Base == "" || sides[1].Base == "" {
		return nil
	}
	base, err := l.source.Base(ctx)
	if err != nil || base.Repo == nil {
		return err
	}
	for i := range sides {
		commits, err := base.Repo.CommitsBetween(sides[1-i].Base, sides[i].Base, maxAhead)
		if err != nil {
			return err
		}
		for _, c := range commits {
			unrendered, err := promoter.IsActionCommit(base, c.ID)
			if err != nil {
				return err
			}
			sides[i].Ahead = append(sides[i].Ahead, drift.Commit{ID: c.ID, Title: c.Subject(), Unrendered: unrendered})
		}
	}
	return nil
}
