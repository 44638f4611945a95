// Fairlead guides a commit from a control-plane repository to every cluster of a
// fleet: it decides what runs where, renders it, and says what a change means.
//
// All of the program is in internal/cli; this is where it meets the system.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // CRON_TZ=Europe/Berlin is good on a machine that knows no time zones

	"github.com/fairlead-io/fairlead/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	os.Exit(cli.Main(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
