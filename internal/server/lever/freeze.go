package lever

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/permit"
	"github.com/fairlead-io/fairlead/internal/server/session"
)

// The actions on freezes. All need the permission to freeze, in all environments of the
// freeze.
const (
	Freeze = "freeze"
	Except = "except" // one commit may pass
	End    = "end"    // ends a freeze
)

// FreezeNames returns the actions on freezes, in the order of display.
func FreezeNames() []string { return []string{Freeze, Except, End} }

func (q Request) isFreeze() bool { return slices.Contains(FreezeNames(), q.Lever) }

// allowedFreeze is provisional for an existing freeze: checkFreeze decides when its
// environments are known.
func (o *Operator) allowedFreeze(who *permit.Person, q Request) permit.Verdict {
	if q.Lever == Freeze && q.Name != "" {
		return o.options.Policy.DecideAll(who, Freeze, q.Environments)
	}
	return o.options.Policy.DecideAnywhere(who, Freeze)
}

// AllowedIn decides whether a person may use an action in an environment.
func (o *Operator) AllowedIn(who *session.Person, lever, environment string) permit.Verdict {
	if slices.Contains(FreezeNames(), lever) {
		return o.Allowed(who, Request{Lever: Freeze, Name: "any", Environments: []string{environment}})
	}
	return o.Allowed(who, Request{Lever: lever, Environment: environment})
}

func (o *Operator) newFreeze(q Request) (actions.Freeze, error) {
	f := actions.Freeze{Name: q.Name, Reason: q.Reason, Scope: q.Scope, Environments: q.Environments}
	now := o.options.Actions.Now()
	for _, one := range []struct {
		name, value string
		into        *time.Time
	}{{"From", q.From, &f.From}, {"To", q.To, &f.To}} {
		var known bool
		*one.into, known = actions.ParseTime(one.value, now)
		if !known {
			return f, &problem.Refusal{Reason: fmt.Sprintf("a time cannot be read: %q in %s", one.value, one.name), Advice: "write it as 2026-12-24, 2026-12-24T18:00:00+01:00, 36h or 7d", Kind: ErrMalformed}
		}
	}
	err := f.Check(now)
	var refused *problem.Refusal
	if errors.As(err, &refused) {
		refused.Kind = ErrMalformed
	}
	return f, err
}

func (o *Operator) checkFields(q Request) *problem.Refusal {
	if q.Lever != Freeze {
		return nil
	}
	_, err := o.newFreeze(q)
	var refused *problem.Refusal
	errors.As(err, &refused)
	return refused
}

func (o *Operator) describePeriod(q Request) string {
	f, err := o.newFreeze(q)
	if err != nil { // already checked
		return ""
	}
	from, to := "From now", "somebody ends it"
	if !f.From.IsZero() {
		from = "From " + f.From.UTC().Format(time.RFC3339)
	}
	if !f.To.IsZero() {
		to = f.To.UTC().Format(time.RFC3339)
	}
	return from + " until " + to + "."
}

// checkFreeze returns an error if the person may not change the freeze, or an
// environment is unknown.
func (o *Operator) checkFreeze(ctx context.Context, d *actions.Session, who *session.Person, q Request) error {
	if q.Lever == Freeze {
		names, err := d.Environments(ctx)
		for _, e := range q.Environments {
			if err == nil && !slices.Contains(names, e) {
				err = &problem.Refusal{Reason: "there is no environment " + e, Advice: problem.DidYouMean(e, names), Kind: ErrUnknown}
			}
		}
		return err
	}
	f, err := findFreeze(ctx, d, q.Name)
	if err != nil {
		return err
	}
	v := o.options.Policy.DecideAll(&permit.Person{Groups: who.Groups}, Freeze, f.Environments)
	if !v.Allowed {
		return &problem.Refusal{Reason: v.Reason, Advice: "the settings say who may, under web.roles", Kind: ErrNotAllowed}
	}
	return nil
}

func findFreeze(ctx context.Context, d *actions.Session, name string) (*model.Freeze, error) {
	all, err := d.Freezes(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(f *model.Freeze) bool { return f.Name == name })
	if i >= 0 {
		return all[i], nil
	}
	names := list.Convert(all, func(f *model.Freeze) string { return f.Name })
	return nil, &problem.Refusal{Reason: "there is no freeze " + name, Advice: problem.DidYouMean(name, names), Kind: ErrUnknown}
}

func (o *Operator) runFreeze(ctx context.Context, d *actions.Session, q Request) (actions.Result, error) {
	switch q.Lever {
	case Except:
		return d.AddException(ctx, q.Name, q.Commit, q.Reason)
	case End:
		return d.EndFreeze(ctx, q.Name, q.Reason)
	}
	f, err := o.newFreeze(q)
	if err != nil {
		return actions.Result{}, err
	}
	return d.Freeze(ctx, f)
}

