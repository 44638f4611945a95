package plaintext

import (
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// Elapsed is a number of seconds in a table; CSV has the number.
type Elapsed int

// String returns the time for people; "" for 0.
func (e Elapsed) String() string {
	if e == 0 {
		return ""
	}
	return display.FormatAge(time.Duration(e) * time.Second)
}

// ExactText returns the seconds for programs.
func (e Elapsed) ExactText() string {
	if e == 0 {
		return ""
	}
	return fmt.Sprint(int(e))
}

// Revision is a revision in a table: people read a commit's first digits, CSV has all of it.
type Revision string

// String returns a revision for people.
func (r Revision) String() string {
	parsed := ledger.ParseRevision(string(r))
	if parsed.Commit == "" {
		return string(r)
	}
	return text.ShortCommit(parsed.Commit)
}

// ExactText returns a revision for programs.
func (r Revision) ExactText() string { return string(r) }

// CommitID is a commit in a table: people read its first digits, CSV has all of it.
type CommitID string

// String returns a commit for people.
func (c CommitID) String() string { return text.ShortCommit(string(c)) }

// ExactText returns a commit for programs.
func (c CommitID) ExactText() string { return string(c) }

// Age is how long ago a time was, in a table; CSV has the time.
type Age struct{ at, now time.Time }

// NewAge returns how long ago a time was.
func NewAge(at, now time.Time) Age { return Age{at, now} }

// String returns the age for people; "" for no time.
func (a Age) String() string {
	if a.at.IsZero() {
		return ""
	}
	return display.FormatAge(a.now.Sub(a.at))
}

// ExactText returns the time for programs.
func (a Age) ExactText() string { return FormatTime(a.at) }

// FormatTime returns a time as programs read it, and people where an age would not do; "" for no time.
func FormatTime(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
