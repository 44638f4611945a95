package web

import (
	"sync"
	"time"
)

// refreshed keeps a value that takes work to find, for a time. One caller at a time finds it; the others wait for that,
// or take the value of before. The zero value is ready.
type refreshed[T any] struct {
	mu      sync.Mutex
	key     string
	value   T
	err     error
	made    time.Time
	running chan struct{} // closed at the end of the work that runs; nil if none does
}

// load returns the value of a key: one that was found again if that of before is as old as age.
func (r *refreshed[T]) load(key string, now time.Time, age time.Duration, find func() (T, error)) (T, error) {
	<-r.start(key, now, age, find)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value, r.err
}

// latest is load, but with the value of before where the work takes longer than patience, or fails.
func (r *refreshed[T]) latest(key string, now time.Time, age, patience time.Duration, find func() (T, error)) T {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-r.start(key, now, age, find):
	case <-timer.C:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value
}

// start begins the work unless it is needless or runs, and returns what is closed when it has ended.
func (r *refreshed[T]) start(key string, now time.Time, age time.Duration, find func() (T, error)) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running != nil {
		return r.running
	}
	done := make(chan struct{})
	if r.err == nil && r.key == key && !r.made.IsZero() && now.Sub(r.made) < age {
		close(done)
		return done
	}
	r.running = done
	go func() {
		value, err := find()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.err = err
		if err == nil {
			r.key, r.value, r.made = key, value, now
		}
		r.running = nil
		close(done)
	}()
	return done
}
