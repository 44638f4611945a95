// Package webhook receives the webhooks of forges and the events of clusters, and wakes
// the loop for them.
//
// What the package keeps true: a delivery of a forge is a hint and decides nothing. It
// only makes the loop poll a repository now instead of at the next poll; what the loop
// does then follows from the repository, never from the payload. So a delivery that is
// missed, forged or repeated costs at most one poll. An event of a cluster is handed on
// as that cluster's report, unless it is too old. A sender that does not know the secret
// causes nothing: the signature is checked before the payload is parsed, a missing one
// is answered like a wrong one, and secrets are compared in constant time. A delivery
// wakes the loop once, however often it arrives, and an event that says the same as the
// one before does not. What is read and what is remembered is
// bounded. There is no clock and no network in here.
package webhook

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/server/intake"
)

// maxBodySize is the size, in bytes, that a body must stay under. GitHub caps payloads at 25 MB.
const maxBodySize = 25_000_000

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	Push   Kind = "push"   // a branch or tag was pushed, made or deleted
	Pull   Kind = "pull"   // a pull request was opened, changed, closed or merged
	Review Kind = "review" // a pull request was reviewed or commented on
	Check  Kind = "check"  // a check or a pipeline changed
	Status Kind = "status" // a commit got a status
	Report Kind = "report" // a cluster reported what it runs
)

// Event is what a delivery claims to have happened. It is untrusted text.
type Event struct {
	Kind Kind
	// Repo is the repository, normalized by [giturl.Normalize] and accepted by Known; ""
	// for a Report.
	Repo string
	// Ref is the full name of a reference, such as refs/heads/main: the one that was
	// pushed or checked, or the target of a pull request. "" if the payload has none.
	Ref string
	// Number is that of the pull request, or 0.
	Number int
	// Action is a word, or "". For Pull it is opened, reopened, edited, synchronize
	// (new commits), ready_for_review, converted_to_draft, closed or merged, whatever
	// the forge calls it; for other kinds it is the forge's own word.
	Action string
}

// Options configures a receiver. Only Report and Observe may be left out.
type Options struct {
	// Secrets returns the secrets of a kind of forge ("github", "gitlab", "gitea"), or of
	// "flux"; a delivery that is signed with one of them is accepted. It is called for
	// each delivery, so that secrets can be rotated. If there are none, or only empty
	// ones, this kind is not set up.
	Secrets func(forge string) ([]string, error)
	// Known reports whether the loop reads or writes a repository, whose URL is
	// normalized by [giturl.Normalize].
	Known func(repo string) bool
	// Wake is called at most once for a delivery. It must not block.
	Wake func(Event)
	// Report is called for each event of a cluster, however often it arrives, and returns
	// whether it is news: only then Wake is called. nil means that "flux" is not set up.
	Report func(observe.Event) (news bool)
	// Now is the clock by which deliveries are forgotten, and events are too old.
	Now func() time.Time
	// Observe counts a delivery: the kind of forge, or flux, and woken, seen, ping, ignored,
	// unknown-repository, unauthorized, too-large, malformed, not-set-up or failed.
	Observe func(forge, outcome string)
}

// New returns the handler of POST /webhooks/github, /webhooks/gitlab, /webhooks/gitea
// (Forgejo too) and /webhooks/flux. It is safe for concurrent use.
func New(o Options) http.Handler {
	if o.Observe == nil {
		o.Observe = func(string, string) {}
	}
	p := &receiver{options: o, deliveries: newDeliveryLog(), room: intake.NewRoom(4 * maxBodySize)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /webhooks/{forge}", p.serveDelivery)
	return mux
}

// receiver authenticates deliveries and hands them on.
type receiver struct {
	options    Options
	deliveries *deliveryLog
	room       *intake.Room
}

func (p *receiver) serveDelivery(w http.ResponseWriter, r *http.Request) {
	for _, f := range append(slices.Clone(forgeSenders), fluxSender) {
		if f.name == r.PathValue("forge") {
			if f.name == fluxSender.name { // it makes a client for each event, and leaves the connection of each open
				w.Header().Set("Connection", "close")
			}
			a := p.authenticate(w, r, f)
			p.options.Observe(f.name, a.outcome)
			a.writeTo(w)
			return
		}
	}
	unknownSender.writeTo(w)
}

// authenticate checks that the sender knows a secret, and then handles the delivery. What the
// header alone shows to be wrong is refused before the body is read.
func (p *receiver) authenticate(w http.ResponseWriter, r *http.Request, f sender) response {
	secrets, err := p.options.Secrets(f.name)
	proof, proven := f.readCredential(r.Header)
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return s == "" }) // an empty secret is no secret
	switch {
	case err != nil:
		return secretUnreadable
	case len(secrets) == 0, f.name == fluxSender.name && p.options.Report == nil:
		return notSetUp
	case r.ContentLength >= maxBodySize:
		return tooLarge
	case !proven || proof.isToken() && !proof.matchesAny(secrets, nil):
		return unauthorized
	}
	body, release, err := p.room.ReadBody(w, r, maxBodySize-1)
	defer release()
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return tooLarge
	}
	switch {
	case err != nil:
		return malformed
	case !proof.matchesAny(secrets, body):
		return unauthorized
	}
	return p.handleDelivery(f, r.Header, body)
}

// handleDelivery handles a delivery whose sender knows the secret.
func (p *receiver) handleDelivery(f sender, header http.Header, body []byte) response {
	if f.name == fluxSender.name {
		return p.handleReport(body)
	}
	name := firstHeader(header, f.eventHeaders)
	if name == "ping" {
		return pong
	}
	event, urls, err := f.parse(name, body)
	switch {
	case errors.Is(err, errIrrelevant):
		return ignored
	case err != nil:
		return malformed
	}
	// A forge names a repository by several URLs, and the control plane may use any.
	for _, url := range urls {
		if repo := giturl.Normalize(url); event.Repo == "" && p.options.Known(repo) {
			event.Repo = repo
		}
	}
	if event.Repo == "" {
		return unknownRepository
	}
	if !p.deliveries.addNew(p.options.Now(), deliveryKeys(f.name, firstHeader(header, f.deliveryHeaders), body)...) {
		return repeated
	}
	p.options.Wake(event)
	return woken
}

// firstHeader returns the value of the first of the headers that is set.
func firstHeader(header http.Header, names []string) string {
	for _, name := range names {
		if value := header.Get(name); value != "" {
			return value
		}
	}
	return ""
}
