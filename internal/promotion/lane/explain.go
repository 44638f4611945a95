package lane

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// Explain returns what the lane does or waits for, as a clause.
func (d Decision) Explain() string {
	with := ""
	if len(d.With) > 0 {
		with = " together with " + text.Join(d.With, " and ")
	}
	switch reason := d.Reason; reason.Kind {
	case NotProven:
		return reason.Text
	case Held:
		return "held: " + reason.Text
	case Joint:
		return fmt.Sprintf("%s changes %s too, which waits", text.ShortCommit(reason.Commit), reason.Lane)
	case Shared:
		return fmt.Sprintf("it changes %s of lane %s too, so both have to move together", reason.Folder, reason.Lane)
	case Context:
		return fmt.Sprintf("%s was verified in %s as a part of %s, with newer commits of others that change %s too", text.ShortCommit(d.Candidate), reason.Environment, text.ShortCommit(reason.Commit), reason.Folder)
	case Unrendered:
		return "the environment cannot be rendered with it: " + reason.Text
	case Unreported:
		return fmt.Sprintf("it would move by itself%s; clusters of %s do not report its objects one by one, so it is unknown whether they are ready", with, reason.Environment)
	}
	return "it could move by itself" + with
}
