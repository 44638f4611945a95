package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/change/drift"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/web"
)

var (
	noon   = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	newest = strings.Repeat("9f31c07e", 5)
	older  = strings.Repeat("0a77d15b", 5)
)

// setFleet fills a store: dev has the newest commit, prod waits for it, and stage cannot be rendered.
func setFleet(s *status.Store) {
	passed := gate.Verdict{Gate: "proof", Status: gate.Pass, Reason: "all gates passed"}
	soak := gate.Verdict{Gate: "soak", Status: gate.Wait, Reason: "it soaks for 30m", ValidUntil: noon.Add(time.Hour)}
	waits := gate.Verdict{Gate: "prod", Status: gate.Wait, Reason: "it soaks for 30m", Parts: []gate.Verdict{soak}}
	s.SetPromotions(status.Chain{Head: newest, Checked: noon,
		Commits: []status.Commit{{ID: newest, Subject: "Less noise", Author: "alice", When: noon.Add(-time.Hour)}, {ID: older, Subject: "Raise limits", Author: "bob", When: noon.Add(-48 * time.Hour)}},
		Stages: []status.Stage{
			{Environment: "dev", Commit: newest, Merged: true, Since: noon.Add(-time.Hour), Proof: passed, Next: promote.Decision{State: promote.Current}},
			{Environment: "stage", After: []string{"dev"}, Commit: older, Behind: 1, Merged: true, Since: noon.Add(-48 * time.Hour), Proof: passed, Next: promote.Decision{State: promote.Current}},
			{Environment: "prod", After: []string{"dev"}, Commit: older, Behind: 1, Merged: true, Since: noon.Add(-48 * time.Hour), Proof: passed,
				Next: promote.Decision{State: promote.Waiting, Candidate: newest, Verdict: waits}},
		}})
	for _, name := range []string{"dev", "prod"} {
		s.SetEnvironment(status.Environment{Name: name, State: status.InSync, Assignments: 12, ClusterTypes: 3, Checked: noon})
	}
	broken := status.Environment{Name: "stage", State: status.Problems, Reason: "the control plane has problems", Assignments: 12, Checked: noon,
		Inputs: []status.Input{{Layer: "base", Repo: "https://github.com/acme/fleet", Commit: newest}}}
	broken.Problems.Addf(problem.Pos{Layer: "base", File: "values.yaml", Line: 7}, "", "write one of them", "LOG_LEVEL must be one of debug and info")
	s.SetEnvironment(broken)
	s.SetCredentials([]status.Credential{
		{URL: "https://github.com/acme", Forge: "github", Repositories: []string{"https://github.com/acme/fleet"}, Expires: noon.AddDate(9, 0, 0), Asked: noon,
			Limits: []status.RequestLimit{{Name: "core", Limit: 5000, Remaining: 4200, Resets: noon.AddDate(9, 0, 0), Asked: noon}, {Name: "graphql", Limit: 5000, Resets: noon.AddDate(-9, 0, 0), Asked: noon}}},
		{URL: "https://gitea.acme.example", Forge: "gitea", Repositories: []string{"https://gitea.acme.example/acme/gitops"}, Asked: noon},
	})
	s.SetExamination(status.Examination{When: noon, Findings: []status.Finding{
		{Level: status.LevelOK, Subject: "https://github.com/acme: token", Message: "GitHub takes it; its scopes: repo"},
		{Level: status.LevelWarn, Subject: "settings: write", Message: "it is off: nothing is pushed or proposed", Hint: "write: true switches it on, once this is what you want"},
	}})
	s.SetCycle(status.Cycle{Number: 1, Outcome: status.OutcomeOK, Started: noon, Next: noon.Add(time.Minute)})
}

// pages are all kinds of pages.
var pages = []string{"/", "/environments", "/environments/prod", "/environments/stage", "/commits", "/commits/" + newest, "/problems", "/search?q=limits", "/explain?env=dev&q=large/web", "/diff?from=dev&to=prod", "/health", "/waiting", "/me", "/nope", "/environments/pord", "/?at=2026-11-20", "/settings"}

