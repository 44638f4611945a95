package intake

import (
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/recent"
)

// Rates limits the rate of each sender. It is safe for concurrent use.
type Rates struct {
	burst  time.Duration // time to fill a bucket
	refill time.Duration

	mu sync.Mutex
	// full is when a sender's bucket is full.
	full    recent.Map[string, time.Time]
	rotated time.Time
}

// NewRates permits burst requests at once, and another one after each refill.
func NewRates(burst int, refill time.Duration) *Rates {
	return &Rates{burst: time.Duration(burst) * refill, refill: refill}
}

// TakeToken returns how long a sender must wait; 0 permits and counts a request.
func (r *Rates) TakeToken(sender string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.rotated) >= 2*r.burst { // unused buckets are full
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
