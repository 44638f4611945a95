package intake

import (
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/recent"
)

// Rates bounds how often each sender may send. Any number of goroutines may use it.
type Rates struct {
	burst  time.Duration // how long it takes until a bucket is full
	refill time.Duration

	mu sync.Mutex
	// full is when the bucket of a sender will be full again.
	full    recent.Map[string, time.Time]
	rotated time.Time
}

// NewRates returns rates of burst requests at once, and one more after each refill.
func NewRates(burst int, refill time.Duration) *Rates {
	return &Rates{burst: time.Duration(burst) * refill, refill: refill}
}

// TakeToken returns how long a sender has to wait before it may send; 0 if it may, which counts.
func (r *Rates) TakeToken(sender string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.rotated) >= 2*r.burst { // by then a bucket that is not used is full
		r.full.Rotate()
		r.rotated = now
	}
	full, _ := r.full.Find(sender)
	if full.Before(now) {
		full = now
	}
	wait := full.Add(r.refill).Sub(now) - r.burst
	if wait > 0 {
		return wait
	}
	r.full.Put(sender, full.Add(r.refill))
	return 0
}
