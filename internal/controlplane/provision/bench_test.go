package provision_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

// newFleet returns a manifest of so many clusters, each with so many pools of its own. Those of another
// generation are replaced.
func newFleet(clusters, pools int, version string, isReplaced func(pool int) bool, countOf func(pool int) int) provision.State {
	s := provision.State{Namespace: "fleet", Name: "m", Executor: "claudie", Templates: map[string]string{"aws-1": "v1"}}
	s.Spec.Providers = []claudie.Provider{{Name: "aws-1", Type: "aws"}}
	for i := range clusters {
		c := claudie.Cluster{Name: fmt.Sprintf("cluster-%d", i), Version: version, Network: "192.168.2.0/24"}
		for j := range pools {
			name := fmt.Sprintf("c%d-p%d", i, j)
			if isReplaced(j) {
				name += "-v2"
			}
			s.Spec.NodePools.Dynamic = append(s.Spec.NodePools.Dynamic, claudie.DynamicPool{
				Name: name, ProviderSpec: claudie.ProviderSpec{Name: "aws-1", Region: "eu"}, Count: countOf(j), ServerType: "t3.medium", Image: "ubuntu",
				Labels: map[string]string{"pool": name, "version": version},
			})
			if j < 3 {
				c.Pools.Control = append(c.Pools.Control, name)
				continue
			}
			c.Pools.Compute = append(c.Pools.Compute, name)
		}
		s.Spec.Kubernetes.Clusters = append(s.Spec.Kubernetes.Clusters, c)
	}
	return s
}

// BenchmarkPlan plans a change of 100 clusters with 100 pools each. It fails if that takes 100 ms of CPU.
func BenchmarkPlan(b *testing.B) {
	never := func(int) bool { return false }
	two := func(int) int { return 2 }
	current := newFleet(100, 100, "1.34.0", never, two)
	carriedOutBy := func(executor string, s provision.State) provision.State {
		s.Executor = executor
		return s
	}
	replaced := newFleet(100, 100, "1.34.0", func(int) bool { return true }, two)
	for _, c := range []struct {
		name    string
		desired provision.State
		steps   int
	}{
		{"nothing", newFleet(100, 100, "1.34.0", never, two), 0},
		{"counts", newFleet(100, 100, "1.34.0", never, func(pool int) int { return 2 + pool%2 }), 5_000},
		{"upgrade", newFleet(100, 100, "1.35.0", never, two), 200},
		{"replaced", replaced, 20_100},
		{"replaced by tofu", carriedOutBy("tofu", replaced), 20_100},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			start := cpuTime(b)
			for b.Loop() {
				plan, err := provision.NewPlan(&current, &c.desired)
				if err != nil {
					b.Fatal(err)
				}
				if len(plan.Steps) != c.steps {
					b.Fatalf("the plan has %d steps, want %d", len(plan.Steps), c.steps)
				}
			}
			spent := (cpuTime(b) - start) / time.Duration(b.N)
			b.ReportMetric(float64(spent.Microseconds())/1000, "cpu-ms/op")
			if spent > 100*time.Millisecond {
				b.Errorf("a plan takes %s of CPU", spent)
			}
		})
	}
}

// cpuTime returns what this process has used of processors, garbage collection included.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
