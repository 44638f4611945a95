package plaintext

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// NewChainTable returns the chain as a table.
func NewChainTable(c status.Chain, now time.Time) Table {
	t := Table{Columns: []Column{
		{Key: "environment"}, {Key: "commit"}, {Key: "age"}, {Key: "state"},
		{Key: "behind"}, {Key: "next", Fit: display.Wrap}, {Key: "pullRequest", Wide: true},
	}, Colour: stateColour}
	switch {
	case c.External:
		t.Above = "Others promote commits here; fairlead only renders.\n"
	case c.Inferred == model.InferredFromFiles:
		t.Above = "There is no Promotion: the order is that of the files in .environments.\n"
	case c.Inferred != "":
		t.Above = fmt.Sprintf("There is no Promotion: the order is that of %s.\n", c.Inferred)
	}
	t.Empty = t.Above
	if len(c.Stages) == 0 {
		return t
	}
	for _, s := range c.Stages {
		age, pull := "", ""
		if !s.Since.IsZero() {
			age = display.FormatAge(now.Sub(s.Since))
		}
		if p := cmp.Or(s.Pull, s.StalePull); p != nil {
			pull = cmp.Or(p.URL, fmt.Sprint(p.Number))
		}
		state, next := s.ShownState(), s.NextAction()
		if c.FromGit { // the legend below the table has the common part
			next = s.Action
		}
		t.Rows = append(t.Rows, []any{s.Environment, text.ShortCommit(s.Commit), age, state, s.Behind, next, pull})
		if s.Empty != "" {
			t.Below += fmt.Sprintf("%s: %s\n", s.Environment, s.Empty)
		}
		for _, r := range s.Removals {
			t.Below += fmt.Sprintf("%s: %s\n", s.Environment, r)
		}
	}
	for _, s := range c.Stages {
		t.Below += formatWaves(s)
	}
	t.Below += formatLanePositions(c)
	if c.FromGit {
		t.Below += gitLegend
	}
	t.Below += FormatHint(c)
	return t
}

// maxWaveTypes bounds the cluster types of a wave that a line names.
const maxWaveTypes = 5

// formatWaves returns a line for each wave of the running advance of an environment; "" for none.
func formatWaves(s status.Stage) string {
	var b strings.Builder
	for i, w := range s.Waves {
		types := strings.Join(w.ClusterTypes[:min(maxWaveTypes, len(w.ClusterTypes))], ", ")
		if more := len(w.ClusterTypes) - maxWaveTypes; more > 0 {
			types += fmt.Sprintf(" and %d more", more)
		}
		line := fmt.Sprintf("%s wave %d/%d %s: %s; %s", s.Environment, i+1, len(s.Waves), w.Name, w.State, types)
		if w.Clusters > 0 {
			line += fmt.Sprintf("; %d of %s ready", w.Ready, text.Count(w.Clusters, "cluster"))
		}
		if w.Failed > 0 {
			line += fmt.Sprintf(", %d failed", w.Failed)
		}
		if w.Reason != "" {
			line += ": " + w.Reason
		}
		b.WriteString(display.SanitizeLine(line) + "\n")
	}
	return b.String()
}

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

// FormatHint returns a chain's hints, each after a blank line.
func FormatHint(c status.Chain) string {
	var b strings.Builder
	for _, hint := range c.Hints() {
		b.WriteString("\n" + hint + "\n")
	}
	return b.String()
}

const gitLegend = `
Read from this clone alone, as of its last fetch. Not known: what clusters run, whether a commit
is verified, and what gates wait for. To see it, ask a daemon or name the settings:
  fairlead status --url URL
  fairlead status --config FILE
`
