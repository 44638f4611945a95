package plaintext

import (
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// timelineWidth is how many characters a lane has.
const timelineWidth = 60

// laneLetters draw a bar of each tone; one that is fine has the first letters of its commit.
var laneLetters = map[answer.Tone]byte{answer.Bad: '!', answer.Stopped: '/', answer.Waiting: '.'}

// formatTimeline returns the lanes of a timeline as lines, and what each environment gets next; "" for none.
func formatTimeline(t answer.Timeline, to *display.Stream) string {
	if !t.To.After(t.From) {
		return ""
	}
	lanes := Table{Columns: []Column{{Key: "environment"}, {Key: "timeline"}, {Key: "next", Fit: display.Wrap}}}
	for _, l := range t.Lanes {
		lanes.Rows = append(lanes.Rows, []any{l.Environment, drawLane(t, l), formatNext(l.Next)})
	}
	lanes.Above = fmt.Sprintf("from %s to %s; | is now, ! failed, / held or frozen, . waits\n", display.FormatMoment(t.From), display.FormatMoment(t.To))
	if !t.Cursor.IsZero() {
		lanes.Above = fmt.Sprintf("from %s to %s; > is %s, | is now, ! failed, / held or frozen, . waits\n", display.FormatMoment(t.From), display.FormatMoment(t.To), display.FormatMoment(t.Cursor))
	}
	return "\n" + lanes.Format(to, false)
}

func formatNext(n *answer.TimelineNext) string {
	if n == nil {
		return ""
	}
	line := text.ShortCommit(n.Commit.ID) + " " + n.State.Word
	if !n.At.IsZero() {
		line += " " + display.FormatMoment(n.At)
	}
	return strings.Join(append([]string{line}, n.Waits...), ", ")
}

// drawLane returns a lane as a line: each bar begins with the id of its commit.
func drawLane(t answer.Timeline, l answer.TimelineLane) string {
	line := []byte(strings.Repeat(" ", timelineWidth+1))
	place := func(at time.Time) int {
		return min(max(0, int(timelineWidth*at.Sub(t.From)/t.To.Sub(t.From))), timelineWidth)
	}
	draw := func(from, to time.Time, letter byte, label string) {
		for i := place(from); i < place(to); i++ {
			line[i] = letter
			if n := i - place(from); n < len(label) {
				line[i] = label[n]
			}
		}
	}
	last := ""
	for _, b := range l.Bars {
		to, letter, label := b.To, laneLetters[b.State.Tone], text.ShortCommit(b.Commit.ID)
		if to.IsZero() {
			to = t.Now
		}
		if letter == 0 {
			letter = '-'
		}
		if label == last {
			label = ""
		}
		last = text.ShortCommit(b.Commit.ID)
		draw(b.From, to, letter, label)
	}
	if n := l.Next; n != nil {
		until := n.At
		if until.IsZero() {
			until = t.To
		}
		letter := laneLetters[answer.Waiting]
		if n.State.Tone == answer.Stopped {
			letter = laneLetters[answer.Stopped]
		}
		draw(t.Now, until, letter, "")
		draw(until, t.To, '-', text.ShortCommit(n.Commit.ID))
	}
	line[place(t.Now)] = '|'
	if !t.Cursor.IsZero() {
		line[place(t.Cursor)] = '>'
	}
	return strings.TrimRight(string(line), " ")
}
