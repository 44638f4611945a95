package ledgerdb

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSentPlans: the newest plans of each object are kept for a time, whole, and one that is sent again is one.
func TestSentPlans(t *testing.T) {
	for engine, open := range openEmpty {
		t.Run(engine, func(t *testing.T) {
			s, began := open(t), time.Unix(1_764_500_000, 1).UTC()
			plan := func(object string, n int) SentPlan {
				return SentPlan{ID: object + fmt.Sprint(n), Cluster: "a", Namespace: "shop", Object: object, Received: began.Add(time.Duration(n)), Content: strings.Repeat("ü", 40_000)}
			}
			write := func(p SentPlan) {
				t.Helper()
				if err := WritePlan(t.Context(), s, p); err != nil {
					t.Fatal(err)
				}
			}
			want := func(since time.Time, want ...SentPlan) {
				t.Helper()
				got, err := ListPlans(t.Context(), s, since)
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Errorf("since %v (%v), -want +got:\n%s", since, err, diff)
				}
			}
			want(time.Time{})
			write(plan("web", 0))
			again := plan("web", 0)
			again.Received, again.Content = began.Add(1), "{}"
			write(again)
			want(time.Time{}, again)
			kept := []SentPlan{again}
			for i := range maxPlansOfObject + 3 {
				write(plan("db", 10+i))
				if i >= 3 {
					kept = append(kept, plan("db", 10+i))
				}
			}
			want(time.Time{}, kept...)
			want(plan("db", 10+maxPlansOfObject+2).Received, kept[len(kept)-1])
			late := plan("late", int(plansKept)+14)
			write(late)
			want(time.Time{}, append(kept[2:], late)...)
		})
	}
}
