package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// seenOf returns what a person has seen who looks at an action.
func seenOf(t *testing.T, h http.Handler, user, target string) string {
	t.Helper()
	w := askPerson(h, user, "sre", http.MethodGet, api+"/levers/"+target, "", "")
	var l answer.Lever
	err := json.Unmarshal(w.Body.Bytes(), &l)
	if err != nil || l.Seen == "" {
		t.Fatalf("%d: %v\n%s", w.Code, err, w.Body)
	}
	return l.Seen
}

// TestLeversAreGuarded: who may not act uses up nobody's share of looks, a form is not performed unseen, another
// site cannot have actions looked at, and an address cannot say that something was written.
func TestLeversAreGuarded(t *testing.T) {
	h := New(Options{Store: fleet(), People: newPeople(newPlane(t), t.TempDir()), Now: func() time.Time { return noon }})
	look := func(user, groups, target string) int {
		return askPerson(h, user, groups, http.MethodGet, "/levers/"+target, "", "").Code
	}
	for range 70 {
		if code := look("eve", "none", "hold?env=dev"); code != http.StatusForbidden {
			t.Fatalf("somebody who may not act gets %d", code)
		}
	}
	if code := look("alice", "sre", "hold?env=dev"); code != http.StatusOK {
		t.Errorf("somebody who may act gets %d after others asked", code)
	}
	if code := look("alice", "sre", "approve?env=dev&commit=deadbeef"); code != http.StatusNotFound {
		t.Errorf("a commit that is not there is answered with %d", code)
	}

	if code := look("alice", "sre", "freeze?name=q4&environments=dev"); code != http.StatusBadRequest {
		t.Errorf("a parameter that no action has is answered with %d", code)
	}

	const form = "application/x-www-form-urlencoded"
	post := func(seen string) *httptest.ResponseRecorder {
		return askPerson(h, "alice", "sre", http.MethodPost, "/levers/hold", form, url.Values{"env": {"dev"}, "reason": {"a test"}, "seen": {seen}}.Encode())
	}
	if w := post("force"); w.Code != http.StatusBadRequest {
		t.Errorf("a form that nobody has seen gets %d", w.Code)
	}
	w := post(seenOf(t, h, "alice", "hold?env=dev"))
	if w.Code != http.StatusSeeOther {
		t.Fatalf("a form that somebody has seen gets %d\n%s", w.Code, w.Body)
	}
	_, query, _ := strings.Cut(w.Header().Get("Location"), "?")
	for name, want := range map[string]bool{"dev": true, "prod": false} {
		if shown := askPerson(h, "alice", "sre", http.MethodGet, "/environments/"+name+"?"+query, "", ""); strings.Contains(shown.Body.String(), "Written as") != want {
			t.Errorf("the page of %s says that it was written: %v, want %v\n%s", name, !want, want, shown.Body)
		}
	}
	for _, query := range []string{"written=" + strings.Repeat("deadbeef", 5), "proposed=99999"} {
		shown := askPerson(h, "alice", "sre", http.MethodGet, "/environments/prod?"+query, "", "")
		if strings.Contains(shown.Body.String(), "Written as") || strings.Contains(shown.Body.String(), "Proposed as") {
			t.Errorf("an address says that something was done: %s", query)
		}
	}

	r := httptest.NewRequest(http.MethodGet, "/levers/hold?env=dev", http.NoBody)
	for name, value := range map[string]string{"X-User": "alice", "X-Groups": "sre", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"} {
		r.Header.Set(name, value)
	}
	foreign := httptest.NewRecorder()
	h.ServeHTTP(foreign, r)
	if foreign.Code != http.StatusForbidden {
		t.Errorf("an image of another site gets %d", foreign.Code)
	}
}

