package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/internal/reconcile/shares"
)

type replicaMetrics struct {
	replicas, shares prometheus.Gauge
	taken            prometheus.Counter
	mine             *prometheus.GaugeVec
	counted          int
}

func newReplicaMetrics() *replicaMetrics {
	return &replicaMetrics{
		mine:     newGaugeVec("environment_written_here", "1 if this daemon writes for an environment, 0 if another replica does.", "environment"),
		replicas: prometheus.NewGauge(prometheus.GaugeOpts{Name: "fairlead_replicas", Help: "Daemons that share the control plane, as this one knows them; 0 for one that shares it with no other, or cannot tell."}),
		shares:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "fairlead_replica_shares", Help: "Shares of the control plane that this daemon writes in."}),
		taken:    prometheus.NewCounter(prometheus.CounterOpts{Name: "fairlead_replica_takeovers_total", Help: "Shares of the control plane that this daemon has taken."}),
	}
}

// RecordReplica records what a replica knows of all.
func (m *Metrics) RecordReplica(now shares.Standing) {
	if m == nil {
		return
	}
	r := m.replica
	r.replicas.Set(float64(len(now.Members)))
	r.shares.Set(float64(len(now.Mine)))
	r.taken.Add(float64(now.Taken - r.counted))
	r.counted = now.Taken
}

// SetWrittenHere sets whether this daemon writes for an environment.
func (m *Metrics) SetWrittenHere(env string, here bool) {
	if m == nil {
		return
	}
	value := 0.0
	if here {
		value = 1
	}
	m.replica.mine.WithLabelValues(safeLabel(env)).Set(value)
}
