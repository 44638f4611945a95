package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// statusCommand is `fairlead status`.
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
reads the clone alone, and says what is not known from that.

Until the output of a commit is merged, its STATE is that of the output: mostly proposed.
Then it is rolling-out, verified or failed. The documentation has all states. NEXT says what
a person has to do, or what is waited for; --output wide has the pull requests' addresses too.`,
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

// addObserverFlags adds the flags of a command that only reads.
func (cc *commandContext) addObserverFlags(c *cobra.Command) {
	c.Flags().SortFlags = false
	cc.addURLFlag(c)
	addConfigFlag(c, &cc.settingsFile, "", " (default: "+defaultSettingsFile+")")
	cc.app.addOutputFlag(c)
}

// runStatus shows the chain once, or until ctx ends.
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
		if ctx.Err() != nil { // Ctrl-C is how it ends
			return nil
		}
		if w.context.app.stdout.Terminal && w.context.app.isText() {
			fmt.Fprint(w.context.app.stdout, "\x1b[H\x1b[2J")
		}
		if err == nil {
			err = w.context.printChain(chain)
		}
		w.context.app.reportError(err) // it does not end the watch
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
	}
}

// printChain prints the chain. Problems are an error, for they stop all promotions.
func (cc *commandContext) printChain(chain status.Chain) error {
	l := newChainListing(chain, cc.now())
	l.below += cc.commandNote(l.namesCommands())
	err := cc.app.printListing(l)
	if err == nil && chain.Problems.Stops() {
		err = newProblemsError(chain.Problems)
	}
	return err
}

// namesCommands reports whether the table has commands of ours in it.
func (l listing) namesCommands() bool {
	return slices.ContainsFunc(l.rows, func(row []any) bool {
		return slices.ContainsFunc(row, func(cell any) bool { return strings.Contains(cellText(cell), "fairlead ") })
	})
}

// commandNote returns that the commands in a text need the settings that --config names; "" if there are
// none, or if they find the settings by themselves.
func (cc *commandContext) commandNote(hasCommands bool) string {
	if !hasCommands || cc.settingsFile == "" || cc.daemonURL != "" {
		return ""
	}
	return "The commands above need --config " + text.QuoteShell(cc.settingsFile) + " too.\n"
}

// newChainListing returns the chain as a table.
func newChainListing(c status.Chain, now time.Time) listing {
	l := listing{value: c, columns: []column{
		{key: "environment"}, {key: "commit"}, {key: "age"}, {key: "state"},
		{key: "behind"}, {key: "next", fit: display.Wrap}, {key: "pullRequest", wide: true},
	}, colour: stateColour}
	switch {
	case c.External:
		l.above = "Others promote commits here; fairlead only renders.\n"
	case c.Inferred != "":
		l.above = fmt.Sprintf("There is no Promotion: the order is that of %s.\n", strings.TrimPrefix(c.Inferred, "the order of "))
	}
	l.empty = l.above
	if len(c.Stages) == 0 {
		return l
	}
	for _, s := range c.Stages {
		age, pull := "", ""
		if !s.Since.IsZero() {
			age = display.FormatAge(now.Sub(s.Since))
		}
		if s.Pull != nil {
			pull = cmp.Or(s.Pull.URL, fmt.Sprint(s.Pull.Number))
		}
		state, next := s.ShownState(), s.NextAction()
		if c.FromGit { // what it says of all of them stands below the table, once
			next = s.Action
		}
		l.rows = append(l.rows, []any{s.Environment, text.ShortCommit(s.Commit), age, state, s.Behind, next, pull})
		if s.Empty != "" {
			l.below += fmt.Sprintf("%s: %s\n", s.Environment, s.Empty)
		}
		for _, r := range s.Removals {
			l.below += fmt.Sprintf("%s: %s\n", s.Environment, r)
		}
	}
	if c.FromGit {
		l.below += gitLegend
	}
	l.below += hintText(c)
	return l
}

// stateColour returns the colour of the state of an environment's commit.
func stateColour(cell string) string {
	switch status.StageState(cell) {
	case status.StageVerified:
		return display.Green
	case status.StageFailed, status.StageProblems, status.StageStopped:
		return display.Red
	case status.StageProposed, status.StageDeclined, status.StageEdited, status.StageForeign, status.StageHeld, status.StageFrozen:
		return display.Yellow
	case status.StageEmpty, status.StageDryRun, status.StageWaiting, status.StageRollingOut, status.StagePromoted:
	}
	return ""
}

// hintText returns what to do about a chain to which no cluster reports, below a blank line.
func hintText(c status.Chain) string {
	if c.Unconnected {
		return "\n" + c.ConnectHint() + "\n"
	}
	return ""
}
