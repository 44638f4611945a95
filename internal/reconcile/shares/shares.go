// Package shares divides the work of a control plane among replicas of the daemon.
//
// What the package keeps true:
//   - At most one replica may write in a share at a time: it stops before its store lets another
//     one take the share, whatever becomes of its connection.
//   - A round of the loop writes only in shares that the replica had when the round began.
//   - An effect whose context has no share that is held is refused.
package shares

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"slices"
	"time"
)

// Share is a part of the work.
type Share int

const (
	// Plane is what all environments share: issues, previews, releases, retirements.
	Plane Share = 0
	// Count includes Plane.
	Count = 17
)

// ShareOf returns the share of an environment.
func ShareOf(environment string) Share {
	h := fnv.New32a()
	_, _ = h.Write([]byte(environment))
	return Share(1 + h.Sum32()%(Count-1))
}

// Assign returns which member should hold each share: rendezvous hashing in which no member gets
// more than its part. It is nil without members.
func Assign(members []string) []string {
	if len(members) == 0 {
		return nil
	}
	room := (Count + len(members) - 1) / len(members)
	counts := map[string]int{}
	assigned := make([]string, Count)
	for share := range Share(Count) {
		ranked := slices.SortedFunc(slices.Values(members), func(a, b string) int {
			return cmp.Or(cmp.Compare(score(share, b), score(share, a)), cmp.Compare(a, b))
		})
		for _, m := range ranked {
			if counts[m] < room {
				assigned[share] = m
				counts[m]++
				break
			}
		}
	}
	return assigned
}

func score(share Share, member string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte{byte(share)})
	_, _ = h.Write([]byte(member))
	x := h.Sum64() // FNV alone changes the high bits too little
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

// View is what a store knows.
type View struct {
	Me      string
	Members []string         // that live, including Me
	Holders map[Share]string // of shares that cannot be taken
	Woken   []string         // repositories that other replicas were told to poll; "" is all
}

// Store is where replicas agree: PostgreSQL or the Leases of Kubernetes.
type Store interface {
	// Renew makes this replica live for one more period. The error ErrLost means that others may have its
	// shares; after another one it has them until its period ends. The others are told woken
	// once.
	Renew(ctx context.Context, woken []string) (View, error)
	// Take reports whether this replica holds a share now.
	Take(ctx context.Context, share Share) (bool, error)
	Release(ctx context.Context, share Share) error
	// Leave releases all.
	Leave(ctx context.Context) error
}

// ErrElsewhere refuses an effect in a share that this replica does not hold.
var ErrElsewhere = errors.New("another replica has this part of the work")

// ErrLost means that a store has given the shares of this replica away, or may do so.
var ErrLost = errors.New("the lease of this replica was lost")

// isHeld decides whether a hold permits an effect.
func isHeld(h hold, until, now time.Time) bool {
	return !h.lost && !now.Before(h.from) && now.Before(until)
}

type hold struct {
	from    time.Time // before which the last holder may still write
	leaving bool      // no further work begins
	lost    bool
	works   map[int]context.CancelCauseFunc
}
