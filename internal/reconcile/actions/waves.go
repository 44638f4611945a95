package actions

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/sign"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/wave"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// WaveOrder is a person's decision.
type WaveOrder struct {
	Environment string
	Action      string // of a [model.WaveDecision]
	Wave        string // to skip
	Reason      string
}

// DecideWaves writes a decision about the running advance of an environment, and removes obsolete ones.
func DecideWaves(ctx context.Context, d *Session, o WaveOrder) (Result, error) {
	return d.perform(ctx, o.Environment, func(v snapshot) (change, error) {
		e := o.Environment
		written, err := findAdvance(ctx, d, e)
		if err != nil {
			return change{}, err
		}
		advance := written.Advance
		w := model.WaveDecision{Object: model.Object{Name: o.Action + "-" + advance.ID}, Action: o.Action, Advance: advance.ID, Wave: o.Wave, Reason: o.Reason}
		c := change{environment: e, reason: o.Reason, files: map[string][]byte{}}
		switch o.Action {
		case model.SkipWave:
			names := list.Convert(advance.Waves, func(m wave.Members) string { return m.Name })
			if !slices.ContainsFunc(names, func(name string) bool { return name == o.Wave || wave.BaseName(name) == o.Wave }) {
				return c, problem.Refusef("the waves are "+text.Join(names, ", "), "the running advance of %s has no wave %s", e, o.Wave)
			}
			w.Name += fmt.Sprintf("-%.4x", sha256.Sum256([]byte(o.Wave)))
			c.action, c.title = "waves-skip", fmt.Sprintf("Skip the proof of wave %s of %s", o.Wave, e)
			c.summary = fmt.Sprintf("the proof of wave %s of %s counts as passed", o.Wave, e)
		case model.RejectAdvance:
			c.action, c.title = history.WavesBackAction, fmt.Sprintf("Take %s back to before advance %s", e, advance.ID)
			c.summary = fmt.Sprintf("%s goes back to before the wave %s, until something else is wanted", e, advance.Waves[0].Name)
		case model.ReplaceAdvance:
			c.action, c.title = "waves-replace", fmt.Sprintf("Replace advance %s of %s", advance.ID, e)
			c.summary = fmt.Sprintf("what is newest on the branch of %s and in workloads begins with the first wave", e)
		}
		file := promoter.WaveDecisionFile(v.branch.Folder, w.Name)
		if given := wave.FindDecision(v.branch.Progress.Waves, o.Action, advance.ID, o.Wave); given != nil {
			c.files, c.summary = nil, fmt.Sprintf("%s says so already", given.Pos.File)
			return c, nil
		}
		if o.Action == model.ReplaceAdvance {
			newest, err := d.source.Render(ctx, e, source.Revisions{}, &output.Cache{})
			if err != nil {
				return c, err
			}
			if newest.Tree.ID().String() == written.Tree {
				c.files, c.summary = nil, fmt.Sprintf("neither the branch of %s nor a workload has something newer than its running advance", e)
				return c, nil
			}
		}
		for _, old := range v.branch.Progress.Waves {
			if old.Action != model.RejectAdvance && old.Advance != advance.ID && path.Dir(old.Pos.File) == path.Dir(file) {
				c.files[old.Pos.File] = nil
			}
		}
		c.files[file], err = model.EncodeWaveDecision(w)
		return c, err
	})
}

