package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestScope: what an agent says of its objects counts if it is a change of what is known, and an object
// is removed when its cluster no longer has it. A contact is "nothing D", "changes BASE D", "everything D"
// or "some", with what it reports behind it: "P=A" for ready at A, "-W" for gone, "!Kind" for a kind that
// could not be read.
func TestScope(t *testing.T) {
	for _, c := range []struct{ name, contacts, want string }{
		{"everything", "everything 1: K/P=A K/W=a", "K/P=A K/W=a"},
		{"nothing is known", "nothing 1:", "wants everything"},
		{"as it was", "everything 1: K/P=A; nothing 1:", "K/P=A"},
		{"not as it was", "everything 1: K/P=A; nothing 2:", "wants everything; K/P=A"},
		{"a change", "everything 1: K/P=A K/W=a; changes 1 2: K/P=B; nothing 2:", "K/P=B K/W=a"},
		{"a change of something else", "everything 1: K/P=A; changes 9 2: K/P=B", "wants everything; K/P=A"},
		{"gone", "everything 1: K/P=A K/W=a; changes 1 2: -K/W", "K/P=A; removed K/W"},
		{"gone, and never there", "everything 1: K/P=A; changes 1 2: -K/W", "K/P=A"},
		{"not among everything", "everything 1: K/P=A K/W=a; everything 2: K/P=A", "K/P=A; removed K/W"},
		{"all are gone", "everything 1: K/P=A; everything 2:", "nothing; removed K/P"},
		{"back again", "everything 1: K/P=A; changes 1 2: -K/P; changes 2 3: K/P=A", "K/P=A"},
		{"a kind that was not read", "everything 1: K/P=A H/W=a; everything 2: K/P=B !H", "H/W=a unknown K/P=B"},
		{"a kind that was not read, in a change", "everything 1: K/P=A H/W=a; changes 1 2: !H", "H/W=a unknown K/P=A"},
		{"a kind that is read again", "everything 1: H/W=a; changes 1 2: !H; changes 2 3: H/W=a", "H/W=a"},
		{"an event says the same", "everything 1: K/P=A; some: K/P=A; nothing 1:", "K/P=A"},
		{"an event says something else", "everything 1: K/P=A; some: K/P=B; nothing 1:", "wants everything; K/P=B"},
		{"an event, and a change of what was before it", "everything 1: K/P=A; some: K/P=B; changes 1 2: K/P=C", "wants everything; K/P=B"},
		{"an event of something new", "everything 1: K/P=A; some: K/W=a", "K/P=A K/W=a"},
	} {
		l, received := New(10), noon
		var last Receipt
		for text := range strings.SplitSeq(c.contacts, "; ") {
			received = received.Add(time.Minute)
			last = l.Receive(parseContact(text, received))
		}
		if got := describeReceipt(l, last); got != c.want {
			t.Errorf("%s: %s: %s, want %s", c.name, c.contacts, got, c.want)
		}
	}
}

func parseContact(text string, received time.Time) (Contact, []Report) {
	head, rest, _ := strings.Cut(text, ":")
	words := strings.Fields(head)
	c := Contact{
		Name: "e1", UID: "1", Boot: "1", Sequence: uint64(received.Unix()), Sent: received, Received: received, Every: time.Minute,
		Scope: map[string]Scope{"nothing": Nothing, "changes": Changes, "everything": Everything}[words[0]],
	}
	switch len(words) {
	case 1:
		c.Boot, c.UID = "", ""
	case 2:
		c.Digest = words[1]
	case 3:
		c.Base, c.Digest = words[1], words[2]
	}
	var reports []Report
	for word := range strings.FieldsSeq(rest) {
		name, revision, ready := strings.Cut(word, "=")
		switch {
		case ready:
			reports = append(reports, Report{Object: Object{Name: name}, Phase: Ready, Target: revision, Said: received})
		case word[0] == '-':
			c.Gone = append(c.Gone, word[1:])
		default:
			c.Unread = append(c.Unread, word[1:])
		}
	}
	return c, reports
}

func describeReceipt(l *Ledger, last Receipt) string {
	var parts []string
	if last.WantsEverything {
		parts = append(parts, "wants everything")
	}
	var known []string
	for _, name := range []string{"H/W", "K/P", "K/W"} {
		if s, ok := l.Find(Object{"e1", name}); ok {
			text := name + "=" + s.Revision
			if s.Phase == Unknown {
				text += " unknown"
			}
			known = append(known, text)
		}
	}
	switch {
	case len(known) > 0:
		parts = append(parts, strings.Join(known, " "))
	case !last.WantsEverything:
		parts = append(parts, "nothing")
	}
	for _, o := range last.Removed {
		parts = append(parts, fmt.Sprintf("removed %s", o.Name))
	}
	return strings.Join(parts, "; ")
}

// TestRemovedSpan: the last span of an object that is gone ends when that is heard.
func TestRemovedSpan(t *testing.T) {
	l := New(10)
	l.Receive(parseContact("everything 1: K/P=A", noon))
	gone := l.Receive(parseContact("changes 1 2: -K/P", noon.Add(time.Hour)))
	if len(gone.Writes) != 1 || gone.Writes[0].Kind != EndSpan || !gone.Writes[0].Span.Until.Equal(noon.Add(time.Hour)) {
		t.Errorf("%+v", gone.Writes)
	}
}