// TestPage goes through the page in a real browser. Its parts share the browser, which is what takes time.
func TestPage(t *testing.T) {
	browser, store := Start(t), &status.Store{}
	setFleet(store)
	var down atomic.Bool // the stream
	handler := web.New(web.Options{Store: store, Version: "1.2.3", StreamPace: 10 * time.Millisecond,
		Explain: explainNothing,
		Compare: func(_ context.Context, from, to string) (drift.Report, error) {
			return drift.Report{From: from, To: to, Topics: []drift.Topic{{Name: drift.Values, Count: 1, Findings: []drift.Finding{{Change: "LOG_LEVEL: info → warning", Because: "by configs/prod.yaml:4", Count: 1, Names: []string{"large/web"}}}}}}, nil
		},
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() && r.URL.Path == "/events" {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	for _, width := range []int{1280, 400} {
		t.Run(fmt.Sprintf("%d without script", width), func(t *testing.T) { readWithoutScript(t, browser.Open(t, View{Width: width}), server.URL) })
	}
	t.Run("live", func(t *testing.T) {
		followChanges(t, browser.Open(t, View{Width: 1280, Script: true}), server.URL, store)
	})
	t.Run("stream", func(t *testing.T) {
		loseStream(t, browser.Open(t, View{Width: 400, Script: true}), server, store, &down)
	})
	t.Run("keys", func(t *testing.T) { useKeys(t, browser.Open(t, View{Width: 1280, Script: true}), server.URL) })
	t.Run("tab", func(t *testing.T) { tabThrough(t, browser.Open(t, View{Width: 1280, Script: true}), server.URL) })
	t.Run("paper", func(t *testing.T) { printPage(t, browser.Open(t, View{Width: 1280, Script: true}), server.URL) })
	t.Run("forced colors", func(t *testing.T) { seeForcedColors(t, browser.Open(t, View{Width: 1280, Script: true}), server.URL) })
	t.Run("settings", func(t *testing.T) { changeView(t, browser.Open(t, View{Width: 1280, Script: true}), server.URL) })
	for _, v := range fourViews {
		t.Run(fmt.Sprintf("%d dark %v", v.Width, v.Dark), func(t *testing.T) {
			w := browser.Open(t, v)
			for _, path := range pages {
				w.Visit(server.URL + path)
				checkWidth(t, w, v.Width, path)
				checkAccessible(t, w, path)
				w.keepPicture(fmt.Sprintf("page-%s-%d-%v.png", strings.Trim(strings.NewReplacer("/", "-", "?", "-").Replace(path[:min(len(path), 20)]), "-"), v.Width, v.Dark))
			}
			w.forgive("status of 404", "status of 400") // of pages that there are not
		})
	}
}

// readWithoutScript answers the first questions of the design with links and forms alone, in two clicks each.
func readWithoutScript(t *testing.T, w *Window, root string) {
	w.Visit(root + "/")
	w.WaitFor("main", "LOG_LEVEL must be one of") // what needs me
	w.Click(`main a[href="./commits/` + newest + `"]`)
	w.WaitFor("main", "it soaks for 30m") // where is my commit, and why is it not in prod
	w.Click(`nav a[href="../problems"]`)
	w.WaitFor(`main a[href="https://github.com/acme/fleet/blob/`+newest+`/values.yaml#L7"]`, "values.yaml:7") // what failed
	w.Submit(`header [role="search"] input`, "limits")
	w.WaitFor("main", "Raise limits")
	w.Visit(root + "/health")
	w.Submit(`header [role="search"] input`, "prod")
	if got := w.Address(); got != "/environments/prod" {
		t.Errorf("the search for a name leads to %s", got)
	}
	w.WaitFor("main time", "2026-11-21 12:00 UTC")
	w.Click(`main a[href="../diff?from=dev&to=prod"]`)
	w.WaitFor("main pre", "dev → prod") // what is different
	w.Click(`main .why a`)
	w.WaitFor("main .explained", "large/web in prod") // and why, of each line
	w.Run(chromedp.Click("nav .more summary", chromedp.ByQuery))
	w.Click(`nav a[href="./environments"]`)
	w.Click(`main a[href="./environments/prod"]`)
	w.Submit(`main input[name="q"]`, "large/web")
	w.WaitFor("main .explained", "large/web in prod") // why has it this value
}

// followChanges changes the state while a person reads: the page follows, and what they opened, typed and
// focused stays.
func followChanges(t *testing.T, w *Window, root string, store *status.Store) {
	w.Visit(root + "/environments/prod")
	w.WaitFor("time", "ago")
	w.Run(chromedp.Evaluate(`
		document.querySelector("#gates summary").click();
		window.kept = document.querySelector("#proof summary");
		kept.focus();`, nil))
	store.SetEnvironment(status.Environment{Name: "prod", State: status.Failed, Reason: "the registry is away", Assignments: 12, Checked: noon})
	w.WaitFor(".title .tag", "failed")
	w.WaitFor("#news", "prod is failed")
	var kept bool
	w.Ask(`document.activeElement === kept && kept.isConnected && !document.querySelector("#gates").open`, &kept)
	if !kept {
		t.Error("what a person has focused or opened is not as it was")
	}
	w.WaitFor("time", "ago")
	w.Visit(root + "/problems")
	w.Run(chromedp.SendKeys(`main input[name="q"]`, "registry", chromedp.ByQuery))
	w.WaitUntil(`location.search === "?q=registry" && !document.querySelector("main ul.list").textContent.includes("LOG_LEVEL")`)
	w.WaitFor("main ul.list", "the registry is away")
	w.Run(chromedp.KeyEvent("\t"), chromedp.Evaluate(`document.activeElement.blur()`, nil), chromedp.KeyEvent("/"))
	w.Ask(`document.activeElement.getAttribute("name") === "q" && document.activeElement.closest("header") !== null`, &kept)
	if !kept {
		t.Error("/ does not lead to the search")
	}
	setFleet(store)
}

// loseStream ends the stream of a page: it says of when it is, and what it missed comes when the stream is back. A page
// that is hidden has none, and says nothing.
func loseStream(t *testing.T, w *Window, server *httptest.Server, store *status.Store, down *atomic.Bool) {
	w.Visit(server.URL + "/environments/prod")
	w.WaitUntil(`document.documentElement.dataset.live === "on" && document.getElementById("stale").hidden`)
	down.Store(true)
	server.CloseClientConnections()
	w.WaitFor("#stale:not([hidden])", "the stream is lost, and tried again in")
	w.WaitUntil(`/^As of \d\d:\d\d:\d\d UTC: /.test(document.getElementById("stale").textContent)`)
	checkWidth(t, w, 400, "a page without its stream")
	checkAccessible(t, w, "a page without its stream")
	store.SetEnvironment(status.Environment{Name: "prod", State: status.Failed, Reason: "the registry is away", Assignments: 12, Checked: noon})
	if tag := w.Text(".title .tag"); strings.Contains(tag, "failed") {
		t.Errorf("the page follows without a stream: %s", tag)
	}
	down.Store(false)
	w.WaitFor(".title .tag", "failed")
	w.WaitUntil(`document.documentElement.dataset.live === "on" && document.getElementById("stale").hidden`)
	hide := func(hidden bool) {
		w.Run(chromedp.Evaluate(fmt.Sprintf(`Object.defineProperty(document, "hidden", {value: %v, configurable: true}); document.dispatchEvent(new Event("visibilitychange"))`, hidden), nil))
	}
	hide(true)
	w.WaitUntil(`document.documentElement.dataset.live === "off" && document.getElementById("stale").hidden`)
	setFleet(store)
	if tag := w.Text(".title .tag"); !strings.Contains(tag, "failed") {
		t.Errorf("a hidden page follows: %s", tag)
	}
	hide(false)
	w.WaitUntil(`!document.querySelector(".title .tag").textContent.includes("failed")`)
	w.forgive("ERR_", "502")
}

// menuOutside returns how far the menu of more pages, when it is open, is outside of the window.
const menuOutside = `(() => {
	const menu = document.querySelector("nav .more");
	menu.open = true;
	const box = menu.querySelector("ul").getBoundingClientRect();
	menu.open = false;
	return Math.max(0, -box.left, box.right - innerWidth);
})()`

func checkNotWider(t *testing.T, w *Window, width int, path string) {
	t.Helper()
	var wider int
	w.Ask(fmt.Sprintf("document.documentElement.scrollWidth - %d", width), &wider)
	if wider > 0 {
		t.Errorf("%s is %d pixels too wide for %d", path, wider, width)
	}
}

// checkWidth checks that a page does not scroll sideways, and that its menu is within the window.
func checkWidth(t *testing.T, w *Window, width int, path string) {
	t.Helper()
	checkNotWider(t, w, width, path)
	if width == 400 { // nor as narrow as WCAG wants it
		w.Run(emulation.SetDeviceMetricsOverride(320, 900, 1, true))
		checkNotWider(t, w, 320, path)
		w.Run(emulation.SetDeviceMetricsOverride(400, 900, 1, true))
	}
	var outside float64
	w.Ask(menuOutside, &outside)
	if outside > 0 {
		t.Errorf("on %s the menu is %v pixels outside of the window", path, outside)
	}
}
