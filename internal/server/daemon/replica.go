package daemon

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/kubeclient"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/shares"
)

// podNamespace is where a pod finds its namespace.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// newReplica returns this process as one of several; nil if the settings have no replicas.
func newReplica(options Options, m *metrics.Metrics, logger *slog.Logger, started *atomic.Pointer[loop.Loop]) (*shares.Replica, error) {
	s, now := options.Settings, options.Now
	r := s.Replicas
	if r == nil || !s.Write {
		return nil, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	name := cleanName(host) + "-" + strings.ToLower(rand.Text()[:6])
	plane := giturl.Normalize(giturl.Redact(s.ControlPlane.Repo)) + " " + s.ControlPlane.Branch
	o := shares.Options{Period: r.Period, Now: now, Logger: logger, Changed: func(now shares.Standing, changed bool, woken []string) {
		m.RecordReplica(now)
		l := started.Load() // runReplica begins after it
		if changed {
			l.Wake("")
		}
		for _, repo := range woken {
			l.Wake(repo)
		}
	}}
	if r.By == config.ByPostgres {
		o.Settle = true
		o.Store = &shares.Postgres{Address: s.LedgerAddress, Name: name, Plane: plane, Period: r.Period}
		return shares.New(o), nil
	}
	access, err := kubeclient.LoadConfig(r.Kubeconfig, "")
	if err != nil {
		return nil, problem.WithHint(fmt.Errorf("share with other replicas by Leases: %w", err), "run as a pod with its token mounted, write replicas.kubeconfig, or replicas.by: postgres")
	}
	client, err := kubeclient.New(access, "fairlead")
	if err != nil {
		return nil, err
	}
	namespace := r.Namespace
	if namespace == "" {
		own, _ := os.ReadFile(podNamespace) // outside of a pod there is none
		namespace = cmp.Or(strings.TrimSpace(string(own)), "default")
	}
	o.Store = &shares.Leases{Client: client, Namespace: namespace, Name: name, Plane: plane, Period: r.Period, Now: now}
	return shares.New(o), nil
}

// runReplica renews until leave is called, when the loop has ended, and then leaves.
func runReplica(ctx context.Context, r *shares.Replica) (leave func()) {
	if r == nil {
		return func() {}
	}
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var left sync.WaitGroup
	left.Go(func() { r.Run(renewing) })
	return func() {
		stop()
		left.Wait()
	}
}

func cleanName(host string) string {
	clean := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			return c
		}
		return -1
	}, strings.ToLower(host))
	return cmp.Or(strings.Trim(clean[:min(len(clean), 40)], "-"), "fairlead")
}
