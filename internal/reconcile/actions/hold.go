package actions

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/sign"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Hold keeps the output of an environment as it is until it is released; with
// [model.ScopePromotion], only its commit of the base, and with [model.ScopeWaves] what its waves have reached.
func (d *Session) Hold(ctx context.Context, environment, reason, scope string) (Result, error) {
	return d.perform(ctx, environment, func(v snapshot) (change, error) {
		what := environment + " is"
		switch scope {
		case model.ScopePromotion:
			what = "promotions of " + environment + " are"
		case model.ScopeWaves:
			what = "the waves of " + environment + " are"
		}
		c := change{
			action: holdAction, environment: environment, reason: reason,
			title: "Hold " + environment, summary: fmt.Sprintf("%s held until fairlead release %s", what, environment),
		}
		if scope == model.ScopeWaves && len(v.stage.Waves) == 0 && v.orderProblem == "" {
			return c, problem.Refusef("write waves: into its part of the Promotion, or leave out --scope", "the Promotion defines no waves for %s", environment)
		}
		return c, c.writeHold(v, promoter.HoldFile(v.branch.Folder), holdSpec{Reason: reason, Scope: scope})
	})
}

func (c *change) writeHold(v snapshot, file string, s holdSpec) error {
	for _, p := range v.branch.Progress.Problems {
		if !p.Warning && p.Pos.File == file && !s.includes(&model.Hold{Scope: model.ScopeOutput, Lane: s.Lane}) {
			return problem.Refusef(fmt.Sprintf("mend it, or remove it with fairlead release %s", c.environment), "%s may be a hold that stops more: %s", file, p)
		}
	}
	for _, h := range slices.Concat(v.branch.Progress.Holds, v.branch.Progress.LaneHolds) {
		if h.Pos.File != file {
			continue
		}
		there := cmp.Or(h.Reason, "no reason is given")
		switch {
		case !s.includes(h) && h.Scope == model.ScopeOutput && h.Lane == "":
			return problem.Refusef(fmt.Sprintf("that hold includes what this one stops; fairlead release %s ends it", c.environment),
				"%s is held already, with scope %s: %s", c.environment, h.Scope, there)
		case !s.includes(h):
			return problem.Refusef(fmt.Sprintf("--scope output stops both; fairlead release %s ends that hold", c.environment),
				"%s is held already, with scope %s, which this hold would end: %s", c.environment, h.Scope, there)
		case s != holdSpec{h.Reason, h.Lane, h.Scope, h.Commit} && s != holdSpec{h.Reason, h.Lane, "", h.Commit}:
			c.notes = append(c.notes, "this replaces the hold that was there: "+there)
		}
	}
	content, err := model.EncodeObject("Hold", "hold", s)
	if c.files == nil {
		c.files = map[string][]byte{}
	}
	c.files[file] = content
	return err
}

func (s holdSpec) includes(h *model.Hold) bool {
	switch {
	case s.Lane != "":
		return s.Lane == h.Lane
	case h.Lane != "":
		return s.Scope != model.ScopeWaves
	}
	return s.Scope == "" || s.Scope == model.ScopeOutput || s.Scope == h.Scope
}

// Release removes the hold of an environment, even if the hold is unreadable. One that no action
// wrote has to be removed by hand.
func (d *Session) Release(ctx context.Context, environment, reason string) (Result, error) {
	return d.perform(ctx, environment, func(v snapshot) (change, error) {
		c := change{action: releaseAction, environment: environment, reason: reason, title: "Release " + environment, summary: environment + " is not held any more"}
		file := promoter.HoldFile(v.branch.Folder)
		broken := false
		for _, p := range v.branch.Progress.Problems {
			if !p.Warning && p.Pos.File != file && p.Pos.File != v.branch.Record {
				return c, problem.Refusef(promoter.DescribeRepair(v.branch, p.Pos.File), "it is not known whether %s is held: %s", environment, p)
			}
			broken = broken || !p.Warning && p.Pos.File == file
		}
		for _, h := range v.branch.Progress.Holds {
			if h.Pos.File != file {
				return c, problem.Refusef("remove it from that file", "%s is also held by Hold/%s in %s, which no operator action wrote: %s", environment, h.Name, h.Pos.File, h.Reason)
			}
		}
		back, err := promoter.FindReversal(v.base, v.branch, environment)
		if err != nil {
			return c, err
		}
		switch {
		case back != nil:
			text, err := model.EncodeObject(model.HoldReleaseKind, "release", approvalSpec{Commit: back.Commit, Reason: reason})
			c.files = map[string][]byte{path.Join(v.branch.Folder, source.OwnFolder, "release.yaml"): text} // there is no file of that hold
			if len(v.branch.Progress.Holds) > 0 || broken {
				c.files[file] = nil
			}
			return c, err
		case broken:
			c.summary += ": " + file + ", which could not be read, is removed"
		case len(v.branch.Progress.Holds) == 0:
			c.summary = environment + " is not held"
			for _, h := range v.branch.Progress.LaneHolds {
				c.notes = append(c.notes, fmt.Sprintf("lane %s is: fairlead release %s --lane %[1]s", text.QuoteShell(h.Lane), environment))
			}
			return c, nil
		}
		c.files = map[string][]byte{file: nil}
		return c, nil
	})
}

