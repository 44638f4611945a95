//go:build !linux

package atomicfile

import "errors"

func exchangeFolders(_, _ string) error { return errors.ErrUnsupported }
