// Package webhook receives webhooks of forges and events of clusters, and wakes the loop. It also
// answers tofu-controller whether a plan is the approved one.
//
// What the package keeps true:
//   - A forge's delivery is a hint: it only causes a poll now instead of later. So a
//     missed, forged or repeated delivery costs at most one poll.
//   - A cluster's event is passed on as that cluster's report, unless it is too old.
//   - Signatures are checked before parsing, in constant time; a missing one is
//     answered like a wrong one.
//   - A delivery wakes the loop once, and an event only if it is news.
//   - Memory is bounded. There is no clock and no network.
//   - A plan query needs no secret: its answer follows only from the query, which has
//     no effect. Only a plan sent with a cluster's key is passed on.
package webhook

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/cost"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
	"github.com/fairlead-io/fairlead/internal/server/intake"
)

const (
	// maxBodySize is GitHub's limit, in bytes.
	maxBodySize = 25_000_000
	// maxReportSize bounds clusters' bodies. Flux limits an event's message to 39,000 characters.
	maxReportSize = 1 << 20
	// burst is the number of events of a cluster at once, as in a rollout; refill is the time until
	// another one.
	burst  = 1000
	refill = 100 * time.Millisecond
)

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	Push   Kind = "push"
	Pull   Kind = "pull"
	Review Kind = "review"
	Check  Kind = "check"
	Status Kind = "status"
	Report Kind = "report"
)

// Event is the claim of a delivery. It is untrusted.
type Event struct {
	Kind Kind
	// Repo is normalized by [giturl.Normalize] and accepted by Known; "" for a Report.
	Repo string
	// Ref is the full name of the pushed or checked reference, or of a pull request's target; "" if
	// unknown.
	Ref    string
	Number int
	// Action is a word, or "". For Pull it is opened, reopened, edited, synchronize (new commits),
	// ready_for_review, converted_to_draft, closed or merged; for other kinds it is the forge's
	// word.
	Action string
}

// Options configures a receiver. Only ClusterKeys, Report, Plan, Observe and Refuse are optional.
type Options struct {
	// Secrets returns the accepted secrets of "github", "gitlab", "gitea" or "flux". It is called
	// for each delivery, to permit rotation. Without a secret, the kind is not set up.
	Secrets func(forge string) ([]string, error)
	// Known reports whether the loop uses a repository, normalized by [giturl.Normalize].
	Known func(repo string) bool
	// Wake is called at most once per delivery. It must not block.
	Wake func(Event)
	// ClusterKeys returns a cluster's valid keys, or nil. It is called for each report, with the
	// name in its address.
	ClusterKeys func(cluster string, now time.Time) ([]string, error)
	// Report is called for each cluster event and returns whether it is news; only then Wake is
	// called. The error satisfies [IsRefusal]. nil disables reports.
	Report func(observe.Event) (news bool, err error)
	// Plan is called for each plan with a cluster's key, and returns whether it is kept. nil
	// disables plans.
	Plan func(cluster string, r tfplan.Report) (kept bool)
	// Costs reads the costs of plans; nil for Infracost.
	Costs *cost.Expression
	Now   func() time.Time
	// Observe counts a delivery by sender and outcome: woken, seen, ping, ignored,
	// unknown-repository, unauthorized, unproven, contested, renamed, too-large, too-many,
	// malformed, not-set-up or failed; for plans also passed or refused.
	Observe func(forge, outcome string)
	// Refuse counts a report with a wrong or missing key, by cluster ("" for the shared secret).
	Refuse func(cluster string)
}

// New returns the handler of POST /webhooks/github, /webhooks/gitlab, /webhooks/gitea (also
// Forgejo) and /webhooks/flux, and of /webhooks/flux/CLUSTER, /webhooks/argocd/CLUSTER and
// /webhooks/plans/CLUSTER. It is safe for concurrent use.
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

type receiver struct {
	options    Options
	deliveries *deliveryLog
	room       *intake.Room
	rates      *intake.Rates // of events with a cluster's key
	plans      chan struct{} // one plan at a time: it takes much memory
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

type authentication struct {
	readCredential     func(http.Header) (credential, bool)
	secrets            []string
	err                error
	maxSize            int64
	tooLarge, notSetUp response
}

// authenticate checks the sender before calling handle, by the header alone if possible.
func (p *receiver) authenticate(w http.ResponseWriter, r *http.Request, by authentication, handle func(body []byte) response) response {
	proof, proven := by.readCredential(r.Header)
	secrets := slices.DeleteFunc(slices.Clone(by.secrets), func(s string) bool { return s == "" }) // an empty secret is not a secret
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
	// A forge has several URLs for a repository; the control plane may use any.
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

func firstHeader(header http.Header, names []string) string {
	for _, name := range names {
		if value := header.Get(name); value != "" {
			return value
		}
	}
	return ""
}
