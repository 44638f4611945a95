package web

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/lever"
	"github.com/fairlead-io/fairlead/internal/server/page"
	"github.com/fairlead-io/fairlead/internal/server/permit"
	"github.com/fairlead-io/fairlead/internal/server/session"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
	"github.com/fairlead-io/fairlead/internal/testkit/issuertest"
)

// proxyAddress is where the requests of tests are from.
const proxyAddress = "192.0.2.1"

// newPeople returns the people of a page before which there is a proxy, and who may act on a control plane.
func newPeople(controlPlane, mirrors string) *People {
	policy := permit.Policy{Actions: true, Roles: []permit.Role{{Groups: []string{"sre"}, May: []string{"hold", "release", "approve", "freeze"}, In: []string{"*"}}}}
	now := func() time.Time { return noon }
	return &People{
		Policy: policy,
		Keeper: session.New(session.Options{URL: "https://fairlead.example.com/", Proxy: &config.Proxy{From: []string{proxyAddress}, User: "X-User", Groups: "X-Groups"}, FilterGroups: policy.FilterGroups, Now: now, Logger: slog.New(slog.DiscardHandler)}),
		Operator: lever.New(lever.Options{
			Actions: actions.Options{ControlPlane: controlPlane, Mirrors: &repos.Mirrors{Dir: mirrors}, Committer: git.Signature{Name: "Fairlead", Email: "fairlead@localhost"}, Now: now},
			Policy:  policy, Store: &status.Store{}, Logger: slog.New(slog.DiscardHandler),
		}),
	}
}

// newPlane makes a control plane with an environment.
func newPlane(t *testing.T) string {
	t.Helper()
	server := gittest.ServeGit(t)
	server.Create("cp")
	work := server.Work(t, "cp")
	work.Switch("main")
	work.Write(".environments/dev.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata: {name: dev}\nspec: {controlPlane: {repo: \""+server.URL("cp")+"\", branch: dev, path: .}}\n")
	work.Commit("first")
	work.Push("main")
	work.Switch("dev")
	work.Write("gitops-repo.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: out}\nspec: {repo: \""+server.URL("out")+"\", branch: dev, path: .}\n")
	work.Commit("dev")
	work.Push("dev")
	return server.URL("cp")
}

