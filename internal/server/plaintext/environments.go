package plaintext

import (
	"cmp"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// FormatEnvironments shows all environments, a line for each.
func FormatEnvironments(all []status.Environment, to *display.Stream) string {
	rows, off := [][]string{}, false
	for _, e := range all {
		pull, says := "-", e.Change
		if e.Pull != nil && e.State != status.InSync {
			pull = cmp.Or(e.Pull.URL, fmt.Sprint(e.Pull.Number))
		}
		if says == "" || e.State != status.Proposed && e.State != status.DryRun {
			says = cmp.Or(e.Reason, e.EmptyReason())
		}
		for _, r := range e.Removals {
			says += "; " + r.String()
		}
		off = off || e.State == status.DryRun
		rows = append(rows, []string{e.Name, e.StateWord(), pull, says})
	}
	if len(rows) == 0 {
		return "the control plane has no environments\n"
	}
	text := to.FormatTable([]display.Column{{Heading: "ENVIRONMENT"}, {Heading: "STATE"}, {Heading: "PULL REQUEST"}, {Fit: display.Wrap}}, rows)
	if off {
		text += "Writing is off: nothing was pushed. With write: true in the settings it will be.\n"
	}
	return text
}
