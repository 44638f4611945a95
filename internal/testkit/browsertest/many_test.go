package browsertest

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/web"
)

// setMany fills a store with dev, and many environments after it: each fourth fails, and one has a long name.
func setMany(s *status.Store, many int) {
	chain := status.Chain{Head: newest, Checked: noon, Commits: []status.Commit{{ID: newest, Subject: "Less noise", Author: "alice", When: noon.Add(-time.Hour)}, {ID: older, Subject: "Raise limits", Author: "bob", When: noon.Add(-48 * time.Hour)}}}
	for i := range many + 1 {
		name, after, commit := "dev", []string(nil), newest
		if i > 0 {
			name, after, commit = fmt.Sprintf("prod-%02d", i), []string{"dev"}, older
		}
		if i == many {
			name = "prod-" + strings.Repeat("long-", 11) + "one"
		}
		chain.Stages = append(chain.Stages, status.Stage{Environment: name, After: after, Commit: commit, Merged: true, Since: noon.Add(-time.Hour), Next: promote.Decision{State: promote.Current}})
		e := status.Environment{Name: name, State: status.InSync, Assignments: 12, ClusterTypes: 3, Checked: noon}
		if i%4 == 1 {
			e.State, e.Reason = status.Failed, "the registry is away"
		}
		s.SetEnvironment(e)
		s.SetPlan(name, newPlan(name, "1.4.2"))
	}
	s.SetPromotions(chain)
	s.SetCycle(status.Cycle{Number: 1, Outcome: status.OutcomeOK, Started: noon, Next: noon.Add(time.Minute)})
}

// TestMany: with more environments than are drawn, pages have some of them, say how many there are besides, and stay
// within a narrow window and the budget of what a browser lays out.
func TestMany(t *testing.T) {
	browser, store := Start(t), &status.Store{}
	setMany(store, 66)
	server := httptest.NewServer(web.New(web.Options{Store: store, Version: "1.2.3", Now: func() time.Time { return noon }, Explain: explainNothing, Compare: compareNothing}))
	t.Cleanup(server.Close)
	for _, v := range fourViews {
		w := browser.Open(t, v)
		for i, path := range []string{"/", "/commits", "/commits?cpage=6", "/fleet", "/cluster-types/small", "/problems", "/map"} {
			w.Visit(server.URL + path)
			checkWidth(t, w, v.Width, path)
			checkAccessible(t, w, path)
			var nodes int
			w.Ask(`document.querySelectorAll("*").length`, &nodes)
			if nodes > 3000 {
				t.Errorf("%s has %d elements", path, nodes)
			}
			w.keepPicture(fmt.Sprintf("many-%d-%d-%v.png", i, v.Width, v.Dark))
		}
		w.Visit(server.URL + "/")
		w.WaitFor("main", "And 27 more") // those that need attention are among the others
		w.Visit(server.URL + "/commits")
		w.WaitFor("main", "1 to 12 of 67 environments")
		w.Visit(server.URL + "/cluster-types/small")
		w.WaitFor("#written > .card", "And in prod-12")
	}
	w := browser.Open(t, View{Width: 400, Script: true})
	w.Visit(server.URL + "/fleet")
	w.WaitFor("main tbody th", "and 7 others")
	var shown int
	w.Ask(`[...document.querySelectorAll("main tbody tr:first-child td")].filter(e => e.checkVisibility()).length`, &shown)
	if shown != 5 {
		t.Errorf("a narrow window shows %d cells of a row", shown)
	}
	w.press("j")
	w.press("e") // explains the first cell of the row
	w.WaitUntil(`location.pathname === "/explain" && location.search === "?env=dev&q=checkout" && document.readyState === "complete"`)
}
