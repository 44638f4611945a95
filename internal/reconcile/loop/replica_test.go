package loop_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/shares"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
	"github.com/fairlead-io/fairlead/internal/testkit/leasesim"
)

const leasePeriod = 15 * time.Second

var faults = flag.Int("faults", 20, "how many replicas TestReplicasKilled kills and cuts off; 200 take four minutes of CPU time")

// crew is some replicas of the daemon that work for one world.
type crew struct {
	*world
	leases leasesim.Server
	all    []*mate
	count  int
}

// mate is one replica.
type mate struct {
	*daemon
	*shares.Replica
	network *leasesim.Network
	life    context.Context // of the process
	kill    context.CancelFunc
	// step is called before each effect; nil for nothing.
	step func(what string)
}

func (c *crew) add() *mate {
	c.Helper()
	client, network := c.leases.Connect(c)
	c.count++
	m := &mate{network: network}
	m.life, m.kill = context.WithCancel(c.Context())
	now := func() time.Time { return c.now }
	m.Replica = shares.New(shares.Options{
		Period: leasePeriod, Now: now, Logger: slog.New(slog.DiscardHandler),
		Store: &shares.Leases{Client: client, Namespace: "fairlead", Name: fmt.Sprintf("replica-%d", c.count), Plane: "plane", Period: leasePeriod, Now: now},
	})
	m.daemon = c.begin(c.TempDir(), func(o *loop.Options) {
		o.Replica = m.Replica
		o.BeforeEffect = func(what string) {
			if m.step != nil && !strings.HasPrefix(what, "ask ") {
				m.step(what)
			}
		}
	})
	c.all = append(c.all, m)
	return m
}

func newCrew(w *world, replicas int) *crew {
	c := &crew{world: w}
	for range replicas {
		c.add()
	}
	c.renew(leasePeriod)
	return c
}

// renew lets time pass, in which all that live renew their leases.
func (c *crew) renew(d time.Duration) {
	for range d / (leasePeriod / 6) {
		c.now = c.now.Add(leasePeriod / 6)
		for _, m := range c.all {
			if m.life.Err() == nil {
				m.Renew(c.Context())
			}
		}
	}
}

// cycle has all replicas run a cycle at once. Those that are killed in it are gone.
func (c *crew) cycle() {
	c.Helper()
	var cycles sync.WaitGroup
	for _, m := range c.all {
		cycles.Go(func() {
			if err := m.Cycle(m.life); err != nil && m.life.Err() == nil {
				c.Error(err)
			}
		})
	}
	cycles.Wait()
	left := c.all[:0:0]
	for _, m := range c.all {
		if m.life.Err() == nil {
			left = append(left, m)
		} else {
			m.Close()
		}
	}
	c.all = left
}

// TestReplicasPromote: three replicas do what one does, and nothing twice.
func TestReplicasPromote(t *testing.T) {
	for name, test := range turns {
		t.Run(name, func(t *testing.T) {
			w := turn(t, test.chain, test.before)
			before := w.save()
			w.lives(w.data)
			want := w.promoted()
			w.restore(before)

			c := newCrew(w, 3)
			for range 5 {
				c.renew(leasePeriod)
				c.cycle()
			}
			if diff := cmp.Diff(want, w.promoted()); diff != "" {
				t.Errorf("three replicas (-one +three):\n%s\nthe log:\n%s", diff, w.logs.String())
			}
		})
	}
}

