//go:build !linux

package pgtest

import "os/exec"

// lowerRights has a program run in a folder.
func lowerRights(c *exec.Cmd, dir string) error {
	c.Dir = dir
	return nil
}
