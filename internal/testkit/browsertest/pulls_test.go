package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestPullLevers: a person merges, closes and reopens the pull request of an environment whose output is held; what
// was not seen, or is not permitted, is not done.
func TestPullLevers(t *testing.T) {
	browser := Start(t)
	f := startFleet(t, "    - {groups: [ops], may: [merge, hold], in: [dev]}\n  signIn: {proxy: {from: [127.0.0.1]}}\n")
	out := strings.Replace(f.plane, "plane.git", "out.git", 1)
	w := browser.Open(t, View{Width: 400, Script: true})
	f.signInAs("alice@example.com ops")
	code, text := f.send(http.MethodPost, "/api/v1/levers/hold", `{"env": "dev", "reason": "a demo", "seen": "force"}`, "Content-Type", "application/json")
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	change := func(value int) {
		t.Helper()
		f.commit("dev", "more.yaml", fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, labels: {platform-config: \"true\"}}\ndata: {MORE: \"%d\"}\n", value), "More", "carol")
		f.send(http.MethodPost, "/api/v1/wake", "")
		w.Visit(f.root + "/environments/dev")
		w.WaitFor(".levers", "Merge…")
	}
	change(1)
	w.press("l")
	w.WaitUntil(`document.activeElement.matches('.levers a[href*="levers/"]')`)
	w.Click(`main a[href*="/pulls/"]`) // where one reads what it changes
	w.WaitFor(".levers", "Close the pull request…")
	w.Click(`.levers a[href*="levers/merge?env=dev"]`)
	w.WaitFor("#consequences", "is merged into")
	w.WaitFor("#consequences", "Fairlead itself does not merge it: ")
	checkWidth(t, w, 400, "merge")
	checkAccessible(t, w, "merge")
	before := gittest.Commit(t, out, "dev")
	f.signInAs("bob sre")
	for body, want := range map[string]string{`{"env": "dev", "seen": "force"}`: "only group ops may merge in dev", `{"env": "prod", "seen": "force"}`: "no role in the settings permits to merge in prod"} {
		code, text := f.send(http.MethodPost, "/api/v1/levers/merge", body, "Content-Type", "application/json")
		if code != http.StatusForbidden || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", body, code, text)
		}
	}
	f.signInAs("alice@example.com ops")
	code, text = f.send(http.MethodPost, "/api/v1/levers/merge", `{"env": "dev", "seen": "another"}`, "Content-Type", "application/json")
	if code != http.StatusConflict || gittest.Commit(t, out, "dev") != before {
		t.Errorf("what was not seen: %d %s", code, text)
	}
	w.Submit(`input[name="reason"]`, "first <b>go</b>")
	w.WaitFor("#done", "is merged. The next cycle follows it.")
	w.WaitUntil(`document.querySelector(".levers") && !document.querySelector(".levers").textContent.includes("Merge…")`)
	if gittest.Commit(t, out, "dev") == before {
		t.Error("nothing was merged")
	}
	w.Visit(f.root + "/history?what=merge&who=alice@example.com")
	w.WaitFor("main", "first <b>go</b>")
	change(2)
	before = gittest.Commit(t, out, "dev")
	w.Visit(f.root + "/levers/close?env=dev")
	w.Submit(`input[name="reason"]`, "not now")
	w.WaitFor(".levers", "Reopen the pull request…")
	w.WaitFor("main", "declined: not now (by alice@example.com)")
	w.Visit(f.root + "/levers/reopen?env=dev")
	w.WaitFor("#consequences", "is open again")
	w.Click("#confirm")
	w.WaitFor(".levers", "Merge…")
	if gittest.Commit(t, out, "dev") != before {
		t.Error("something was merged")
	}
}
