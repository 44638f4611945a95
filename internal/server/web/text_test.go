package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// askText asks for the text of a page.
func askText(h http.Handler, address string) *httptest.ResponseRecorder {
	return askAccepting(h, address, "text/plain", "")
}

// askAccepting asks for an address as a client that accepts types, and has an answer of a tag already.
func askAccepting(h http.Handler, address, accepted, tag string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, address, nil)
	r.Header.Set("Accept", accepted)
	r.Header.Set("If-None-Match", tag)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestTexts: each page is a text as well: what the command prints that answers the same, or else its answer.
func TestTexts(t *testing.T) {
	arrives := func(context.Context, string) ([]promote.Arrival, error) {
		return []promote.Arrival{{Environment: "dev", State: promote.ArrivalHas, Reason: "it has it"}, {Environment: "prod\x1b[31m", State: promote.ArrivalWaits, Reason: "approval\nFAKE"}}, nil
	}
	full := New(Options{Store: fleet(), Version: "1.2.3", Now: func() time.Time { return noon }, Explain: explainNothing, Compare: compareNothing, History: pastActions, Simulate: arrives, Past: pastOf(fleet())})
	var all strings.Builder
	for _, target := range []string{
		"/", "/environments", "/environments/stage", "/environments/west", "/environments/east", "/environments/dev", "/environments/stage/pulls/12", "/environments/pord", "/environments?q=zzz", "/history?q=zzz", "/commits", "/commits/" + c4, "/commits/" + c4 + "/forecast",
		"/problems", "/problems?q=nowhere", "/fleet", "/history?env=prod", "/explain?env=dev&q=large/web", "/explain", "/diff?from=dev&to=prod", "/cluster-types/small", "/none", "/diff?from=dev", "/commits?env=nope", "/clusters/nope", "/clusters/site-1", "/cluster-types", "/workloads", "/workloads/checkout", "/assignments/prod/large/checkout", "/map?env=prod",
		"/search?q=web", "/search?q=change", "/waiting", "/health", "/history/figures", "/environments/prod?at=2026-11-20", "/environments?at=2026-11-20", "/environments/prod/changes/2026-11-20..", "/stacks", "/settings",
	} {
		w := askText(full, target)
		if kind := w.Header().Get("Content-Type"); kind != plainText {
			t.Errorf("%s is %s", target, kind)
		}
		if strings.ContainsRune(w.Body.String(), '\x1b') {
			t.Errorf("%s has what moves a cursor", target)
		}
		all.WriteString("--- " + http.StatusText(w.Code) + " " + target + "\n" + w.Body.String())
	}
	golden(t, "testdata/pages.txt", all.String())
}

// TestPrefersText: who names text/plain, and HTML less, gets a text; all others a page. Both have tags of their
// own, and say that they differ by what is accepted.
func TestPrefersText(t *testing.T) {
	h := open(fleet())
	tags := map[string]string{}
	for accepted, want := range map[string]string{
		"": htmlText, "*/*": htmlText, "text/*": htmlText, "text/html,application/xhtml+xml,*/*;q=0.8": htmlText,
		"text/html, text/plain": htmlText, "text/plain;q=0.5, text/html;q=0.4": plainText, "text/plain;q=0, */*": htmlText, "text/plain;q=x": htmlText,
		"text/plain": plainText, "TEXT/Plain; q=1.0": plainText, "text/plain, */*;q=0.1": plainText, "text/plain; charset=utf-8": plainText,
	} {
		first := askAccepting(h, "/environments/stage", accepted, "")
		if kind := first.Header().Get("Content-Type"); kind != want || first.Header().Get("Vary") != "Accept, Accept-Encoding" {
			t.Errorf("%q is answered with %s, which varies by %q; want %s", accepted, kind, first.Header().Get("Vary"), want)
		}
		tag := first.Header().Get("ETag")
		if tags[want] == "" {
			tags[want] = tag
		}
		if again := askAccepting(h, "/environments/stage", accepted, tag); tag == "" || tag != tags[want] || again.Code != http.StatusNotModified {
			t.Errorf("%q has the tag %q, want %q, and is answered with %d for it", accepted, tag, tags[want], again.Code)
		}
	}
	if tags[htmlText] == tags[plainText] {
		t.Errorf("a page and its text have the same tag %s", tags[htmlText])
	}
	failing := New(Options{Store: fleet(), Simulate: func(context.Context, string) ([]promote.Arrival, error) { return nil, errors.New("the forge is down") }})
	if w := askText(failing, "/commits/"+c4+"/forecast"); w.Code != http.StatusServiceUnavailable || !strings.HasPrefix(w.Body.String(), "the question has no answer now: the forge is down\nhint: ") {
		t.Errorf("a forecast that fails is %d: %s", w.Code, w.Body)
	}
}
