package shares_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/shares"
	"github.com/fairlead-io/fairlead/internal/testkit/leasesim"
)

const period = 15 * time.Second

// fleet is some replicas on one API server, in one simulated time. Their clocks differ.
type fleet struct {
	*testing.T
	server leasesim.Server
	now    time.Time
	all    []*member
	names  int
}

type member struct {
	*shares.Replica
	network *leasesim.Network
	offset  time.Duration
	paused  bool
}

func (f *fleet) add(offset time.Duration) *member {
	f.Helper()
	client, network := f.server.Connect(f)
	m := &member{network: network, offset: offset}
	clock := func() time.Time { return f.now.Add(m.offset) }
	f.names++
	store := &shares.Leases{Client: client, Namespace: "fairlead", Name: fmt.Sprintf("replica-%d", f.names), Plane: "plane", Period: period, Now: clock}
	m.Replica = shares.New(shares.Options{Store: store, Period: period, Now: clock, Logger: slog.New(slog.DiscardHandler)})
	f.all = append(f.all, m)
	return m
}

// pass lets time pass, in which replicas renew every sixth of a period.
func (f *fleet) pass(d time.Duration) {
	for range d / (period / 6) {
		f.now = f.now.Add(period / 6)
		for _, m := range f.all {
			if !m.paused {
				m.Renew(f.Context())
			}
		}
		f.checkWriters()
	}
}

// checkWriters checks that no share has two replicas that may write in it.
func (f *fleet) checkWriters() {
	f.Helper()
	for share := range shares.Share(shares.Count) {
		writers := 0
		for _, m := range f.all {
			if m.canWrite(share) {
				writers++
			}
		}
		if writers > 1 {
			f.Fatalf("%d replicas may write in share %d", writers, share)
		}
	}
}

func (m *member) canWrite(share shares.Share) bool {
	ctx, leave := m.BeginRound().Enter(context.Background(), share)
	defer leave()
	return m.Check(ctx) == nil
}

// countWritable returns how many shares somebody may write in.
func (f *fleet) countWritable() (n int) {
	for share := range shares.Share(shares.Count) {
		for _, m := range f.all {
			if m.canWrite(share) {
				n++
			}
		}
	}
	return n
}

func (f *fleet) kill(m *member) {
	for i, one := range f.all {
		if one == m {
			f.all = append(f.all[:i:i], f.all[i+1:]...)
		}
	}
}

