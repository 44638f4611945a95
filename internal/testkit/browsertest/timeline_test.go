package browsertest

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/web"
	"github.com/fairlead-io/fairlead/internal/testkit/chainworld"
)

// openChain serves a site with a chain of environments and its history.
func openChain(t *testing.T, names []string, commits int) string {
	t.Helper()
	store := &status.Store{}
	chain, done := chainworld.New(names, commits, noon)
	for i, name := range names {
		e := status.Environment{Name: name, State: status.InSync, Assignments: 12, ClusterTypes: 3, Checked: noon, Inputs: []status.Input{{Layer: "base", Repo: "https://github.com/acme/fleet", Commit: chain.Head}}}
		if i == 1 && len(names) > 1 {
			e.State, e.Reason = status.Proposed, "a person merges it"
			e.Pull = &status.Pull{Number: 41, Title: "Deploy to " + name, URL: "https://github.com/acme/gitops/pull/41"}
			chain.Stages[i].Merged, chain.Stages[i].Running = false, chain.Stages[i].Turns[1].Commit
		}
		store.SetEnvironment(e)
	}
	store.SetPromotions(chain)
	store.SetCycle(status.Cycle{Number: 1, Outcome: status.OutcomeOK, Started: noon, Next: noon.Add(time.Minute)})
	server := httptest.NewServer(web.New(web.Options{Store: store, Version: "1.2.3", Now: func() time.Time { return noon }, Past: pastOf(store), Explain: explainNothing, Compare: compareNothing,
		History: func(context.Context) (history.Log, error) { return history.Log{Entries: done}, nil },
		Simulate: func(context.Context, string) ([]promote.Arrival, error) {
			var all []promote.Arrival
			for i, name := range names {
				all = append(all, promote.Arrival{Environment: name, State: promote.ArrivalExpected, Time: noon.Add(time.Duration(i) * chainworld.PromotionDelay)})
				if i >= 3 {
					all[i] = promote.Arrival{Environment: name, State: promote.ArrivalWaits, WaitsFor: []promote.ArrivalWait{{Environment: names[3], What: "its hold to be released"}}}
				}
			}
			return all, nil
		},
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestTimeline: the overview of a chain with three faults shows them as of any moment: by links, by keys and by the mouse.
func TestTimeline(t *testing.T) {
	names := []string{"dev", "test", "stage", "prod-eu", "prod-us"}
	browser, root := Start(t), openChain(t, names, 40)
	for _, v := range append([]View{{1920, false, true}}, fourViews...) {
		w := browser.Open(t, v)
		for _, path := range []string{"/", "/?at=2026-11-23T09:00:00Z"} {
			w.Visit(root + path)
			checkWidth(t, w, v.Width, path)
			checkAccessible(t, w, path)
			w.keepPicture(fmt.Sprintf("timeline-%d-%v-%v.png", v.Width, v.Dark, path != "/"))
		}
	}
	w := browser.Open(t, View{Width: 1280})
	w.Visit(root + "/")
	w.WaitFor("#needs", "3 need attention")
	w.Click(`.steps a[rel="prev"]`)
	w.WaitFor("#past", "You look at the past")
	first := w.Address()
	w.Click(`.steps a[rel="prev"]`)
	w.WaitUntil(fmt.Sprintf("!location.href.endsWith(%q)", first))
	w.Click(`.steps a[rel="next"]`)
	w.WaitUntil(fmt.Sprintf("location.href.endsWith(%q)", first))
	w.Click(`.steps a[rel="next"]`)
	w.WaitFor("#needs", "3 need attention")

	w = browser.Open(t, View{Width: 1280, Script: true})
	w.Visit(root + "/")
	w.Run(chromedp.Focus("#scrub"), chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.PageDown))
	w.WaitFor("#past", "You look at the past")
	w.WaitUntil(`document.activeElement.id === "scrub" && document.getElementById("moment").textContent.includes("2026-11-23")`)
	w.Run(chromedp.Focus("#scrub"), chromedp.KeyEvent(kb.End))
	w.WaitFor("#needs", "3 need attention")
	w.WaitUntil(`location.search === ""`)
	w.Run(chromedp.Evaluate(`history.back()`, nil))
	w.WaitFor("#past", "You look at the past")
}
