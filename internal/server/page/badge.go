package page

import (
	"bytes"
	"fmt"
	"html/template"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

type badge struct {
	Title, Label, Word, Ground string
	LabelWidth, WordWidth      int
}

// Width returns how wide the badge is.
func (b badge) Width() int { return b.LabelWidth + b.WordWidth }

// LabelLength and WordLength return how long its texts are, and WordX where the right one begins.
func (b badge) LabelLength() int { return b.LabelWidth - 2*badgeMargin }

// WordLength is described at LabelLength.
func (b badge) WordLength() int { return b.WordWidth - 2*badgeMargin }

// WordX is described at LabelLength.
func (b badge) WordX() int { return b.LabelWidth + badgeMargin }

// The measures of a badge: the width of a letter is that of most fonts at 11 px, rounded up.
const badgeLetter, badgeMargin = 7, 8

// badgeGrounds are the grounds of states. White on each has a contrast of at least 5.7.
var badgeGrounds = map[answer.Tone]string{
	answer.Good: "#0b5f4a", answer.Busy: "#164e8a", answer.Waiting: "#4b4f8f", answer.Unknown: "#535e6c", answer.Stopped: "#6d4200", answer.Bad: "#a3123a",
}

// badgeMarks are the marks of states, since colour alone says nothing.
var badgeMarks = map[answer.Tone]string{answer.Good: "✓", answer.Busy: "◔", answer.Waiting: "◷", answer.Unknown: "┄", answer.Stopped: "‖", answer.Bad: "▲"}

var badgeTemplate = template.Must(template.New("badge.svg").ParseFS(files, "templates/badge.svg"))

// RenderBadge returns a picture that says how far a commit has got: of one environment if it is named.
func RenderBadge(j answer.Journey, environment string) ([]byte, error) {
	where, state := j.Farthest(environment)
	b := badge{Label: text.ShortCommit(j.Commit.ID), Word: badgeMarks[state.Tone] + " " + where, Ground: badgeGrounds[state.Tone]}
	if where != "" {
		b.Word += ": "
	}
	b.Word = text.Limit(answer.CleanText(b.Word+stateText(state.Word)), maxBadge)
	b.Title = answer.CleanText(fmt.Sprintf("%s %s: %s", b.Label, j.Commit.Subject, b.Word))
	b.LabelWidth, b.WordWidth = badgeLetter*utf8.RuneCountInString(b.Label)+2*badgeMargin, badgeLetter*utf8.RuneCountInString(b.Word)+2*badgeMargin
	var buffer bytes.Buffer
	err := badgeTemplate.Execute(&buffer, b)
	return buffer.Bytes(), err
}

// maxBadge is how many letters the right side of a badge has at most.
const maxBadge = 60
