package shares

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Options configures a Replica.
type Options struct {
	Store  Store
	Period time.Duration // after which others take the shares of a silent replica
	// Settle keeps a replica from using a share that it has just taken until the last holder must have
	// noticed: a store may lose what it holds.
	Settle bool
	Now    func() time.Time
	Logger *slog.Logger
	// Changed is called after each renewal: whether other shares may be written in, and with what other
	// replicas were told to poll. It may be nil.
	Changed func(now Standing, changed bool, woken []string)
}

// Standing is what a replica knows of all.
type Standing struct {
	Me      string
	Members []string
	Holders map[Share]string
	// Mine are the shares that may be written in.
	Mine []Share
	// Taken counts shares that were taken.
	Taken int
	Error string // of the store; "" for none
}

// Replica is this process among the replicas. A nil Replica is the only one, and may do everything.
type Replica struct {
	options Options

	mu       sync.Mutex
	until    time.Time
	holds    map[Share]*hold
	lastWork int
	standing Standing
	woken    []string
}

// New returns a Replica that holds nothing until Run.
func New(o Options) *Replica {
	return &Replica{options: o, holds: map[Share]*hold{}}
}

// Lifetime is how long a replica relies on a renewal: less than the period, as clocks differ.
func (r *Replica) lifetime() time.Duration { return r.options.Period * 2 / 3 }

func (r *Replica) pause() time.Duration { return r.options.Period / 6 }

// Run renews until ctx ends, and then leaves.
func (r *Replica) Run(ctx context.Context) {
	for ctx.Err() == nil {
		r.Renew(ctx)
		timer := time.NewTimer(r.pause())
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
	r.mu.Lock()
	r.loseAll()
	r.mu.Unlock()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.pause())
	defer cancel()
	if err := r.options.Store.Leave(limited); err != nil {
		r.options.Logger.Warn("the shares of this replica could not be released", "error", err)
	}
}

// Renew does one renewal: it proves that this replica lives, and takes and releases shares.
func (r *Replica) Renew(ctx context.Context) {
	sent := r.options.Now()
	limited, cancel := context.WithTimeout(ctx, r.pause())
	defer cancel()
	before := r.usable(sent)
	woken := r.takeWoken()
	view, err := r.options.Store.Renew(limited, woken)
	r.mu.Lock()
	if err != nil {
		r.woken = append(r.woken, woken...)
		if errors.Is(err, ErrLost) || !r.options.Now().Before(r.until) {
			r.loseAll()
		}
		r.standing = Standing{Taken: r.standing.Taken, Error: err.Error()}
	} else {
		r.until = sent.Add(r.lifetime())
		r.standing.Me, r.standing.Members, r.standing.Holders, r.standing.Error = view.Me, view.Members, view.Holders, ""
	}
	r.mu.Unlock()
	if err == nil {
		r.balance(limited, view)
	} else if ctx.Err() == nil {
		r.options.Logger.Warn("this replica cannot work", "error", err)
	}
	r.note(before, view.Woken)
}

// Wake has the other replicas poll a repository too, or all with "".
func (r *Replica) Wake(repo string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.woken = append(r.woken, repo)
}

// maxWoken bounds what is told of repositories: all are polled then.
const maxWoken = 20

func (r *Replica) takeWoken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.woken)
	woken := slices.Compact(r.woken)
	r.woken = nil
	if len(woken) > maxWoken {
		return []string{""}
	}
	return woken
}

func (r *Replica) note(before []Share, woken []string) {
	mine := r.usable(r.options.Now())
	r.mu.Lock()
	r.standing.Mine = mine
	standing := r.standing
	r.mu.Unlock()
	changed := !slices.Equal(before, mine)
	if r.options.Changed != nil {
		r.options.Changed(standing, changed, woken)
	}
	if changed {
		r.options.Logger.Info("the shares of this replica have changed", "replica", standing.Me, "replicas", len(standing.Members), "shares", len(mine))
	}
}

func (r *Replica) usable(now time.Time) []Share {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Share
	for share := range Share(Count) {
		if h := r.holds[share]; h != nil && isHeld(*h, r.until, now) && !h.leaving {
			all = append(all, share)
		}
	}
	return all
}

