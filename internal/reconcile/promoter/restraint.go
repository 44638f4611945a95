package promoter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// restraint is a hold or a freeze of an environment's output that is in force.
type restraint struct {
	scope       promote.Restraint
	withholding publish.Withholding
}

// FindWithholdings returns why only a person may merge the output of an environment now: its holds,
// the freezes that cover it, and unreadable files that may be one of them.
func (m *Promoter) FindWithholdings(ctx context.Context, src *source.Source, environment string) ([]publish.Withholding, error) {
	base, err := src.Base(ctx)
	if err != nil {
		return nil, err
	}
	branch, err := src.Branch(ctx, environment)
	if err != nil {
		return nil, err
	}
	all := unreadableRestraints(base, branch)
	has := base.Head
	if branch.Commit != "" {
		has = m.resolveOrKeep(base, branch.Commit)
	}
	held, err := m.activeHolds(base, branch, environment)
	if err != nil {
		return nil, err
	}
	frozen, err := m.activeFreezes(base, environment, has)
	if err != nil {
		return nil, err
	}
	all = append(append(all, held...), frozen...)
	output := ""
	if slices.ContainsFunc(all, func(r restraint) bool { return r.scope.AllowedCommit != "" }) {
		output, err = m.outputCommit(ctx, src, environment, has)
		if err != nil {
			return nil, err
		}
	}
	var reasons []publish.Withholding
	for _, r := range all {
		if r.scope.Restrains(has, output) {
			reasons = append(reasons, r.withholding)
		}
	}
	return reasons, nil
}

// WithholdEnvironment adds to a policy why the output of an environment waits. An error keeps the
// output as it is.
func (m *Promoter) WithholdEnvironment(ctx context.Context, src *source.Source, environment string, o *Policy) {
	reasons, err := m.FindWithholdings(ctx, src, environment)
	if err != nil {
		reasons = []publish.Withholding{{Cause: publish.CauseHold, Reason: "it is not known whether it is held or frozen: " + err.Error()}}
	}
	if len(reasons) > 0 {
		o.Withheld[environment] = reasons
	}
}

// withholdEnvironments adds to a policy why the output of environments waits, and when that changes
// without an event. An error keeps an environment's output as it is.
func (m *Promoter) withholdEnvironments(ctx context.Context, src *source.Source, base source.Base, o *Policy) {
	for _, e := range base.Environments {
		m.WithholdEnvironment(ctx, src, e.Name, o)
	}
	for _, f := range base.Progress.Freezes {
		for _, at := range []time.Time{f.From, f.To} {
			if at.After(m.now) && (o.NextChange.IsZero() || at.Before(o.NextChange)) {
				o.NextChange = at
			}
		}
	}
}

// unreadableRestraints returns restraints for what has problems: it may be a hold or a freeze.
func unreadableRestraints(base source.Base, branch source.Branch) []restraint {
	var all []restraint
	add := func(cause publish.Cause, where string, problems problem.List) {
		if i := slices.IndexFunc(problems, func(p problem.Problem) bool { return !p.Warning }); i >= 0 {
			all = append(all, restraint{withholding: publish.Withholding{
				Cause: cause, Reason: fmt.Sprintf("what %s says about promotion has a problem, and may be a %s: %s", where, cause, problems[i]),
			}})
		}
	}
	freezes := model.CheckFreezes(base.Progress, base.Environments)
	for _, p := range base.Progress.Problems {
		if !strings.HasPrefix(p.Pos.File, ".environments/") || strings.HasPrefix(p.Subject, "Freeze/") { // that is one environment's
			freezes = append(freezes, p)
		}
	}
	add(publish.CauseFreeze, "the base", freezes.Sorted())
	if branch.Progress != nil {
		add(publish.CauseHold, "its branch", branch.Progress.Problems)
	}
	return all
}

// activeHolds returns the holds of an environment's output, and the reversal of its record.
func (m *Promoter) activeHolds(base source.Base, branch source.Branch, environment string) ([]restraint, error) {
	var all []restraint
	for _, h := range branch.Progress.Holds {
		if h.Scope == model.ScopePromotion {
			continue
		}
		text, err := holdText(branch, h, environment)
		if err != nil {
			return nil, err
		}
		lets := ""
		if h.Commit != "" {
			lets = m.resolveOrKeep(base, h.Commit)
		}
		all = append(all, restraint{promote.Restraint{AllowedCommit: lets}, publish.Withholding{Cause: publish.CauseHold, Reason: "held: " + text}})
	}
	lasting := slices.ContainsFunc(base.Environments, func(e *model.Environment) bool { return e.Name == environment })
	if m.options.Settings.Promotion != managedPromotion || !lasting {
		return all, nil
	}
	back, err := m.findReversal(base, branch, environment)
	if err == nil && back != nil {
		lets := m.resolveOrKeep(base, branch.Commit)
		all = append(all, restraint{promote.Restraint{AllowedCommit: lets}, publish.Withholding{Cause: publish.CauseHold, Reason: "held: " + back.holdReason(environment)}})
	}
	return all, err
}

