// Fairlead takes a commit from a control-plane repository to every cluster of a fleet: it
// decides what runs where, renders it, and explains what a change means.
//
// The program is in internal/cli.
package main

import (
	"os"
	_ "time/tzdata" // CRON_TZ=Europe/Berlin is good on a machine that knows no time zones

	"github.com/fairlead-io/fairlead/internal/cli"
)

func main() { os.Exit(cli.RunProcess()) }
