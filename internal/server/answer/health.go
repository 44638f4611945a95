package answer

import (
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Credential is what is known of a credential of the settings: whether requests are left, and when it
// expires.
type Credential struct {
	status.Credential
	// State is the most urgent one of Concerns.
	State  State          `json:"state"`
	Limits []RequestLimit `json:"limits"`
	Expiry State          `json:"expiry"`
	// Concerns are why a person should look at it, the most urgent first.
	Concerns []Concern `json:"concerns"`
}

// RequestLimit is a limit of the requests with a credential, and whether enough of it is left.
type RequestLimit struct {
	status.RequestLimit
	State State `json:"state"`
}

// Concern is what a person should do something about.
type Concern struct {
	State  State  `json:"state"`
	Reason string `json:"reason"`
	Hint   string `json:"hint"`
}

const (
	// fewLeft is the divisor of a limit below which few requests are left: a tenth.
	fewLeft = 10
	// expiresSoon is how long before its end a credential is warned about.
	expiresSoon = 7 * 24 * time.Hour
	// maxWaiting is how many environments a warning names.
	maxWaiting = 5

	limitHint  = "poll less often, or give Fairlead a credential of its own: all programs that use this one share its limit"
	expiryHint = "make a new one, and write it where the settings have this one: see https://github.com/fairlead-io/fairlead/blob/main/docs/how-to/rotate-tokens.md"
)

// Health returns the state of Fairlead itself, and why it is not ready.
func (s Source) Health() (State, []string) {
	reasons, silent := slices.Clone(s.Reasons), 0
	for _, r := range s.Snapshot.Remotes {
		if r.Error != "" {
			silent++
		}
	}
	if silent > 0 {
		reasons = append(reasons, fmt.Sprintf("%d of %d repositories answer", len(s.Snapshot.Remotes)-silent, len(s.Snapshot.Remotes)))
	}
	for _, u := range s.Overdue {
		reasons = append(reasons, s.Snapshot.OverdueReason(u))
	}
	var warned []string
	for _, c := range s.Concerns() {
		if c.State.Tone == Bad {
			reasons = append(reasons, c.Reason)
		} else {
			warned = append(warned, c.Reason)
		}
	}
	all := append(reasons, warned...)
	switch {
	case len(s.Reasons) > 0:
		return State{Bad, "not ready"}, all
	case len(reasons) > 0:
		return failing, all
	case len(warned) > 0:
		return State{Waiting, Warning}, all
	}
	return State{Good, "ready"}, nil
}

// Credentials returns what is known of the credentials of the settings.
func (s Source) Credentials() []Credential {
	all := []Credential{}
	for _, c := range s.Snapshot.Credentials {
		all = append(all, s.describeCredential(c))
	}
	return all
}

func (s Source) describeCredential(c status.Credential) Credential {
	shown := Credential{Credential: c, State: State{Good, "in use"}, Limits: []RequestLimit{}, Expiry: s.findExpiry(c), Concerns: []Concern{}}
	if c.Asked.IsZero() {
		shown.State = State{Unknown, "not asked yet"}
	}
	// All environments are looked at for it, on each page, and most credentials have no concern.
	waits := func() string { return s.describeWaiting(c) }
	if reason := describeExpiry(c, shown.Expiry, waits); reason != "" {
		shown.Concerns = append(shown.Concerns, Concern{shown.Expiry, reason, expiryHint})
	}
	if c.Refused && shown.Expiry.Tone != Bad {
		shown.Concerns = append(shown.Concerns, Concern{State{Bad, "refused"}, "the forge does not accept the token: " + waits(), expiryHint})
	}
	none := false
	for _, l := range c.Limits {
		state := s.findLimitState(l)
		shown.Limits = append(shown.Limits, RequestLimit{l, state})
		none = none || state == noneLeft
		if reason := describeLimit(l, state, waits); reason != "" {
			shown.Concerns = append(shown.Concerns, Concern{state, reason, limitHint})
		}
	}
	if s.Now.Before(c.RetryAt) && !none {
		shown.Concerns = append(shown.Concerns, Concern{noneLeft, "the forge takes no more requests until " + c.RetryAt.UTC().Format(time.RFC3339) + ": " + waits() + " until then", limitHint})
	}
	slices.SortStableFunc(shown.Concerns, func(a, b Concern) int { return CompareUrgency(b.State.Tone, a.State.Tone) })
	if len(shown.Concerns) > 0 {
		shown.State = shown.Concerns[0].State
	}
	return shown
}

var noneLeft = State{Bad, "none left"}

// findLimitState returns whether enough of a limit is left. Of one that has begun anew since it was told, that is
// not known.
func (s Source) findLimitState(l status.RequestLimit) State {
	switch {
	case !l.Resets.IsZero() && !s.Now.Before(l.Resets):
		return State{Unknown, "began anew"}
	case l.Remaining == 0:
		return noneLeft
	case l.Remaining < l.Limit/fewLeft:
		return State{Waiting, "few left"}
	}
	return State{Good, "enough left"}
}

func (s Source) findExpiry(c status.Credential) State {
	switch left := c.Expires.Sub(s.Now); {
	case c.Renewed:
		return State{Good, "renewed"}
	case c.Expires.IsZero():
		return State{Unknown, "not known"}
	case left <= 0:
		return State{Bad, "expired"}
	case left < expiresSoon:
		return State{Waiting, "expires soon"}
	}
	return State{Good, "valid"}
}

// describeExpiry returns why a person should look at when a credential expires; "" if nobody needs to.
func describeExpiry(c status.Credential, state State, waits func() string) string {
	at := c.Expires.UTC().Format(time.RFC3339)
	switch state.Tone {
	case Bad:
		return "the token expired at " + at + ": " + waits()
	case Waiting:
		return "the token expires at " + at + ": from then on " + waits()
	}
	return ""
}

// describeLimit returns why a person should look at a limit; "" if nobody needs to.
func describeLimit(l status.RequestLimit, state State, waits func() string) string {
	named, until := "", ""
	if l.Name != "" {
		named = " of " + l.Name
	}
	if !l.Resets.IsZero() {
		until = " until " + l.Resets.UTC().Format(time.RFC3339)
	}
	switch state.Tone {
	case Bad:
		return fmt.Sprintf("no request%s is left%s: %s", named, until, waits())
	case Waiting:
		return fmt.Sprintf("%d of %d requests%s are left%s; without any, %s", l.Remaining, l.Limit, named, until, waits())
	}
	return ""
}

// describeWaiting returns what waits while a credential cannot be used, with the environments whose output it is for.
func (s Source) describeWaiting(c status.Credential) string {
	var names []string
	for _, e := range s.Snapshot.Environments {
		uses := func(url string) bool { return giturl.Normalize(url) == giturl.Normalize(e.Output.Repo) }
		if e.Output.Repo != "" && slices.ContainsFunc(c.Repositories, uses) {
			names = append(names, e.Name)
		}
	}
	if len(names) == 0 {
		return "pull requests and commit statuses wait"
	}
	if rest := len(names) - maxWaiting; rest > 0 {
		names = append(names[:maxWaiting], fmt.Sprintf("%d more", rest))
	}
	return "pull requests and commit statuses of " + text.Join(names, " and ") + " wait"
}

// Concerns returns what a person should do something about before it keeps Fairlead from its work, or because it
// does, each after what it is about.
func (s Source) Concerns() (all []Concern) {
	for _, c := range s.Credentials() {
		for _, w := range c.Concerns {
			w.Reason = c.URL + ": " + w.Reason
			all = append(all, w)
		}
	}
	for _, f := range s.Snapshot.Examination.Findings {
		if f.Level == status.LevelFail {
			all = append(all, Concern{failing, f.Subject + ": " + f.Message, f.Hint})
		}
	}
	return all
}

// examination returns what was found when the set-up was checked last: what fails first, and then warnings.
func (s Source) examination() status.Examination {
	e := s.Snapshot.Examination
	order := []status.Level{status.LevelFail, status.LevelWarn, status.LevelOK}
	e.Findings = append([]status.Finding{}, e.Findings...)
	slices.SortStableFunc(e.Findings, func(a, b status.Finding) int { return slices.Index(order, a.Level) - slices.Index(order, b.Level) })
	return e
}

func (s Source) expiryNeeds() (needs []Need) {
	for _, c := range s.Snapshot.Credentials {
		state := s.findExpiry(c)
		if reason := describeExpiry(c, state, func() string { return s.describeWaiting(c) }); reason != "" {
			needs = append(needs, Need{State: state, Reason: c.URL + ": " + reason})
		}
	}
	return needs
}