// holdReason returns why an environment is held; "" if it is not.
func (m *Promoter) holdReason(s *stageState) (string, error) {
	var all []string
	for _, h := range s.branch.Progress.Holds {
		text, err := holdText(s.branch, h, s.spec.Name)
		if err != nil {
			return "", err
		}
		all = append(all, text)
	}
	back, err := m.findReversal(s.base, s.branch, s.spec.Name)
	if err == nil && back != nil {
		all = append(all, back.holdReason(s.spec.Name))
	}
	return strings.Join(all, "; "), err
}

// holdText returns why an environment is held, by whom, and until when.
func holdText(branch source.Branch, h *model.Hold, environment string) (string, error) {
	who, err := lastChangedBy(branch.Repo, branch.Head, h.Pos.File)
	return fmt.Sprintf("%s (by %s, until fairlead release %s)", cmp.Or(h.Reason, noReason), who, environment), err
}

// noReason stands for a missing reason.
const noReason = "no reason is given"

// lastChangedBy returns who last changed a file.
func lastChangedBy(repo *git.Repository, head, file string) (string, error) {
	if repo == nil || head == "" {
		return "a file of " + file, nil
	}
	info, err := repo.LastChangedBy(head, file, maxRecords)
	return cmp.Or(info.Author.Email, info.Author.Name, "nobody who is known"), err
}

// activeFreezes returns the freezes that cover an environment now.
func (m *Promoter) activeFreezes(base source.Base, environment, has string) ([]restraint, error) {
	var all []restraint
	for i, f := range base.Progress.Freezes {
		facts := gate.Facts{Now: m.now, Environment: environment, Commit: has, Freezes: gate.ReadFreezes(&model.Progress{Freezes: base.Progress.Freezes[i : i+1]})}
		inForce := facts
		inForce.Commit = ""
		if f.Scope == model.ScopePromotion || gate.EvaluateFreezes(inForce).Status == gate.Pass {
			continue
		}
		who, err := lastChangedBy(base.Repo, base.Head, f.Pos.File)
		if err != nil {
			return nil, err
		}
		until := "fairlead freeze " + f.Name + " --remove"
		if !f.To.IsZero() {
			until = f.To.UTC().Format(time.RFC3339)
		}
		r := restraint{withholding: publish.Withholding{
			Cause: publish.CauseFreeze, Reason: fmt.Sprintf("freeze %s: %s (by %s, until %s)", f.Name, cmp.Or(f.Reason, noReason), who, until),
		}}
		if gate.EvaluateFreezes(facts).Status == gate.Pass { // the commit is an exception
			r.scope.AllowedCommit = has
		}
		all = append(all, r)
	}
	return all, nil
}

// resolveOrKeep returns the id of a commit of the base, or the text where the base does not have
// it.
func (m *Promoter) resolveOrKeep(base source.Base, commit string) string {
	if base.Repo == nil || commit == "" {
		return commit
	}
	id, err := base.Repo.Resolve(commit)
	if err != nil {
		return commit
	}
	return id
}

// noteSynced records which commit the output of an environment was in sync with: where a commit
// changes nothing, its output does not name it.
func (m *Promoter) noteSynced(environments map[string]status.Environment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, e := range environments {
		if commit := baseCommitOf(e); e.State == status.InSync && commit != "" {
			m.syncedCommits[name] = commit
		}
	}
}

// outputCommit returns promoted if the output of an environment was rendered from that commit of
// the base; "" if it was rendered from another one.
func (m *Promoter) outputCommit(ctx context.Context, src *source.Source, environment, has string) (string, error) {
	m.mu.Lock()
	reached := m.syncedCommits[environment]
	m.mu.Unlock()
	if reached == has {
		return has, nil
	}
	to, err := src.OutputOf(ctx, environment)
	if err != nil || to == nil {
		return "", err
	}
	remote, err := m.options.Remotes.OpenOutput(ctx, m.options.Remotes.ReadLocation(to.Repo))
	if err != nil {
		return "", err
	}
	head, err := remote.Mirror().Branch(to.Branch)
	if errors.Is(err, git.ErrNoRevision) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	holds, err := m.isOutputOf(remote.Mirror(), head, publish.CleanFolder(to.Path), environment, has)
	if err != nil || !holds {
		return "", err
	}
	return has, nil
}
