package webhook

import (
	"errors"
	"net/http"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

const (
	// maxEventAge is the age from which an event is refused. Flux sends its events when they
	// happen and stops retrying after some minutes: an older one was recorded and
	// replayed, and may report as ready what no longer is.
	maxEventAge = 24 * time.Hour
	// maxClockSkew is how far the clock of a cluster may be ahead of ours. Such an event counts
	// from now.
	maxClockSkew = 10 * time.Minute
)

// reporter is what differs between the tools by which clusters report.
type reporter struct {
	name           string
	readCredential func(http.Header) (credential, bool)
	// parse reads the report of a cluster that has proven its name, or, for Flux, of one that
	// has not, and is "".
	parse func(body []byte, cluster string) (observe.Event, error)
	// notReport is the answer to a body that is none.
	notReport response
}

var (
	fluxReporter   = reporter{"flux", readHMAC("X-Signature"), observe.ParseFlux, notFluxEvent}
	argoCDReporter = reporter{"argocd", readToken("Authorization", "Bearer "), observe.ParseArgoCD, notArgoCDEvent}
)

// IsRefusal reports whether an error says that a report does not count.
func IsRefusal(err error) bool {
	return errors.Is(err, observe.ErrNameProven) || errors.Is(err, observe.ErrContested) || errors.Is(err, observe.ErrRenamed)
}

// serveReport answers a cluster that proves its name with its own key.
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

// answerReport answers a report: of a cluster that has one of the keys, or, if that is "", of one that
// knows one of the secrets of all clusters.
func (p *receiver) answerReport(w http.ResponseWriter, r *http.Request, by reporter, cluster string, secrets []string, err error) {
	w.Header().Set("Connection", "close") // senders make a client for each event, and leave its connection open
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

// finish counts what has become of a report, and answers it.
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

// handleReport handles a report whose sender is authenticated.
func (p *receiver) handleReport(by reporter, body []byte, cluster string) response {
	now := p.options.Now()
	if cluster != "" { // all clusters share the other secret
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
	if e.When.After(now) { // or else it would hide the cluster's next event
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
