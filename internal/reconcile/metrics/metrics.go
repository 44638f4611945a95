// Package metrics counts the daemon's work for Prometheus.
//
// Names begin with fairlead_ and have a unit. Labels have few values, defined by settings and code,
// and never contain a URL, path, commit or secret. Nothing is registered globally. A nil *[Metrics]
// counts nothing.
package metrics

import (
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Metrics collects figures and serves them over HTTP. It is safe for concurrent use; nil does
// nothing.
type Metrics struct {
	registry *prometheus.Registry
	pages    http.Handler

	cycles        *prometheus.CounterVec
	cycleDuration prometheus.Histogram
	waiting       prometheus.Gauge

	cycleEnded prometheus.Gauge
	unfinished *prometheus.GaugeVec

	environmentState    *prometheus.GaugeVec
	environmentDuration *prometheus.HistogramVec
	problems            *prometheus.GaugeVec
	assignments         *prometheus.GaugeVec
	promotions          *prometheus.CounterVec
	verifications       *prometheus.CounterVec
	promotion           *promotionMetrics

	gitCalls      *prometheus.CounterVec
	gitDuration   *prometheus.HistogramVec
	forgeCalls    *prometheus.CounterVec
	forgeDuration *prometheus.HistogramVec
	rateLimit     *prometheus.GaugeVec
	tokenExpiry   *prometheus.GaugeVec
	failing       *prometheus.GaugeVec
	webhooks      *prometheus.CounterVec
	levers        *prometheus.CounterVec
	fleet         *fleetMetrics
	replica       *replicaMetrics
}

// New returns metrics with their own registry, with Go runtime and process.
func New(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),

		cycles:        newCounterVec("cycles_total", "Cycles that ended.", "outcome"),
		cycleDuration: prometheus.NewHistogram(histogramOptions("cycle_duration_seconds", "How long a cycle takes.")),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_environments_waiting", Help: "Environments that wait for their turn in this cycle."}),

		cycleEnded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_cycle_ended_timestamp_seconds", Help: "When the last cycle ended, in Unix time."}),
		unfinished: newGaugeVec("environment_unfinished_since_timestamp_seconds",
			"When the work on an environment began that has not ended well since, in Unix time; 0 if it has.", "environment"),

		environmentState:    newGaugeVec("environment_state", "1 for the state that the output of an environment is in, 0 for all others.", "environment", "state"),
		environmentDuration: newHistogramVec("environment_duration_seconds", "How long one pass over an environment takes.", "environment"),
		problems:            newGaugeVec("problems", "Problems of an environment; the severity is problem or warning.", "environment", "severity"),
		assignments:         newGaugeVec("assignments", "Assignments of an environment.", "environment"),

		verifications: newCounterVec("verifications_total", "Renderings that were made again from nothing: same or different.", "outcome"),
		promotions:    newCounterVec("promotions_total", "Commits of the base that an environment was given.", "environment"),
		promotion:     newPromotionMetrics(),

		gitCalls:      newCounterVec("git_calls_total", "Git operations on remotes.", "operation", "host", "outcome"),
		gitDuration:   newHistogramVec("git_call_duration_seconds", "How long a Git operation on a remote takes.", "operation", "host"),
		forgeCalls:    newCounterVec("forge_calls_total", "Calls to forges.", "forge", "operation", "outcome"),
		forgeDuration: newHistogramVec("forge_call_duration_seconds", "How long a call to a forge takes.", "forge", "operation"),
		rateLimit:     newGaugeVec("forge_rate_limit_remaining", "Calls that a forge still allows in its current window.", "host"),
		tokenExpiry:   newGaugeVec("forge_token_expiry_timestamp_seconds", "When the first of the tokens for a forge expires, in Unix time; left out where that is not known.", "host"),
		failing:       newGaugeVec("remote_failing", "1 while a remote fails and is tried less often, 0 otherwise.", "host"),
		webhooks:      newCounterVec("webhooks_total", "Webhook deliveries that arrived.", "forge", "outcome"),
		levers:        newCounterVec("levers_total", "Operator actions at the page and its API, whether they were done or not.", "lever", "outcome"),
		fleet:         newFleetMetrics(),
		replica:       newReplicaMetrics(),
	}
	info := newGaugeVec("build_info", "1; the label says which version runs.", "version")
	info.WithLabelValues(version).Set(1)
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), info,
		m.cycles, m.cycleDuration, m.waiting, m.cycleEnded, m.unfinished,
		m.environmentState, m.environmentDuration, m.problems, m.assignments, m.promotions, m.verifications,
		m.gitCalls, m.gitDuration, m.forgeCalls, m.forgeDuration, m.rateLimit, m.tokenExpiry, m.failing, m.webhooks, m.levers, m.promotion.leadTime,
	)
	for _, vec := range m.promotion.gauges() {
		m.registry.MustRegister(vec)
	}
	for _, ok := range []bool{true, false} { // rates need an initial zero
		m.cycles.WithLabelValues(outcomeLabel(ok))
		m.verifications.WithLabelValues(verificationLabel(ok))
	}
	m.registry.MustRegister(m.fleet.collectors()...)
	m.registry.MustRegister(m.replica.replicas, m.replica.shares, m.replica.taken, m.replica.mine)
	for _, reason := range ledger.RefusalReasons {
		m.fleet.refusals.WithLabelValues(string(reason))
	}
	m.pages = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return m
}

func newCounterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fairlead_" + name, Help: help}, labels)
}

func newGaugeVec(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fairlead_" + name, Help: help}, labels)
}

func newHistogramVec(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(histogramOptions(name, help), labels)
}

// histogramOptions has buckets from a quiet poll to a clone that almost times out.
func histogramOptions(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: "fairlead_" + name, Help: help,
		Buckets: []float64{.005, .02, .1, .5, 1, 2.5, 5, 10, 30, 60, 300},
	}
}

// ServeHTTP serves all metrics.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m == nil {
		http.NotFound(w, r)
		return
	}
	m.pages.ServeHTTP(w, r)
}

// SetUnfinishedSince sets the start of work without success; zero after success.
func (m *Metrics) SetUnfinishedSince(env string, since time.Time) {
	if m == nil {
		return
	}
	m.unfinished.WithLabelValues(safeLabel(env)).Set(unixSeconds(since))
}

func unixSeconds(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return float64(at.UnixMilli()) / 1000
}

// RecordCycle counts a finished cycle.
func (m *Metrics) RecordCycle(at time.Time, took time.Duration, ok bool) {
	if m == nil {
		return
	}
	m.cycleEnded.Set(float64(at.UnixMilli()) / 1000)
	m.cycles.WithLabelValues(outcomeLabel(ok)).Inc()
	m.cycleDuration.Observe(took.Seconds())
}

// SetQueueLength sets the number of waiting environments.
func (m *Metrics) SetQueueLength(n int) {
	if m == nil {
		return
	}
	m.waiting.Set(float64(n))
}

// RecordEnvironment records a pass. All states are series from the start.
func (m *Metrics) RecordEnvironment(r status.Environment) {
	if m == nil {
		return
	}
	name := safeLabel(r.Name)
	for _, s := range status.AllStates() {
		m.environmentState.WithLabelValues(name, string(s)).Set(boolValue(s == r.State))
	}
	m.environmentDuration.WithLabelValues(name).Observe(r.Took.Seconds())
	problems, warnings := r.Problems.Count()
	m.problems.WithLabelValues(name, "problem").Set(float64(problems))
	m.problems.WithLabelValues(name, "warning").Set(float64(warnings))
	m.assignments.WithLabelValues(name).Set(float64(r.Assignments))
}

// RecordVerification counts a repeated rendering by its result.
func (m *Metrics) RecordVerification(same bool) {
	if m == nil {
		return
	}
	m.verifications.WithLabelValues(verificationLabel(same)).Inc()
}

// RecordPromotion counts a promotion.
func (m *Metrics) RecordPromotion(env string) {
	if m == nil {
		return
	}
	m.promotions.WithLabelValues(safeLabel(env)).Inc()
}

