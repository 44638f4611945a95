//go:build !unix

package lock

import "context"

// Take does nothing where there is no flock: processes that share a folder of
// mirrors there may do work twice.
func Take(context.Context, string) (unlock func(), err error) { return func() {}, nil }
