package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// gitReader reads the promoted, held and frozen state from a clone alone.
type gitReader struct {
	source *source.Source
	now    func() time.Time
	stderr io.Writer
}

func (cc *commandContext) newGitReader(ctx context.Context) (gitReader, error) {
	s, err := source.Open(ctx, source.Options{ControlPlane: ".", PreferOrigin: true, Parser: model.NewParser(), Credentials: cc.app.readCredentials})
	if errors.Is(err, git.ErrNotFound) {
		err = usageErrorf(noStatusHint, "there is no Git repository here, and no "+defaultSettingsFile)
	}
	return gitReader{s, cc.now, cc.app.stderr}, err
}

func (gitReader) Close() {}

const noStatusHint = "run it in a clone of the control plane, or with --config FILE or --url URL; fairlead init creates a control plane"

const notKnownFromGit = "not known from Git alone"

// maxBehind bounds the commits that are read.
const maxBehind = 1000

// Chain reads the branches of the clone, or newer ones of origin.
func (r gitReader) Chain(ctx context.Context) (status.Chain, error) {
	base, err := r.source.Base(ctx)
	if err != nil {
		return status.Chain{}, err
	}
	if len(base.Environments) == 0 && !base.Progress.Problems.Stops() {
		return status.Chain{}, usageErrorf(noStatusHint, "the repository here is no control plane: it has no objects of kind Environment in .environments")
	}
	read, problems := model.NewChain(base.Progress, base.Environments, nil)
	chain := status.Chain{FromGit: true, External: read.External, Inferred: read.Inferred, Head: base.Head, Checked: r.now(), Problems: base.Progress.Problems, Stages: []status.Stage{}}
	if read.Inferred == "" {
		chain.Problems = append(problems, chain.Problems...).Sorted()
	}
	for _, spec := range read.Stages {
		stage, err := r.readStage(ctx, base, spec)
		if err != nil {
			return chain, fmt.Errorf("read the branch of %s: %w", spec.Name, err)
		}
		stage.State = stage.FindGitState()
		chain.Stages = append(chain.Stages, stage)
	}
	noteBranches(ctx, r.stderr, r.source, branchNote{isBase: true, prefersOrigin: true}, list.Convert(base.Environments, func(e *model.Environment) string { return e.Name }))
	return chain, nil
}

func (r gitReader) readStage(ctx context.Context, base source.Base, spec model.Stage) (status.Stage, error) {
	unknown := gate.Verdict{Gate: "proof", Status: gate.Wait, Reason: notKnownFromGit}
	stage := status.Stage{Environment: spec.Name, After: spec.After, Proof: unknown, Next: promote.Decision{Verdict: unknown}}
	branch, err := r.source.Branch(ctx, spec.Name)
	if err != nil {
		return stage, err
	}
	if branch.Repo == nil {
		reason := "its branch " + branch.Name + " is not in this clone"
		if command := base.Repo.FetchCommand(); command != "" {
			reason += "; fetch it: " + command
		}
		stage.Next = promote.Decision{State: promote.Stopped, Verdict: gate.Verdict{Status: gate.Fail, Reason: reason}}
		stage.Action = stage.NextAction()
		return stage, nil
	}
	if i := slices.IndexFunc(branch.Progress.Problems, func(p problem.Problem) bool { return !p.Warning }); i >= 0 {
		stage.Next = promote.Decision{State: promote.Stopped, Verdict: gate.Verdict{Status: gate.Fail, Reason: branch.Progress.Problems[i].String()}}
	}
	if branch.Commit != "" {
		stage.Commit = branch.Commit
		changed, err := branch.Repo.LastChangedBy(branch.Head, branch.Record, maxBehind)
		if err != nil {
			return stage, err
		}
		stage.Since = changed.When
		line, err := base.Repo.FirstParents(base.Head, maxBehind, func(commit string) bool { return strings.HasPrefix(commit, branch.Commit) })
		if err != nil {
			return stage, err
		}
		stage.Behind = len(line) - 1
		if lost := promoter.FindLoss(base, branch, spec.Name); lost != (promoter.Loss{}) {
			stage.Behind = 0
			stage.Next = promote.Decision{State: promote.Stopped, Verdict: gate.Verdict{Status: gate.Fail, Reason: lost.String()}}
		}
	}
	stage.Frozen = promoter.FindFreeze(base, spec.Name, r.now())
	switch holds := branch.Progress.Holds; {
	case stage.Next.State == promote.Stopped:
	case len(holds) > 0:
		changed, err := branch.Repo.LastChangedBy(branch.Head, holds[0].Pos.File, maxBehind)
		if err != nil {
			return stage, err
		}
		stage.Hold = fmt.Sprintf("%s (by %s, until fairlead release %s)", holds[0].Reason, changed.Author.Email, spec.Name)
		stage.Next = promote.Decision{State: promote.Held, Verdict: gate.Verdict{Gate: "hold", Status: gate.Wait, Reason: "it is held: " + stage.Hold}}
	case stage.Frozen != "":
		stage.Next = promote.Decision{State: promote.Waiting, Verdict: gate.Verdict{Gate: gate.FreezeGate, Kind: gate.KindFreeze, Status: gate.Wait, Reason: stage.Frozen}}
	}
	if stage.Next.State != "" {
		stage.Action = stage.NextAction()
	}
	return stage, nil
}
