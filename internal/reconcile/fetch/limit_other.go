//go:build !unix

package fetch

import "runtime/debug"

func limitMemory(bytes uint64) error {
	debug.SetMemoryLimit(int64(bytes))
	return nil
}