// balance releases shares that another member should hold once no work is under way in them, and
// takes free ones.
func (r *Replica) balance(ctx context.Context, view View) {
	for share, member := range Assign(view.Members) {
		share := Share(share)
		r.mu.Lock()
		if view.Holders[share] != view.Me { // somebody has deleted it
			r.lose(share)
		}
		h := r.holds[share]
		if h != nil {
			h.leaving = member != view.Me
		}
		idle := h != nil && h.leaving && len(h.works) == 0
		r.mu.Unlock()
		switch {
		case idle:
			r.drop(share)
			if err := r.options.Store.Release(ctx, share); err != nil {
				r.options.Logger.Warn("a share could not be released", "share", share, "error", err)
			}
		case h == nil && member == view.Me && (view.Holders[share] == "" || view.Holders[share] == view.Me):
			r.take(ctx, share)
		}
	}
}

func (r *Replica) take(ctx context.Context, share Share) {
	ok, err := r.options.Store.Take(ctx, share)
	if err != nil {
		r.options.Logger.Warn("a share could not be taken", "share", share, "error", err)
	}
	if !ok || err != nil {
		return
	}
	h := &hold{works: map[int]context.CancelCauseFunc{}, from: r.options.Now()}
	if r.options.Settle {
		h.from = h.from.Add(r.lifetime())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds[share] = h
	r.standing.Taken++
}

func (r *Replica) drop(share Share) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lose(share)
}

func (r *Replica) lose(share Share) {
	h := r.holds[share]
	if h == nil {
		return
	}
	delete(r.holds, share)
	h.lost = true
	for _, cancel := range h.works {
		cancel(ErrElsewhere)
	}
}

func (r *Replica) loseAll() {
	for share := range Share(Count) {
		r.lose(share)
	}
}

// Standing returns what is known of all replicas.
func (r *Replica) Standing() Standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.standing
}

// Round is the shares that a replica had when a round began. The zero Round is of a nil Replica.
type Round struct {
	replica *Replica
	holds   map[Share]*hold
}

// BeginRound begins a round, before repositories are polled.
func (r *Replica) BeginRound() Round {
	if r == nil {
		return Round{}
	}
	now := r.options.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	held := Round{replica: r, holds: map[Share]*hold{}}
	for share, h := range r.holds {
		if isHeld(*h, r.until, now) && !h.leaving {
			held.holds[share] = h
		}
	}
	return held
}

// IsSame reports whether two rounds have the same shares without interruption.
func (held Round) IsSame(other Round) bool {
	if len(held.holds) != len(other.holds) {
		return false
	}
	for share, h := range held.holds {
		if other.holds[share] != h {
			return false
		}
	}
	return true
}

// Has reports whether the round may write in a share.
func (held Round) Has(share Share) bool { return held.replica == nil || held.holds[share] != nil }

// work is the value in a context.
type work struct {
	replica *Replica
	hold    *hold // nil to observe only
}

type workKey struct{}

// Enter returns the context of work in a share, which ends when the share is lost. Without the share,
// nothing may be written. leave must be called.
func (held Round) Enter(ctx context.Context, share Share) (within context.Context, leave func()) {
	r := held.replica
	if r == nil {
		return ctx, func() {}
	}
	h := held.holds[share]
	r.mu.Lock()
	defer r.mu.Unlock()
	if h == nil || h.leaving || !isHeld(*h, r.until, r.options.Now()) {
		return context.WithValue(ctx, workKey{}, work{replica: r}), func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r.lastWork++
	number := r.lastWork
	h.works[number] = cancel
	return context.WithValue(ctx, workKey{}, work{r, h}), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(h.works, number)
		cancel(nil)
	}
}

// MayWrite reports whether work may write. Without it, work only observes.
func MayWrite(ctx context.Context) bool {
	w, ok := ctx.Value(workKey{}).(work)
	return !ok || w.hold != nil
}

// Check is called before each effect. Its error is ErrElsewhere.
func (r *Replica) Check(ctx context.Context) error {
	if r == nil {
		return nil
	}
	w, _ := ctx.Value(workKey{}).(work)
	if w.hold == nil || w.replica != r {
		return fmt.Errorf("write: %w", ErrElsewhere)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !isHeld(*w.hold, r.until, r.options.Now()) {
		return fmt.Errorf("write: %w since the lease has ended", ErrElsewhere)
	}
	return nil
}
