// Package webhook receives what forges send when something happened in a repository,
// and what clusters report, and wakes the loop for it.
//
// What the package keeps true: a delivery of a forge is a hint and decides nothing. All
// that it can cause is that the loop looks at a repository now, which it does anyway at
// the next poll; what the loop then does follows from what it finds there, and never
// from a payload. So one that is missed, forged or repeated costs at most one poll. An
// event of a cluster is handed on as what the cluster has said, unless it is too old to
// be new. In both cases, who does not know the secret causes nothing at all: the
// signature is checked before a payload is looked at, an absent one gets the same answer
// as a wrong one, and secrets are compared in a time that says nothing about them. A
// delivery wakes the loop once, however often it arrives. What is read and what is
// remembered is bounded. There is no clock and no network in here.
package webhook

import (
	"errors"
	"net/http"
	"time"

	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

const (
	// tooMuch is the size, in bytes, that a body must stay under. GitHub sends no
	// payload over 25 MB.
	tooMuch = 25_000_000
)

// Kind says what happened.
type Kind string

// The kinds of events.
const (
	Push   Kind = "push"   // a branch or tag was pushed, made or deleted
	Pull   Kind = "pull"   // a pull request was opened, changed, closed or merged
	Review Kind = "review" // somebody reviewed a pull request, or commented on it
	Check  Kind = "check"  // there is news of a check or a pipeline
	Status Kind = "status" // a commit got a status
	Report Kind = "report" // a cluster has said what it runs
)

// Event is what a delivery says has happened. It is text from outside.
type Event struct {
	Kind Kind
	// Repo is the repository, as [giturl.Normalize] gives it, and as Known knew it; "" for
	// a Report.
	Repo string
	// Ref is the whole name of a reference, as in refs/heads/main: what was pushed,
	// what was checked, what a pull request is to be merged into. "" if it is not said.
	Ref string
	// Number is that of the pull request, or 0.
	Number int
	// Action is a word, or "". For Pull it is opened, reopened, edited, synchronize
	// (it has new commits), ready_for_review, converted_to_draft, closed or merged,
	// whatever the forge's own word; for others it is the forge's.
	Action string
}

// Options is what a receiver needs. Only Report and Observe may be left out.
type Options struct {
	// Secrets gives the secrets of a kind of forge ("github", "gitlab", "gitea"), or of
	// "flux"; a delivery that one of them is good for is let in. It is asked for each
	// delivery, so that secrets can be changed. None, or only empty ones, means that
	// this kind is not set up.
	Secrets func(forge string) ([]string, error)
	// Known reports whether the loop reads or writes a repository, given as
	// [giturl.Normalize] does.
	Known func(repo string) bool
	// Wake is called at most once for a delivery. It must not wait.
	Wake func(Event)
	// Report is called at most once for what a cluster says, before Wake. Without it
	// "flux" is not set up.
	Report func(observe.Event)
	// Now is the clock by which deliveries are forgotten, and events are too old.
	Now func() time.Time
	// Observe counts a delivery: the kind of forge, or flux, and woken, seen, ping, ignored,
	// unknown-repository, unauthorized, too-large, malformed, not-set-up or failed.
	Observe func(forge, outcome string)
}

// New gives the handler of POST /webhooks/github, /webhooks/gitlab, /webhooks/gitea,
// which is Forgejo's too, and /webhooks/flux. Any number of goroutines may use it.
func New(o Options) http.Handler {
	if o.Observe == nil {
		o.Observe = func(string, string) {}
	}
	p := &post{Options: o, memory: newMemory(), pieces: make(chan struct{}, atOnce)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /webhooks/{forge}", p.receive)
	return mux
}

// post is where deliveries arrive.
type post struct {
	Options
	memory *memory
	pieces chan struct{} // has an element for each piece of a body that is in memory
}

func (p *post) receive(w http.ResponseWriter, r *http.Request) {
	f, ok := forgeOf(r.PathValue("forge"))
	if !ok {
		noForge.write(w)
		return
	}
	a := p.admit(w, r, f)
	p.Observe(f.name, a.outcome)
	a.write(w)
}

// admit lets in who knows a secret, before more is read than the header.
func (p *post) admit(w http.ResponseWriter, r *http.Request, f forge) answer {
	secrets, err := p.Secrets(f.name)
	proof, proven := f.proof(r.Header)
	switch secrets = withoutEmpty(secrets); {
	case err != nil:
		return failed
	case len(secrets) == 0, f.name == flux.name && p.Report == nil:
		return notSetUp
	case r.ContentLength >= tooMuch:
		return tooLarge
	case !proven || proof.isToken() && !proof.holds(secrets, nil):
		return unauthorized
	}
	body, release, err := p.body(w, r)
	defer release()
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return tooLarge
	}
	switch {
	case err != nil:
		return malformed
	case !proof.holds(secrets, body):
		return unauthorized
	}
	return p.read(f, r.Header, body)
}

// read looks at a delivery of somebody who knows the secret.
func (p *post) read(f forge, header http.Header, body []byte) answer {
	if f.name == flux.name {
		return p.report(body)
	}
	name := first(header, f.event)
	if name == "ping" {
		return pong
	}
	event, places, err := f.parse(name, body)
	switch {
	case errors.Is(err, errOther):
		return ignored
	case err != nil:
		return malformed
	}
	if event.Repo = p.known(places); event.Repo == "" {
		return unknownRepository
	}
	if !p.memory.isNew(p.Now(), keys(f.name, first(header, f.delivery), body)...) {
		return seen
	}
	p.Wake(event)
	return woken
}

// known gives the first of the places that the loop knows, or "". A forge names a
// repository by several URLs, of which the control plane may have any.
func (p *post) known(places []string) string {
	for _, place := range places {
		if repo := giturl.Normalize(place); repo != "" && p.Known(repo) {
			return repo
		}
	}
	return ""
}

func withoutEmpty(secrets []string) []string {
	var good []string
	for _, s := range secrets {
		if s != "" { // everybody knows the empty secret
			good = append(good, s)
		}
	}
	return good
}

// first gives the value of the first of the headers that is there.
func first(header http.Header, names []string) string {
	for _, name := range names {
		if value := header.Get(name); value != "" {
			return value
		}
	}
	return ""
}
