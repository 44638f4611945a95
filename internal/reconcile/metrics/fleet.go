package metrics

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// maxClusterTypes limits the types with own series. Beyond it none has them.
const maxClusterTypes = 500

type fleetMetrics struct {
	standings *standingCollector
	reports   *prometheus.CounterVec
	refusals  *prometheus.CounterVec
	pending   prometheus.Gauge
	flush     prometheus.Histogram
	size      prometheus.Gauge
}

func newFleetMetrics() *fleetMetrics {
	return &fleetMetrics{
		standings: newStandingCollector(),
		reports:   newCounterVec("fleet_reports_total", "Reports of clusters that arrived.", "source", "outcome"),
		refusals:  newCounterVec("fleet_refusals_total", "Reports of clusters that the ledger refused, whole or in part.", "reason"),
		pending: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_fleet_pending_changes", Help: "Changes that clusters have reported, and that the store of the ledger does not have yet."}),
		flush: prometheus.NewHistogram(histogramOptions("fleet_flush_seconds", "How long it takes to write changes to the store of the ledger.")),
		size:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "fairlead_fleet_store_bytes", Help: "The size of the store of the ledger."}),
	}
}

func (f *fleetMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{f.standings, f.reports, f.refusals, f.pending, f.flush, f.size}
}

// standingCollector returns a consistent state.
type standingCollector struct {
	clusters, byType, percent, age *prometheus.Desc

	mu           sync.Mutex
	environments map[string]fleetFigures
}

type fleetFigures struct {
	total   [ledger.ClassReady + 1]int
	byType  map[string]*[ledger.ClassReady + 1]int
	percent float64
	age     time.Duration
}

func newStandingCollector() *standingCollector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("fairlead_fleet_"+name, help, labels, nil)
	}
	return &standingCollector{
		clusters: describe("clusters", "Expected clusters of an environment, by how they stand to its newest output.", "environment", "standing"),
		byType: describe("clusters_by_type", "The same by cluster type; left out if there are more than 500 cluster types.",
			"environment", "cluster_type", "standing"),
		percent: describe("rollout_percent",
			"The share of the expected clusters of an environment that is ready with its newest output, 0 to 100; left out where none is expected.", "environment"),
		age: describe("rollout_age_seconds",
			"How long ago the newest output of an environment was merged that is not ready on all expected clusters; 0 if it is.", "environment"),
		environments: map[string]fleetFigures{},
	}
}

// Describe implements [prometheus.Collector].
func (c *standingCollector) Describe(all chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.clusters, c.byType, c.percent, c.age} {
		all <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *standingCollector) Collect(all chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	types := 0
	for _, f := range c.environments {
		types += len(f.byType)
	}
	for env, f := range c.environments {
		if len(f.byType) > 0 {
			all <- prometheus.MustNewConstMetric(c.percent, prometheus.GaugeValue, f.percent, env)
			all <- prometheus.MustNewConstMetric(c.age, prometheus.GaugeValue, f.age.Seconds(), env)
		}
		for class, n := range f.total {
			all <- prometheus.MustNewConstMetric(c.clusters, prometheus.GaugeValue, float64(n), env, ledger.Class(class).String())
		}
		for clusterType, counts := range f.byType {
			for class, n := range counts {
				if types <= maxClusterTypes {
					all <- prometheus.MustNewConstMetric(c.byType, prometheus.GaugeValue, float64(n), env, clusterType, ledger.Class(class).String())
				}
			}
		}
	}
}

// SetFleet sets the standings of an environment's clusters. merged is the age of its newest output.
func (m *Metrics) SetFleet(env string, standings []ledger.Standing, merged time.Duration) {
	if m == nil {
		return
	}
	f := fleetFigures{byType: map[string]*[ledger.ClassReady + 1]int{}, percent: 100}
	for _, s := range standings {
		name := safeLabel(s.Type)
		if f.byType[name] == nil {
			f.byType[name] = &[ledger.ClassReady + 1]int{}
		}
		f.byType[name][s.Class]++
		f.total[s.Class]++
	}
	if ready := f.total[ledger.ClassReady]; ready < len(standings) {
		f.percent, f.age = 100*float64(ready)/float64(len(standings)), max(merged, 0)
	}
	c := m.fleet.standings
	c.mu.Lock()
	defer c.mu.Unlock()
	c.environments[safeLabel(env)] = f
}

// ForgetFleet removes the standings of an environment.
func (m *Metrics) ForgetFleet(env string) {
	if m == nil {
		return
	}
	c := m.fleet.standings
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.environments, safeLabel(env))
}

// RecordFleetReport counts an agent's report; unknown outcomes count as "other". A test of package reports compares
// the known ones with those of its answers.
func (m *Metrics) RecordFleetReport(outcome string) {
	if m == nil {
		return
	}
	outcomes := []string{
		"unchanged", "changes", "everything", "want-everything", "replayed", "contested", "renamed", "second-name", "unauthorized", "malformed", "too-large", "too-many",
		"not-set-up", "unavailable",
	}
	if !slices.Contains(outcomes, outcome) {
		outcome = "other"
	}
	m.fleet.reports.WithLabelValues("agent", outcome).Inc()
}

// RecordRefusal counts a refusal of the ledger.
func (m *Metrics) RecordRefusal(reason ledger.RefusalReason) {
	if m == nil {
		return
	}
	m.fleet.refusals.WithLabelValues(string(reason)).Inc()
}

// SetPendingChanges sets the number of changes that are not stored.
func (m *Metrics) SetPendingChanges(n int) {
	if m == nil {
		return
	}
	m.fleet.pending.Set(float64(n))
}

// RecordFlush records the duration of a write to the ledger's store.
func (m *Metrics) RecordFlush(took time.Duration) {
	if m == nil {
		return
	}
	m.fleet.flush.Observe(took.Seconds())
}

// SetStoreSize sets the size of the ledger's store in bytes.
func (m *Metrics) SetStoreSize(bytes int64) {
	if m == nil {
		return
	}
	m.fleet.size.Set(float64(bytes))
}