// TestLaneLevers: an action on one lane, or wave, is shown with what follows and with its command, is done as it was seen, and one that cannot be
// about a lane is refused.
func TestLaneLevers(t *testing.T) {
	server := gittest.ServeGit(t)
	server.Create("cp")
	work := server.Work(t, "cp")
	work.Switch("main")
	for _, name := range []string{"dev", "stage"} {
		work.Write(".environments/"+name+".yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata: {name: "+name+"}\nspec: {controlPlane: {repo: \""+server.URL("cp")+"\", branch: "+name+", path: .}}\n")
	}
	work.Write(".fairlead/promotion.yaml", "apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: fleet}\nspec: {lanes: {each: workloads/*}, environments: [{name: dev, waves: [{name: canary, pick: {count: 1}, gates: [approval]}]}, {name: stage, after: [dev]}]}\n")
	work.Write("workloads/shop.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: shop}\nspec: {deploymentTargets: []}\n")
	work.Commit("first")
	work.Push("main")
	head := gittest.Git(t, server.Dir("cp"), "rev-parse", "main")
	for _, name := range []string{"dev", "stage"} {
		work.Switch(name)
		work.Write("base-repo.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: base}\nspec: {repo: \""+server.URL("cp")+"\", branch: main, path: ., commit: "+head+"}\n")
		work.Commit(name)
		work.Push(name)
	}
	h := New(Options{Store: fleet(), People: newPeople(server.URL("cp"), t.TempDir()), Now: func() time.Time { return noon }})
	look := func(target string) *httptest.ResponseRecorder {
		return askPerson(h, "alice", "sre", http.MethodGet, api+"/levers/"+target, "", "")
	}
	if w := look("freeze?name=sale&lane=shop"); w.Code != http.StatusBadRequest {
		t.Errorf("a freeze of a lane: %d %s", w.Code, w.Body)
	}
	if w := look("hold?env=stage&lane=shoop"); !strings.Contains(w.Body.String(), "there is no lane shoop") {
		t.Errorf("an unknown lane: %d %s", w.Code, w.Body)
	}
	for _, c := range []struct{ lever, effect string }{{"hold", "Lane shop keeps its commit in stage"}, {"release", ""}} {
		w := look(c.lever + "?env=stage&lane=shop")
		var l answer.Lever
		if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil || l.Command != "fairlead "+c.lever+" stage --lane shop --reason TEXT" || !strings.HasPrefix(strings.Join(l.Effects, " "), c.effect) {
			t.Fatalf("%s: %v, %s", c.lever, err, w.Body)
		}
		form := url.Values{"env": {"stage"}, "lane": {"shop"}, "reason": {"a test"}, "seen": {l.Seen}}
		w = askPerson(h, "alice", "sre", http.MethodPost, "/levers/"+c.lever, "application/x-www-form-urlencoded", form.Encode())
		files := gittest.Files(t, server.Dir("cp"), gittest.Git(t, server.Dir("cp"), "rev-parse", "stage"))
		if isHeld := files[".fairlead/holds/lane-shop.yaml"] != ""; w.Code != http.StatusSeeOther || isHeld != (c.lever == "hold") {
			t.Errorf("%s: %d, held: %t\n%s", c.lever, w.Code, isHeld, w.Body)
		}
	}
	if w := look("hold?env=dev&wave=canary"); w.Code != http.StatusBadRequest {
		t.Errorf("a hold of a wave: %d %s", w.Code, w.Body)
	}
	if w := look("approve?env=dev&wave=rest&commit=3f2a9c1d04be"); !strings.Contains(w.Body.String(), "no wave rest of dev asks for approvals") {
		t.Errorf("a wave without gates: %d %s", w.Code, w.Body)
	}
	seen := seenOf(t, h, "alice", "approve?env=dev&wave=canary&commit=3f2a9c1d04be")
	form := url.Values{"env": {"dev"}, "wave": {"canary"}, "commit": {"3f2a9c1d04be"}, "seen": {seen}}
	w := askPerson(h, "alice", "sre", http.MethodPost, "/levers/approve", "application/x-www-form-urlencoded", form.Encode())
	files := fmt.Sprint(gittest.Files(t, server.Dir("cp"), gittest.Git(t, server.Dir("cp"), "rev-parse", "dev")))
	if w.Code != http.StatusSeeOther || !strings.Contains(files, "commit: 3f2a9c1d04be") || !strings.Contains(files, "wave: canary") {
		t.Errorf("the approval of a wave: %d %s\n%s", w.Code, w.Body, files)
	}
}
