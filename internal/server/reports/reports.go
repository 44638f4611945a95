// Package reports receives what agents on clusters report of their objects.
//
// What the package keeps true: a sender that does not know the key of a cluster causes nothing, and
// can only speak for the cluster that the key is of; the signature is checked before the body is
// read; a report that was recorded and is sent again is refused; what a cluster belongs to follows
// from the repository, the branch and the folder that its objects come from, and from no name that it
// gives itself; how much one cluster may send is bounded, and so is all memory. There is no clock and
// no network in here.
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
	// maxBodies is how many of the largest bodies are in memory at the same time.
	maxBodies = 64
	// burst is how many requests of a cluster may come at once, and refill how long it takes until
	// there may be one more.
	burst  = 30
	refill = time.Second
	// maxSkew is how far the clock of a cluster may be off before its times are replaced by ours.
	maxSkew = 10 * time.Minute
	// unavailableFor is after how long an agent should try again when nothing can be stored.
	unavailableFor = time.Minute
)

// Options configures a receiver. Only Observe and Logger may be left out.
type Options struct {
	// Keys returns the keys of a cluster that are good at a time; none if there are no keys at all.
	Keys func(cluster string, now time.Time) ([]string, error)
	// Receive takes in what a cluster reports. An error means that it could not be stored. It is
	// called for many clusters at once.
	Receive func(ledger.Contact, []ledger.Report) (ledger.Receipt, error)
	// Places returns where the outputs of environments are.
	Places func() []Place
	// Every returns how often an agent should report that means to do so in a time: usually that.
	// It may be nil.
	Every func(time.Duration) time.Duration
	// Now is the clock.
	Now func() time.Time
	// Refuse counts a request under the name of a cluster whose key was missing or wrong. It may be nil.
	Refuse func(cluster string)
	// Observe counts a request by what has become of it: unchanged, changes, everything,
	// want-everything, replayed, contested, renamed, unauthorized, malformed, too-large, too-many,
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

// receiver authenticates reports and hands them on.
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

// receive authenticates a request, and hands on what it reports.
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

// isOldKey reports whether a request is signed with a key that was renewed since: one of those that are
// good now, and not a day later.
func (p *receiver) isOldKey(r *http.Request, body []byte, keys []string, now time.Time) bool {
	if len(keys) == 1 {
		return false
	}
	later, err := p.options.Keys(r.Header.Get(agentapi.ClusterHeader), now.Add(ledger.KeyOverlap))
	return err == nil && !agentapi.Verify(r.Header.Get(agentapi.SignatureHeader), later, r.Method, body)
}

// handOn hands on what a cluster reports that has proven its name.
func (p *receiver) handOn(request agentapi.Request, oldKey bool, now time.Time) response {
	contact := request.Contact(now)
	contact.OldKey = oldKey
	if contact.Sent.After(now) { // or else a clock that is put back would keep the next start out
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

// findShift returns what has to be added to the times of a cluster. Its clock orders what it reports,
// and nothing else, so that a wrong one is left alone, unless it is far off, or ahead: what is in the
// future would outlast what comes next.
func findShift(sent, received time.Time) time.Duration {
	if behind := received.Sub(sent); behind < 0 || behind > maxSkew {
		return behind
	}
	return 0
}
