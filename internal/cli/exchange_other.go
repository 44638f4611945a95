//go:build !linux

package cli

import "errors"

// exchange cannot be done here.
func exchange(_, _ string) error { return errors.ErrUnsupported }