// askPerson sends a request as a person, with groups; "" is nobody.
func askPerson(h http.Handler, user, groups, method, target, kind, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if user != "" {
		r.Header.Set("X-User", user)
		r.Header.Set("X-Groups", groups)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// answerPeople gets what there is for people who sign in, in every code.
func (c checker) answerPeople(t *testing.T) {
	t.Helper()
	plane := newPlane(t)
	h := New(Options{Store: fleet(), People: newPeople(plane, t.TempDir()), Now: func() time.Time { return noon }})
	for _, path := range []string{"/me", "/waiting"} {
		for _, before := range []string{"", api} {
			for _, who := range []string{"", "alice@example.com"} {
				for _, query := range []string{"", "?for=me", "?at=2026-11-20"} {
					c.answer(t, "get", before+path, askPerson(h, who, "sre", http.MethodGet, before+path+query, "", ""))
				}
			}
			c.answer(t, "get", before+path, ask(h, http.MethodPut, before+path))
		}
	}
	broken := New(Options{Store: fleet(), People: newPeople(filepath.Join(t.TempDir(), "none"), t.TempDir()), Now: func() time.Time { return noon }})
	for _, below := range []string{"", api} {
		form, described := "application/x-www-form-urlencoded", below+"/levers/{lever}"
		body := func(env, reason, seen string) string {
			return url.Values{"env": {env}, "reason": {reason}, "seen": {seen}}.Encode()
		}
		if below != "" {
			form = "application/json"
			body = func(env, reason, seen string) string {
				data, _ := json.Marshal(leverBody{Environment: env, Reason: reason, Seen: seen}) // texts
				return string(data)
			}
		}
		get := func(h http.Handler, user, groups, target string) {
			t.Helper()
			c.answer(t, "get", described, askPerson(h, user, groups, http.MethodGet, below+"/levers/"+target, "", ""))
		}
		post := func(h http.Handler, user, groups, name, text string) {
			t.Helper()
			c.answer(t, "post", described, askPerson(h, user, groups, http.MethodPost, below+"/levers/"+name, form, text))
		}
		get(h, "alice", "sre", "hold?env=dev")
		get(h, "alice", "sre", "freeze")
		get(h, "alice", "sre", "hold")
		get(h, "alice", "other", "hold?env=dev")
		get(h, "alice", "sre", "none?env=dev")
		get(broken, "alice", "sre", "hold?env=dev")
		if below != "" { // a page leads to where one signs in
			get(h, "", "", "hold?env=dev")
		} else {
			c.answer(t, "get", described, askPerson(h, "", "", http.MethodGet, "/levers/hold?env=dev", "", ""))
		}
		seen := lever.Unseen
		if below == "" {
			seen = seenOf(t, h, "alice", "hold?env=dev")
		}
		post(h, "alice"+below, "sre", "hold", body("dev", "a test", seen))
		post(h, "alice"+below, "sre", "hold", body("dev", "a test", "another"))
		post(h, "alice"+below, "sre", "hold", body("dev", "", "force"))
		post(h, "alice"+below, "other", "hold", body("dev", "x", "force"))
		post(h, "alice"+below, "sre", "none", body("dev", "x", "force"))
		post(h, "", "", "hold", body("dev", "x", "force"))
		post(broken, "alice", "sre", "hold", body("dev", "x", "anything"))
		for range 11 {
			post(h, "bob"+below, "sre", "hold", body("dev", "", "force"))
		}
		for range 61 {
			get(broken, "carol"+below, "sre", "hold?env=dev")
		}
		h = New(Options{Store: fleet(), People: newPeople(plane, t.TempDir()), Now: func() time.Time { return noon }})
		c.answer(t, "get", described, ask(h, http.MethodPut, below+"/levers/hold"))
		c.answer(t, "post", described, ask(h, http.MethodPut, below+"/levers/hold"))
	}
	c.answerSignIn(t)
	for name, value := range map[string]any{"Lever": fullLever, "Moved": movedAnswer{errorAnswer{Error: "somebody was faster", Hint: "look again"}, asked}, "Result": fullResult, "Inbox": fullInbox, "Me": fullMe} {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var decoded any
		if err := json.Unmarshal(data, &decoded); err != nil {
			t.Fatal(err)
		}
		c.check(t, object{"$ref": "#/components/schemas/" + name}, decoded)
	}
}

// answerSignIn signs somebody in and out.
func (c checker) answerSignIn(t *testing.T) {
	t.Helper()
	issuer := issuertest.Start(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(issuertest.ClientSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	newSite := func(issuer string) http.Handler {
		return New(Options{Store: fleet(), People: &People{Keeper: session.New(session.Options{
			URL: "https://fairlead.example.com/", OIDC: &config.OIDC{Issuer: issuer, ClientID: issuertest.ClientID, ClientSecret: config.SecretRef{File: secret}, Groups: "groups"},
			Keys: func() ([]string, error) { return []string{strings.Repeat("k", 32)}, nil }, Idle: time.Hour, Life: time.Hour, FilterGroups: func(all []string) []string { return all }, Now: time.Now,
			Logger: slog.New(slog.DiscardHandler),
		})}})
	}
	h, away := newSite(issuer.URL), newSite("http://127.0.0.1:1")
	begun := ask(h, http.MethodGet, signInPath)
	c.answer(t, "get", signInPath, begun)
	c.answer(t, "get", signInPath, ask(away, http.MethodGet, signInPath))
	c.answer(t, "get", signInPath, ask(h, http.MethodPut, signInPath))
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	sent, err := client.Get(begun.Header().Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, sent.Body)
	_ = sent.Body.Close()
	back, err := url.Parse(sent.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []http.Handler{away, h} {
		r := httptest.NewRequest(http.MethodGet, session.CallbackPath+"?"+back.RawQuery, nil)
		for _, cookie := range begun.Result().Cookies() {
			r.AddCookie(cookie)
		}
		w := httptest.NewRecorder()
		to.ServeHTTP(w, r)
		c.answer(t, "get", session.CallbackPath, w)
	}
	c.answer(t, "get", session.CallbackPath, ask(h, http.MethodGet, session.CallbackPath))
	c.answer(t, "get", session.CallbackPath, ask(h, http.MethodPut, session.CallbackPath))
	c.answer(t, "post", signOutPath, ask(h, http.MethodPost, signOutPath))
	c.answer(t, "post", signOutPath, ask(h, http.MethodPut, signOutPath))
}

// Answers in which nothing is empty.
var (
	fullCommit = answer.Commit{Commit: status.Commit{ID: strings.Repeat("0a", 20), Subject: "Less noise", Author: "alice", When: noon}}
	fullLever  = answer.Lever{
		Lever: "rollback", Environment: "prod", Fields: map[string][]string{"env": {"prod"}}, Question: "Roll prod back?", Effects: []string{"It is held."}, Nothing: "", From: &fullCommit, To: &fullCommit,
		Choices: []answer.Choice{{Commit: fullCommit, Evidence: promoter.Failed}}, Impact: "image 12", Deletes: true, NeedsReason: true, Reason: "it fails", Author: "Alice <alice@example.com>", Repo: "https://git.example.com/cp", Branch: "prod", Head: strings.Repeat("0b", 20),
		Message: "Roll prod back", Files: []actions.FileEdit{{Path: "a", Before: "1", After: "2"}}, Command: "fairlead rollback prod", Seen: "0c", Typed: "shop/eu", Moved: true, Forced: []string{"a gate"},
	}
	asked = answer.Lever{
		Lever: "freeze", Question: "Freeze?", Effects: []string{}, Asks: []answer.LeverField{{Name: "env", Title: "Environments", Value: "x", Hint: "none for all", Options: []string{"dev"}, Chosen: []string{"dev"}, Several: true, Required: true}},
		Nothing: "there is no freeze", Refusal: "it is held", Hint: "release it", MayForce: true, Unknown: "it cannot be rendered",
	}
	fullResult = actions.Result{Action: "hold", Environment: "dev", Name: "q4", Summary: "dev is held", Changed: true, From: "0a", To: "0b", Branch: "dev", Commit: "0c", Pull: &actions.Pull{Number: 7, URL: "https://git.example.com/7", State: "open"}, Notes: []string{"the newest"}, Forced: []string{"a gate"}}
	fullInbox  = answer.Inbox{For: "me", SignedIn: true, Total: 2, Items: []answer.InboxItem{{Need: answer.Need{State: answer.State{Tone: answer.Waiting, Word: "waits"}, Environment: "prod", Reason: "1 approval missing", Pull: &status.Pull{Number: 7, Title: "a", URL: "https://git.example.com/7", Head: "0a"}}, Levers: []string{"approve"}, Done: "approved by alice"}}}
	fullMe     = answer.Me{SignedIn: true, Name: "Alice", Email: "alice@example.com", Issuer: "https://id.example.com", Subject: "7", Groups: []string{"sre"}, Leave: true, Permissions: []answer.Permission{{Environment: "dev", Levers: []string{"hold"}, Refused: []string{"only group x may promote in dev"}}}}
)

// TestPeoplesPagesAreAnswers: the pages of people are the same when they are made from the JSON of their answers.
func TestPeoplesPagesAreAnswers(t *testing.T) {
	for name, of := range map[string]any{"a lever": fullLever, "what a lever asks": asked, "a refusal": func() answer.Lever { l := asked; l.Asks, l.Nothing = nil, ""; return l }(), "me": fullMe, "nobody": answer.Me{}, "what waits": fullInbox, "nothing": answer.Inbox{}} {
		data, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		read := reflect.New(reflect.TypeOf(of))
		if err := json.Unmarshal(data, read.Interface()); err != nil {
			t.Fatal(err)
		}
		render := func(of any) string {
			kept, err := page.Render(page.Frame{Path: "/levers/hold"}, of)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := kept.For(page.Reader{})
			return string(body)
		}
		if diff := cmp.Diff(render(of), render(read.Elem().Interface())); diff != "" {
			t.Errorf("%s says what its answer does not (-page +answer):\n%s", name, diff)
		}
		checkMarkup(t, name, render(of))
	}
}
