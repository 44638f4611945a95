package web

import (
	"net/http"
	"strings"
	"testing"
)

// TestProblemsOfNothing: of an environment that there is not, it is not said that nothing is wrong.
func TestProblemsOfNothing(t *testing.T) {
	h := open(fleet())
	for _, path := range []string{"/problems?env=nope", "/api/v1/problems?env=nope"} {
		got := ask(h, http.MethodGet, path)
		if body := got.Body.String(); got.Code != http.StatusNotFound || !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(body, "&#34;", `"`), `\"`, `"`), `here is no environment "nope"`) {
			t.Errorf("%s: %d\n%s", path, got.Code, body)
		}
	}
	if got := ask(h, http.MethodGet, "/problems?env=prod"); got.Code != http.StatusOK {
		t.Errorf("prod: %d", got.Code)
	}
}

// TestTrailingSlash: an address with a slash at the end leads to that without, wherever a proxy has it.
func TestTrailingSlash(t *testing.T) {
	h := open(fleet())
	for path, want := range map[string]string{
		"/problems/": "./../problems", "/problems/?env=prod": "./../problems?env=prod", "/environments/prod/": "./../../environments/prod",
		"/api/v1/chain/": "./../../../api/v1/chain", "/workloads/a%2Fb/": "./../../workloads/a%2Fb",
	} {
		got := ask(h, http.MethodGet, path)
		if at := got.Header().Get("Location"); got.Code != http.StatusFound || at != want {
			t.Errorf("%s: %d, %q, want %q", path, got.Code, at, want)
		}
	}
	if got := ask(h, http.MethodPost, "/problems/"); got.Code != http.StatusNotFound {
		t.Errorf("POST: %d", got.Code)
	}
}

// TestMissingHasNoJSON: a page of what there is not leads to no answer, for there is none.
func TestMissingHasNoJSON(t *testing.T) {
	for _, path := range []string{"/workloads/nope", "/environments/nope", "/problems?env=nope", "/environments/prod/pulls/1"} {
		got := ask(open(fleet()), http.MethodGet, path)
		if body := got.Body.String(); got.Code != http.StatusNotFound || strings.Contains(body, "This page as JSON") || strings.Contains(body, "application/json") {
			t.Errorf("%s: %d\n%s", path, got.Code, body)
		}
	}
}
