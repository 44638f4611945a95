package scheduler

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// Options is what a [Desk] works with.
type Options struct {
	Settings *config.Settings
	Logger   *slog.Logger
	Now      func() time.Time
	// Pause returns how long to wait after so many failures, one after the other.
	Pause func(failures int) time.Duration
	// BeforeEffect is called before a scheduler is asked.
	BeforeEffect func(what string)
}

// Desk asks schedulers, and remembers when and what. Its methods may be called at the same time.
type Desk struct {
	options Options
	mu      sync.Mutex
	silent  map[string]silence  // by scheduler
	asked   map[question]*asked // what is asked only for policies that need it
}

type question struct{ environment, policy string }

// silence is since when a scheduler has not answered.
type silence struct {
	failures    int
	since, next time.Time
	err         error
}

type asked struct {
	question string // its digest
	unfit    string // the places that were lost then
	next     time.Time
	waiting  bool             // the decision is not up to date
	answer   *schedule.Answer // nil if it is refused
	digest   string           // of the answer as it came
	refused  error
}

// New returns a desk that has not asked anything.
func New(o Options) *Desk {
	return &Desk{options: o, silent: map[string]silence{}, asked: map[question]*asked{}}
}

// Decide returns the decisions that follow from answers of the schedulers that policies of a plan name, where they
// differ from those of its model; and a problem for each policy whose decision is not fresh. clusters has the number of
// clusters of each cluster type.
func (d *Desk) Decide(ctx context.Context, plan *schedule.Plan, clusters map[string]int) (decided []*model.Decision, problems problem.List) {
	m := plan.Model()
	for _, policy := range m.Policies {
		if policy.Choice == nil || !policy.Choice.Decider.IsExternal() {
			continue
		}
		s, known := d.options.Settings.Scheduler(policy.Choice.Decider.Name)
		if !known { // its decisions are committed by somebody else
			continue
		}
		decision, err := d.decide(ctx, plan, policy, s, clusters)
		if decision != nil {
			decided = append(decided, decision)
			plan = schedule.NewPlan(plan.Model().WithDecision(decision), plan)
		}
		if err != nil {
			problems = append(problems, describeFailure(policy, s, err))
		}
	}
	return decided, problems
}

func describeFailure(policy *model.Policy, s config.Scheduler, err error) problem.Problem {
	p := problem.Problem{Pos: policy.Choice.Pos, Subject: policy.Subject(), Warning: true}
	var wrong *schedule.WrongAnswerError
	if errors.As(err, &wrong) {
		p.Summary = fmt.Sprintf("the answer of the scheduler %s cannot be followed: %v", s.Name, err)
		p.Hint = "what was decided before stays; it is asked again"
	} else {
		p.Summary = fmt.Sprintf("the scheduler %s does not answer: %v", s.Name, err)
		p.Hint = "what was decided before stays, and new units wait; it is asked again"
	}
	return p
}

// decide returns the decision of one policy if it differs. An error is why the decision cannot be brought up to date.
func (d *Desk) decide(ctx context.Context, plan *schedule.Plan, policy *model.Policy, s config.Scheduler, clusters map[string]int) (*model.Decision, error) {
	request, last, lost := plan.Request(policy, clusters), plan.Model().DecisionOf(policy), plan.DescribeLosses(policy)
	key := question{request.Environment, policy.Name}
	isFresh := last.By == s.Name && last.Question == request.Question && lost == ""
	d.setWaiting(key, !isFresh)
	if isFresh && !policy.Choice.Decider.AcceptChanges {
		return nil, nil
	}
	known, err := d.consult(ctx, s, request, lost)
	if err != nil || known == nil {
		return nil, err
	}
	if known.refused != nil {
		return nil, known.refused
	}
	decision, err := plan.Follow(policy, request, *known.answer, nameLocation(s))
	if err != nil {
		err = fmt.Errorf("%w (%s)", err, known.digest)
		d.refuse(key, err)
		return nil, err
	}
	if decision.Equal(last) {
		return nil, nil
	}
	return decision, nil
}

// consult returns the answer to a request: the one that is known, or that of the scheduler if it is time to ask. It
// returns nil if it is not.
func (d *Desk) consult(ctx context.Context, s config.Scheduler, r schedule.Request, unfit string) (*asked, error) {
	key, now := question{r.Environment, r.Policy}, d.options.Now()
	d.mu.Lock()
	last, silence := d.asked[key], d.silent[s.Name]
	d.mu.Unlock()
	isSame := last != nil && last.question == r.Question
	if last != nil && now.Before(last.next) && (isSame || unfit == "") && last.unfit == unfit { // else it is asked at once
		if isSame {
			return last, nil
		}
		return nil, nil
	}
	if now.Before(silence.next) {
		return nil, silence.err
	}
	d.options.BeforeEffect("ask the scheduler " + s.Name)
	d.options.Logger.Debug("ask a scheduler", "scheduler", s.Name, "environment", r.Environment, "policy", r.Policy)
	data, err := sendRequest(ctx, s, r)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		silence.failures++
		if silence.since.IsZero() {
			silence.since = now
		}
		silence.next = now.Add(d.options.Pause(silence.failures))
		silence.err = fmt.Errorf("since %s: %w", silence.since.UTC().Format(time.RFC3339), err)
		d.silent[s.Name] = silence
		return nil, silence.err
	}
	delete(d.silent, s.Name)
	is := &asked{question: r.Question, unfit: unfit, next: now.Add(s.Every), waiting: true, digest: fmt.Sprintf("sha256:%.6x", sha256.Sum256(data))}
	answer, err := schedule.ParseAnswer(r, data)
	if err == nil {
		is.answer = &answer
	} else {
		is.refused = fmt.Errorf("%w (%s)", err, is.digest)
	}
	d.asked[key] = is
	return is, nil
}

func (d *Desk) refuse(key question, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last := d.asked[key]; last != nil {
		last.answer, last.refused = nil, err
	}
}

func (d *Desk) setWaiting(key question, waiting bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last := d.asked[key]; last != nil {
		last.waiting = waiting
	}
}

// Next returns when a scheduler is to be asked again, after now; the zero time if none is.
func (d *Desk) Next(now time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	var next time.Time
	earlier := func(at time.Time) {
		if at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for _, s := range d.silent {
		earlier(s.next)
	}
	for _, a := range d.asked {
		if a.waiting {
			earlier(a.next)
		}
	}
	return next
}
