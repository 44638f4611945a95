//go:build !linux

package atomicfile

import "errors"

// exchange cannot be done here.
func exchange(_, _ string) error { return errors.ErrUnsupported }
