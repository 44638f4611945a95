package config

import (
	"path/filepath"
	"time"
)

// Replicas is how daemons of one control plane share its environments.
type Replicas struct {
	// By is ByLeases or ByPostgres.
	By string `yaml:"by" required:"by: leases"`
	// Period is after how long the others take the environments of a silent daemon.
	Period time.Duration `yaml:"period"`
	// Namespace has the Leases.
	Namespace string `yaml:"namespace"`
	// Kubeconfig is an absolute path; "" for the cluster that Fairlead is a pod of.
	Kubeconfig string `yaml:"kubeconfig"`
}

// Where replicas meet.
const (
	ByLeases   = "leases"
	ByPostgres = "postgres"

	defaultReplicaPeriod = 15 * time.Second
	leastReplicaPeriod   = 5 * time.Second
)

func checkReplicas(c *checker, s *Settings) {
	r := s.Replicas
	if r == nil {
		return
	}
	if c.isGiven("replicas.by") {
		c.checkOneOf("replicas.by", r.By, ByLeases, ByPostgres)
	}
	if !c.isGiven("replicas.period") {
		r.Period = defaultReplicaPeriod
	}
	if r.Period < leastReplicaPeriod && !c.isBroken("replicas.period") {
		c.addProblem("replicas.period", "write 5s or more", "%s is too short for a server that is slow for a moment", r.Period)
	}
	if s.Ledger.Postgres == nil && !c.isBroken("ledger") {
		c.addProblem("replicas", "write ledger.secret and ledger.postgres, or remove replicas", "needs a ledger that all daemons see")
	}
	if r.By == ByPostgres && r.Namespace+r.Kubeconfig != "" {
		c.addProblem("replicas.by", "write leases, or remove namespace and kubeconfig", "namespace and kubeconfig are of Leases")
	}
	if r.Kubeconfig != "" && !filepath.IsAbs(r.Kubeconfig) {
		c.addProblem("replicas.kubeconfig", "write the whole path of the file", "%s is not an absolute path", r.Kubeconfig)
	}
}
