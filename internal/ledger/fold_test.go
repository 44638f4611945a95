package ledger

import (
	"strings"
	"testing"
	"time"
)

// TestFold shows what is known after some reports: "said phase target", with "runs" for a revision that
// is said to run, and "level" for a state that an agent has read.
func TestFold(t *testing.T) {
	for _, c := range []struct{ name, reports, want string }{
		{"a first word", "1 ready B", "ready B at 1"},
		{"the same again", "1 ready B, 9 ready B", "ready B at 9"},
		{"a roll-out", "1 ready A, 2 progressing B", "progressing B, runs A, at 2"},
		{"and its end", "1 ready A, 2 progressing B, 3 ready B", "ready B at 3"},
		{"a failure", "1 ready A, 2 progressing B, 3 failed B", "failed B, runs A, at 3"},
		{"tried again", "1 failed B, 2 progressing B", "failed B at 1"},
		{"tried again, and ready", "1 failed B, 2 progressing B, 3 ready B", "ready B at 3"},
		{"tried again, and another commit", "1 failed B, 2 progressing B, 3 progressing C", "progressing C at 3"},
		{"events in another order", "4 ready B, 2 progressing B, 1 ready A", "ready B at 4"},
		{"drift is mended", "1 ready B, 2 progressing B", "ready B at 1"},
		{"away and back again", "1 ready A, 2 progressing B, 3 progressing A", "progressing A at 3"},
		{"away and back again, in another order", "3 progressing A, 2 progressing B, 1 ready A", "progressing A at 3"},
		{"one second", "1 failed B, 1 progressing B, 1 ready B", "failed B at 1"},
		{"one second, in another order", "1 ready B, 1 progressing B, 1 failed B", "failed B at 1"},
		{"the next revision within a second", "1 progressing B, 1 ready A", "progressing B, runs A, at 1"},
		{"an agent outweighs events of its second", "1 level ready B, 1 failed B, 1 progressing C", "ready B at 1"},
		{"an event after an agent's word", "1 level ready B, 2 failed B", "failed B at 2"},
		{"a chart", "1 ready 2.1.0+0cc9a8446c95, 2 failed 2.2.0", "failed 2.2.0, runs 2.1.0+0cc9a8446c95, at 2"},
		{"a chart that was rolled back", "1 ready 2.1.0, 2 failed 2.2.0, 3 failed runs 2.1.0", "failed 2.2.0, runs 2.1.0, at 3"},
		{"an error without a revision", "1 ready B, 2 failed", "failed B at 2"},
		{"an error without a revision, at work", "1 ready A, 2 progressing B, 3 failed", "failed B, runs A, at 3"},
		{"an error without a revision, first", "3 failed, 1 ready A", "failed A at 3"},
		{"an error about nothing known", "3 failed", "failed nothing known at 3"},
		{"suspended", "1 ready B, 2 suspended B", "suspended B at 2"},
		{"ready at nothing", "1 ready", "nothing"},
		{"nothing", "1", "nothing"},
		{"before there was time", "0 ready B", "nothing"},
	} {
		b := NewBook(10)
		for text := range strings.SplitSeq(c.reports, ", ") {
			b.Fold(parseReport(text))
		}
		got := "nothing"
		for _, s := range b.All() {
			got = describeState(s)
		}
		if got != c.want {
			t.Errorf("%s: %s: %s, want %s", c.name, c.reports, got, c.want)
		}
	}
}

func parseReport(text string) Report {
	words := strings.Fields(text)
	r := Report{Object: Object{"east-1", "Kustomization/flux-system/fleet"}, Said: time.Unix(int64(words[0][0]-'0'), 0)}
	for i, word := range words[1:] {
		switch {
		case word == "level":
			r.Level = true
		case words[i] == "runs":
			r.Runs = word
		case word == "runs":
		case r.Phase == Unstated:
			r.Phase = ParsePhase(word)
		default:
			r.Target = word
		}
	}
	return r
}

func describeState(s State) string {
	text := s.Phase.String() + " " + s.Target()
	if s.Target() == "" {
		text += "nothing known"
	}
	if s.Attempted != "" && s.Revision != "" {
		text += ", runs " + s.Revision + ","
	}
	return text + " at " + s.Said.Format("5")
}

// TestBook: a full Book refuses what it does not know, and nothing else.
func TestBook(t *testing.T) {
	b := NewBook(2)
	fold := func(cluster string, at int) Outcome {
		return b.Fold(Report{Object: Object{cluster, "P"}, Phase: Ready, Target: "A", Said: noon.Add(time.Duration(at) * time.Second)})
	}
	for i, c := range []struct {
		cluster                 string
		at                      int
		refused, newer, changed bool
	}{
		{"one", 1, false, true, true},
		{"two", 2, false, true, true},
		{"three", 3, true, false, false},
		{"one", 4, false, true, false},
		{"one", 4, false, false, false},
		{"one", 3, false, false, false},
	} {
		if got := fold(c.cluster, c.at); got.Refused != c.refused || got.Newer != c.newer || got.Changed != c.changed {
			t.Errorf("report %d: %+v, want %+v", i, got, c)
		}
	}
	if n := b.RemoveSilent(noon.Add(3 * time.Second)); n != 1 || b.Len() != 1 || fold("three", 5).Refused {
		t.Errorf("%d were removed, and %d are left", n, b.Len())
	}
	if len(b.Reports(Object{"two", "P"})) != 0 || len(b.Reports(Object{"three", "P"})) != 1 {
		t.Error("the reports are not those of what is known")
	}
}
