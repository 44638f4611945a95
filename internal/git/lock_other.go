//go:build !unix

package git

import "context"

// lock does nothing where there is no flock: processes that share a folder of
// mirrors there may do work twice.
func lock(context.Context, string) (unlock func(), err error) { return func() {}, nil }
