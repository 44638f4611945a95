package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

type statusCommand struct {
	context  *commandContext
	interval time.Duration
}

func newStatus(a *app) *cobra.Command {
	w := &statusCommand{context: newCommandContext(a)}
	again := false
	c := &cobra.Command{
		Use:     "status",
		GroupID: groupPromotion,
		Short:   "Show how far commits have got",
		Long: `Status shows the environments in the order of promotion: which commit of the base each has
and since when, its state, how many commits the base has had since, and what comes next or
why nothing does. It changes nothing. With --url it asks a daemon; with settings it
reads the repositories and their forges; in a clone of the control plane without settings it
reads the clone alone, and says what is not known from that. A branch that is behind the one of
origin, as last fetched, is read as origin has it.

Until the output of a commit is merged, its STATE is that of the output: mostly proposed.
Then it is rolling-out, verified or failed, unless a change of the output since needs more of
people. The documentation has all states. NEXT says what a person has to do, or what is waited
for; --output wide has the pull requests' addresses too.`,
		Example: `  fairlead status
  fairlead status --watch --url http://fairlead.example.com:8080`,
		Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if again && w.interval < time.Second {
				return usageErrorf("a second is the least", "--interval %s is too short", w.interval)
			}
			return w.runStatus(c.Context(), again)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.BoolVar(&again, "watch", false, "show it again and again, until Ctrl-C")
	addDurationFlag(f, &w.interval, "interval", 10*time.Second, "`time` between two looks of --watch")
	w.context.addObserverFlags(c)
	return c
}

func (cc *commandContext) addObserverFlags(c *cobra.Command) {
	c.Flags().SortFlags = false
	cc.addURLFlag(c)
	addConfigFlag(c, &cc.settingsFile, "", " (default: "+defaultSettingsFile+")")
	cc.app.addOutputFlag(c)
}

func (w *statusCommand) runStatus(ctx context.Context, again bool) error {
	who, err := w.context.newChainReader(ctx)
	if errors.Is(err, errNoChainReader) {
		who, err = w.context.newGitReader(ctx)
	}
	if err != nil {
		return err
	}
	defer who.Close()
	if !again {
		chain, err := who.Chain(ctx)
		if err != nil {
			return err
		}
		return w.context.printChain(chain)
	}
	tick, stop := w.context.ticks(w.interval)
	defer stop()
	for {
		chain, err := who.Chain(ctx)
		if ctx.Err() != nil { // Ctrl-C is the normal end
			return nil
		}
		if w.context.app.stdout.Terminal && w.context.app.isText() {
			fmt.Fprint(w.context.app.stdout, "\x1b[H\x1b[2J")
		}
		if err == nil {
			err = w.context.printChain(chain)
		}
		w.context.app.reportError(err) // the watch continues
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
	}
}

func (cc *commandContext) printChain(chain status.Chain) error {
	l := newListing(plaintext.NewChainTable(chain, cc.now()), chain)
	l.below += cc.commandNote(l.namesCommands())
	err := cc.app.printListing(l)
	if err == nil && chain.Problems.Stops() {
		err = newProblemsError(chain.Problems)
	}
	return err
}

func (l listing) namesCommands() bool {
	return slices.ContainsFunc(l.rows, func(row []any) bool {
		return slices.ContainsFunc(row, func(cell any) bool { return strings.Contains(plaintext.FormatCell(cell), "fairlead ") })
	})
}

func (cc *commandContext) commandNote(hasCommands bool) string {
	if !hasCommands || cc.settingsFile == "" || cc.daemonURL != "" {
		return ""
	}
	return "The commands above need --config " + text.QuoteShell(cc.settingsFile) + " too.\n"
}
