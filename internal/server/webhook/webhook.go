// Package webhook receives the webhooks of forges and the events of clusters, and wakes
// the loop for them; and answers tofu-controller whether a plan is the one that was approved.
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
// bounded. There is no clock and no network in here. A question about a plan needs no
// secret: its answer says nothing but what follows from the question, and nothing comes of it. Only a
// plan that a cluster sends with its key is handed on, as what that cluster has planned.
package webhook

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
	"github.com/fairlead-io/fairlead/internal/server/intake"
)

const (
	// maxBodySize is the size, in bytes, that a body must stay under. GitHub caps payloads at 25 MB.
	maxBodySize = 25_000_000
	// maxReportSize is that of what clusters send. Flux caps the message of an event at 39,000
	// characters.
	maxReportSize = 1 << 20
	// burst is how many events of a cluster with a key may come at once, as they do in a rollout, and
	// refill how long it takes until there may be one more.
	burst  = 1000
	refill = 100 * time.Millisecond
)

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

// Options configures a receiver. Only ClusterKeys, Report and Observe may be left out.
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
	// ClusterKeys returns the keys with which a cluster proves its name at a time; none if clusters
	// have none, and nil likewise. It is called for each report, with the name that its address has.
	ClusterKeys func(cluster string, now time.Time) ([]string, error)
	// Report is called for each event of a cluster, however often it arrives, and returns
	// whether it is news: only then Wake is called. The error is one of [IsRefusal], or is nil. nil
	// means that clusters cannot report.
	Report func(observe.Event) (news bool, err error)
	// Plan is called for each plan that a cluster sends with its key, and returns whether it is kept; nil means
	// that clusters cannot send plans.
	Plan func(cluster string, r tfplan.Report) (kept bool)
	// Now is the clock by which deliveries are forgotten, and events are too old.
	Now func() time.Time
	// Observe counts a delivery: the kind of forge, flux or argocd, and woken, seen, ping, ignored,
	// unknown-repository, unauthorized, unproven, contested, renamed, too-large, too-many, malformed, not-set-up or failed.
	Observe func(forge, outcome string)
	// Refuse counts a report under the name of a cluster whose key was missing or wrong; "" for one of
	// the secret of all clusters. It may be nil.
	Refuse func(cluster string)
}

// New returns the handler of POST /webhooks/github, /webhooks/gitlab, /webhooks/gitea
// (Forgejo too) and /webhooks/flux, and of /webhooks/flux/CLUSTER, /webhooks/argocd/CLUSTER and /webhooks/plans/CLUSTER. It is
// safe for concurrent use.
func New(o Options) http.Handler {
	if o.Observe == nil {
		o.Observe = func(string, string) {}
	}
	if o.Refuse == nil {
		o.Refuse = func(string) {}
	}
	p := &receiver{options: o, deliveries: newDeliveryLog(), room: intake.NewRoom(4 * maxBodySize), rates: intake.NewRates(burst, refill), plans: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /webhooks/{forge}", p.serveDelivery)
	mux.HandleFunc("POST /webhooks/{tool}/{cluster}", p.serveReport)
	return mux
}

// receiver authenticates deliveries and hands them on.
type receiver struct {
	options    Options
	deliveries *deliveryLog
	room       *intake.Room
	rates      *intake.Rates // of events with the key of a cluster
	plans      chan struct{} // has an element while a plan is read: that takes much memory
}

func (p *receiver) serveDelivery(w http.ResponseWriter, r *http.Request) {
	kind := r.PathValue("forge")
	for _, f := range forgeSenders {
		if f.name == kind {
			secrets, err := p.options.Secrets(kind)
			a := p.authenticate(w, r, authentication{f.readCredential, secrets, err, maxBodySize, tooLarge, notSetUp}, func(body []byte) response {
				return p.handleDelivery(f, r.Header, body)
			})
			p.options.Observe(kind, a.outcome)
			a.writeTo(w)
			return
		}
	}
	if kind != fluxReporter.name {
		unknownSender.writeTo(w)
		return
	}
	secrets, err := p.options.Secrets(kind)
	p.answerReport(w, r, fluxReporter, "", secrets, err)
}

// authentication is what a sender has to know, and how much it may send.
type authentication struct {
	readCredential     func(http.Header) (credential, bool)
	secrets            []string
	err                error // why the secrets are not known; nil if they are
	maxSize            int64
	tooLarge, notSetUp response
}

// authenticate checks that the sender knows a secret, and then has the body handled. What the
// header alone shows to be wrong is refused before the body is read.
func (p *receiver) authenticate(w http.ResponseWriter, r *http.Request, by authentication, handle func(body []byte) response) response {
	proof, proven := by.readCredential(r.Header)
	secrets := slices.DeleteFunc(slices.Clone(by.secrets), func(s string) bool { return s == "" }) // an empty secret is no secret
	switch {
	case errors.Is(by.err, ledger.ErrClusterName):
		return unauthorized
	case errors.Is(by.err, observe.ErrEpochUnknown):
		return keyUnknown
	case by.err != nil:
		return secretUnreadable
	case len(secrets) == 0:
		return by.notSetUp
	case r.ContentLength >= by.maxSize:
		return by.tooLarge
	case !proven || proof.isToken() && !proof.matchesAny(secrets, nil):
		return unauthorized
	}
	body, release, err := p.room.ReadBody(w, r, by.maxSize-1)
	defer release()
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return by.tooLarge
	}
	switch {
	case err != nil:
		return malformed
	case !proof.matchesAny(secrets, body):
		return unauthorized
	}
	return handle(body)
}

// handleDelivery handles a delivery whose sender knows the secret.
func (p *receiver) handleDelivery(f sender, header http.Header, body []byte) response {
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