func newFleet(t *testing.T, replicas int) *fleet {
	t.Helper()
	f := &fleet{T: t, now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	for i := range replicas {
		f.add(time.Duration(i) * time.Hour)
	}
	f.pass(period)
	return f
}

// TestLeases: three replicas share all, each gets its part, and after one was killed the others have its
// shares within two periods.
func TestLeases(t *testing.T) {
	f := newFleet(t, 3)
	if n := f.countWritable(); n != shares.Count {
		t.Fatalf("%d shares have a writer after one period, want all %d", n, shares.Count)
	}
	for _, m := range f.all {
		if n := len(m.Standing().Mine); n < shares.Count/3 || n > shares.Count/3+1 {
			t.Errorf("a replica has %d of %d shares", n, shares.Count)
		}
	}
	f.kill(f.all[1])
	f.pass(2 * period)
	if n := f.countWritable(); n != shares.Count {
		t.Errorf("%d shares have a writer two periods after a replica was killed, want all %d", n, shares.Count)
	}
	if all := f.all[0].Standing(); len(all.Members) != 2 || len(all.Holders) != shares.Count {
		t.Errorf("the standing is %+v", all)
	}
}

// TestLeavingReplica: what a replica gives back is taken with the next renewal.
func TestLeavingReplica(t *testing.T) {
	f := newFleet(t, 2)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	left := f.all[0]
	f.kill(left)
	left.Run(ctx)
	f.pass(period / 3)
	if n := f.countWritable(); n != shares.Count {
		t.Errorf("%d shares have a writer, want all %d", n, shares.Count)
	}
}

// TestPausedReplica: a replica that was paused between its check and a write may not write any more, and
// its work has ended.
func TestPausedReplica(t *testing.T) {
	f := newFleet(t, 2)
	m := f.all[0]
	ctx, leave := m.BeginRound().Enter(t.Context(), m.Standing().Mine[0])
	defer leave()
	if err := m.Check(ctx); err != nil {
		t.Fatal(err)
	}
	m.paused = true
	f.pass(2 * period)
	if m.Check(ctx) == nil {
		t.Error("it may write after the pause")
	}
	if n := f.countWritable(); n != shares.Count {
		t.Errorf("%d shares have a writer, want all %d", n, shares.Count)
	}
	m.paused = false
	f.pass(2 * period)
	if ctx.Err() == nil {
		t.Error("its work has not ended")
	}
	if m.Check(ctx) == nil {
		t.Error("old work may write in a share that was taken again")
	}
	if len(m.Standing().Mine) == 0 {
		t.Error("it has no shares again")
	}
}

// TestBusyShare: a share is not given to a new replica while work is under way in it.
func TestBusyShare(t *testing.T) {
	f := newFleet(t, 1)
	m := f.all[0]
	round := m.BeginRound()
	var leaves []func()
	for share := range shares.Share(shares.Count) {
		_, leave := round.Enter(t.Context(), share)
		leaves = append(leaves, leave)
	}
	other := f.add(0)
	f.pass(2 * period)
	if n := len(other.Standing().Mine); n != 0 {
		t.Errorf("the new replica has %d shares while work is under way in them", n)
	}
	for _, leave := range leaves {
		leave()
	}
	f.pass(period)
	if n := len(other.Standing().Mine); n < shares.Count/2 {
		t.Errorf("the new replica has %d shares", n)
	}
}

// TestDeletedLease: whoever deletes the Lease of a replica gives its shares to nobody before it knows.
func TestDeletedLease(t *testing.T) {
	f := newFleet(t, 3)
	f.server.Delete("replica-2")
	f.pass(3 * period)
	if n := f.countWritable(); n != shares.Count {
		t.Errorf("%d shares have a writer, want all %d", n, shares.Count)
	}
	f.server.Delete("share")
	f.pass(3 * period)
	if n := f.countWritable(); n != shares.Count {
		t.Errorf("%d shares have a writer, want all %d", n, shares.Count)
	}
}

// TestChaos kills, pauses and cuts off replicas 200 times: at no time do two write in one share, and in
// the end all shares have a writer.
func TestChaos(t *testing.T) {
	random := rand.New(rand.NewPCG(38, 3))
	f := newFleet(t, 3)
	sometimes := func(of int) func() bool { return func() bool { return random.IntN(of) == 0 } }
	for range 200 {
		m := f.all[random.IntN(len(f.all))]
		m.network.LosesRequest, m.network.LosesAnswer, m.paused = nil, nil, false
		switch random.IntN(7) {
		case 0:
			f.kill(m)
			f.add(time.Duration(random.IntN(7200)) * time.Second)
		case 1:
			m.paused = true
		case 2:
			m.network.LosesRequest = sometimes(1)
		case 3:
			m.network.LosesRequest = sometimes(3)
		case 4:
			m.network.LosesAnswer = sometimes(2)
		case 5:
			f.server.Delete(fmt.Sprintf("replica-%d", 1+random.IntN(f.names)))
		}
		f.pass(period / 6 * time.Duration(1+random.IntN(12)))
	}
	for _, m := range f.all {
		m.network.LosesRequest, m.network.LosesAnswer, m.paused = nil, nil, false
	}
	f.pass(2 * period)
	if n := f.countWritable(); n != shares.Count {
		t.Errorf("%d shares have a writer in the end, want all %d", n, shares.Count)
	}
}
