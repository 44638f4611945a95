package reports

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/base/recent"
)

const (
	// burst is how many requests of a cluster may come at once.
	burst = 30
	// refill is how long it takes until there may be one more.
	refill = time.Second
	// forgetAfter is how long a bucket is kept that is not used; by then it is full again.
	forgetAfter = time.Minute
)

// buckets bound how often each cluster may send.
type buckets struct {
	// full is when the bucket of a cluster will be full again.
	full    recent.Map[string, time.Time]
	rotated time.Time
}

// takeToken returns how long a cluster has to wait before it may send; 0 if it may, which counts.
func (p *receiver) takeToken(cluster string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := &p.buckets
	if now.Sub(b.rotated) >= forgetAfter {
		b.full.Rotate()
		b.rotated = now
	}
	full, _ := b.full.Find(cluster)
	if full.Before(now) {
		full = now
	}
	wait := full.Add(refill).Sub(now) - burst*refill
	if wait > 0 {
		return wait
	}
	b.full.Put(cluster, full.Add(refill))
	return 0
}
