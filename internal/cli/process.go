package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// grace is how long the program may continue after a signal. All work may be killed at
// any point.
const grace = 8 * time.Second

// RunProcess runs the program until it ends or a signal stops it, and returns the exit
// code. A second signal ends it at once.
func RunProcess() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, func() {
		stop()
		time.AfterFunc(grace, func() {
			fmt.Fprintf(os.Stderr, "fairlead: error: stopped after %s, before all that was under way had ended; nothing is lost\n", grace)
			os.Exit(1)
		})
	})
	return runAs(ctx, calledName(os.Args[0]), os.Args[1:], os.Stdout, os.Stderr)
}
