package plaintext

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// maxContentLine is RFC 5545's limit in bytes, without the end of line.
const maxContentLine = 75

const calendarTime = "20060102T150405Z"

// FormatCalendar returns a forecast as a calendar (RFC 5545): an event per environment with a known
// time. The description lists the others. An event's UID is the same in each forecast of a commit.
func FormatCalendar(f answer.Forecast, made time.Time) string {
	var c calendar
	c.add("BEGIN", "VCALENDAR")
	c.add("VERSION", "2.0")
	c.add("PRODID", "-//Fairlead//Forecast//EN")
	c.add("METHOD", "PUBLISH")
	name := strings.TrimSpace(text.ShortCommit(f.Commit.ID) + " " + f.Commit.Subject)
	c.addText("X-WR-CALNAME", name)
	var open []string
	for _, a := range f.Arrivals {
		if a.Time.IsZero() {
			open = append(open, a.Environment+": "+a.Tone.Word+": "+a.Reason)
		}
	}
	if open != nil {
		c.addText("X-WR-CALDESC", strings.Join(open, "\n"))
	}
	for _, a := range f.Arrivals {
		if a.Time.IsZero() {
			continue
		}
		status := "CONFIRMED"
		if a.State != promote.ArrivalHas && a.State != promote.ArrivalReached {
			status = "TENTATIVE"
		}
		id := sha256.Sum256([]byte(f.Commit.ID + "/" + a.Environment))
		c.add("BEGIN", "VEVENT")
		c.add("UID", hex.EncodeToString(id[:16])+"@fairlead.io")
		c.add("DTSTAMP", made.UTC().Format(calendarTime))
		c.add("DTSTART", a.Time.UTC().Format(calendarTime))
		c.addText("SUMMARY", a.Environment+" "+a.Tone.Word+" "+name)
		c.addText("DESCRIPTION", strings.Join(append([]string{a.Reason}, list.Convert(slices.Concat(a.WaitsFor, a.Delays), promote.ArrivalWait.String)...), "\n"))
		c.add("STATUS", status)
		c.add("TRANSP", "TRANSPARENT")
		c.add("END", "VEVENT")
	}
	c.add("END", "VCALENDAR")
	return c.lines.String()
}

type calendar struct{ lines strings.Builder }

var textEscapes = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`, "\t", " ")

func (c *calendar) addText(name, value string) {
	c.add(name, textEscapes.Replace(display.SanitizeLines(value)))
}

func (c *calendar) add(name, value string) {
	line, room := name+":"+value, maxContentLine
	for len(line) > room {
		end := room
		for !utf8.RuneStart(line[end]) {
			end--
		}
		c.lines.WriteString(line[:end] + "\r\n ")
		line, room = line[end:], maxContentLine-1
	}
	c.lines.WriteString(line + "\r\n")
}