// TestReplicasKilled: while changes go along a chain, replicas are killed at their effects and cut off from the
// Leases, -faults times. No promotion is lost, doubled or out of order, and no change has two pull requests.
func TestReplicasKilled(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, two(""), "dev", "stage")
	random := rand.New(rand.NewPCG(38, 3))
	c := newCrew(w, 3)
	last, killed, cut := "", 0, 0
	for n := 0; killed+cut < *faults; n++ {
		if n%3 == 0 {
			last = w.changeNow(n)
		}
		m := c.all[random.IntN(len(c.all))]
		if random.IntN(3) == 0 {
			m.network.LosesRequest = func() bool { return true }
			cut++
		} else {
			left := 1 + random.IntN(4)
			m.step = func(string) {
				if left--; left == 0 {
					m.kill()
				}
			}
		}
		c.cycle()
		killed += 3 - len(c.all)
		c.renew(leasePeriod / 6 * time.Duration(1+random.IntN(9)))
		for _, m := range c.all {
			m.network.LosesRequest, m.step = nil, nil
		}
		for len(c.all) < 3 {
			c.add()
		}
	}
	for range 4 {
		c.renew(2 * leasePeriod)
		c.cycle()
	}
	t.Logf("%d kills, %d partitions", killed, cut)
	line := strings.Fields(gittest.Git(t, w.server.Dir("cp"), "rev-list", "--first-parent", "--reverse", "main"))
	for _, name := range []string{"dev", "stage"} {
		if now := w.record(name); now != last {
			t.Errorf("%s has %s, and the last change is %s", name, now, last)
		}
		before := -1
		for _, commit := range strings.Fields(gittest.Git(t, w.server.Dir("cp"), "rev-list", "--reverse", name, "--", "base-repo.yaml")) {
			recorded, err := promote.RecordedCommit([]byte(gittest.Show(t, w.server.Dir("cp"), commit, "base-repo.yaml")))
			at := slices.Index(line, recorded)
			if err != nil || recorded != "" && at <= before {
				t.Errorf("%s got %s after a later one, or twice: %v", name, recorded, err)
			}
			before = max(before, at)
		}
	}
	pulls, err := w.plain("out").AllPulls()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, p := range pulls {
		if p.State != forge.Merged || seen[p.Commit] != 0 {
			t.Errorf("pull request %d for %s is %s: %s", p.Number, p.Head, p.State, p.Reason)
		}
		seen[p.Commit] = p.Number
	}
}

// TestReplicaPausedBeforePush: a replica that is paused between its check and the push has taken nothing back
// of what the next one has pushed.
func TestReplicaPausedBeforePush(t *testing.T) {
	for name, isChecked := range map[string]bool{"before the check": false, "after the check": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scaffold.Branches, "dev")
			c := newCrew(w, 1)
			paused := c.all[0]
			reached, resume := make(chan struct{}), make(chan struct{})
			var once sync.Once
			var refused error
			paused.OnWrite(func(check func(context.Context) error) func(context.Context) error {
				return func(ctx context.Context) (err error) {
					if isChecked {
						err = check(ctx)
					}
					once.Do(func() {
						close(reached)
						<-resume
					})
					if !isChecked {
						err = check(ctx)
					}
					if err != nil {
						refused = err
					}
					return err
				}
			})
			var ended sync.WaitGroup
			ended.Go(func() { _ = paused.Cycle(paused.life) })
			<-reached
			c.all = nil
			next := c.add()
			c.renew(3 * leasePeriod)
			w.edit("dev", "configs/environment.yaml", "debug", "info")
			c.cycle()
			head := w.head("out", "fairlead/dev")
			if head == "" {
				t.Fatalf("the next replica has proposed nothing; the log:\n%s", w.logs.String())
			}
			close(resume)
			ended.Wait()
			if now := w.head("out", "fairlead/dev"); now != head {
				t.Errorf("the branch is at %s, and the next replica has pushed %s", now, head)
			}
			if refused == nil {
				t.Error("nothing was refused")
			}
			pulls, err := w.plain("out").AllPulls()
			if err != nil || len(pulls) != 1 {
				t.Errorf("there are %d pull requests, with %v", len(pulls), err)
			}
			next.Close()
		})
	}
}

// TestReplicasShow: what a replica shows does not depend on whether it writes for an environment.
func TestReplicasShow(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "stage", "prod")
	c := newCrew(w, 3)
	for range 3 {
		c.cycle()
		c.renew(4 * leasePeriod)
	}
	writers := map[string]bool{}
	for i, m := range c.all {
		for _, share := range m.Standing().Mine {
			writers[fmt.Sprint(share)] = true
		}
		for _, name := range []string{"dev", "stage", "prod"} {
			shown, first := m.state(name), c.all[0].state(name)
			if shown.State != status.Proposed || shown.Pull == nil || shown.Pull.Number != first.Pull.Number || shown.Reason != first.Reason {
				t.Errorf("replica %d shows %s as %s, pull request %+v: %s", i, name, shown.State, shown.Pull, shown.Reason)
			}
		}
	}
	if len(writers) != shares.Count {
		t.Errorf("%d shares have a writer", len(writers))
	}
}
