// Package parallel does something for several, some at a time.
//
// What the package keeps true: when [Each] comes back, all that it has started is over; a
// panic in what it has started is one in the goroutine that called it.
package parallel

import (
	"sync"

	"github.com/fairlead-io/fairlead/internal/base/panics"
)

// Each calls do for each of all, one of which is the i-th, and waits for them. As many
// run at a time as limit says, but at least one.
func Each[T any](limit int, all []T, do func(i int, one T)) {
	room := make(chan struct{}, max(limit, 1))
	var wait sync.WaitGroup
	var relay panics.Relay
	for i, one := range all {
		wait.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			relay.Run(func() { do(i, one) })
		})
	}
	wait.Wait()
	relay.Raise()
}

// InOrder calls do for the numbers below n, as many at a time as limit says, and use for
// what comes of each, in their order. It ends with the first error of use.
func InOrder[T any](limit, n int, do func(i int) T, use func(T) error) error {
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
