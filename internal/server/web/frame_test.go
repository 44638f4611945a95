package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestBadge: the number beside Problems counts what waits for somebody, and neither a warning nor a hold.
func TestBadge(t *testing.T) {
	store := &status.Store{}
	store.SetPromotions(status.Chain{Head: c1, Stages: []status.Stage{
		{Environment: "prod", Commit: c1, Merged: true, Hold: "the sale", Next: promote.Decision{State: promote.Held}},
		{Environment: "dev", Commit: c1, Merged: true},
	}})
	warned := status.Environment{Name: "dev", State: status.InSync, Assignments: 1}
	warned.Problems.Warnf(problem.Pos{Layer: "dev"}, "", "", "the config is not read")
	store.SetEnvironment(warned)
	store.SetEnvironment(status.Environment{Name: "prod", State: status.InSync, Assignments: 1})
	body := ask(open(store), http.MethodGet, "/problems").Body.String()
	if strings.Contains(body, `class="number"`) || !strings.Contains(body, ">stopped</span>") || !strings.Contains(body, "the config is not read") {
		t.Errorf("a hold and a warning are not listed, or are counted:\n%s", body)
	}
	store.SetEnvironment(status.Environment{Name: "dev", State: status.Failed, Reason: "it broke", Error: "it broke"})
	body = ask(open(store), http.MethodGet, "/").Body.String()
	if !strings.Contains(body, `<span class="number">1</span>`) {
		t.Errorf("what failed is not counted:\n%s", body)
	}
}

// TestUnasked: a form that was not sent yet has no answer in JSON, and a refusal is a sentence.
func TestUnasked(t *testing.T) {
	h := open(fleet())
	for _, path := range []string{"/explain", "/diff", "/explain?env=dev"} {
		w := ask(h, http.MethodGet, path)
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "This page as JSON") || strings.Contains(w.Body.String(), `rel="alternate"`) {
			t.Errorf("%s is %d, and leads to JSON:\n%s", path, w.Code, w.Body)
		}
	}
	if body := ask(h, http.MethodGet, "/explain?env=dev&q=large/web").Body.String(); !strings.Contains(body, "This page as JSON") {
		t.Errorf("an explanation does not lead to its JSON:\n%s", body)
	}
	for path, want := range map[string]string{
		"/environments/pord":   `There is no environment &#34;pord&#34;. Did you mean <a href="../environments/prod"><bdi>prod</bdi></a>?</p>`,
		"/environments/zzzzzz": `There is no environment &#34;zzzzzz&#34;. <a href="../environments">All environments</a></p>`,
		"/workloads/zzzzzz":    `There is no workload &#34;zzzzzz&#34;. <a href="../workloads">All workloads</a></p>`,
		"/commits/zz":          `Commit &#34;zz&#34; is not among the newest of the base, nor of the branches of environments. A commit is named by 4 or more`,
		"/diff?from=x&to=dev":  `There is no environment &#34;x&#34;.`,
	} {
		if body := ask(h, http.MethodGet, path).Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s does not say %s:\n%s", path, want, body)
		}
	}
}

// TestNothingHere: an address that no page has is a page for people, which names the one that was probably
// meant, and JSON for programs; neither names an address of the other.
func TestNothingHere(t *testing.T) {
	h := open(fleet())
	askAs := func(path, accept string) string {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusNotFound {
			t.Errorf("%s answers %d", path, w.Code)
		}
		return w.Body.String()
	}
	people := askAs("/problms/x", "text/html,*/*;q=0.8")
	if !strings.Contains(people, `There is nothing at this address. Did you mean <a href="../problems"><bdi>problems</bdi></a>?`) || strings.Contains(mainOf(people), "/api/") {
		t.Errorf("people read\n%s", mainOf(people))
	}
	if body := askAs("/stacks/x", "text/html"); !strings.Contains(body, `There is no stack "x".`) && !strings.Contains(body, `There is no stack &#34;x&#34;.`) {
		t.Errorf("of a stack people read\n%s", mainOf(body))
	}
	checkMarkup(t, "an address without a page", askAs("/%3Cscript%3Ealert(1)%3C/script%3E", "text/html"))
	for _, program := range []string{askAs("/problms", "*/*"), askAs("/api/v1/problms", "text/html")} {
		if !strings.HasPrefix(program, "{") || !strings.Contains(program, NothingHere) {
			t.Errorf("a program reads\n%s", program)
		}
	}
}

// TestReasonOnce: a long reason stands once on the overview, also where several environments need the same, and
// where others wait for them.
func TestReasonOnce(t *testing.T) {
	const cause = "couldn't find remote ref mastre of https://git.example.com/hello, which is what two manifests of the workload name"
	store := &status.Store{}
	for _, name := range []string{"dev", "test"} {
		store.SetEnvironment(status.Environment{Name: name, State: status.Failed, Reason: "fix: " + cause, Error: cause, Unreachable: []string{"https://git.example.com/hello"}})
	}
	store.SetEnvironment(status.Environment{Name: "stage", State: status.Waiting, Reason: "waits: 49b1e17 failed in dev: " + cause})
	store.SetRemotes([]status.Remote{{URL: "https://git.example.com/hello", Error: cause}})
	body := mainOf(ask(open(store), http.MethodGet, "/").Body.String())
	if n := strings.Count(body, "remote ref mastre"); n != 1 || !strings.Contains(body, "waits: 49b1e17 failed in dev: see dev") || !strings.Contains(body, "<strong>3</strong> need attention.") {
		t.Errorf("the reason stands %d times on\n%s", n, body)
	}
	store.SetRemotes([]status.Remote{{URL: "https://git.example.com/other", Error: cause}, {URL: "https://git.example.com/third", Error: "401"}})
	body = mainOf(ask(open(store), http.MethodGet, "/").Body.String())
	if !strings.Contains(body, "git.example.com/third: 401") || !strings.Contains(body, "git.example.com/other") {
		t.Errorf("what else fails is not on\n%s", body)
	}
}

// TestStyleGuide: the style guide shows each part in all states, where it was asked for and nowhere else.
func TestStyleGuide(t *testing.T) {
	w := ask(New(Options{Store: fleet(), StyleGuide: true}), http.MethodGet, "/styleguide")
	golden(t, "testdata/styleguide.html", mainOf(w.Body.String()))
	checkMarkup(t, "the style guide", w.Body.String())
	if w := ask(open(fleet()), http.MethodGet, "/styleguide"); w.Code != http.StatusNotFound {
		t.Errorf("without it the style guide is %d", w.Code)
	}
}
