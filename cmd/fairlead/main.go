// Fairlead takes a commit from a control-plane repository to every cluster of a fleet: it
// decides what runs where, renders it, and explains what a change means.
//
// The program is in internal/cli; this package connects it to the operating system.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // CRON_TZ=Europe/Berlin is good on a machine that knows no time zones

	"github.com/fairlead-io/fairlead/internal/cli"
)

// grace is how long the program may continue after a signal. Most work ends at once, and
// all of it may be killed at any point.
const grace = 8 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends it at once
		time.AfterFunc(grace, func() {
			fmt.Fprintf(os.Stderr, "fairlead: error: stopped after %s, before all that was under way had ended; nothing is lost\n", grace)
			os.Exit(1)
		})
	})
	os.Exit(cli.Main(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
