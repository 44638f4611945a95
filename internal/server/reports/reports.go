// Package reports receives reports of agents on clusters.
//
// What the package keeps true: a sender without a cluster's key has no effect, and one with it
// speaks only for that cluster. The signature is checked before the body is parsed. Replays are
// refused. A cluster's place follows from its objects' repository, branch and folder, not from a
// name that it claims. Rates and memory are bounded. There is no clock and no network.
package reports

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/server/intake"
)

const (
	// maxBodies is the number of largest bodies in memory.
	maxBodies = 64
	// burst is the number of a cluster's requests at once; refill is the time until another one.
	burst  = 30
	refill = time.Second
	// maxSkew is the tolerated deviation of a cluster's clock.
	maxSkew        = 10 * time.Minute
	unavailableFor = time.Minute
)

// Options configures a receiver. Only Every, Refuse, Observe and Logger are optional.
type Options struct {
	// Keys returns a cluster's valid keys; none if not set up.
	Keys func(cluster string, now time.Time) ([]string, error)
	// Receive stores a report. It must be safe for concurrent use.
	Receive func(ledger.Contact, []ledger.Report) (ledger.Receipt, error)
	Places  func() []Place
	// Every returns the interval for an agent that intends this one.
	Every func(time.Duration) time.Duration
	Now   func() time.Time
	// Refuse counts a request with a wrong or missing key, by cluster.
	Refuse func(cluster string)
	// Observe counts a request by outcome: unchanged, changes, everything, want-everything,
	// replayed, contested, second-name, renamed, unauthorized, malformed, too-large, too-many,
	// not-set-up or unavailable.
	Observe func(outcome string)
	Logger  *slog.Logger
}

// New returns the handler of POST [agentapi.Path]. It is safe for concurrent use.
func New(o Options) http.Handler {
	if o.Observe == nil {
		o.Observe = func(string) {}
	}
	if o.Refuse == nil {
		o.Refuse = func(string) {}
	}
	if o.Every == nil {
		o.Every = func(asked time.Duration) time.Duration { return asked }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &receiver{options: o, room: intake.NewRoom(maxBodies * agentapi.MaxBody), rates: intake.NewRates(burst, refill)}
}

type receiver struct {
	options Options
	room    *intake.Room
	rates   *intake.Rates
}

func (p *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := p.receive(w, r)
	p.options.Observe(a.outcome)
	if a.outcome == unauthorized.outcome {
		p.options.Refuse(r.Header.Get(agentapi.ClusterHeader))
	}
	a.writeTo(w)
}

func (p *receiver) receive(w http.ResponseWriter, r *http.Request) response {
	now := p.options.Now()
	cluster := r.Header.Get(agentapi.ClusterHeader)
	if ledger.CheckClusterName(cluster) != nil {
		return unauthorized
	}
	keys, err := p.options.Keys(cluster, now)
	switch {
	case err != nil:
		p.options.Logger.Warn("the keys of clusters cannot be derived", "error", err)
		return keysUnreadable
	case len(keys) == 0:
		return notSetUp
	case r.ContentLength > agentapi.MaxBody:
		return tooLarge
	}
	body, release, err := p.room.ReadBody(w, r, agentapi.MaxBody)
	defer release()
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return tooLarge
	}
	switch {
	case err != nil:
		return refuseMalformed("the body ended too early")
	case !agentapi.Verify(r.Header.Get(agentapi.SignatureHeader), keys, r.Method, body):
		return unauthorized
	}
	if wait := p.rates.TakeToken(cluster, now); wait > 0 {
		return tooMany(wait)
	}
	request, err := agentapi.Decode(body, r.Header.Get("Content-Encoding") == "gzip")
	switch {
	case err != nil:
		return refuseMalformed(err.Error())
	case request.Cluster != cluster:
		return unauthorized
	}
	return p.handOn(request, p.isOldKey(r, body, keys, now), now)
}

// isOldKey reports whether the key is valid now but not after the overlap, because it was renewed.
func (p *receiver) isOldKey(r *http.Request, body []byte, keys []string, now time.Time) bool {
	if len(keys) == 1 {
		return false
	}
	later, err := p.options.Keys(r.Header.Get(agentapi.ClusterHeader), now.Add(ledger.KeyOverlap))
	return err == nil && !agentapi.Verify(r.Header.Get(agentapi.SignatureHeader), later, r.Method, body)
}

func (p *receiver) handOn(request agentapi.Request, oldKey bool, now time.Time) response {
	contact := request.Contact(now)
	contact.OldKey = oldKey
	if contact.Sent.After(now) { // otherwise a clock that is set back would block the next start
		contact.Sent = now
	}
	contact.Group, contact.Platform, contact.Others = FindPlatform(request.Entries, p.options.Places())
	receipt, err := p.options.Receive(contact, request.Reports(findShift(request.Sent, now)))
	if err != nil {
		p.options.Logger.Warn("what a cluster reports cannot be stored", "cluster", contact.Name, "error", err)
		return unavailable
	}
	switch receipt.Admission {
	case ledger.Replayed:
		return replayed
	case ledger.Contested:
		return refuseContested(contact, receipt.UID)
	case ledger.SecondName:
		return secondName
	case ledger.Renamed:
		return renamed
	case ledger.Admitted:
	}
	answer := agentapi.Answer{}
	if every := p.options.Every(contact.Every); every != contact.Every {
		answer.Every = every.String()
	}
	outcome := outcomes[contact.Scope]
	if receipt.WantsEverything {
		answer.Want, outcome = agentapi.WantFull, "want-everything"
	}
	if receipt.Refused > 0 {
		p.options.Logger.Warn("there is no room for more objects", "cluster", contact.Name, "objects", receipt.Refused)
	}
	return acceptReport(outcome, answer)
}

var outcomes = map[ledger.Scope]string{ledger.Nothing: "unchanged", ledger.Changes: "changes", ledger.Everything: "everything"}

// findShift returns the correction of a cluster's times. A clock only orders a cluster's reports,
// so it is corrected only if far off or ahead: a future time would outlast later reports.
func findShift(sent, received time.Time) time.Duration {
	if behind := received.Sub(sent); behind < 0 || behind > maxSkew {
		return behind
	}
	return 0
}
