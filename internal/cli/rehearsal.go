package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type effect struct {
	Summary string `json:"does"` // one sentence without subject and full stop
	// Message and Diff are of a commit.
	Message string `json:"message,omitempty"`
	Diff    string `json:"diff,omitempty"`
}

// rehearsal is what --dry-run prints: effects, recorded where they would leave the
// process: push, forge and daemon. Commands only add the flag.
type rehearsal struct {
	DryRun  bool     `json:"dryRun"`
	Effects []effect `json:"effects"`
	Result  any      `json:"result,omitempty"` // the normal output
}

func (a *app) addDryRunFlag(c *cobra.Command) {
	a.rehearsal = &rehearsal{DryRun: true, Effects: []effect{}}
	c.Flags().BoolVar(&a.dryRun, "dry-run", false, "print what would be pushed, opened or called, and change nothing")
}

func (a *app) newRemoteOptions(credentials func(context.Context) (git.Credentials, error)) git.RemoteOptions {
	o := git.RemoteOptions{Credentials: credentials, OnExchange: func(op, url string) func() {
		return a.stderr.ShowProgress(op + " " + url)
	}}
	if a.dryRun {
		o.Rehearse = a.recordPush
	}
	return o
}

func (a *app) recordEffect(format string, args ...any) {
	a.rehearsal.Effects = append(a.rehearsal.Effects, effect{Summary: fmt.Sprintf(format, args...)})
}

func (a *app) recordPush(r git.Rehearsal) {
	for _, u := range r.Updates {
		if u.Old == u.New { // an unmoved ref is a condition
			continue
		}
		ref := strings.TrimPrefix(u.Ref, "refs/heads/")
		c, isNew := r.FindCommit(u.New)
		switch {
		case u.New == "":
			a.recordEffect("remove %s of %s", ref, r.Repo)
			continue
		case !isNew:
			a.recordEffect("move %s of %s to %s", ref, r.Repo, text.ShortCommit(u.New))
			continue
		}
		e := effect{Summary: fmt.Sprintf("commit to %s of %s", ref, r.Repo), Message: c.Message}
		if ref != u.Ref { // records of pull requests are not files for people
			var before tree.Tree
			if len(c.Known) > 0 {
				before = c.Known[0]
			}
			for piece := range impact.UnifiedDiff(before, c.Tree, contextLines) {
				e.Diff += piece
			}
		}
		a.rehearsal.Effects = append(a.rehearsal.Effects, e)
	}
}

func (r *rehearsal) reportText(nothing string) string {
	if len(r.Effects) == 0 {
		return "dry run: " + nothing
	}
	var b strings.Builder
	b.WriteString("dry run: nothing was changed. Without --dry-run the command does this:\n")
	for _, e := range r.Effects {
		fmt.Fprintf(&b, "- %s\n", display.SanitizeLine(e.Summary))
		for _, text := range []string{e.Message, e.Diff} {
			for line := range strings.Lines(strings.TrimRight(text, "\n")) {
				b.WriteString(strings.TrimRight("    "+display.SanitizeLine(strings.TrimRight(line, "\n")), " ") + "\n")
			}
		}
	}
	return b.String()
}
