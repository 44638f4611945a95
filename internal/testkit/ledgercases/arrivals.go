package ledgercases

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// readArrivals reads a line as "12:01 e1/large uid-1 seq 7: P ready B; W failed b2 "text"", where the
// uid and the number are optional. A time may be a range, with a contact each minute; "event" after
// the cluster makes it events of Flux instead of an agent's digest, of which each says its own time.
// "12:05 adopted e1" lets another cluster have a name from then on.
func readArrivals(t *testing.T, line string, number int) []arrival {
	head, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
	fields := strings.Fields(strings.TrimSuffix(head, ":"))
	switch fields[1] {
	case "lost":
		return []arrival{{contact: ledger.Contact{Received: Clock(t, fields[0])}, lost: true}}
	case "adopted":
		return []arrival{{contact: ledger.Contact{Name: fields[2], Received: Clock(t, fields[0])}, adopted: true}}
	}
	name, clusterType, _ := strings.Cut(fields[1], "/")
	c := ledger.Contact{
		Name: name, UID: "uid-" + name, Group: ledger.Group{Environment: "prod", ClusterType: clusterType}, Platform: "P",
		Every: time.Minute, Boot: "1", Sequence: uint64(1000 * (number + 1)),
	}
	for i, word := range fields[2:] {
		switch {
		case word == "event":
			c.UID, c.Boot, c.Every = "", "", 10*time.Minute
		case word == "unproven":
			c.Unproven = true
		case word == "old-key":
			c.OldKey = true
		case word == "sent":
			c.Sent = Clock(t, fields[i+3])
		case word == "seq":
			n, err := strconv.Atoi(fields[i+3])
			if err != nil {
				t.Fatal(line, err)
			}
			c.Sequence = uint64(n) - 1
		case strings.HasPrefix(word, "uid-"):
			c.UID = word
		case word == "in":
			c.Group.Environment = fields[i+3]
		case word == "boot":
			c.Boot = fields[i+3]
		case word == "also":
			for object, folder := range pairs(fields[i+3 : i+4]) {
				c.Others = append(c.Others, ledger.Applier{Object: object, Folder: folder})
			}
		}
	}
	from, to, ranged := strings.Cut(fields[0], "-")
	if !ranged {
		to = from
	}
	var all []arrival
	for at := Clock(t, from); !at.After(Clock(t, to)); at = at.Add(time.Minute) {
		c.Received, c.Sequence = at, c.Sequence+1
		if !strings.Contains(head, " sent ") {
			c.Sent = at
		}
		all = append(all, arrival{contact: c, reports: readReports(t, rest, c)})
	}
	return all
}

func readReports(t *testing.T, text string, c ledger.Contact) []ledger.Report {
	var all []ledger.Report
	for entry := range strings.SplitSeq(text, ";") {
		entry, message, _ := strings.Cut(strings.TrimSpace(entry), ` "`)
		words := strings.Fields(entry)
		if len(words) == 0 {
			continue
		}
		r := ledger.Report{
			Object: ledger.Object{Name: words[0]}, Phase: ledger.ParsePhase(words[1]), Message: strings.TrimSuffix(message, `"`),
			Level: c.Boot != "", Said: c.Received,
		}
		for i := 2; i < len(words); i++ {
			switch words[i] {
			case "runs":
				r.Runs, i = words[i+1], i+1
			case "said":
				r.Said, i = Clock(t, words[i+1]), i+1
			case "until":
				r.Until, i = Clock(t, words[i+1]), i+1
			case "uid":
				r.UID, i = words[i+1], i+1
			case "app":
				r.App, i = words[i+1], i+1
			default:
				r.Target = words[i]
			}
		}
		all = append(all, r)
	}
	return all
}

// Clock returns a time of the day of all cases, as "12:00" or "12:00:30".
func Clock(t *testing.T, text string) time.Time {
	t.Helper()
	if strings.Count(text, ":") == 1 {
		text += ":00"
	}
	at, err := time.Parse(time.DateTime, "2026-11-23 "+text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// pairs reads words as "large=1".
func pairs(words []string) map[string]string {
	all := map[string]string{}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		all[name] = value
	}
	return all
}
