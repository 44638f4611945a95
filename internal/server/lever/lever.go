// Package lever performs operator actions for people who signed in at the page.
//
// An action equals its command: one commit by the person, made by Fairlead. Forbidden
// actions are refused with a reason. Confirmed actions apply to what the person has
// seen, or not at all. Every attempt is logged and counted.
package lever

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/permit"
	"github.com/fairlead-io/fairlead/internal/server/session"
)

// The actions.
const (
	Approve  = "approve"
	Hold     = "hold"
	Release  = "release"
	Rollback = "rollback"
	Promote  = "promote"
)

// Names returns the actions on environments, in the order of display.
func Names() []string { return []string{Approve, Promote, Hold, Release, Rollback} }

// AllNames returns all actions.
func AllNames() []string {
	return slices.Concat(Names(), []string{Removals}, FreezeNames(), PullNames(), StackNames())
}

// Unseen replaces the digest of what was seen, to perform an action regardless.
const Unseen = "force"

// Options are what an operator needs. Forge, Metrics and Wake may be nil.
type Options struct {
	// Actions has the control plane and the committer. Author, Trailers and Confirm are
	// set for each action.
	Actions actions.Options
	Policy  permit.Policy
	Store   *status.Store
	Metrics *metrics.Metrics
	Logger  *slog.Logger
	// Forge opens a repository's forge with a person's token, to propose what the
	// person must not push. It is nil if people do not sign in at a forge.
	Forge func(who session.Person, place string) (forge.Forge, error)
	// Pulls opens a repository's forge to merge and close pull requests as a person.
	Pulls func(ctx context.Context, who session.Person, place string) (forge.Forge, error)
	// Wake is called after each commit; it may be nil.
	Wake func()
}

// Operator performs one action at a time. It is safe for concurrent use.
type Operator struct {
	options Options
	turn    chan struct{} // has an element during an action or preview
	mu      sync.Mutex
	recent  map[string][]time.Time // times within the last minute, by activity
	results []result               // recent results, for HasDone
}

// New returns an operator.
func New(o Options) *Operator {
	if o.Wake == nil {
		o.Wake = func() {}
	}
	return &Operator{options: o, turn: make(chan struct{}, 1), recent: map[string][]time.Time{}}
}

// Request is a requested action.
type Request struct {
	Lever, Environment string
	// Commit is the commit to approve, promote or roll back to, or the name of a change
	// of removals. "" means the next, previous or waiting one.
	Commit string
	Scope  string // of a hold or freeze
	Lane   string // that the action is about alone; "" for the whole environment
	Wave   string // that is approved, of the advance Commit; "" for none
	Reason string
	// Name is a freeze's name. Environments, From and To are for a new one: none means
	// all, and "" means now or no end.
	Name         string
	Environments []string
	From, To     string
	StackTarget
	// Force overrides objections.
	Force bool
	// Address is the request's origin, for the log.
	Address string
}

// Errors of refused requests: each is the kind of a [problem.Refusal].
var (
	ErrNotAllowed = errors.New("not allowed")
	ErrTooMany    = errors.New("too many actions")
	ErrMoved      = errors.New("it is not what was seen")
	ErrUnknown    = errors.New("there is no such thing")
	ErrMalformed  = errors.New("the request cannot be read")
)

func refuseMoved() error {
	return &problem.Refusal{Reason: "it is not any more what you have seen, so nothing was done", Advice: "look again, and confirm what there is now", Kind: ErrMoved}
}

var errPreviewed = errors.New("only a preview")

const maxReason, maxLane = 1000, 253

