package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/fetch"
)

// grace is how long the program may continue after a signal. All work may be killed at
// any point.
const grace = 8 * time.Second

// RunProcess runs the program until it ends or a signal stops it, and returns the exit
// code. A second signal ends it at once.
func RunProcess() int {
	if len(os.Args) == 2 && os.Args[1] == fetch.BuilderArgument {
		return renderChart(os.Stdin, os.Stdout, os.Stderr)
	}
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

func renderChart(in io.Reader, out, errs io.Writer) int {
	if err := fetch.RunBuilder(in, out); err != nil {
		fmt.Fprintf(errs, "fairlead: error: render a chart: %v\n", err)
		return 1
	}
	return 0
}
