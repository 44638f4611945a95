//go:build !unix

package lock

import "context"

// Acquire does nothing where there is no flock: processes that share a folder of
// mirrors there may do work twice.
func Acquire(context.Context, string) (unlock func(), err error) { return func() {}, nil }
