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

// InOrder calls do for the numbers below n, as many at a time as limit says, and use for
// what comes of each, in their order. It ends with the first error of use.
func InOrder[T any](limit, n int, do func(i int) T, use func(T) error) error {
	var wait sync.WaitGroup
	defer wait.Wait()
	var ahead []chan T
	for i := 0; i < n || len(ahead) > 0; {
		if i < n && len(ahead) < max(limit, 1) {
			result, one := make(chan T, 1), i
			ahead = append(ahead, result)
			wait.Go(func() { result <- do(one) })
			i++
			continue
		}
		if err := use(<-ahead[0]); err != nil {
			return err
		}
		ahead = ahead[1:]
	}
	return nil
}
