package plaintext

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// TestFormatCalendar: a subject that somebody wrote to be taken for lines of the calendar is a text in it, lines are
// folded between characters, and events have the same ids at another time.
func TestFormatCalendar(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.FixedZone("", 3600))
	commit := answer.Commit{Commit: status.Commit{ID: strings.Repeat("c4d4e4f0", 5), Subject: "x\r\nEND:VCALENDAR; a, b\\n\x1b[2J " + strings.Repeat("é", 40)}}
	forecast := func(at time.Time) answer.Forecast {
		return answer.Source{}.NewForecast(answer.Journey{Commit: commit}, []promote.Arrival{
			{Environment: "dev", State: promote.ArrivalHas, Time: noon, Reason: "it has it"},
			{Environment: "stage", State: promote.ArrivalExpected, Time: at, Reason: "it soaks", WaitsFor: []promote.ArrivalWait{{Environment: "stage", What: "30 min, of the soak"}}},
			{Environment: "test", State: promote.ArrivalLeftOut, Reason: "the newer e22e62f contains it"},
			{Environment: "prod", State: promote.ArrivalWaits, Reason: "2 approvals are missing; one, or more"},
		})
	}
	got := FormatCalendar(forecast(noon.Add(time.Hour)), noon)
	const name = `c4d4e4f x�\nEND:VCALENDAR\; a\, b\\n�[2J ` + "éééééééééééééééééééééééééééééééééééééééé"
	want := []string{
		"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Fairlead//Forecast//EN", "METHOD:PUBLISH", "X-WR-CALNAME:" + name, `X-WR-CALDESC:test: left out: the newer e22e62f contains it\nprod: waits: 2 approvals are missing\; one\, or more`,
		"BEGIN:VEVENT", "UID:ID", "DTSTAMP:20261121T110000Z", "DTSTART:20261121T110000Z", "SUMMARY:dev has it " + name, "DESCRIPTION:it has it", "STATUS:CONFIRMED", "TRANSP:TRANSPARENT", "END:VEVENT",
		"BEGIN:VEVENT", "UID:ID", "DTSTAMP:20261121T110000Z", "DTSTART:20261121T120000Z", "SUMMARY:stage expected " + name, `DESCRIPTION:it soaks\nstage: 30 min\, of the soak`, "STATUS:TENTATIVE", "TRANSP:TRANSPARENT", "END:VEVENT",
		"END:VCALENDAR", "",
	}
	lines, ids := strings.Split(strings.ReplaceAll(got, "\r\n ", ""), "\r\n"), map[string]bool{}
	for i, line := range lines {
		if id, isID := strings.CutPrefix(line, "UID:"); isID {
			ids[id], lines[i] = true, "UID:ID"
		}
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for line := range strings.SplitSeq(got, "\r\n") {
		if len(line) > maxContentLine || strings.ToValidUTF8(line, "") != line || strings.ContainsAny(line, "\r\n") {
			t.Errorf("the line %q has %d bytes, or cuts a character", line, len(line))
		}
	}
	later := FormatCalendar(forecast(noon.Add(5*time.Hour)), noon)
	for id := range ids {
		if len(ids) != 2 || !strings.Contains(later, "UID:"+id+"\r\n") {
			t.Errorf("the ids %v are not those of the forecast later:\n%s", ids, later)
		}
	}
}
