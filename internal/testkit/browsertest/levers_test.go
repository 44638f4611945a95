package browsertest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// fleet is a daemon with repositories of its own, as people reach it.
type fleet struct {
	t     *testing.T
	dir   string
	root  string // the address of the page
	plane string // the repository of the control plane

	mu   sync.Mutex
	user string // whom the proxy names, with its groups after a space; "" for nobody
}

// signInAs has the proxy name a person.
func (f *fleet) signInAs(user string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.user = user
}

// startFleet starts a daemon with two environments, behind a proxy at which people sign in.
func startFleet(t *testing.T, web string) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.TempDir()}
	f.plane = filepath.Join(f.dir, "plane.git")
	content := scaffold.Options{ControlPlane: f.plane, GitOps: filepath.Join(f.dir, "out.git"), Environments: []string{"dev", "prod"}, Sample: true}
	made := daemon.Repositories{Content: content, Author: git.Signature{Name: "somebody", Email: "somebody@git.example"}, When: time.Unix(0, 0)}
	if err := made.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.commit("main", ".fairlead/promotion.yaml", promotion, "Ask for approvals", "carol")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.root = "http://" + listener.Addr().String()
	text := "controlPlane: {repo: plane.git}\nlisten: 127.0.0.1:0\ndataDir: data\nschedule: {interval: 1h}\nwrite: true\nmerge: {dev: direct, prod: direct}\n" +
		"web:\n  url: " + f.root + "/\n  actions: true\n  roles:\n    - {groups: [sre], may: [approve, hold, release, rollback, promote, force], in: [\"*\"]}\n" + web
	settings, problems := config.Parse("fairlead.yaml", []byte(text), f.dir, os.Getenv)
	if problems.Stops() {
		t.Fatal(problems)
	}
	backend := f.serve(settings)
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(backend)
		r.Out.Host = r.In.Host
		f.mu.Lock()
		defer f.mu.Unlock()
		r.Out.Header.Del("X-Forwarded-User")
		r.Out.Header.Del("X-Forwarded-Groups")
		user, groups, _ := strings.Cut(f.user, " ")
		if user != "" {
			r.Out.Header.Set("X-Forwarded-User", user)
			r.Out.Header.Set("X-Forwarded-Groups", groups)
		}
	}})
	_ = proxy.Listener.Close()
	proxy.Listener = listener
	proxy.Start()
	t.Cleanup(proxy.Close)
	return f
}

// promotion has commits go to prod once somebody approves who has not written them.
const promotion = `apiVersion: fairlead.io/v1alpha1
kind: Promotion
metadata: {name: fleet}
spec:
  environments:
    - {name: dev, proof: [merged]}
    - {name: prod, after: [dev], proof: [merged], gates: [{approval: {distinct: true}}]}
`

// commit writes a file of the control plane as a person does.
func (f *fleet) commit(branch, path, text, message, author string) {
	f.t.Helper()
	work := f.t.TempDir()
	gittest.Git(f.t, work, "clone", "-q", "-b", branch, f.plane, "w")
	work = filepath.Join(work, "w")
	if err := os.WriteFile(filepath.Join(work, path), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
	gittest.Git(f.t, work, "add", "-A")
	gittest.Git(f.t, work, "commit", "-q", "--author", author+" <"+author+"@example.com>", "-m", message)
	gittest.Git(f.t, work, "push", "-q", "origin", branch)
}

// serve runs a daemon until the test ends, and returns its address.
func (f *fleet) serve(settings *config.Settings) *url.URL {
	f.t.Helper()
	ctx, stop := context.WithCancel(f.t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	settled := make(chan bool, 1)
	var log bytes.Buffer
	go func() {
		ended <- daemon.Serve(ctx, daemon.Options{Settings: settings, Version: "1.2.3", Log: &log, Ready: func(address string) { ready <- address }, After: func(s status.Snapshot) {
			stage, _ := s.Chain.FindStage("prod")
			if stage.State == status.StageVerified && len(settled) == 0 {
				settled <- true
			}
		}})
	}()
	f.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			f.t.Error(err)
		}
		if f.t.Failed() {
			f.t.Log(log.String())
		}
	})
	select {
	case address := <-ready:
		<-settled
		return &url.URL{Scheme: "http", Host: address}
	case err := <-ended:
		ended <- err
		f.t.Fatal(err)
	}
	return nil
}

// head returns the last commit of a branch of the control plane: its author, committer and message.
func (f *fleet) head(branch string) string {
	f.t.Helper()
	return gittest.Git(f.t, f.plane, "log", "-1", "--format=%an <%ae>, %cn%n%B", branch)
}