func (q Request) lacksFields() bool {
	return q.isFreeze() && (q.Name == "" || q.Lever == Except && q.Commit == "")
}

func (o *Operator) askFields(ctx context.Context, d *actions.Session, q Request, l *answer.Lever) error {
	name := answer.LeverField{Name: "name", Title: "Name of the freeze", Value: q.Name, Required: true}
	if q.Lever == Freeze {
		environments, err := d.Environments(ctx)
		name.Hint = "lower case letters, digits and hyphens, as in q4-2026"
		l.Asks = []answer.LeverField{
			name,
			{Name: "env", Title: "Environments", Hint: "none for all", Options: environments, Chosen: q.Environments, Several: true},
			{Name: "from", Title: "From", Value: q.From, Hint: "2026-12-24, 2026-12-24T18:00:00+01:00, 36h or 7d; empty for now"},
			{Name: "to", Title: "To", Value: q.To, Hint: "empty until somebody ends it"},
			{Name: "scope", Title: "What stops", Options: []string{model.ScopeOutput, model.ScopePromotion}, Chosen: []string{cmp.Or(q.Scope, model.ScopeOutput)}},
		}
		return err
	}
	all, err := d.Freezes(ctx)
	names := list.Convert(slices.DeleteFunc(slices.Clone(all), func(f *model.Freeze) bool { return !coversAny(f, q.Environments) }), func(f *model.Freeze) string { return f.Name })
	slices.Sort(names)
	name.Options, name.Chosen = names, []string{q.Name}
	l.Asks = []answer.LeverField{name}
	if len(names) == 0 {
		l.Asks, l.Nothing = nil, "there is no freeze"
	}
	if q.Lever == Except && len(names) > 0 {
		l.Asks = append(l.Asks, answer.LeverField{Name: "commit", Title: "Commit of the base", Value: q.Commit, Hint: "4 or more of its hexadecimal digits", Required: true})
	}
	return err
}

func coversAny(f *model.Freeze, environments []string) bool {
	return len(environments) == 0 || len(f.Environments) == 0 || slices.ContainsFunc(environments, func(e string) bool { return slices.Contains(f.Environments, e) })
}

func (o *Operator) findFreezeEffects(ctx context.Context, d *actions.Session, q Request, to string, now status.Snapshot) []string {
	environments, scope := q.Environments, q.Scope
	if q.Lever != Freeze {
		f, err := findFreeze(ctx, d, q.Name)
		if err != nil {
			return nil
		}
		environments, scope = f.Environments, f.Scope
	}
	var all []string
	switch {
	case q.Lever == Except:
		all = append(all, fmt.Sprintf("%s may pass the freeze %s; all others wait.", nameCommit(now.Chain, to), q.Name))
	case q.Lever == End:
	case scope == model.ScopePromotion:
		all = append(all, "Nothing is promoted meanwhile. Changes of the environments' own branches and of workloads go on.")
	default:
		all = append(all, "Nothing is promoted meanwhile, and Fairlead merges no change of the output, wherever it comes from.")
	}
	for _, stage := range now.Chain.Stages {
		if len(environments) > 0 && !slices.Contains(environments, stage.Environment) {
			continue
		}
		e, _ := now.FindEnvironment(stage.Environment)
		all = append(all, describeOnItsWay(q, stage, e, scope, now.Chain))
	}
	return all
}

func describeOnItsWay(q Request, stage status.Stage, e status.Environment, scope string, chain status.Chain) string {
	var coming []string
	next := stage.Next.Candidate
	if next != "" && next != stage.Commit && (q.Lever != Except || strings.HasPrefix(next, q.Commit)) {
		coming = append(coming, nameCommit(chain, next))
	}
	if e.State == status.Proposed && e.Pull != nil && scope != model.ScopePromotion && q.Lever != Except {
		coming = append(coming, fmt.Sprintf("pull request %d", e.Pull.Number))
	}
	verb := map[string]string{Freeze: "stops", End: "may go on", Except: "may come"}[q.Lever]
	if coming == nil {
		return fmt.Sprintf("%s: nothing is on its way that %s.", stage.Environment, verb)
	}
	return fmt.Sprintf("%s: %s %s.", stage.Environment, text.Join(coming, " and "), verb)
}

func commandOfFreeze(q Request) []string {
	words := []string{"fairlead", "freeze", text.QuoteShell(cmp.Or(q.Name, "NAME"))}
	switch q.Lever {
	case Except:
		return append(words, "--except", cmp.Or(q.Commit, "COMMIT"))
	case End:
		return append(words, "--remove")
	}
	for _, flag := range [][2]string{{"--environments", strings.Join(q.Environments, ",")}, {"--from", q.From}, {"--to", q.To}, {"--scope", q.Scope}} {
		if flag[1] != "" {
			words = append(words, flag[0], text.QuoteShell(flag[1]))
		}
	}
	return words
}
