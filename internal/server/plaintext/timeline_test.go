package plaintext

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// TestTimelineText: a lane is a line in which bars are as long as their commits were there.
func TestTimelineText(t *testing.T) {
	from := time.Date(2026, 11, 24, 6, 0, 0, 0, time.UTC)
	at := func(hours int) time.Time { return from.Add(time.Duration(hours) * time.Hour) }
	commit := func(id string) answer.Commit {
		return answer.Commit{Commit: status.Commit{ID: strings.Repeat(id, 40)}}
	}
	line := answer.Timeline{From: from, Now: at(4), To: at(6), Cursor: at(3), Lanes: []answer.TimelineLane{
		{Environment: "dev", Bars: []answer.TimelineBar{{Commit: commit("a"), From: at(0), To: at(1), State: answer.State{Tone: answer.Waiting}}, {Commit: commit("a"), From: at(1), To: at(2)}, {Commit: commit("b"), From: at(2), State: answer.State{Tone: answer.Bad}}}},
		{Environment: "prod", Bars: []answer.TimelineBar{{Commit: commit("a"), From: at(2)}}, Next: &answer.TimelineNext{Commit: commit("b"), At: at(5), State: answer.State{Tone: answer.Busy, Word: "expected"}, Waits: []string{"prod: soak"}}},
	}}
	want := `
from Tue 2026-11-24 06:00 UTC to Tue 2026-11-24 12:00 UTC; > is Tue 2026-11-24 09:00 UTC, | is now, ! failed, / held or frozen, . waits
ENVIRONMENT  TIMELINE                                                      NEXT
dev          aaaaaaa...----------bbbbbbb!!!>!!!!!!!!!|                     -
prod                             aaaaaaa--->---------|.........bbbbbbb---  bbbbbbb expected Tue 2026-11-24 11:00 UTC, prod: soak
`
	if diff := cmp.Diff(want, formatTimeline(line, display.NewStream(io.Discard))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := formatTimeline(answer.Timeline{}, display.NewStream(io.Discard)); got != "" {
		t.Errorf("of nothing it is %q", got)
	}
}
