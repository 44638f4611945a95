package actions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Promotion is a request to promote a commit to an environment.
type Promotion struct {
	Environment string
	// Lane is the only one that gets it; "" for the whole environment.
	Lane string
	// From is the environment that has the commit; "" for any. Commit is a revision of the base; ""
	// for the commit of From, or the one that the environment waits for.
	From, Commit string
	Reason       string
	// Force overrides objections, which are recorded.
	Force bool
	// Report is the state of all environments; nil if it is not known.
	Report *status.Chain
}

// Promote writes another commit into an environment's record. The error is a [problem.Refusal]
// if it must not have the commit, or not without Force.
func (d *Session) Promote(ctx context.Context, p Promotion) (Result, error) {
	if p.Lane != "" {
		return d.perform(ctx, p.Environment, func(v snapshot) (change, error) { return promoteLane(ctx, d, v, p) })
	}
	return d.perform(ctx, p.Environment, func(v snapshot) (change, error) {
		from, err := d.readCommit(ctx, v, p.From)
		if err != nil {
			return change{}, err
		}
		commit, err := v.resolveCandidate(p, from)
		if err != nil {
			return change{}, err
		}
		present, err := v.currentCommit()
		if err != nil {
			return change{}, err
		}
		c := change{
			action: promoteAction, environment: p.Environment, from: present, to: commit, reason: p.Reason,
			title:   fmt.Sprintf("Promote %s to %s", text.ShortCommit(commit), p.Environment),
			summary: fmt.Sprintf("%s gets %s", p.Environment, text.ShortCommit(commit)),
		}
		if commit == present {
			c.summary = fmt.Sprintf("%s has %s already", p.Environment, text.ShortCommit(commit))
			return c, nil
		}
		against := v.findObjections(p, present, commit, d.options.Now())
		for _, r := range against {
			if !p.Force || !errors.Is(r, ErrForcible) {
				return change{}, r
			}
			c.overridden = append(c.overridden, r.Reason)
		}
		if c.overridden != nil {
			c.forced, c.reason = p.Reason, ""
		}
		return v.withRecord(c, d)
	})
}

func (v snapshot) withRecord(c change, d *Session) (change, error) {
	return v.withBase(c, d, lane.Composition{Platform: c.to}, model.Lanes{})
}

func (v snapshot) withBase(c change, d *Session, base lane.Composition, lanes model.Lanes) (change, error) {
	repo := d.options.ControlPlane
	if !giturl.IsRemote(repo) { // what is on this machine only is nowhere to others
		repo = v.branch.URL
	}
	c.base = base
	files, err := v.branch.SetBase(base, lanes, repo, v.base.Branch)
	if err != nil { // it is not known what else the file should say
		return c, problem.Refusef(promoter.DescribeRepair(v.branch, v.branch.Record), "%v", err)
	}
	info, err := v.base.Repo.Commit(c.to)
	if err != nil {
		return c, err
	}
	c.commitSubject = info.Subject()
	c.files = files
	return c, nil
}

func (v snapshot) resolveCandidate(p Promotion, from string) (string, error) {
	if p.Commit != "" {
		commit, err := promoter.ResolvePromotable(v.base, p.Commit)
		if err == nil && from != "" && commit != from {
			return "", problem.Refusef("leave out one of the two", "%s has %s, not %s", p.From, text.ShortCommit(from), text.ShortCommit(commit))
		}
		return commit, err
	}
	if from != "" {
		return from, nil
	}
	s, ok := findStage(p.Report, p.Environment)
	switch {
	case ok && s.Next.Candidate != "":
		return s.Next.Candidate, nil
	case ok && s.Next.Verdict.Reason != "":
		return "", problem.Refusef("name the commit", "there is nothing for %s: %s", p.Environment, s.Next.Verdict.Reason)
	case v.orderProblem != "":
		return "", problem.Refusef("name the commit", "it is not known which commit is next for %s: %s", p.Environment, v.orderProblem)
	}
	return "", problem.Refusef("name the commit", "it is not known which commit is next for %s", p.Environment)
}

func (d *Session) readCommit(ctx context.Context, v snapshot, environment string) (string, error) {
	if environment == "" {
		return "", nil
	}
	b, err := d.source.Branch(ctx, environment)
	if err != nil {
		return "", err
	}
	v.branch = b
	commit, err := v.currentCommit()
	if err == nil && commit == "" {
		return "", problem.Refusef("name the commit", "%s has no commit yet", environment)
	}
	return commit, err
}

func findStage(c *status.Chain, environment string) (status.Stage, bool) {
	if c == nil {
		return status.Stage{}, false
	}
	return c.FindStage(environment)
}

// objections are what speaks against a promotion, and may be overridden.
type objections []*problem.Refusal

func (o *objections) add(hint, format string, args ...any) {
	*o = append(*o, &problem.Refusal{Reason: forge.OneLine(fmt.Sprintf(format, args...), maxText), Advice: hint, Kind: ErrForcible})
}

func newObjections(v snapshot) (all objections) {
	environment := v.stage.Name
	if v.orderProblem != "" {
		all.add("fairlead check lists them; fix them first", "the order of promotion has problems: %s", v.orderProblem)
	}
	for _, p := range v.branch.Progress.Problems {
		if !p.Warning {
			all.add(promoter.DescribeRepair(v.branch, p.Pos.File), "what is written on its branch cannot be understood: %s", p)
		}
	}
	for _, h := range v.branch.Progress.Holds {
		all.add("fairlead release "+environment+" ends that", "%s is held: %s", environment, h.Reason)
	}
	if back, err := promoter.FindReversal(v.base, v.branch, environment); err == nil && back != nil {
		all.add("fairlead release "+environment+" ends that", "%s is held: %s reverted it in %s", environment, back.Author, text.ShortCommit(back.Commit))
	}
	return all
}

