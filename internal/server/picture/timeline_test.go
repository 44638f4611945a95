package picture

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTimeline lays out many timelines: no bar overlaps another or leaves the picture, bars of a lane are in their
// order, no more than MaxBars are drawn, and the same marks have the same picture.
func TestTimeline(t *testing.T) {
	random, begin := rand.New(rand.NewPCG(3, 4)), time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)
	for n := range 200 {
		var lanes []Lane
		for i := range n % 9 {
			l, at := Lane{Name: fmt.Sprint(i)}, begin.Add(time.Duration(random.IntN(1000))*time.Hour)
			for k := range random.IntN(60) {
				next := at.Add(time.Duration(random.IntN(100_000)) * time.Second)
				l.Marks = append(l.Marks, Mark{Name: fmt.Sprintf("v%d", k), From: at, To: next})
				at = next
			}
			if len(l.Marks) > 0 && n%2 == 0 {
				l.Marks[len(l.Marks)-1].To = time.Time{}
			}
			lanes = append(lanes, l)
		}
		got := NewTimeline(lanes, 30*24*time.Hour)
		if diff := cmp.Diff(got, NewTimeline(lanes, 30*24*time.Hour)); diff != "" {
			t.Fatalf("two timelines of %v differ:\n%s", lanes, diff)
		}
		bars := 0
		for i, l := range got.Lanes {
			end := 0
			for _, b := range l.Bars {
				if bars++; b.X < end || b.X < laneName || b.Width <= 0 || b.X+b.Width > got.Width || b.Y+b.Height > got.Height || b.Y != i*(laneHeight+laneGap) {
					t.Fatalf("%+v is before %d, or outside of %d × %d", b, end, got.Width, got.Height)
				}
				end = b.X + b.Width
			}
		}
		if bars > MaxBars || got.To.Sub(got.From) > 30*24*time.Hour {
			t.Errorf("the timeline has %d bars, from %v to %v", bars, got.From, got.To)
		}
	}
	one := NewTimeline([]Lane{{"prod", []Mark{{"1.0", begin, begin.Add(time.Hour)}, {"1.1", begin.Add(time.Hour), time.Time{}}}}}, 24*time.Hour)
	if b := one.Lanes[0].Bars; len(b) != 2 || b[0].Text != "1.0" || b[1].X+b[1].Width > one.Width || b[0].Width < 8*b[1].Width {
		t.Errorf("the bars are %+v", b)
	}
}