// ForgetEnvironment removes the series of an environment.
func (m *Metrics) ForgetEnvironment(env string) {
	if m == nil {
		return
	}
	gone := prometheus.Labels{"environment": safeLabel(env)}
	for _, vec := range []*prometheus.GaugeVec{m.environmentState, m.unfinished, m.problems, m.assignments, m.replica.mine} {
		vec.DeletePartialMatch(gone)
	}
	m.environmentDuration.DeletePartialMatch(gone)
	m.promotions.DeletePartialMatch(gone)
	m.promotion.forget(gone)
	m.ForgetFleet(env)
}

// RecordGitCall records a Git operation: poll, fetch, push, read or "other".
func (m *Metrics) RecordGitCall(op, remote string, took time.Duration, failed bool) {
	if m == nil {
		return
	}
	if !slices.Contains([]string{"poll", "fetch", "push", "read"}, op) {
		op = "other"
	}
	at := hostLabel(remote)
	m.gitCalls.WithLabelValues(op, at, outcomeLabel(!failed)).Inc()
	m.gitDuration.WithLabelValues(op, at).Observe(took.Seconds())
}

// RecordForgeCall records a call. op is a constant such as "list-pulls", never a path.
func (m *Metrics) RecordForgeCall(forge, op string, took time.Duration, failed bool) {
	if m == nil {
		return
	}
	at := hostLabel(forge)
	m.forgeCalls.WithLabelValues(at, op, outcomeLabel(!failed)).Inc()
	m.forgeDuration.WithLabelValues(at, op).Observe(took.Seconds())
}

// SetRateLimitRemaining sets the calls that a forge still allows.
func (m *Metrics) SetRateLimitRemaining(forge string, n int) {
	if m == nil {
		return
	}
	m.rateLimit.WithLabelValues(hostLabel(forge)).Set(float64(n))
}

// SetTokenExpiries sets the first known expiry of tokens by host.
func (m *Metrics) SetTokenExpiries(all []status.Credential) {
	if m == nil {
		return
	}
	first := map[string]time.Time{}
	for _, c := range all {
		host := hostLabel(c.URL)
		if at, known := first[host]; !c.Expires.IsZero() && (!known || c.Expires.Before(at)) {
			first[host] = c.Expires
		}
	}
	m.tokenExpiry.Reset()
	for host, at := range first {
		m.tokenExpiry.WithLabelValues(host).Set(unixSeconds(at))
	}
}

// SetRemoteFailing sets whether a remote fails.
func (m *Metrics) SetRemoteFailing(remote string, failing bool) {
	if m == nil {
		return
	}
	m.failing.WithLabelValues(hostLabel(remote)).Set(boolValue(failing))
}

// RecordLever counts an attempted operator action; unknown ones count as "other".
func (m *Metrics) RecordLever(lever, outcome string) {
	if m == nil {
		return
	}
	if !slices.Contains([]string{"approve", "hold", "release", "rollback", "promote", "freeze", "end-freeze"}, lever) {
		lever = "other"
	}
	if !slices.Contains([]string{"done", "unchanged", "not-allowed", "too-many", "moved", "malformed", "refused"}, outcome) {
		outcome = "failed"
	}
	m.levers.WithLabelValues(lever, outcome).Inc()
}

// RecordWebhook counts a delivery; unknown labels count as "other". A test of package webhook
// compares the lists.
func (m *Metrics) RecordWebhook(forge, outcome string) {
	if m == nil {
		return
	}
	outcomes := []string{"woken", "seen", "ping", "ignored", "unknown-repository", "unauthorized", "unproven", "contested", "renamed", "too-large", "too-many", "malformed", "not-set-up", "failed", "passed", "refused"}
	if !slices.Contains([]string{"github", "gitlab", "gitea", "flux", "argocd", "tofu-controller"}, forge) {
		forge = "other"
	}
	if !slices.Contains(outcomes, outcome) {
		outcome = "other"
	}
	m.webhooks.WithLabelValues(forge, outcome).Inc()
	if forge == "flux" || forge == "argocd" {
		m.fleet.reports.WithLabelValues(forge, outcome).Inc()
	}
}

func outcomeLabel(ok bool) string { return map[bool]string{true: "ok", false: "failed"}[ok] }

func verificationLabel(same bool) string {
	return map[bool]string{true: "same", false: "different"}[same]
}

func boolValue(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
