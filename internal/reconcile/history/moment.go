package history

import (
	"regexp"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// Moment is when something is asked about: a time, or a commit. The zero Moment is now.
type Moment struct {
	// Text is how it was written.
	Text string
	Time time.Time
	// Commit is the id of a commit of an output, or of the base, or the beginning of it.
	Commit string
}

var commitStart = regexp.MustCompile(`^[0-9a-f]{4,64}$`)

// ParseMoment reads a moment: a time as RFC 3339 has it, with or without seconds, a day of UTC, of which the end is
// meant, or four letters or more of the id of a commit.
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

// String returns the place as it is asked about: "prod@2026-11-20".
func (p Place) String() string {
	if p.At == (Moment{}) {
		return p.Environment
	}
	return p.Environment + "@" + p.At.Text
}

// Output is what an environment's branch held at a moment.
type Output struct {
	Place
	Commit string    // of the output
	When   time.Time // it was merged, or committed if that is not known
	Base   string    // the commit of the base that it was rendered from
	Inputs []publish.Input
}
