package metrics

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Names of special verdicts: the gates of an environment, and its freezes.
const (
	entryGates = "gates"
	freezeGate = "freeze"
)

type promotionMetrics struct {
	behind, waitingSince, waitingFor, held, frozen, verified, lanes *prometheus.GaugeVec
	leadTime                                                        *prometheus.HistogramVec

	mu sync.Mutex
	// gates has each gate that an environment ever waited for, which remains a series.
	gates map[string][]string
}

func newPromotionMetrics() *promotionMetrics {
	const hour = 3600.0
	return &promotionMetrics{
		behind: newGaugeVec("promotion_behind_commits", "Commits that the base has had since the one that an environment has.", "environment"),
		waitingSince: newGaugeVec("promotion_waiting_since_timestamp_seconds",
			"When the oldest commit was made that an environment does not have yet, in Unix time; 0 if it has the newest.", "environment"),
		waitingFor: newGaugeVec("promotion_waiting", "1 for a gate that keeps the next commit out of an environment, 0 if it does not any more.", "environment", "gate"),
		held:       newGaugeVec("promotion_held", "1 while an environment is held.", "environment"),
		frozen:     newGaugeVec("promotion_frozen", "1 while a freeze keeps an environment as it is.", "environment"),
		verified:   newGaugeVec("promotion_verified", "1 if the commit that an environment has is verified there.", "environment"),
		lanes:      newGaugeVec("promotion_lanes", "Lanes of an environment: held, waiting for a commit, or ahead, which have another commit than the environment and wait for none.", "environment", "state"),
		leadTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fairlead_promotion_lead_time_seconds", Help: "From when a commit of the base was made until it was verified in an environment.",
			Buckets: []float64{hour / 12, hour / 4, hour / 2, hour, 2 * hour, 4 * hour, 8 * hour, 24 * hour, 48 * hour, 96 * hour, 168 * hour, 336 * hour},
		}, []string{"environment"}),
		gates: map[string][]string{},
	}
}

func (p *promotionMetrics) gauges() []*prometheus.GaugeVec {
	return []*prometheus.GaugeVec{p.behind, p.waitingSince, p.waitingFor, p.held, p.frozen, p.verified, p.lanes}
}

// SetStage sets the promotion state. waitingSince is the oldest missing commit's time; zero for
// none.
func (m *Metrics) SetStage(s status.Stage, waitingSince time.Time) {
	if m == nil {
		return
	}
	env, p := safeLabel(s.Environment), m.promotion
	p.behind.WithLabelValues(env).Set(float64(s.Behind))
	p.waitingSince.WithLabelValues(env).Set(unixSeconds(waitingSince))
	p.held.WithLabelValues(env).Set(boolValue(s.Hold != ""))
	p.verified.WithLabelValues(env).Set(boolValue(s.Commit != "" && s.Proof.Status == gate.Pass))
	waits := blockingGates(s.Next.Verdict)
	frozen := slices.Contains(waits, freezeGate) ||
		slices.ContainsFunc(s.Withheld, func(w status.Withheld) bool { return w.Cause == freezeGate })
	p.frozen.WithLabelValues(env).Set(boolValue(frozen))
	lanes := map[string]int{"ahead": 0, "waiting": 0, "held": 0}
	for _, l := range s.Lanes {
		switch {
		case l.Hold != "":
			lanes["held"]++
		case l.Reason != "":
			lanes["waiting"]++
		default:
			lanes["ahead"]++
		}
	}
	for state, n := range lanes {
		p.lanes.WithLabelValues(env, state).Set(float64(n))
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range waits {
		if !slices.Contains(p.gates[env], name) {
			p.gates[env] = append(p.gates[env], name)
		}
	}
	for _, name := range p.gates[env] {
		p.waitingFor.WithLabelValues(env, name).Set(boolValue(slices.Contains(waits, name)))
	}
}

func blockingGates(v gate.Verdict) []string {
	var names []string
	for _, part := range v.Parts {
		switch {
		case part.Status == gate.Pass:
		case part.Gate == entryGates && len(part.Parts) > 0:
			names = append(names, blockingGates(part)...)
		default:
			names = append(names, safeLabel(part.Gate))
		}
	}
	return names
}

// RecordLeadTime records the time from a commit to its verification.
func (m *Metrics) RecordLeadTime(env string, took time.Duration) {
	if m == nil {
		return
	}
	m.promotion.leadTime.WithLabelValues(safeLabel(env)).Observe(max(took, 0).Seconds())
}

func (p *promotionMetrics) forget(labels prometheus.Labels) {
	for _, vec := range p.gauges() {
		vec.DeletePartialMatch(labels)
	}
	p.leadTime.DeletePartialMatch(labels)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.gates, labels["environment"])
}
