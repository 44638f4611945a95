package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSummarizeDeliveries shows the figures of a month: "deployments, failed of known, lead, restore".
// Outputs are merged an hour apart, of two clusters in a hundred may fail.
func TestSummarizeDeliveries(t *testing.T) {
	const never = -time.Minute
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	fine := Delivery{Types: []string{"large"}, Clusters: 100, Ready: 100, Known: true, P95: minutes(5), Slowest: minutes(9), FirstFailed: never}
	change := func(of Delivery, do func(*Delivery)) Delivery {
		do(&of)
		return of
	}
	mended := change(fine, func(d *Delivery) {
		d.Failed, d.FirstFailed, d.P95, d.Slowest = 10, minutes(2), minutes(30), minutes(40)
	})
	broken := change(mended, func(d *Delivery) { d.Ready = 90 })
	unknown := Delivery{Types: []string{"large"}, P95: never, Slowest: never, FirstFailed: never}
	for _, c := range []struct {
		name string
		all  []Delivery
		want string
	}{
		{"nothing fails", []Delivery{fine, fine, fine}, "3, 0 of 3, 15m, unknown"},
		{"the median", []Delivery{fine, change(fine, func(d *Delivery) { d.P95 = minutes(50) }), change(fine, func(d *Delivery) { d.P95 = minutes(20) })}, "3, 0 of 3, 30m, unknown"},
		{"two of a hundred fail", []Delivery{change(fine, func(d *Delivery) { d.Failed, d.FirstFailed = 2, minutes(1) })}, "1, 0 of 1, 15m, unknown"},
		{"three of a hundred fail", []Delivery{change(fine, func(d *Delivery) { d.Failed, d.FirstFailed = 3, minutes(1) })}, "1, 1 of 1, 15m, 4m"},
		{"mended without another output", []Delivery{mended}, "1, 1 of 1, 40m, 28m"},
		{"95% were ready before the first failed", []Delivery{change(mended, func(d *Delivery) { d.Failed, d.FirstFailed = 4, minutes(35) })}, "1, 1 of 1, 40m, 5m"},
		{"not mended", []Delivery{broken}, "1, 1 of 1, 40m, unknown"},
		{"mended by the next output", []Delivery{broken, fine}, "2, 1 of 2, 15m, 1h3m"},
		{"mended by the one after", []Delivery{broken, broken, fine}, "3, 2 of 3, 40m, 1h3m"},
		{"the next output is for another type", []Delivery{broken, change(fine, func(d *Delivery) { d.Types = []string{"small"} })}, "2, 1 of 2, 15m, unknown"},
		{"the next output is for more types", []Delivery{broken, change(fine, func(d *Delivery) { d.Types = []string{"large", "small"} })}, "2, 1 of 2, 15m, 1h3m"},
		{"taken back without a failure", []Delivery{change(fine, func(d *Delivery) { d.TakenBack = true }), fine}, "2, 1 of 2, 15m, unknown"},
		{"taken back after a failure", []Delivery{change(broken, func(d *Delivery) { d.TakenBack = true }), fine}, "2, 1 of 2, 15m, 1h3m"},
		{"not known", []Delivery{unknown, fine}, "2, 0 of 1, 15m, unknown"},
		{"taken back is known", []Delivery{change(unknown, func(d *Delivery) { d.TakenBack = true }), fine}, "2, 1 of 2, 15m, unknown"},
		{"no cluster had it", []Delivery{change(unknown, func(d *Delivery) { d.Known = true })}, "1, 0 of 1, unknown, unknown"},
		{"nothing says what it was rendered from", []Delivery{change(fine, func(d *Delivery) { d.Authored = noon })}, "1, 0 of 1, unknown, unknown"},
	} {
		for i := range c.all {
			c.all[i].Merged = noon.Add(time.Duration(i) * time.Hour)
			if c.all[i].Authored.IsZero() {
				c.all[i].Authored = c.all[i].Merged.Add(-10 * time.Minute)
			} else {
				c.all[i].Authored = time.Time{}
			}
		}
		got := SummarizeDeliveries(c.all, time.Time{}, noon)
		if len(got) != 1 || describeMonth(got[0]) != c.want {
			t.Errorf("%s: %+v, want %s", c.name, got, c.want)
		}
	}
}

func describeMonth(m Month) string {
	text := func(d time.Duration) string {
		if d < 0 {
			return "unknown"
		}
		return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "h0m")
	}
	return fmt.Sprintf("%d, %d of %d, %s, %s", m.Deployments, m.Failed, m.Known, text(m.Lead), text(m.Restore))
}

// TestMonths: each month has its figures, also one without an output, from the first on to that of now.
func TestMonths(t *testing.T) {
	at := func(text string) time.Time {
		parsed, err := time.Parse("2006-01-02 15:04 -0700", text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	all := []Delivery{{Merged: at("2026-08-31 23:59 +0000")}, {Merged: at("2026-09-01 01:00 +0200")}, {Merged: at("2026-09-01 00:00 +0000")}, {Merged: at("2026-11-02 12:00 +0000")}}
	for _, c := range []struct {
		since time.Time
		now   string
		all   []Delivery
		want  string
	}{
		{time.Time{}, "2026-12-01 00:00 +0000", all, "2026-08 2, 2026-09 1, 2026-10 0, 2026-11 1, 2026-12 0"},
		{at("2026-09-30 12:00 +0000"), "2026-11-30 23:00 -0200", all, "2026-09 1, 2026-10 0, 2026-11 1, 2026-12 0"},
		{at("2026-10-01 12:00 +0000"), "2026-11-30 12:00 +0000", all, "2026-11 1"},
		{at("2026-12-01 12:00 +0000"), "2026-12-30 12:00 +0000", all, ""},
		{time.Time{}, "2026-12-30 12:00 +0000", nil, ""},
	} {
		var got []string
		for _, m := range SummarizeDeliveries(c.all, c.since, at(c.now)) {
			got = append(got, fmt.Sprint(m.Start.Format("2006-01 "), m.Deployments))
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("since %s until %s: %s, want %s", c.since, c.now, text, c.want)
		}
	}
}

// TestFindTakenBack: outputs are taken back by a later one with the folders of an older one.
func TestFindTakenBack(t *testing.T) {
	for _, c := range []struct{ changes, want string }{
		{"large=1 small=1; large=2; large=3", ""},
		{"large=1 small=1; large=2 small=2; large=3; large=1 small=1", "1 2"},
		{"large=1 small=1; large=2; small=2; large=1", ""},
		{"large=1 small=1; large=2; small=2; large=1; small=1", "1 2 3"},
		{"large=1; small=1; small=", "1"},
		{"large=1; ; ; large=2", ""},
		{"large=1; large=2; large=1; large=2", "1 2"},
		{"large=1 small=2; large=2 small=1; large=1 small=2", "1"},
		{"large=1 small=2; large=2 small=1", ""},
		{"", ""},
	} {
		var changes [][]FolderChange
		for one := range strings.SplitSeq(c.changes, ";") {
			var all []FolderChange
			for pair := range strings.FieldsSeq(one) {
				name, id, _ := strings.Cut(pair, "=")
				all = append(all, FolderChange{ClusterType: name, ID: id})
			}
			changes = append(changes, all)
		}
		var got []string
		for i, taken := range FindTakenBack(changes) {
			if taken {
				got = append(got, fmt.Sprint(i))
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s are taken back, want %s", c.changes, text, c.want)
		}
	}
}
