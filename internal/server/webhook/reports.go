package webhook

import (
	"errors"
	"net/http"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

const (
	// maxEventAge rejects replayed events, which may report a state that has passed. Flux stops
	// retrying after minutes.
	maxEventAge = 24 * time.Hour
	// maxClockSkew is how far a cluster's clock may be ahead. Such an event counts from now.
	maxClockSkew = 10 * time.Minute
)

type reporter struct {
	name           string
	readCredential func(http.Header) (credential, bool)
	// parse reads a report; cluster is the proven name, or "" for Flux with the shared secret.
	parse     func(body []byte, cluster string) (observe.Event, error)
	notReport response
}

var (
	fluxReporter   = reporter{"flux", readHMAC("X-Signature"), observe.ParseFlux, notFluxEvent}
	argoCDReporter = reporter{"argocd", readToken("Authorization", "Bearer "), observe.ParseArgoCD, notArgoCDEvent}
)

// IsRefusal reports whether an error means that a report does not count.
func IsRefusal(err error) bool {
	return errors.Is(err, observe.ErrNameProven) || errors.Is(err, observe.ErrContested) || errors.Is(err, observe.ErrRenamed)
}

func (p *receiver) serveReport(w http.ResponseWriter, r *http.Request) {
	cluster := r.PathValue("cluster")
	var keys []string
	var err error
	if p.options.ClusterKeys != nil {
		keys, err = p.options.ClusterKeys(cluster, p.options.Now())
	}
	switch r.PathValue("tool") {
	case fluxReporter.name:
		p.answerReport(w, r, fluxReporter, cluster, keys, err)
	case argoCDReporter.name:
		p.answerReport(w, r, argoCDReporter, cluster, keys, err)
	case planReports:
		p.answerPlan(w, r, cluster, keys, err)
	default:
		unknownReporter.writeTo(w)
	}
}

func (p *receiver) answerReport(w http.ResponseWriter, r *http.Request, by reporter, cluster string, secrets []string, err error) {
	w.Header().Set("Connection", "close") // senders open a connection per event and leave it open
	known := authentication{by.readCredential, secrets, err, maxReportSize, reportTooLarge, notSetUp}
	if cluster != "" {
		known.notSetUp = noClusterKeys
	}
	if p.options.Report == nil {
		known.secrets, known.err = nil, nil
	}
	a := p.authenticate(w, r, known, func(body []byte) response { return p.handleReport(by, body, cluster) })
	p.finish(w, by.name, cluster, a)
}

func (p *receiver) finish(w http.ResponseWriter, sender, cluster string, a response) {
	p.options.Observe(sender, a.outcome)
	if a.outcome == unauthorized.outcome {
		p.options.Refuse(cluster)
		if cluster != "" {
			a = wrongKey
		}
	}
	a.writeTo(w)
}

func (p *receiver) handleReport(by reporter, body []byte, cluster string) response {
	now := p.options.Now()
	if cluster != "" { // the shared secret identifies no cluster
		wait := p.rates.TakeToken(cluster, now)
		if wait > 0 {
			return tooMany(wait)
		}
	}
	e, err := by.parse(body, cluster)
	switch {
	case errors.Is(err, observe.ErrNoReport):
		return ignored
	case errors.Is(err, observe.ErrNoTime):
		return noTimestamp
	case errors.Is(err, observe.ErrOtherCluster):
		return otherCluster
	case err != nil:
		return by.notReport
	case now.Sub(e.When) > maxEventAge:
		return eventTooOld
	case e.When.Sub(now) > maxClockSkew:
		return eventInFuture
	}
	if e.When.After(now) { // otherwise it would hide the cluster's next event
		e.When = now
	}
	news, err := p.options.Report(e)
	switch {
	case errors.Is(err, observe.ErrContested):
		return contested
	case errors.Is(err, observe.ErrRenamed):
		return renamed
	case err != nil:
		return nameProven
	case !news:
		return repeated
	}
	p.options.Wake(Event{Kind: Report, Action: safeWord(string(e.Phase))})
	return woken
}
