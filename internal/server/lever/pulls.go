package lever

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/session"
)

// The actions on an output's pull request. All need the permission to merge.
const (
	Merge  = "merge"
	Close  = "close"
	Reopen = "reopen"
)

// PullNames returns the actions on pull requests.
func PullNames() []string { return []string{Merge, Close, Reopen} }

func (q Request) isPull() bool { return slices.Contains(PullNames(), q.Lever) }

type reopener interface {
	ReopenPull(ctx context.Context, number int, reason string) error
}

func commandOfPull(q Request, number string) string {
	words := []string{"fairlead", "pr", q.Lever, number}
	if q.Force {
		words = append(words, "--force")
	}
	return strings.Join(append(words, "--reason TEXT"), " ")
}

func (o *Operator) describePull(who *session.Person, q Request, l *answer.Lever) (status.Environment, error) {
	e, known := o.options.Store.Snapshot().FindEnvironment(q.Environment)
	if !known {
		return e, &problem.Refusal{Reason: "there is no environment " + q.Environment, Kind: ErrUnknown}
	}
	wanted := status.Proposed
	if q.Lever == Reopen {
		wanted = status.Declined
	}
	if e.State != wanted || e.Pull == nil {
		l.Nothing = map[string]string{Merge: "no pull request is open", Close: "no pull request is open", Reopen: "no pull request was closed"}[q.Lever]
		return e, nil
	}
	l.Command = commandOfPull(q, strconv.Itoa(e.Pull.Number))
	l.Repo, l.Branch, l.Head, l.Impact = e.Output.Repo, e.Output.Branch, e.Pull.Head, answer.CleanText(e.Impact)
	add := func(format string, args ...any) { l.Effects = append(l.Effects, fmt.Sprintf(format, args...)) }
	switch q.Lever {
	case Merge:
		add("Pull request %d, %q, is merged into %s of %s: clusters apply it.", e.Pull.Number, e.Pull.Title, e.Output.Branch, e.Output.Repo)
		for _, w := range e.Withheld {
			add("Fairlead itself does not merge it: %s.", w.Reason)
		}
	case Close:
		add("Pull request %d, %q, is closed. %s gets no other one for the same content.", e.Pull.Number, e.Pull.Title, q.Environment)
	case Reopen:
		add("Pull request %d, %q, is open again.", e.Pull.Number, e.Pull.Title)
	}
	l.Seen = digestLever(who, q, *l)
	return e, nil
}

func (o *Operator) performPull(ctx context.Context, who *session.Person, q Request, seen string) (actions.Result, answer.Lever, error) {
	now := o.newLever(who, q)
	e, err := o.describePull(who, q, &now)
	if err != nil {
		return actions.Result{}, now, err
	}
	r := actions.Result{Action: q.Lever, Environment: q.Environment, Summary: now.Nothing, Branch: e.Output.Branch}
	switch {
	case seen != Unseen && now.Seen != seen:
		now.Moved = true
		return r, now, refuseMoved()
	case now.Nothing != "":
		return r, now, nil
	}
	f, err := o.options.Pulls(ctx, *who, e.Output.Repo)
	if err != nil {
		return r, now, err
	}
	state := forge.Open
	switch q.Lever {
	case Merge:
		state, err = forge.Merged, mergePull(ctx, f, e.Pull, strings.TrimSpace(q.Reason))
	case Close:
		state, err = forge.Closed, f.ClosePull(ctx, e.Pull.Number, fmt.Sprintf("%s (by %s)", strings.TrimSpace(q.Reason), who.Name))
	default:
		err = reopenPull(ctx, f, e.Pull, strings.TrimSpace(q.Reason))
	}
	if errors.Is(err, forge.ErrMoved) {
		err = &problem.Refusal{Reason: "the pull request, or its branch, has moved", Advice: "the next cycle brings it up to date: look at it again", Kind: ErrMoved}
	}
	if err != nil {
		return r, now, err
	}
	r.Changed, r.Pull = true, &actions.Pull{Number: e.Pull.Number, URL: e.Pull.URL, State: state}
	r.Summary = fmt.Sprintf("pull request %d is %s", e.Pull.Number, state)
	return r, now, nil
}

func mergePull(ctx context.Context, f forge.Forge, p *status.Pull, reason string) error {
	m, can := f.(forge.Merger)
	if !can {
		return refuseElsewhere(p, "merged")
	}
	err := m.MergePullFor(ctx, p.Number, p.Head, reason)
	if errors.Is(err, forge.ErrNotReady) || errors.Is(err, forge.ErrChanged) {
		return &problem.Refusal{Reason: answer.CleanText(err.Error()), Advice: "the pull request says what is missing"}
	}
	return err
}

func reopenPull(ctx context.Context, f forge.Forge, p *status.Pull, reason string) error {
	r, can := f.(reopener)
	if !can {
		return refuseElsewhere(p, "opened again")
	}
	return r.ReopenPull(ctx, p.Number, reason)
}

func refuseElsewhere(p *status.Pull, what string) error {
	return problem.Refusef("do it there: "+p.URL, "pull request %d is %s at the forge", p.Number, what)
}
