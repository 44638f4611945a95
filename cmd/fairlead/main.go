// Fairlead guides a commit from a control-plane repository to every cluster of a
// fleet: it decides what runs where, renders it, and says what a change means.
//
// All of the program is in internal/cli; this is where it meets the system.
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

// grace is how long what is under way may go on after a signal. Most ends at once; what
// does not is safe to be killed, as everything is.
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
