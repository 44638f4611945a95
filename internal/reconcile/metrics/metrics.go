// Package metrics counts what the daemon does, in the words of Prometheus.
//
// What the package keeps true: every name begins with fairlead_ and has a unit;
// labels have few values, which the settings and the code decide (environments,
// hosts, operations), and never a URL, a path, a commit or a secret, whatever a
// caller passes; nothing is registered globally; and a nil *[Metrics] counts
// nothing, so that commands without a daemon need none.
package metrics

import (
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics counts what the daemon does, and serves the figures over HTTP. Any
// number of goroutines may use it; nil is one that does nothing.
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

	gitCalls      *prometheus.CounterVec
	gitDuration   *prometheus.HistogramVec
	forgeCalls    *prometheus.CounterVec
	forgeDuration *prometheus.HistogramVec
	rateLimit     *prometheus.GaugeVec
	failing       *prometheus.GaugeVec
	webhooks      *prometheus.CounterVec
}

// New returns metrics with a registry of their own, in which are also those of the
// Go runtime and of the process. The version is that of the program.
func New(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),

		cycles:        counters("cycles_total", "Cycles that ended.", "outcome"),
		cycleDuration: prometheus.NewHistogram(histogram("cycle_duration_seconds", "How long a cycle takes.")),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_environments_waiting", Help: "Environments that wait for their turn in this cycle."}),

		cycleEnded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_cycle_ended_timestamp_seconds", Help: "When the last cycle ended, in Unix time."}),
		unfinished: gauges("environment_unfinished_since_timestamp_seconds",
			"When the work on an environment began that has not ended well since, in Unix time; 0 if it has.", "environment"),

		environmentState:    gauges("environment_state", "1 for the state that an environment is in, 0 for all others.", "environment", "state"),
		environmentDuration: histograms("environment_duration_seconds", "How long one pass over an environment takes.", "environment"),
		problems:            gauges("problems", "Problems of an environment; the severity is problem or warning.", "environment", "severity"),
		assignments:         gauges("assignments", "Assignments of an environment.", "environment"),

		verifications: counters("verifications_total", "Renderings that were made again from nothing: same or different.", "outcome"),
		promotions:    counters("promotions_total", "Commits of the base that an environment was given.", "environment"),

		gitCalls:      counters("git_calls_total", "Git operations on remotes.", "operation", "host", "outcome"),
		gitDuration:   histograms("git_call_duration_seconds", "How long a Git operation on a remote takes.", "operation", "host"),
		forgeCalls:    counters("forge_calls_total", "Calls to forges.", "forge", "operation", "outcome"),
		forgeDuration: histograms("forge_call_duration_seconds", "How long a call to a forge takes.", "forge", "operation"),
		rateLimit:     gauges("forge_rate_limit_remaining", "Calls that a forge still allows in its current window.", "host"),
		failing:       gauges("remote_failing", "1 while a remote fails and is tried less often, 0 otherwise.", "host"),
		webhooks:      counters("webhooks_total", "Webhook deliveries that arrived.", "forge", "outcome"),
	}
	info := gauges("build_info", "1; the label says which version runs.", "version")
	info.WithLabelValues(version).Set(1)
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), info,
		m.cycles, m.cycleDuration, m.waiting, m.cycleEnded, m.unfinished,
		m.environmentState, m.environmentDuration, m.problems, m.assignments, m.promotions, m.verifications,
		m.gitCalls, m.gitDuration, m.forgeCalls, m.forgeDuration, m.rateLimit, m.failing, m.webhooks,
	)
	for _, ok := range []bool{true, false} { // a rate needs a zero to start from
		m.cycles.WithLabelValues(outcome(ok))
		m.verifications.WithLabelValues(sameness(ok))
	}
	m.pages = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fairlead_" + name, Help: help}, labels)
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fairlead_" + name, Help: help}, labels)
}

func histograms(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(histogram(name, help), labels)
}

// histogram has buckets from a quiet poll to a clone that nearly times out.
func histogram(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: "fairlead_" + name, Help: help,
		Buckets: []float64{.005, .02, .1, .5, 1, 2.5, 5, 10, 30, 60, 300},
	}
}

// ServeHTTP answers with all metrics, in the format that the client asks for.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m == nil {
		http.NotFound(w, r)
		return
	}
	m.pages.ServeHTTP(w, r)
}

// Unfinished sets since when the work on an environment has not ended well; zero if it has.
func (m *Metrics) Unfinished(env string, since time.Time) {
	if m == nil {
		return
	}
	seconds := 0.0
	if !since.IsZero() {
		seconds = float64(since.UnixMilli()) / 1000
	}
	m.unfinished.WithLabelValues(label(env)).Set(seconds)
}

// CycleDone counts a cycle that ended at a time.
func (m *Metrics) CycleDone(at time.Time, took time.Duration, ok bool) {
	if m == nil {
		return
	}
	m.cycleEnded.Set(float64(at.UnixMilli()) / 1000)
	m.cycles.WithLabelValues(outcome(ok)).Inc()
	m.cycleDuration.Observe(took.Seconds())
}