// TestLevers: people who signed in act at the page, and see before what follows.
func TestLevers(t *testing.T) {
	browser := Start(t)
	f := startFleet(t, "  signIn: {proxy: {from: [127.0.0.1]}}\n")
	w := browser.Open(t, View{Width: 1280, Script: true})
	w.Visit(f.root + "/environments/dev")
	w.WaitFor(".title .tag", "verified")
	if w.Text(".levers") != "" || w.Text(".person") != "" {
		t.Errorf("somebody who has not signed in sees %q, %q", w.Text(".levers"), w.Text(".person"))
	}
	t.Run("hold and release", func(t *testing.T) { holdAndRelease(t, w, f) })
	t.Run("400 hold and release", func(t *testing.T) { holdAndRelease(t, browser.Open(t, View{Width: 400, Script: true}), f) })
	t.Run("not allowed", func(t *testing.T) { seeRefusals(t, w, f) })
	t.Run("approve and roll back", func(t *testing.T) { approveAndRollBack(t, w, f) })
	t.Run("somebody is faster", func(t *testing.T) { beFaster(t, f) })
	t.Run("accessible", func(t *testing.T) { checkConfirmations(t, browser, f) })
}

// holdAndRelease holds an environment and releases it.
func holdAndRelease(t *testing.T, w *Window, f *fleet) {
	f.signInAs("alice@example.com sre,other")
	w.Visit(f.root + "/environments/dev")
	w.WaitFor(".person", "alice@example.com")
	w.Click(`a[href="../levers/hold?env=dev"]`)
	w.WaitFor("#consequences", "Nothing is promoted to dev")
	w.WaitFor("#consequences", "prod gets no commit that dev has not had")
	w.Submit(`input[name="reason"]`, `the <b>load</b> test "of Tuesday"`)
	w.WaitFor("#written", "Written as")
	w.WaitFor(".title .tag", "held")
	w.WaitFor("main", `the <b>load</b> test "of Tuesday"`)
	if got := f.head("dev"); !strings.HasPrefix(got, "alice@example.com <alice@example.com>, Fairlead\nHold dev\n") || !strings.Contains(got, "Fairlead-Via: web\nFairlead-Actor: proxy#alice@example.com\nFairlead-Action: hold") {
		t.Errorf("the commit is %s", got)
	}
	w.Visit(f.root + "/levers/release?env=dev")
	w.WaitFor("#consequences", "It was held because")
	w.Click("#confirm")
	w.WaitFor("#written", "Written as")
	w.WaitUntil(`!document.querySelector(".title .tag").textContent.includes("held")`)
	w.Visit(f.root + "/levers/release?env=dev")
	w.WaitFor("main", "There is nothing to do: dev is not held.")
}

// seeRefusals looks at the page as somebody without a role.
func seeRefusals(t *testing.T, w *Window, f *fleet) {
	f.signInAs("bob dev")
	w.Visit(f.root + "/environments/dev")
	w.WaitFor("#not-hold", "Hold: only group sre may hold in dev")
	before := f.head("dev")
	code, text := f.send(http.MethodPost, "/levers/hold", "env=dev&reason=x&seen=force", "Content-Type", "application/x-www-form-urlencoded")
	if code != http.StatusForbidden || !strings.Contains(text, "Only group sre may hold in dev") || f.head("dev") != before {
		t.Errorf("somebody without a role gets %d %s, and the branch is at %s", code, text, f.head("dev"))
	}
	w.Visit(f.root + "/levers/hold?env=dev")
	w.WaitFor("h1", "Refused")
	w.forgive("status of 403")
	checkAccessible(t, w, "a refusal")
	w.Visit(f.root + "/me")
	w.WaitFor("main", "nothing")
	w.WaitFor("main", "only group sre may hold in dev")
}

// peoplePages are kinds of pages that are others for somebody who may act.
var peoplePages = []string{"/levers/hold?env=dev", "/levers/rollback?env=dev", "/me", "/environments/dev"}

// checkConfirmations checks the pages of people by the rules of accessibility.
func checkConfirmations(t *testing.T, browser *Browser, f *fleet) {
	f.signInAs("alice@example.com sre")
	for _, v := range fourViews {
		w := browser.Open(t, v)
		for _, path := range peoplePages {
			w.Visit(f.root + path)
			checkWidth(t, w, v.Width, path)
			checkAccessible(t, w, path)
			w.keepPicture(fmt.Sprintf("people-%d-%s.png", v.Width, strings.NewReplacer("/", "-", "?", "-").Replace(path)))
		}
		w.Run(chromedp.Evaluate("1", nil))
	}
}
