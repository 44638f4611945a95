package plaintext

import (
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// Elapsed is a duration in seconds; CSV has the number.
type Elapsed int

// String returns the duration, or "" for 0.
func (e Elapsed) String() string {
	if e == 0 {
		return ""
	}
	return display.FormatAge(time.Duration(e) * time.Second)
}

// ExactText returns the seconds.
func (e Elapsed) ExactText() string {
	if e == 0 {
		return ""
	}
	return fmt.Sprint(int(e))
}

// Revision is abbreviated for people, and whole in CSV.
type Revision string

// String returns the abbreviated revision.
func (r Revision) String() string {
	parsed := ledger.ParseRevision(string(r))
	if parsed.Commit == "" {
		return string(r)
	}
	return text.ShortCommit(parsed.Commit)
}

// ExactText returns the whole revision.
func (r Revision) ExactText() string { return string(r) }

// CommitID is abbreviated for people, and whole in CSV.
type CommitID string

// String returns the abbreviated commit.
func (c CommitID) String() string { return text.ShortCommit(string(c)) }

// ExactText returns the whole commit.
func (c CommitID) ExactText() string { return string(c) }

// Age is the age of a time; CSV has the time.
type Age struct{ at, now time.Time }

// NewAge returns the age of a time.
func NewAge(at, now time.Time) Age { return Age{at, now} }

// String returns the age, or "" for no time.
func (a Age) String() string {
	if a.at.IsZero() {
		return ""
	}
	return display.FormatAge(a.now.Sub(a.at))
}

// ExactText returns the time.
func (a Age) ExactText() string { return FormatTime(a.at) }

// FormatTime returns a time in RFC 3339, or "".
func FormatTime(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
