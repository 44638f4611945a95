// Package parallel does something for several, some at a time.
//
// What the package keeps true: when [Each] comes back, all that it has started is over.
package parallel

import "sync"

// Each calls do for each of all, one of which is the i-th, and waits for them. As many
// run at a time as limit says, but at least one.
func Each[T any](limit int, all []T, do func(i int, one T)) {
	room := make(chan struct{}, max(limit, 1))
	var wait sync.WaitGroup
	for i, one := range all {
		wait.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			do(i, one)
		})
	}
	wait.Wait()
}
