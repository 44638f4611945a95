//go:build !linux

package atomicfile

import "errors"

// exchangeFolders cannot be done here.
func exchangeFolders(_, _ string) error { return errors.ErrUnsupported }
