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
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

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
		has = resolveOrKeep(base, branch.Commit)
	}
	holds, err := m.findHolds(base, branch, environment)
	if err != nil {
		return nil, err
	}
	for _, h := range holds {
		if h.scope != model.ScopePromotion && h.scope != model.ScopeWaves {
			allowed := promote.Restraint{AllowedCommit: resolveOrKeep(base, h.commit)}
			all = append(all, restraint{allowed, publish.Withholding{Cause: publish.CauseHold, Reason: "held: " + h.reason}})
		}
	}
	frozen, err := m.activeFreezes(base, environment, has)
	if err != nil {
		return nil, err
	}
	all = append(all, frozen...)
	output := ""
	if slices.ContainsFunc(all, func(r restraint) bool { return r.scope.AllowedCommit != "" }) {
		output, err = m.outputCommit(ctx, src, environment, lane.Composition{Platform: has, Lanes: readLanes(base, branch)})
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
func (m *Promoter) WithholdEnvironment(ctx context.Context, environment string, o *Policy) {
	reasons, err := m.FindWithholdings(ctx, o.source, environment)
	if err != nil {
		reasons = []publish.Withholding{{Cause: publish.CauseHold, Reason: "it is not known whether it is held or frozen: " + err.Error()}}
	}
	if len(reasons) > 0 {
		o.Withheld[environment] = reasons
	}
}

func (m *Promoter) withholdEnvironments(ctx context.Context, o *Policy) {
	for _, e := range o.base.Environments {
		m.WithholdEnvironment(ctx, e.Name, o)
	}
	for _, f := range o.base.Progress.Freezes {
		for _, at := range []time.Time{f.From, f.To} {
			if at.After(m.now) {
				o.NextChange = gate.EarlierTime(o.NextChange, at)
			}
		}
	}
}

func unreadableRestraints(base source.Base, branch source.Branch) []restraint {
	var all []restraint
	add := func(cause publish.Cause, where string, problems problem.List) {
		if p, stops := problems.FirstStopping(); stops {
			all = append(all, restraint{withholding: publish.Withholding{
				Cause: cause, Reason: fmt.Sprintf("what %s says about promotion has a problem, and may be a %s: %s", where, cause, p),
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
	add(publish.CauseHold, "its branch", branch.Progress.Problems)
	return all
}

// hold is what keeps an environment where it is.
type hold struct {
	scope  string // that of a [model.Hold]
	commit string // whose output may be merged all the same; "" for none
	reason string // with who holds it, and how that ends
	then   string // reason without how it ends, for a time that is over
}

func (m *Promoter) findHolds(base source.Base, branch source.Branch, environment string) ([]hold, error) {
	var all []hold
	for _, h := range branch.Progress.Holds {
		who, err := lastChangedBy(branch.Repo, branch.Head, h.Pos.File)
		if err != nil {
			return nil, err
		}
		why := cmp.Or(h.Reason, noReason)
		all = append(all, hold{h.Scope, h.Commit, fmt.Sprintf("%s (by %s, until fairlead release %s)", why, who, environment), fmt.Sprintf("%s (by %s)", why, who)})
	}
	lasting := slices.ContainsFunc(base.Environments, func(e *model.Environment) bool { return e.Name == environment })
	if m.options.Settings.Promotion != managedPromotion || !lasting {
		return all, nil
	}
	back, err := m.findReversal(base, branch, environment)
	if err == nil && back != nil {
		then := fmt.Sprintf("reverted by %s in %s", back.Author, text.ShortCommit(back.Commit))
		all = append(all, hold{commit: branch.Commit, reason: fmt.Sprintf("%s (until fairlead release %s)", then, environment), then: then})
	}
	return all, err
}

func findLaneHolds(branch source.Branch, environment string) (map[string]string, error) {
	held := map[string]string{}
	for _, h := range branch.Progress.LaneHolds {
		who, err := lastChangedBy(branch.Repo, branch.Head, h.Pos.File)
		if err != nil {
			return nil, err
		}
		held[h.Lane] = fmt.Sprintf("%s (by %s, until fairlead release %s --lane %s)", cmp.Or(h.Reason, noReason), who, environment, text.QuoteShell(h.Lane))
	}
	return held, nil
}

const noReason = "no reason is given"

func lastChangedBy(repo *git.Repository, head, file string) (string, error) {
	if repo == nil || head == "" {
		return "a file of " + file, nil
	}
	info, err := repo.LastChangedBy(head, file, maxRecords)
	return cmp.Or(info.Author.Email, info.Author.Name, "an unknown author"), err
}

func (m *Promoter) activeFreezes(base source.Base, environment, has string) ([]restraint, error) {
	var all []restraint
	for _, f := range base.Progress.Freezes {
		facts := gate.Facts{Now: m.now, Environment: environment, Commit: has, Freezes: []*model.Freeze{f}}
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
			Cause: publish.CauseFreeze, PassesWaves: f.PassesWaves, Reason: fmt.Sprintf("freeze %s: %s (by %s, until %s)", f.Name, cmp.Or(f.Reason, noReason), who, until),
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
func resolveOrKeep(base source.Base, commit string) string {
	if base.Repo == nil || commit == "" {
		return commit
	}
	id, err := base.Repo.Resolve(commit)
	if err != nil {
		return commit
	}
	return id
}

// outputCommit returns the commit of the platform if the output of an environment was rendered from that
// base; "" if it was rendered from another one.
func (m *Promoter) outputCommit(ctx context.Context, src *source.Source, environment string, has lane.Composition) (string, error) {
	if m.memoryOf(environment).synced.Equal(has) {
		return has.Platform, nil
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
	from, err := findOutputOrigin(m.options.Records, remote.Mirror(), head, publish.CleanFolder(to.Path), environment)
	if err != nil || from.isMixed || !from.Equal(has) {
		return "", err
	}
	return has.Platform, nil
}