func (q Request) check() error {
	refuse := func(sentence, hint string) error {
		return &problem.Refusal{Reason: sentence, Advice: hint, Kind: ErrMalformed}
	}
	switch {
	case !slices.Contains(AllNames(), q.Lever):
		return &problem.Refusal{Reason: "there is no action " + q.Lever, Advice: "the actions are " + strings.Join(AllNames(), ", "), Kind: ErrUnknown}
	case q.Environment == "" && !q.isFreeze():
		return refuse("the request names no environment", "write env=ENVIRONMENT")
	case q.Commit != "" && !text.IsCommitPrefix(q.Commit):
		return refuse("the commit is not an id", "write 4 or more of its hexadecimal digits")
	case q.Scope != "" && q.Scope != "output" && q.Scope != "promotion":
		return refuse("there is no such scope", "write output or promotion")
	case q.Lane != "" && (!slices.Contains(Names(), q.Lever) || q.Scope != "" || len(q.Lane) > maxLane):
		return refuse("the action cannot be about a lane", "leave out lane; "+strings.Join(Names(), ", ")+" can, without a scope")
	case q.Wave != "" && (q.Lever != Approve || q.Lane != "" || len(q.Wave) > maxLane):
		return refuse("the action cannot be about a wave", "leave out wave; "+Approve+" can, without a lane")
	case len(q.Reason) > maxReason:
		return refuse("the reason is too long", "write 1000 characters at most")
	case q.isStack():
		if sentence, hint := q.checkStack(); sentence != "" {
			return refuse(sentence, hint)
		}
	}
	return nil
}

func (q Request) needsReason() bool {
	return q.Lever == Hold || q.Lever == Freeze || q.Lever == Except || q.Lever == Close || q.Lever == Teardown || q.Lever == Rollback || q.Lever == Promote && q.Force
}

// Allowed decides whether a person may perform an action; who may be nil.
func (o *Operator) Allowed(who *session.Person, q Request) permit.Verdict {
	var groups *permit.Person
	if who != nil {
		groups = &permit.Person{Groups: who.Groups}
	}
	if q.isFreeze() {
		return o.allowedFreeze(groups, q)
	}
	if q.isPull() {
		return o.options.Policy.Decide(groups, Merge, q.Environment)
	}
	if q.Lever == Removals {
		return o.options.Policy.Decide(groups, Approve, q.Environment)
	}
	v := o.options.Policy.Decide(groups, q.Lever, q.Environment)
	if v.Allowed && q.Force {
		v = o.options.Policy.Decide(groups, permit.Force, q.Environment)
	}
	return v
}

// Preview returns what an action would do. It writes nothing.
func (o *Operator) Preview(ctx context.Context, who *session.Person, q Request) (answer.Lever, error) {
	err := o.checkAllowed(who, q)
	if err != nil {
		return answer.Lever{}, err
	}
	err = o.admit(who, "looked at", maxPreviews)
	if err != nil {
		return answer.Lever{}, err
	}
	end, err := o.takeTurn(ctx)
	if err != nil {
		return answer.Lever{}, err
	}
	defer end()
	l, err := o.preview(session.WithPerson(ctx, who), who, o.complete(q))
	return l, o.describeAccess(err)
}

func (o *Operator) checkAllowed(who *session.Person, q Request) error {
	err := q.check()
	if err != nil {
		return err
	}
	v := o.Allowed(who, q)
	if !v.Allowed {
		return &problem.Refusal{Reason: v.Reason, Advice: "the settings say who may, under web.roles", Kind: ErrNotAllowed}
	}
	return nil
}

func (o *Operator) preview(ctx context.Context, who *session.Person, q Request) (answer.Lever, error) {
	shown := o.newLever(who, q)
	if q.isPull() {
		_, err := o.describePull(who, q, &shown)
		return shown, err
	}
	d, err := o.open(ctx, who, false, func(ctx context.Context, d *actions.Session, p actions.Plan) error {
		o.describePlan(ctx, d, q, p, &shown)
		return errPreviewed
	})
	if err != nil {
		return shown, err
	}
	switch {
	case q.lacksFields():
		return shown, o.askFields(ctx, d, q, &shown)
	case o.lacksDigest(q):
		askDigest(&shown)
		return shown, nil
	}
	err = o.checkTarget(ctx, d, who, q)
	if err != nil {
		return shown, err
	}
	written := q
	if strings.TrimSpace(written.Reason) == "" {
		written.Reason = "…"
	}
	if wrong := o.checkFields(written); wrong != nil {
		shown.Refusal, shown.Hint = wrong.Error(), wrong.Hint()
		return shown, o.askFields(ctx, d, q, &shown)
	}
	_, err = o.run(ctx, d, written)
	var refused *problem.Refusal
	switch {
	case errors.Is(err, errPreviewed), err == nil:
	case errors.As(err, &refused) && !errors.Is(err, git.ErrRefused):
		shown.Refusal, shown.Hint = refused.Error(), refused.Hint()
		shown.MayForce = errors.Is(err, actions.ErrForcible) && o.options.Policy.Decide(&permit.Person{Groups: who.Groups}, permit.Force, q.Environment).Allowed
	default:
		return shown, err
	}
	switch {
	case q.Lane != "" || q.Wave != "": // the choices are whole commits
	case q.Lever == Rollback:
		o.addChoices(ctx, d, &shown)
	case q.Commit == "" && shown.Refusal != "" && (q.Lever == Approve || q.Lever == Promote):
		o.addNewer(&shown)
	}
	return shown, nil
}

