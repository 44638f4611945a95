package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/cli/display"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
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
and since when, how that fares, how many commits the base has had since, and what comes
next or why nothing does. It changes nothing. With --url it asks a daemon; with settings it
reads the repositories and their forges; in a clone of the control plane without settings it
reads the clone alone, and says what is not known from that.

An environment's commit is unmerged, withheld until a person merges its output, rolling-out,
failed or proven; or it has problems, so that it is not rendered. Long sentences are cut:
--output wide, and fairlead explain promotion, have all of them.`,
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
	w.context.addObserverFlags(c, "wide", "name")
	return c
}

// addObserverFlags adds the flags of a command that only reads.
func (cc *commandContext) addObserverFlags(c *cobra.Command, formats ...string) {
	c.Flags().SortFlags = false
	cc.addURLFlag(c)
	addConfigFlag(c, &cc.settingsFile, "", " (default: "+defaultSettingsFile+")")
	cc.app.addOutputFlag(c, formats...)
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
		if w.context.app.stdout.Terminal && w.context.app.format == "text" {
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
	err := cc.app.printValue(chain, func() string {
		switch cc.app.format {
		case "name":
			var names []string
			for _, s := range chain.Stages {
				names = append(names, s.Environment+"\n")
			}
			return strings.Join(names, "")
		case "wide":
			return chainText(chain, cc.now(), math.MaxInt)
		}
		return chainText(chain, cc.now(), maxNextWidth)
	})
	if err == nil && chain.Problems.Stops() {
		err = newProblemsError(chain.Problems)
	}
	return err
}

// chainText returns the chain as a table, with the column NEXT at most so many characters wide.
func chainText(c status.Chain, now time.Time, width int) string {
	var b strings.Builder
	switch {
	case c.External:
		b.WriteString("Others promote commits here; fairlead only renders.\n")
	case c.Inferred != "":
		fmt.Fprintf(&b, "Nobody has written a Promotion: the order is that of %s.\n", strings.TrimPrefix(c.Inferred, "the order of "))
	}
	if len(c.Stages) == 0 {
		return b.String()
	}
	rows := [][]string{{"ENVIRONMENT", "COMMIT", "AGE", "STATE", "BEHIND", "NEXT"}}
	for _, s := range c.Stages {
		commit, age := "-", "-"
		if s.Commit != "" {
			commit = promote.ShortID(s.Commit)
		}
		if !s.Since.IsZero() {
			age = display.FormatAge(now.Sub(s.Since))
		}
		next, state := nextText(s.Next), stateWord(s)
		if c.FromGit {
			next, state = "-", gitStateWord(s)
			if s.Next.Verdict.Reason != notKnownFromGit {
				next = s.Next.Verdict.Reason
			}
		}
		if s.HasProblems() { // what is wrong with its commit matters more than the next one
			next += "; " + s.Proof.Reason
		}
		if len(s.Withheld) > 0 && !s.Merged {
			next += "; its pull request waits for a person: " + s.Withheld[0].Reason
		} else if i := slices.IndexFunc(s.Withheld, func(w status.Withheld) bool { return w.Cause == "freeze" }); i >= 0 {
			next += "; only a person may merge its output: " + s.Withheld[i].Reason
		}
		rows = append(rows, []string{s.Environment, commit, age, state, fmt.Sprint(s.Behind), forge.OneLine(next, width)})
	}
	b.WriteString(display.FormatTable(rows))
	for _, s := range c.Stages {
		if s.Empty != "" {
			fmt.Fprintf(&b, "%s: %s\n", s.Environment, s.Empty)
		}
		for _, r := range s.Removals {
			fmt.Fprintf(&b, "%s: %s\n", s.Environment, r)
		}
	}
	if c.FromGit {
		b.WriteString(gitLegend)
	}
	b.WriteString(hintText(c))
	return b.String()
}

// hintText returns what to do about a chain to which no cluster reports, below a blank line.
func hintText(c status.Chain) string {
	if c.Unconnected {
		return "\n" + c.ConnectHint() + "\n"
	}
	return ""
}

// maxNextWidth is the width of the column NEXT, in characters.
const maxNextWidth = 120

// stateWord returns the state of an environment's commit in one word.
func stateWord(s status.Stage) string {
	switch {
	case s.Commit == "":
		return "empty"
	case s.Next.State == promote.Stopped:
		return "stopped"
	case s.HasProblems():
		return "problems"
	case s.Proof.Status == gate.Fail:
		return "failed"
	case !s.Merged && len(s.Withheld) > 0:
		return "withheld"
	case !s.Merged:
		return "unmerged"
	case s.Proof.Status == gate.Pass:
		return "proven"
	}
	return "rolling-out"
}

// nextText returns what comes next, or why nothing does.
func nextText(d promote.Decision) string {
	what := ""
	if d.Candidate != "" {
		what = promote.ShortID(d.Candidate) + " "
	}
	switch d.State {
	case promote.Promotes:
		return what + "now"
	case promote.Waiting:
		return what + "waits: " + d.Verdict.Reason
	case promote.Held:
		return what + d.Verdict.Reason
	case promote.Stopped:
		return d.Verdict.Reason
	}
	return "- " + d.Verdict.Reason
}