// Queue sets how many environments wait for their turn.
func (m *Metrics) Queue(n int) {
	if m == nil {
		return
	}
	m.waiting.Set(float64(n))
}

// states is every state that an environment can be in, so that each of them is a
// series from the start. A test of package web compares them with those of status.
func states() []string {
	return []string{"in-sync", "proposed", "declined", "edited", "foreign", "problems", "failed", "dry-run", "waiting"}
}

// EnvironmentDone counts a pass over an environment, and the state that it left
// the environment in. A state that is not known makes all of them 0.
func (m *Metrics) EnvironmentDone(env, state string, took time.Duration) {
	if m == nil {
		return
	}
	env = label(env)
	for _, s := range states() {
		m.environmentState.WithLabelValues(env, s).Set(number(s == state))
	}
	m.environmentDuration.WithLabelValues(env).Observe(took.Seconds())
}

// ProblemsOf sets how many problems and warnings an environment has.
func (m *Metrics) ProblemsOf(env string, problems, warnings int) {
	if m == nil {
		return
	}
	env = label(env)
	m.problems.WithLabelValues(env, "problem").Set(float64(problems))
	m.problems.WithLabelValues(env, "warning").Set(float64(warnings))
}

// Assignments sets how many assignments an environment has.
func (m *Metrics) Assignments(env string, n int) {
	if m == nil {
		return
	}
	m.assignments.WithLabelValues(label(env)).Set(float64(n))
}

// Verified counts a rendering that was made again from nothing, and whether that gave
// the same.
func (m *Metrics) Verified(same bool) {
	if m == nil {
		return
	}
	m.verifications.WithLabelValues(sameness(same)).Inc()
}

func sameness(same bool) string {
	if same {
		return "same"
	}
	return "different"
}

// Promoted counts a commit of the base that an environment was given.
func (m *Metrics) Promoted(env string) {
	if m == nil {
		return
	}
	m.promotions.WithLabelValues(env).Inc()
}

// Forget removes what is counted of an environment that is no more.
func (m *Metrics) Forget(env string) {
	if m == nil {
		return
	}
	gone := prometheus.Labels{"environment": label(env)}
	for _, vec := range []*prometheus.GaugeVec{m.environmentState, m.unfinished, m.problems, m.assignments} {
		vec.DeletePartialMatch(gone)
	}
	m.environmentDuration.DeletePartialMatch(gone)
	m.promotions.DeletePartialMatch(gone)
}

// gitOperations is what can be done to a remote.
func gitOperations() []string { return []string{"poll", "fetch", "push", "read"} }

// GitCall counts a Git operation on a remote: poll, fetch, push or read; any
// other is counted as "other".
func (m *Metrics) GitCall(op, remote string, took time.Duration, failed bool) {
	if m == nil {
		return
	}
	if !slices.Contains(gitOperations(), op) {
		op = "other"
	}
	at := host(remote)
	m.gitCalls.WithLabelValues(op, at, outcome(!failed)).Inc()
	m.gitDuration.WithLabelValues(op, at).Observe(took.Seconds())
}

// ForgeCall counts a call to a forge. The operation is a word in the source, like
// "list-pulls", and not the path of a request.
func (m *Metrics) ForgeCall(forge, op string, took time.Duration, failed bool) {
	if m == nil {
		return
	}
	at := host(forge)
	m.forgeCalls.WithLabelValues(at, op, outcome(!failed)).Inc()
	m.forgeDuration.WithLabelValues(at, op).Observe(took.Seconds())
}

// RateLimitLeft sets how many calls a forge still allows.
func (m *Metrics) RateLimitLeft(forge string, n int) {
	if m == nil {
		return
	}
	m.rateLimit.WithLabelValues(host(forge)).Set(float64(n))
}

// RemoteBackoff sets whether a remote fails and is tried less often.
func (m *Metrics) RemoteBackoff(remote string, failing bool) {
	if m == nil {
		return
	}
	m.failing.WithLabelValues(host(remote)).Set(number(failing))
}

// webhookForges and webhookOutcomes are the labels of a delivery. A test of package
// webhook compares them with those of its answers.
func webhookForges() []string { return []string{"github", "gitlab", "gitea", "flux"} }

func webhookOutcomes() []string {
	return []string{"woken", "seen", "ping", "ignored", "unknown-repository", "unauthorized", "too-large", "malformed", "not-set-up", "failed"}
}

// Webhook counts a delivery of a kind of forge. A kind or an outcome that is not known
// is counted as "other".
func (m *Metrics) Webhook(forge, outcome string) {
	if m == nil {
		return
	}
	if !slices.Contains(webhookForges(), forge) {
		forge = "other"
	}
	if !slices.Contains(webhookOutcomes(), outcome) {
		outcome = "other"
	}
	m.webhooks.WithLabelValues(forge, outcome).Inc()
}

func outcome(ok bool) string {
	if ok {
		return "ok"
	}
	return "failed"
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
