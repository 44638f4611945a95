// Package parallel calls a function for many items with limited concurrency.
//
// What the package keeps true: when [Each] returns, all its calls have ended. A panic in a call is
// raised in the caller's goroutine.
//
// errgroup.Group would save three lines in Each and none in EachInOrder.
package parallel

import (
	"sync"

	"github.com/fairlead-io/fairlead/internal/base/panics"
)

// Each calls fn(i, items[i]) for every item, at most limit (at least one) at a time, and waits for
// all calls.
func Each[T any](limit int, items []T, fn func(i int, item T)) {
	room := make(chan struct{}, max(limit, 1))
	var wait sync.WaitGroup
	var relay panics.Relay
	for i, item := range items {
		wait.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			relay.Run(func() { fn(i, item) })
		})
	}
	wait.Wait()
	relay.Raise()
}

// EachInOrder calls do for 0 to n-1, at most limit at a time, and use with the results in order. It
// returns the first error of use.
func EachInOrder[T any](limit, n int, do func(i int) T, use func(T) error) error {
	var wait sync.WaitGroup
	defer wait.Wait()
	var relay panics.Relay
	var ahead []chan T
	for i := 0; i < n || len(ahead) > 0; {
		if i < n && len(ahead) < max(limit, 1) {
			result, one := make(chan T, 1), i
			ahead = append(ahead, result)
			wait.Go(func() {
				defer close(result)
				relay.Run(func() { result <- do(one) })
			})
			i++
			continue
		}
		result, ok := <-ahead[0]
		if !ok {
			relay.Raise()
		}
		if err := use(result); err != nil {
			return err
		}
		ahead = ahead[1:]
	}
	return nil
}