// RetryWaves removes the decisions about an environment's waves, and has the workflows of a running advance run again.
func RetryWaves(ctx context.Context, d *Session, environment, reason string) (Result, error) {
	return d.perform(ctx, environment, func(v snapshot) (change, error) {
		c := change{
			action: "waves-retry", environment: environment, reason: reason,
			title: "Retry the waves of " + environment, summary: fmt.Sprintf("what was decided about the waves of %s is taken back", environment),
		}
		written, err := findAdvance(ctx, d, environment)
		var refused *problem.Refusal
		if err != nil && !errors.As(err, &refused) {
			return c, err
		}
		c.files = map[string][]byte{}
		running := ""
		if err == nil && slices.ContainsFunc(v.stage.Waves, runsWorkflows) {
			running = written.Advance.ID
			w := model.WaveDecision{Object: model.Object{Name: fmt.Sprintf("%s-%s-%d", model.RetryWorkflows, running, wave.CountRetries(v.branch.Progress.Waves, running)+1)}, Action: model.RetryWorkflows, Advance: running, Reason: reason}
			c.files[promoter.WaveDecisionFile(v.branch.Folder, w.Name)], err = model.EncodeWaveDecision(w)
			if err != nil {
				return c, err
			}
			c.summary += ", and its workflows run again"
		}
		for _, w := range v.branch.Progress.Waves {
			if w.Action != model.RetryWorkflows || w.Advance != running {
				c.files[w.Pos.File] = nil
			}
		}
		if len(c.files) == 0 {
			c.files, c.summary = nil, fmt.Sprintf("nothing was decided about the waves of %s; proofs are evaluated all the time", environment)
		}
		return c, nil
	})
}

func runsWorkflows(w model.Wave) bool {
	return slices.ContainsFunc(slices.Concat(w.Gates, w.Proof), func(s model.GateSpec) bool { return s.Kind == string(gate.KindDispatch) })
}

func approveWave(d *Session, v snapshot, a Approval) (change, error) {
	e, advance := a.Environment, a.Commit
	if a.Report != nil && advance == "" {
		stage, _ := a.Report.FindStage(e)
		advance = stage.Advance
	}
	asks := slices.ContainsFunc(v.stage.Waves, func(w model.Wave) bool {
		return w.Name == wave.BaseName(a.Wave) && (slices.ContainsFunc(w.Gates, gate.AsksPeople) || slices.ContainsFunc(w.Proof, gate.AsksPeople))
	})
	switch {
	case !asks:
		return change{}, problem.Refusef("its gates or its proof would have approval", "no wave %s of %s asks for approvals", a.Wave, e)
	case advance == "":
		return change{}, problem.Refusef("fairlead status shows the waves of an advance; or name it, as in fairlead approve "+e+" 3f2a9c1d04be --wave "+a.Wave, "no advance of %s is known to be under way", e)
	case !advanceID.MatchString(advance):
		return change{}, problem.Refusef("it has 12 hexadecimal digits, such as 3f2a9c1d04be", "%q is not the id of an advance", advance)
	}
	what := fmt.Sprintf("wave %s of advance %s", a.Wave, advance)
	c := change{
		action: approveAction, environment: e, reason: a.Reason, title: fmt.Sprintf("Approve %s for %s", what, e),
		summary:  fmt.Sprintf("%s approves %s for %s", d.options.Author.Email, what, e),
		trailers: []string{promoter.TrailerApproval + ": " + e},
	}
	given, err := promoter.ReadWaveApprovals(v.branch, advance, a.Wave, sign.Keys{})
	if err != nil {
		return c, err
	}
	return addApproval(d, v, c, given, what, approvalSpec{Commit: advance, Wave: a.Wave, Reason: a.Reason})
}

var advanceID = regexp.MustCompile(`^[0-9a-f]{12}$`)

func findAdvance(ctx context.Context, d *Session, environment string) (*publish.Written, error) {
	repo, folder, head, err := findOutput(ctx, d, environment)
	if err != nil {
		return nil, err
	}
	none := problem.Refusef("fairlead status shows them", "no wave of %s is merged whose advance is under way", environment)
	if head == "" {
		return nil, none
	}
	written, err := git.InspectTree(repo, head, func(t tree.Tree) (*publish.Written, error) {
		return (*publish.Records)(nil).ReadWritten(t.Sub(folder), environment)
	})
	if err == nil && (written == nil || written.Advance == nil) {
		err = none
	}
	return written, err
}
