package browsertest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestWaiting: a person finds what waits for them, and acts; who has approved, or wrote the commit, finds nothing.
func TestWaiting(t *testing.T) {
	browser := Start(t)
	f := startFleet(t, "  signIn: {proxy: {from: [127.0.0.1]}}\n")
	w := browser.Open(t, View{Width: 400, Script: true})
	f.commit("main", "readme.md", "more", "Say more", "carol")
	f.send(http.MethodPost, "/api/v1/wake", "")
	w.Visit(f.root + "/environments/prod")
	w.WaitFor("#gates", "approval missing")
	w.Visit(f.root + "/waiting?for=me")
	w.WaitFor("main", "It is not known who you are")
	w.Visit(f.root + "/waiting")
	w.WaitFor("#waiting", "prod")
	if strings.Contains(w.Text("#waiting"), "Approve") {
		t.Errorf("nobody may approve: %s", w.Text("#waiting"))
	}
	f.signInAs("bob shop") // without a role
	w.Visit(f.root + "/")
	w.WaitFor("#for-me", "For me: 0")
	f.signInAs("alice@example.com sre")
	w.Visit(f.root + "/")
	w.WaitFor("#for-me", "For me: 1")
	w.Click("#for-me")
	w.WaitFor("#waiting", "Approve…")
	checkWidth(t, w, 400, "waiting")
	checkAccessible(t, w, "waiting")
	w.Click(`#waiting a[href*="levers/approve"]`)
	f.signInAs("carol@example.com sre") // who wrote the commit
	w.Visit(f.root + w.Address())
	w.WaitFor("#consequences", "Your approval does not count: you are an author of what is approved.")
	w.Click("#confirm")
	w.WaitFor("#written", "Written as")
	w.WaitFor("#gates", "carol@example.com is an author of what is approved")
	w.Visit(f.root + "/waiting?for=me")
	w.WaitFor("main", "Nothing waits for you.")
	w.Visit(f.root + "/waiting")
	w.WaitFor("#waiting", "you are an author of what is approved")
	approveRemovals(t, w, f)
}

// approveRemovals has a person approve that a change removes all, at the page: exactly this change, and nothing else.
func approveRemovals(t *testing.T, w *Window, f *fleet) {
	const policy = "scheduling-policies/hello.yaml"
	text := gittest.Git(t, f.plane, "show", "dev:"+policy)
	f.signInAs("alice@example.com sre")
	f.commit("dev", policy, strings.Replace(text, "app: hello", "app: helo", 1), "A typo", "carol")
	f.send(http.MethodPost, "/api/v1/wake", "")
	w.Visit(f.root + "/environments/dev")
	w.WaitFor(".levers", "Approve the removals…")
	w.Visit(f.root + "/waiting?for=me")
	w.WaitFor("#waiting", "dev")
	var links int
	w.Ask(`document.querySelectorAll('#waiting a[href*="levers/approve?env=dev"]').length`, &links)
	if links != 0 || strings.Contains(w.Text("#waiting"), "--removals") {
		t.Errorf("beside removals is %s", w.Text("#waiting"))
	}
	for body, want := range map[string]string{
		`{"env": "dev", "commit": "` + strings.Repeat("0", 40) + `", "seen": "force"}`: "does not wait for an approval in dev; what waits now is",
		`{"env": "prod", "seen": "force"}`:                                             "no removals wait for an approval in prod",
		`{"env": "dev", "seen": "another"}`:                                            "not any more what you have seen",
	} {
		code, answer := f.send(http.MethodPost, "/api/v1/levers/approve-removals", body, "Content-Type", "application/json")
		if code != http.StatusConflict || !strings.Contains(answer, want) {
			t.Errorf("%s: %d, want %q in %s", body, code, want, answer)
		}
	}
	w.Click(`#waiting a[href*="levers/approve-removals"]`)
	w.WaitFor("#consequences", "although it removes hello-web")
	w.WaitFor("#consequences", "It is then merged as any other change of dev.")
	w.WaitFor("main details summary", "It DELETES things on clusters")
	w.WaitFor("#commands ~ code", "--removals --reason TEXT")
	checkWidth(t, w, 400, "removals")
	checkAccessible(t, w, "removals")
	w.Submit(`input[name="reason"]`, "hello is over")
	w.WaitFor("#written", "Written as")
	if got := f.head("dev"); !strings.HasPrefix(got, "alice@example.com <alice@example.com>, Fairlead\nApprove removals ") || !strings.Contains(got, "hello is over") || !strings.Contains(got, "Fairlead-Via: web") {
		t.Errorf("the commit is %s", got)
	}
	w.WaitUntil(`!document.querySelector(".levers").textContent.includes("Approve the removals")`)
	out := strings.Replace(f.plane, "plane.git", "out.git", 1)
	if files := gittest.Git(t, out, "ls-tree", "-r", "--name-only", "dev"); strings.Contains(files, "hello-web") {
		t.Errorf("it is not merged: %s", files)
	}
}
