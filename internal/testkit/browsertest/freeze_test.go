package browsertest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestFreezeLevers: a person freezes environments, lets one commit pass, and ends the freeze, with what stops shown
// before; without script, at 400 px. A team that may freeze one environment freezes no other one.
func TestFreezeLevers(t *testing.T) {
	browser := Start(t)
	f := startFleet(t, "    - {groups: [ops], may: [freeze], in: [\"*\"]}\n    - {groups: [shop], may: [freeze], in: [dev]}\n  signIn: {proxy: {from: [127.0.0.1]}}\n")
	f.commit("main", "readme.md", "more", "Say more", "carol")
	f.send(http.MethodPost, "/api/v1/wake", "")
	commit := gittest.Commit(t, f.plane, "main")
	f.signInAs("alice@example.com ops")
	w := browser.Open(t, View{Width: 400, Script: false})
	seen := browser.Open(t, View{Width: 1280, Script: true})
	seen.Visit(f.root + "/environments/prod")
	seen.WaitFor(`section[aria-labelledby="next"]`, "Say more")
	w.Visit(f.root + "/levers/freeze?env=prod")
	w.WaitFor("#asks", "Name of the freeze")
	checkWidth(t, w, 400, "freeze")
	seen.Visit(f.root + "/levers/freeze?env=prod")
	checkAccessible(t, seen, "freeze") // axe is a script
	seen.keepPicture("freeze-1280.png")
	w.keepPicture("freeze-400.png")
	w.Visit(f.root + "/levers/freeze?name=Q4!&env=prod&to=soon&reason=the+books")
	w.WaitFor("main .error", `A time cannot be read: "soon" in To.`)
	w.WaitFor("#asks", "Name of the freeze")
	var kinds string
	seen.Ask(`[...document.querySelectorAll("#asks input, #asks option")].map(e => e.type || e.textContent).join()`, &kinds)
	if !strings.Contains(kinds, "datetime-local,datetime-local") || !strings.Contains(kinds, "promotions alone") {
		t.Errorf("the fields are %s", kinds)
	}
	seen.Visit(f.root + "/levers/freeze?name=q4&env=prod&from=2099-12-24T18:00&to=2099-12-27T08:00&scope=promotion")
	seen.WaitUntil(`[...document.querySelectorAll("#consequences time")].map(e => e.dateTime).join() === "2099-12-24T18:00:00Z,2099-12-27T08:00:00Z"`)
	w.Visit(f.root + "/levers/freeze?name=q4&env=prod&to=36h&scope=output")
	w.WaitFor("#consequences", "From now until ")
	w.WaitFor("#consequences", "Nothing is promoted meanwhile, and Fairlead merges no change of the output")
	w.WaitFor("#consequences", `prod: `+commit[:7]+` "Say more" stops.`)
	w.WaitFor("#commands ~ code", "fairlead freeze q4 --environments prod --to 36h --scope output --reason TEXT")
	if strings.Contains(w.Text("#consequences"), "dev:") {
		t.Errorf("the freeze of prod is said to stop dev: %s", w.Text("#consequences"))
	}
	w.Submit(`input[name="reason"]`, "the books")
	w.WaitFor("#written", "Written as")
	if got := f.head("main"); !strings.HasPrefix(got, "alice@example.com <alice@example.com>, Fairlead\nFreeze prod: q4") || !strings.Contains(got, "Fairlead-Action: freeze") {
		t.Errorf("the commit is %s", got)
	}

	f.send(http.MethodPost, "/api/v1/wake", "")
	seen.Visit(f.root + "/environments/prod")
	seen.WaitFor(`[data-state="prod"]`, "frozen")
	seen.WaitFor("main", "freeze q4: the books")
	seen.Visit(f.root + "/commits/" + commit + "/forecast")
	seen.WaitFor("main", "in prod: freeze q4: the books, until ")
	seen.Visit(f.root + "/history?env=prod")
	seen.WaitFor("main", "froze prod: q4")
	seen.Visit(f.root + "/history?env=dev&what=freeze")
	seen.WaitFor("main", "Nothing that was done is like that")

	f.signInAs("bob shop")
	before := gittest.Commit(t, f.plane, "main")
	for _, test := range []struct {
		path, body string
		code       int
		want       string
	}{
		{"/api/v1/levers/freeze", `{"name": "mine", "environments": ["dev", "prod"], "reason": "x", "seen": "force"}`, http.StatusForbidden, "only group ops may freeze in prod"},
		{"/api/v1/levers/freeze", `{"name": "mine", "reason": "x", "seen": "force"}`, http.StatusForbidden, "only group ops may freeze in all environments"},
		{"/api/v1/levers/end", `{"name": "q4", "seen": "force"}`, http.StatusForbidden, "only group ops may freeze in prod"},
		{"/api/v1/levers/except", `{"name": "q4", "commit": "` + commit + `", "reason": "x", "seen": "force"}`, http.StatusForbidden, "only group ops may freeze in prod"},
		{"/api/v1/levers/end", `{"name": "q5", "seen": "force"}`, http.StatusNotFound, "there is no freeze q5"},
		{"/api/v1/levers/freeze", `{"name": "-x", "env": "dev", "reason": "x", "seen": "force"}`, http.StatusBadRequest, "cannot be the name of a freeze"},
		{"/api/v1/levers/freeze", `{"name": "x", "env": "dev", "to": "soon", "reason": "x", "seen": "force"}`, http.StatusBadRequest, "a time cannot be read"},
		{"/api/v1/levers/freeze", `{"name": "x", "env": "dev", "to": "2020-01-01", "reason": "x", "seen": "force"}`, http.StatusBadRequest, "over before it begins"},
		{"/api/v1/levers/freeze", `{"name": "x", "env": "nowhere", "reason": "x", "seen": "force"}`, http.StatusForbidden, "only group ops may freeze in nowhere"},
		{"/api/v1/levers/freeze", `{"name": "x", "env": "dev", "seen": "force"}`, http.StatusBadRequest, "reason is missing"},
		{"/api/v1/levers/except", `{"name": "q4", "reason": "x", "seen": "force"}`, http.StatusBadRequest, "which commit"},
	} {
		code, text := f.send(http.MethodPost, test.path, test.body, "Content-Type", "application/json")
		if code != test.code || !strings.Contains(text, test.want) {
			t.Errorf("%s %s: %d, want %d and %q in\n%s", test.path, test.body, code, test.code, test.want, text)
		}
	}
	if now := gittest.Commit(t, f.plane, "main"); now != before {
		t.Fatalf("something was written: %s", f.head("main"))
	}

	f.signInAs("alice@example.com ops")
	w.Visit(f.root + "/levers/except?name=q4&commit=" + commit[:10])
	w.WaitFor("#consequences", commit[:7]+` "Say more" may pass the freeze q4; all others wait.`)
	w.Submit(`input[name="reason"]`, "a leak")
	w.WaitFor("#written", "Written as")
	if text := gittest.Git(t, f.plane, "show", "main:.fairlead/freezes/q4.yaml"); !strings.Contains(text, commit) || !strings.Contains(text, "a leak") {
		t.Errorf("the freeze is\n%s", text)
	}
	w.Visit(f.root + "/levers/end?env=dev")
	w.WaitFor("main", "there is no freeze")
	w.Visit(f.root + "/environments/prod")
	w.Click(`a[href="../levers/end?env=prod"]`)
	w.WaitFor("#asks", "q4")
	w.Click("#look")
	w.WaitFor("#consequences", "prod: ")
	w.Click("#confirm")
	w.WaitFor("#written", "Written as")
	w.Visit(f.root + "/levers/end")
	w.WaitFor("main", "there is no freeze")
}