// Approval is a request to approve a commit for an environment.
type Approval struct {
	Environment string
	Lane        string // the only one that may get it; "" for the whole commit
	Wave        string // that is approved; "" for none
	Commit      string // a revision of the base, or the id of the wave's advance; "" for what the environment, or the lane, waits for
	Reason      string
	// Report is the state of all environments; nil if it is not known.
	Report *status.Chain
}

func (a Approval) findApproved(v snapshot) (commit, present string, err error) {
	if a.Lane != "" {
		return findApprovedLane(v, a)
	}
	commit, err = v.resolveCandidate(Promotion{Environment: a.Environment, Commit: a.Commit, Report: a.Report}, "")
	if err == nil && !v.history.Contains(commit) {
		err = problem.Refusef("", "commit %s is not on the base's branch", text.ShortCommit(commit))
	}
	if err == nil {
		present, err = v.currentCommit()
	}
	return commit, present, err
}

// Approve writes a person's approval of a commit for an environment.
func (d *Session) Approve(ctx context.Context, a Approval) (Result, error) {
	environment, reason := a.Environment, a.Reason
	return d.perform(ctx, environment, func(v snapshot) (change, error) {
		if a.Wave != "" {
			return approveWave(d, v, a)
		}
		commit, present, err := a.findApproved(v)
		if err != nil {
			return change{}, err
		}
		what := describeVersion(commit, a.Lane)
		c := change{
			action: approveAction, environment: environment, lane: a.Lane, to: commit, reason: reason,
			title:   fmt.Sprintf("Approve %s for %s", what, environment),
			summary: fmt.Sprintf("%s approves %s for %s", d.options.Author.Email, what, environment),
		}
		given, err := promoter.ReadApprovals(v.branch, commit, a.Lane, sign.Keys{})
		if err != nil {
			return c, err
		}
		c, err = addApproval(d, v, c, given, what, approvalSpec{Commit: commit, Lane: a.Lane, Reason: reason})
		if err != nil || c.files == nil {
			return c, err
		}
		counts := v.orderProblem != "" || slices.ContainsFunc(v.stage.Proof, func(g model.GateSpec) bool { return g.Kind == "approval" })
		switch {
		case commit == present && !counts:
			c.summary = fmt.Sprintf("%s has %s already, and its proof asks for no approval", environment, what)
			c.files, c.notes = nil, nil
		case commit == present:
			c.summary += ", which has it already: it counts for its proof"
		case v.history.IsNewer(present, commit):
			c.summary += ", which has a newer one already, " + text.ShortCommit(present)
		}
		return c, nil
	})
}

func addApproval(d *Session, v snapshot, c change, given []gate.Approval, what string, spec approvalSpec) (change, error) {
	name := approvalName(spec.Commit, strings.TrimSpace(d.options.Author.Email+" "+spec.Lane+spec.Wave))
	unsigned := ""
	who := d.options.person()
	if i := slices.IndexFunc(given, func(a gate.Approval) bool { return a.Person().Relate(who) == gate.Same }); i >= 0 { // in any file
		ours, err := d.isSigned(v.branch.Repo, given[i].Commit)
		if err != nil {
			return c, err
		}
		if ours {
			c.summary = fmt.Sprintf("%s has approved %s for %s already", d.options.Author.Email, what, c.environment)
			return c, nil
		}
		unsigned = given[i].Commit
	}
	if d.options.Sign == nil && gate.StageNeedsTrust(v.stage) {
		c.notes = append(c.notes, fmt.Sprintf("It does not count: %s asks for approvals that can be trusted, and this commit is not signed", c.environment))
	}
	text, err := model.EncodeObject("Approval", name, spec)
	if unsigned != "" { // so that the content is another one, and the file is in this commit
		text = append([]byte("# The approval in "+unsigned+" has another signature.\n"), text...)
	}
	c.files = map[string][]byte{approvalFile(v.branch.Folder, name): text}
	return c, err
}

func (o Options) person() gate.Person {
	return promoter.ReadPerson(git.CommitInfo{Author: o.Author, Message: "-\n\n" + strings.Join(o.Trailers, "\n")}, sign.Keys{})
}

// isSigned reports whether a commit has the signature that this session would have given it; without a signer
// every commit counts. Somebody else may have written the person's name into a commit of theirs, which must not
// keep the person from approving.
func (d *Session) isSigned(repo *git.Repository, commit string) (bool, error) {
	if d.options.Sign == nil {
		return true, nil
	}
	text, signature, err := repo.ReadSignature(commit)
	if err != nil || signature == "" {
		return false, err
	}
	info, err := repo.Commit(commit)
	if err != nil {
		return false, err
	}
	ours, err := d.options.Sign(text, info.When)
	return strings.TrimSpace(ours) == strings.TrimSpace(signature), err
}
