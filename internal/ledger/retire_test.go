package ledger_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// TestRetired: a cluster is no longer expected a week after its last word, or when a person says so. Its
// spans end with that word, and what it says later begins new ones. A number from elsewhere, and a list
// of names, stay what is expected.
func TestRetired(t *testing.T) {
	noon := time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)
	const week = 7 * 24 * time.Hour
	for _, c := range []struct {
		name    string
		after   time.Duration // the last word of e1; e2 speaks all the time
		retired time.Duration // when a person retired e1, after its last word; 0 for never
		wanted  ledger.Wanted
		want    string
	}{
		{"a week", week, 0, ledger.Wanted{}, "e1 silent, e2 ready"},
		{"more than a week", week + time.Second, 0, ledger.Wanted{}, "e2 ready"},
		{"by a person", time.Hour, time.Minute, ledger.Wanted{}, "e2 ready"},
		{"and so many are expected", week + time.Second, 0, ledger.Wanted{Expected: map[string]int{"large": 2}}, " unheard, e2 ready"},
		{"and it is in a list", week + time.Second, 0, ledger.Wanted{Listed: map[string]string{"e1": "large"}}, "e1 silent, e2 ready"},
	} {
		l := ledger.New(100)
		var outputs ledger.Outputs
		outputs.Add(ledger.Output{Revision: "B", Merged: noon.Add(-time.Hour), Folders: map[string]string{"large": "l"}})
		report := func(cluster string, at time.Time, digest string, scope ledger.Scope) ledger.Receipt {
			contact := ledger.Contact{Name: cluster, Group: ledger.Group{Environment: "prod", ClusterType: "large"}, Platform: "P", Every: time.Minute, Boot: "1",
				Sequence: uint64(at.Unix()), Sent: at, Received: at, Scope: scope, Digest: digest}
			if scope == ledger.Nothing {
				return l.Receive(contact, nil)
			}
			return l.Receive(contact, []ledger.Report{{Object: ledger.Object{Name: "P"}, Phase: ledger.Ready, Target: "B", Level: true, Said: at}})
		}
		report("e1", noon, "d", ledger.Everything)
		now := noon.Add(c.after)
		for at := noon; at.Before(now); at = at.Add(30 * time.Minute) {
			report("e2", at, "d", ledger.Everything)
		}
		report("e2", now, "d", ledger.Everything)
		r := ledger.Retirement{After: week}
		if c.retired != 0 {
			r.Times = map[string]time.Time{"e1": noon.Add(c.retired)}
		}
		l.SetRetirement(r)
		closed := l.CloseRetired(now)
		c.wanted.Environment, c.wanted.Output = "prod", ledger.Output{Revision: "B", Folders: map[string]string{"large": "l"}}
		if got := describeStandings(l, c.wanted, &outputs, now); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		isRetired := l.IsRetired(l.FindCluster("e1"), now)
		if len(closed) > 0 != isRetired {
			t.Errorf("%s: closed are %+v", c.name, closed)
		}
		if !isRetired {
			continue
		}
		if w := closed[0].Writes; len(w) != 1 || w[0].Kind != ledger.EndSpan || !w[0].Span.Until.Equal(noon) {
			t.Errorf("%s: the writes are %+v", c.name, w)
		}
		if again := l.CloseRetired(now); again != nil {
			t.Errorf("%s: closed again are %+v", c.name, again)
		}
		now = now.Add(time.Second)
		if receipt := report("e1", now, "d", ledger.Nothing); !receipt.WantsEverything {
			t.Errorf("%s: the agent need not report everything", c.name)
		}
		receipt := report("e1", now.Add(time.Second), "d", ledger.Everything)
		if w := receipt.Writes; len(w) != 1 || w[0].Kind != ledger.BeginSpan {
			t.Errorf("%s: revived, the writes are %+v", c.name, w)
		}
		want := "e1 ready, e2 ready"
		if c.retired != 0 { // it holds, whatever the cluster reports
			want = c.want
		}
		if got := describeStandings(l, c.wanted, &outputs, now.Add(time.Second)); got != want {
			t.Errorf("%s: revived, %s, want %s", c.name, got, want)
		}
	}
}

// TestOutage: clusters are not retired for a time in which none of them was in touch.
func TestOutage(t *testing.T) {
	noon := time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)
	const week = 7 * 24 * time.Hour
	back := noon.Add(2 * week)
	for _, restart := range []bool{false, true} {
		l := ledger.New(100)
		touch := func(cluster string, at time.Time) { l.Receive(ledger.Contact{Name: cluster, Received: at}, nil) }
		touch("e1", noon)
		touch("e2", noon)
		if restart {
			clusters := l.Clusters()
			l = ledger.New(100)
			for _, c := range clusters {
				l.RestoreCluster(*c.Clone())
			}
		}
		l.SetRetirement(ledger.Retirement{After: week})
		touch("e1", back)
		for _, c := range []struct {
			after time.Duration
			want  bool
		}{{0, false}, {week, false}, {week + time.Second, true}} {
			if got := l.IsRetired(l.FindCluster("e2"), back.Add(c.after)); got != c.want {
				t.Errorf("restarted %t: retired %s after the outage: %t, want %t", restart, c.after, got, c.want)
			}
		}
		l.SetRetirement(ledger.Retirement{After: week, Resumed: noon})
		if !l.Resumed().Equal(back) {
			t.Errorf("it was resumed at %s", l.Resumed())
		}
	}
}

func describeStandings(l *ledger.Ledger, w ledger.Wanted, outputs *ledger.Outputs, now time.Time) string {
	var all []string
	for _, s := range l.FindStandings(w, outputs, now) {
		name := s.Listed
		if s.Cluster != nil {
			name = s.Cluster.Name()
		}
		all = append(all, fmt.Sprintf("%s %s", name, s.Class))
	}
	return strings.Join(all, ", ")
}
