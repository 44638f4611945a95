package giteatest

import (
	"os/exec"
	"syscall"
)

// endWithUs has the system end a process that is not yet started when ours ends, in whatever
// way.
func endWithUs(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
