package shares

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/config/kubeclient"
)

// Leases keeps shares in Leases of Kubernetes: one by which each replica lives, and one for the holder of
// each share. Before the shares of a silent replica are taken, its Lease is; so it cannot renew any more.
// Clocks are not compared: a period is measured from when a change of a Lease was seen.
type Leases struct {
	Client    *kubeclient.Client
	Namespace string
	// Name is that of this replica, and unique for each process; Plane identifies the control plane.
	Name, Plane string
	Period      time.Duration
	Now         func() time.Time

	own     kubeclient.Lease
	wakes   int
	note    string
	shares  map[Share]kubeclient.Lease
	seen    map[string]seenLease // by name
	started bool
}

type seenLease struct {
	version string
	note    string
	at      time.Time // when this version was seen first
}

const (
	planeLabel = "fairlead.io/control-plane"
	shareLabel = "fairlead.io/share" // of the Leases of shares
)

func (l *Leases) id() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(l.Plane))
	return fmt.Sprintf("%x", h.Sum64())
}

func (l *Leases) shareName(share Share) string {
	return fmt.Sprintf("fairlead-%s-share-%d", l.id(), share)
}

// Renew updates the Lease of this replica, and reads all.
func (l *Leases) Renew(ctx context.Context, woken []string) (View, error) {
	if len(woken) > 0 {
		l.wakes++
		l.note = fmt.Sprintf("%d %s", l.wakes, strings.Join(woken, " "))
	}
	next := l.own
	if next.Version == "" {
		next = kubeclient.Lease{
			Namespace: l.Namespace, Name: fmt.Sprintf("fairlead-%s-%s", l.id(), l.Name), Holder: l.Name,
			Labels: map[string]string{planeLabel: l.id()}, Seconds: int64(max(1, l.Period/time.Second)),
		}
		if l.started { // another process cannot take it for the one that was expelled
			l.own.Transitions++
			next.Name = fmt.Sprintf("%s-%d", next.Name, l.own.Transitions)
			next.Holder = fmt.Sprintf("%s-%d", l.Name, l.own.Transitions)
		}
		next.Transitions = l.own.Transitions
	}
	next.Renewed, next.Note = l.Now(), l.note
	put, err := l.Client.PutLease(ctx, next)
	if errors.Is(err, kubeclient.ErrConflict) {
		l.own = kubeclient.Lease{Transitions: l.own.Transitions}
		l.started = true
		return View{}, fmt.Errorf("renew the Lease %s: %w: %w", next.Name, ErrLost, err)
	}
	if err != nil {
		return View{}, fmt.Errorf("renew the Lease %s: %w", next.Name, err)
	}
	l.own, l.started = put, true
	all, err := l.Client.ListLeases(ctx, l.Namespace, planeLabel+"="+l.id())
	if err != nil {
		return View{}, err
	}
	return l.read(ctx, all), nil
}

// read finds the members and the holders, and expels replicas that were silent for a period.
func (l *Leases) read(ctx context.Context, all []kubeclient.Lease) View {
	view := View{Me: l.own.Holder, Holders: map[Share]string{}}
	now := l.Now()
	before := l.seen
	l.seen = map[string]seenLease{}
	l.shares = map[Share]kubeclient.Lease{}
	lives, known := map[string]bool{}, map[string]bool{}
	for _, one := range all {
		seen, ok := before[one.Name]
		if ok && seen.note != one.Note && one.Name != l.own.Name {
			repos := strings.Split(one.Note, " ")
			view.Woken = append(view.Woken, repos[1:]...)
		}
		if !ok || seen.version != one.Version {
			seen = seenLease{one.Version, one.Note, now}
		}
		l.seen[one.Name] = seen
		silent := now.Sub(seen.at) >= l.Period
		if share, ok := one.Labels[shareLabel]; ok {
			number, err := strconv.Atoi(share)
			if err == nil {
				l.shares[Share(number)] = one
			}
			continue
		}
		identity := strings.TrimPrefix(one.Name, fmt.Sprintf("fairlead-%s-", l.id()))
		known[identity] = true
		switch {
		case one.Holder == "" && silent:
			_ = l.Client.DeleteLease(ctx, one) // or the next renewal does
		case one.Holder == "":
		case one.Name != l.own.Name && silent && !l.expel(ctx, one):
			lives[identity] = true // it is not known
		case one.Name == l.own.Name || !silent:
			lives[identity] = true
			view.Members = append(view.Members, identity)
		}
	}
	slices.Sort(view.Members)
	for share, one := range l.shares {
		// A Lease that somebody has deleted may be of a replica that does not know it yet.
		isDeleted := !known[one.Holder] && now.Sub(l.seen[one.Name].at) < l.Period
		if one.Holder != "" && (lives[one.Holder] || isDeleted) {
			view.Holders[share] = one.Holder
		}
	}
	return view
}

// expel takes the Lease of a replica, so that it cannot renew it any more.
func (l *Leases) expel(ctx context.Context, one kubeclient.Lease) bool {
	one.Holder = ""
	_, err := l.Client.PutLease(ctx, one)
	return err == nil
}

// Take takes the Lease of a share.
func (l *Leases) Take(ctx context.Context, share Share) (bool, error) {
	one, ok := l.shares[share]
	if !ok {
		one = kubeclient.Lease{
			Namespace: l.Namespace, Name: l.shareName(share), Labels: map[string]string{planeLabel: l.id(), shareLabel: strconv.Itoa(int(share))}, Seconds: l.own.Seconds,
		}
	}
	one.Holder, one.Renewed = l.own.Holder, l.Now()
	one.Transitions++
	put, err := l.Client.PutLease(ctx, one)
	if errors.Is(err, kubeclient.ErrConflict) {
		return false, nil
	}
	if err == nil {
		l.shares[share] = put
	}
	return err == nil, err
}

// Release gives the Lease of a share back.
func (l *Leases) Release(ctx context.Context, share Share) error {
	one, ok := l.shares[share]
	if !ok || one.Holder != l.own.Holder {
		return nil
	}
	one.Holder = ""
	put, err := l.Client.PutLease(ctx, one)
	if err == nil {
		l.shares[share] = put
	}
	return err
}

// Leave gives the Lease of this replica back, and with it all shares.
func (l *Leases) Leave(ctx context.Context) error {
	if l.own.Version == "" {
		return nil
	}
	one := l.own
	one.Holder = ""
	_, err := l.Client.PutLease(ctx, one)
	l.own = kubeclient.Lease{Transitions: l.own.Transitions}
	return err
}
