package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestInsertSpan shows where a late span goes: "minute-minute revision", with ! for a failure and the revision
// that runs.
func TestInsertSpan(t *testing.T) {
	for _, c := range []struct{ name, history, late, want string }{
		{"the first", "", "3-5 B", "3-5 B"},
		{"before all", "7- C", "3-7 B", "3-7 B, 7- C"},
		{"before all, with a gap", "7- C", "3-5 B", "3-5 B, 7- C"},
		{"between two", "1-7 A, 7- C", "3-7 B", "1-3 A, 3-7 B, 7- C"},
		{"within one", "1-9 A, 9- C", "3-5 B", "1-3 A, 3-5 B, 5-9 A, 9- C"},
		{"within the last", "1- A", "3-5 B", "1-3 A, 3-5 B, 5- A"},
		{"at the beginning of one", "1-9 A, 9- C", "1-5 B", "1-5 B, 5-9 A, 9- C"},
		{"in the place of one", "1-3 A, 3-7 D, 7- C", "3-7 B", "1-3 A, 3-7 B, 7- C"},
		{"in the place of one, as before", "1-3 A, 3-7 D, 7- C", "3-7 A", "1-7 A, 7- C"},
		{"in the place of one, as behind", "1-3 A, 3-7 D, 7- C", "3-7 C", "1-3 A, 3- C"},
		{"as on both sides", "1-3 A, 3-7 D, 7- A", "3-7 A", "1- A"},
		{"as known", "1-9 A, 9- C", "3-5 A", "1-9 A, 9- C"},
		{"as the last", "1-9 A, 9- C", "7-12 C", "1-7 A, 7- C"},
		{"what began later stays", "1-5 A, 5-7 D, 7- C", "3-9 B", "1-3 A, 3-5 B, 5-7 D, 7- C"},
		{"in a gap", "1-3 A, 7- C", "4-6 B", "1-3 A, 4-6 B, 7- C"},
		{"from a gap on", "1-3 A, 7- C", "3-7 B", "1-3 A, 3-7 B, 7- C"},
		{"a failure", "1-9 A, 9- C", "3-5 !B", "1-3 A, 3-5 !B A, 5-9 A, 9- C"},
		{"what ran at a failure", "1-5 A, 5-7 !C A, 7-9 !D A, 9- C", "3-5 B", "1-3 A, 3-5 B, 5-7 !C B, 7-9 !D B, 9- C"},
	} {
		history := parseSpans(c.history)
		got := describeSpans(insertSpan(slices.Clone(history), parseSpans(c.late)[0]))
		if got != c.want {
			t.Errorf("%s: %s and %s are %s, want %s", c.name, c.history, c.late, got, c.want)
		}
		if diff := cmp.Diff(parseSpans(c.history), history); diff != "" {
			t.Errorf("%s: the history itself changes\n%s", c.name, diff)
		}
	}
}

func parseSpans(text string) (all []Span) {
	if text == "" {
		return nil
	}
	for span := range strings.SplitSeq(text, ", ") {
		var since, until int
		times, says, _ := strings.Cut(span, " ")
		_, err := fmt.Sscanf(times, "%d-%d", &since, &until)
		s := Span{Since: noon.Add(time.Duration(since) * time.Minute), Phase: Ready}
		if err == nil {
			s.Until = noon.Add(time.Duration(until) * time.Minute)
		}
		failed, isFailure := strings.CutPrefix(says, "!")
		s.Attempted, s.Revision, _ = strings.Cut(failed, " ")
		if isFailure {
			s.Phase = Failed
		} else {
			s.Revision, s.Attempted = s.Attempted, ""
		}
		all = append(all, s)
	}
	return all
}

func describeSpans(all []Span) string {
	var parts []string
	minute := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return fmt.Sprint(int(at.Sub(noon).Minutes()))
	}
	for _, s := range all {
		says := s.Revision
		if s.Phase != Ready {
			says = strings.TrimSpace("!" + s.Target() + " " + s.Revision)
		}
		parts = append(parts, fmt.Sprintf("%s-%s %s", minute(s.Since), minute(s.Until), says))
	}
	return strings.Join(parts, ", ")
}

// TestToldInAnyOrder: whole spans that are told in any order make the history that they make in their order,
// and the memory knows how it ends.
func TestToldInAnyOrder(t *testing.T) {
	put := 0
	for seed := range uint64(3_000) {
		random := rand.New(rand.NewPCG(seed, 23))
		told := ToldHistory(random, Object{Name: "Kustomization/flux-system/fleet"})
		want, _ := receiveTold(t, told)
		random.Shuffle(len(told), func(i, j int) { told[i], told[j] = told[j], told[i] })
		got, late := receiveTold(t, told)
		put += late
		if describeSpans(got) != describeSpans(want) {
			t.Fatalf("seed %d:\n%s\nwant\n%s", seed, describeSpans(got), describeSpans(want))
		}
	}
	if put < 1000 {
		t.Errorf("%d spans were put between others", put)
	}
}

// receiveTold returns the history of an object of which some is told, each by a contact of its own.
func receiveTold(t *testing.T, told []Report) (all []Span, late int) {
	l, o := New(10), Object{"east-1", told[0].Object.Name}
	write := func(writes []SpanWrite) {
		for _, w := range writes {
			all = WriteSpan(all, w)
		}
	}
	for i, r := range told {
		at := noon.Add(24*time.Hour + time.Duration(i)*time.Second)
		receipt := l.Receive(Contact{Name: "east-1", Boot: "1", Sequence: uint64(i + 1), Sent: at, Received: at, AgentSeen: noon.Add(-time.Hour), Every: time.Minute}, []Report{r})
		write(receipt.Writes)
		for _, s := range receipt.Late {
			writes, ok := l.PutBetween(o, slices.Clone(all), []Span{s.Span})
			if !ok {
				t.Fatalf("the memory does not know how the history ends: %s", describeSpans(all))
			}
			write(writes)
			late++
		}
		saved, _ := l.Save(o)
		if last := all[len(all)-1]; !last.Since.Equal(saved.Open.Since) || !last.saysSame(saved.Open) || !last.Until.IsZero() {
			t.Fatalf("%s: the memory knows %+v", describeSpans(all), saved.Open)
		}
	}
	return all, late
}
