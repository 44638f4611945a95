package history

import (
	"regexp"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// Moment is a time or a commit. The zero Moment is now.
type Moment struct {
	Text string
	Time time.Time
	// Commit is the id of a commit of an output or the base, or its beginning.
	Commit string
}

var commitStart = regexp.MustCompile(`^[0-9a-f]{4,64}$`)

// ParseMoment parses a time in RFC 3339, with or without seconds, a UTC day, meaning its end, or at
// least four letters of a commit id.
func ParseMoment(written string) (Moment, bool) {
	m := Moment{Text: written}
	if at, ok := text.ParseExactTime(written); ok {
		m.Time = at
		return m, true
	}
	day, err := time.Parse(time.DateOnly, written)
	if err == nil {
		m.Time = day.AddDate(0, 0, 1).Add(-time.Second)
		return m, true
	}
	m.Commit = strings.ToLower(written)
	return m, commitStart.MatchString(m.Commit)
}

// Place is an environment at a moment.
type Place struct {
	Environment string
	At          Moment
}

// String returns the form "prod@2026-11-20".
func (p Place) String() string {
	if p.At == (Moment{}) {
		return p.Environment
	}
	return p.Environment + "@" + p.At.Text
}

// Output is the content of an environment's branch at a moment.
type Output struct {
	Place
	Commit string    // of the output
	When   time.Time // time of the merge, or of the commit if unknown
	Base   string    // rendered base commit
	Inputs []publish.Input
}
