// Fairlead-agent runs on a cluster, reads how far the objects of Flux, Argo CD and Rancher Fleet have
// got, and reports that to Fairlead.
//
// It is a program of its own, so that fairlead does not carry what reaching a cluster takes.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/fairlead-io/fairlead/internal/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	os.Exit(agent.Main(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