func (v snapshot) findObjections(p Promotion, present, commit string, now time.Time) []*problem.Refusal {
	what := text.ShortCommit(commit)
	switch {
	case !v.history.Contains(commit):
		return []*problem.Refusal{problem.Refusef("merge it there first; only what is there is promoted", "commit %s is not on the base's branch", what)}
	case v.history.IsNewer(present, commit):
		return []*problem.Refusal{problem.Refusef(fmt.Sprintf("fairlead rollback %s --to %s --reason TEXT goes back, and stays there", p.Environment, what),
			"%s is older than %s, which %s has", what, text.ShortCommit(present), p.Environment)}
	}
	all := newObjections(v)
	if frozen := gate.EvaluateFreezes(gate.Facts{Now: now, Environment: p.Environment, Commit: commit, Freezes: v.base.Progress.Freezes}); frozen.Status != gate.Pass {
		waiting := slices.IndexFunc(frozen.Parts, func(p gate.Verdict) bool { return p.Status != gate.Pass })
		all.add(fmt.Sprintf("fairlead freeze %s --except %s --reason TEXT makes an exception", frozen.Parts[max(waiting, 0)].Gate, what), "%s", frozen.Reason)
	}
	against := v.findGateObjections(p.Report, commit)
	if why := v.proofObjection(p.Report, commit); why != "" {
		against = append([]string{why}, against...)
	}
	for _, why := range against {
		all.add("wait for it, or insist with --force --reason TEXT", "%s", why)
	}
	return all
}

// proofObjection returns why a commit does not count as proven upstream of the environment; "" if
// it does.
func (v snapshot) proofObjection(known *status.Chain, commit string) string {
	if len(v.stage.After) == 0 {
		return ""
	}
	if s, ok := findStage(known, v.stage.Name); ok && (s.Next.Candidate == commit || slices.Contains(s.Next.Skipped, commit)) {
		if after, ok := findPart(s.Next, "after"); ok && after.Status == gate.Pass { // what was decided about is proven there
			return ""
		}
	}
	what := text.ShortCommit(commit)
	for _, name := range v.stage.After {
		u, ok := findStage(known, name)
		switch {
		case !ok:
			return fmt.Sprintf("it is not known whether %s was verified in %s", what, name)
		case u.Commit == "":
			return fmt.Sprintf("%s has no commit yet", name)
		case v.history.IsNewer(commit, u.Commit):
			return fmt.Sprintf("%s has an older commit, %s", name, text.ShortCommit(u.Commit))
		case u.Commit != commit:
			return fmt.Sprintf("there is no record that %s was verified in %s, which has %s now", what, name, text.ShortCommit(u.Commit))
		case u.Proof.Status == gate.Fail:
			return fmt.Sprintf("%s failed in %s: %s", what, name, u.Proof.Reason)
		case !u.Merged || u.Proof.Status != gate.Pass:
			return fmt.Sprintf("%s is not verified in %s yet: %s", what, name, u.Proof.Reason)
		}
	}
	seen := map[string]bool{}
	for names := slices.Clip(v.stage.After); len(names) > 0; names = names[1:] { // near ones first, then the others
		s := v.chain.Stage(names[0])
		if s == nil || seen[s.Name] {
			continue
		}
		seen[s.Name], names = true, append(names, s.After...)
		if u, ok := findStage(known, s.Name); ok && v.history.IsNewer(commit, u.Commit) {
			return fmt.Sprintf("%s is behind it, with %s", s.Name, text.ShortCommit(u.Commit))
		}
	}
	return ""
}

func findPart(d promote.Decision, name string) (gate.Verdict, bool) {
	i := slices.IndexFunc(d.Verdict.Parts, func(p gate.Verdict) bool { return p.Gate == name })
	if i < 0 {
		return gate.Verdict{}, false
	}
	return d.Verdict.Parts[i], true
}

// findGateObjections returns why gates of the environment do not let a commit in, one sentence each: whoever
// insists overrides all of them. Gates are evaluated for one commit at a time.
func (v snapshot) findGateObjections(known *status.Chain, commit string) []string {
	if len(v.stage.Gates) == 0 {
		return nil
	}
	s, ok := findStage(known, v.stage.Name)
	if !ok {
		return []string{fmt.Sprintf("the verdict of the gates of %s is not known", v.stage.Name)}
	}
	gates, ok := findPart(s.Next, "gates")
	if !ok || s.Next.Candidate != commit {
		return []string{fmt.Sprintf("the gates of %s have not evaluated %s yet", v.stage.Name, text.ShortCommit(commit))}
	}
	closed := slices.DeleteFunc(slices.Clone(gates.Parts), func(p gate.Verdict) bool {
		return p.Status == gate.Pass || p.Gate == gate.FreezeGate // which is another objection
	})
	if len(gates.Parts) == 0 && gates.Status != gate.Pass {
		closed = []gate.Verdict{gates}
	}
	return list.Convert(closed, func(p gate.Verdict) string {
		return fmt.Sprintf("%s may not enter %s: %s", text.ShortCommit(commit), v.stage.Name, p.Reason)
	})
}
