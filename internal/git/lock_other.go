//go:build !unix

package git

import "context"

// Lock does nothing where there is no flock: processes that share a folder of
// mirrors there may do work twice.
func Lock(context.Context, string) (unlock func(), err error) { return func() {}, nil }