// Perform performs an action if it is still what the person has seen. With [ErrMoved]
// it returns the current state.
func (o *Operator) Perform(ctx context.Context, who *session.Person, q Request, seen string) (actions.Result, answer.Lever, error) {
	r, now, err := o.perform(ctx, who, q, seen)
	o.record(ctx, who, q, r, err)
	if err == nil && r.Changed {
		o.remember(q, r)
		o.options.Wake()
	}
	return r, now, err
}

type result struct {
	environment string // "" for several
	made        string
	pull        *actions.Pull // opened or changed; may be nil
	at          time.Time
}

const (
	maxResults = 100
	shownFor   = 5 * time.Minute
)

func (o *Operator) remember(q Request, r actions.Result) {
	made := r.Commit
	switch {
	case q.isPull():
		made = r.Summary
	case r.Pull != nil:
		made = strconv.Itoa(r.Pull.Number)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.results = append(o.results, result{q.Environment, made, r.Pull, o.options.Actions.Now()})
	o.results = slices.Clone(o.results[max(0, len(o.results)-maxResults):])
}

// HasDone reports whether a recent action made a commit or numbered pull request, or
// has this summary. An environment of "" means any. Results are lost on restart;
// addresses are no proof, since anybody can write them.
func (o *Operator) HasDone(environment, made string) bool {
	_, isNews := o.findResult(environment, made)
	return isNews
}

// FindPull returns the pull request of a recent action by its summary, or nil.
func (o *Operator) FindPull(environment, summary string) *actions.Pull {
	r, _ := o.findResult(environment, summary)
	return r.pull
}

func (o *Operator) findResult(environment, made string) (r result, isNews bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.options.Actions.Now()
	i := slices.IndexFunc(o.results, func(r result) bool {
		return made != "" && r.made == made && (r.environment == "" || environment == "" || r.environment == environment) && now.Sub(r.at) < shownFor
	})
	if i < 0 {
		return result{}, false
	}
	return o.results[i], true
}

func (o *Operator) perform(ctx context.Context, who *session.Person, q Request, seen string) (r actions.Result, now answer.Lever, err error) {
	err = o.checkAllowed(who, q)
	if err != nil {
		return r, now, err
	}
	err = o.admit(who, "performed", maxActions)
	if err != nil {
		return r, now, err
	}
	switch {
	case q.needsReason() && strings.TrimSpace(q.Reason) == "":
		return r, now, &problem.Refusal{Reason: "the reason is missing", Advice: "it is there for all who wonder later", Kind: ErrMalformed}
	case q.lacksFields():
		return r, now, &problem.Refusal{Reason: "the request does not say which freeze, or which commit", Advice: "write name and commit", Kind: ErrMalformed}
	case seen == "":
		return r, now, &problem.Refusal{Reason: "the request does not say what was seen", Advice: "GET says it in the field seen", Kind: ErrMalformed}
	}
	err = q.checkTyped()
	if err != nil {
		return r, now, err
	}
	end, err := o.takeTurn(ctx)
	if err != nil {
		return r, now, err
	}
	defer end()
	q, ctx = o.complete(q), session.WithPerson(ctx, who)
	if q.isPull() {
		r, now, err = o.performPull(ctx, who, q, seen)
		return r, now, o.describeAccess(err)
	}
	r, now, err = o.write(ctx, who, q, seen, false)
	if errors.Is(err, git.ErrRefused) && o.options.Forge != nil {
		r, now, err = o.write(ctx, who, q, seen, true)
	}
	return r, now, o.describeAccess(err)
}

func (o *Operator) describeAccess(err error) error {
	if o.options.Forge == nil || !errors.Is(err, git.ErrAccess) && !errors.Is(err, git.ErrRefused) {
		return err
	}
	return &problem.Refusal{Reason: "the forge does not take your token, or you may not write there", Advice: "sign out, and sign in again; the forge says who may write to the control plane", Kind: ErrNotAllowed}
}

func (o *Operator) write(ctx context.Context, who *session.Person, q Request, seen string, propose bool) (r actions.Result, now answer.Lever, err error) {
	d, err := o.open(ctx, who, propose, func(ctx context.Context, d *actions.Session, p actions.Plan) error {
		if seen == Unseen {
			return nil
		}
		now = o.newLever(who, q)
		o.describePlan(ctx, d, q, p, &now)
		if now.Seen != seen {
			return refuseMoved()
		}
		return nil
	})
	if err != nil {
		return r, now, err
	}
	err = o.checkTarget(ctx, d, who, q)
	if err != nil {
		return r, now, err
	}
	r, err = o.run(ctx, d, q)
	now.Moved = errors.Is(err, ErrMoved)
	return r, now, err
}

func (o *Operator) open(ctx context.Context, who *session.Person, propose bool, confirm func(context.Context, *actions.Session, actions.Plan) error) (*actions.Session, error) {
	var d *actions.Session
	with := o.options.Actions
	with.Author = who.Signature()
	if propose {
		with.Forge = func(_ *git.Remote, place string) (forge.Forge, error) { return o.options.Forge(*who, place) }
	}
	with.Trailers = Trailers(*who)
	with.Confirm = func(ctx context.Context, p actions.Plan) error { return confirm(ctx, d, p) }
	var err error
	d, err = actions.Open(ctx, with)
	return d, err
}

// Trailers returns the commit trailers for a person at the page.
func Trailers(who session.Person) []string {
	all := []string{promoter.TrailerVia + ": " + promoter.ViaWeb, promoter.TrailerActor + ": " + who.Actor()}
	if who.Login != "" {
		all = append(all, promoter.TrailerLogin+": "+who.Login)
	}
	for _, name := range who.Aliases {
		all = append(all, promoter.TrailerAlias+": "+name)
	}
	return all
}

// Identity returns a person as an approver or author.
func Identity(who session.Person) gate.Person {
	return gate.Person{Actor: who.Actor(), Login: who.Login, Names: []string{who.Email}, Claims: append(slices.Clone(who.Aliases), who.Name)}
}

func (o *Operator) checkTarget(ctx context.Context, d *actions.Session, who *session.Person, q Request) error {
	if q.isFreeze() {
		return o.checkFreeze(ctx, d, who, q)
	}
	names, err := d.Environments(ctx)
	if err != nil || slices.Contains(names, q.Environment) {
		return err
	}
	return &problem.Refusal{Reason: "there is no environment " + q.Environment, Advice: problem.DidYouMean(q.Environment, names), Kind: ErrUnknown}
}

func (o *Operator) run(ctx context.Context, d *actions.Session, q Request) (actions.Result, error) {
	switch {
	case q.isFreeze():
		return o.runFreeze(ctx, d, q)
	case q.isStack():
		return runStack(ctx, d, q)
	}
	chain := o.options.Store.Snapshot().Chain
	switch q.Lever {
	case Removals:
		change, err := o.findRemovals(q)
		if err != nil {
			return actions.Result{}, err
		}
		return d.Acknowledge(ctx, q.Environment, change, q.Reason)
	case Approve:
		return d.Approve(ctx, actions.Approval{Environment: q.Environment, Lane: q.Lane, Wave: q.Wave, Commit: q.Commit, Reason: q.Reason, Report: &chain})
	case Promote:
		return d.Promote(ctx, actions.Promotion{Environment: q.Environment, Lane: q.Lane, Commit: q.Commit, Reason: q.Reason, Force: q.Force, Report: &chain})
	case Hold:
		if q.Lane != "" {
			return actions.HoldLane(ctx, d, q.Environment, q.Lane, q.Reason)
		}
		return d.Hold(ctx, q.Environment, q.Reason, q.Scope)
	case Release:
		if q.Lane != "" {
			return actions.ReleaseLane(ctx, d, q.Environment, q.Lane, q.Reason)
		}
		return d.Release(ctx, q.Environment, q.Reason)
	default:
		return d.Rollback(ctx, actions.Rollback{Environment: q.Environment, Lane: q.Lane, To: q.Commit, Reason: q.Reason})
	}
}
