package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/history"
)

// TestSearchPull: the number of a pull request, open or not, leads to what it changes.
func TestSearchPull(t *testing.T) {
	done := func(ctx context.Context) (history.Log, error) {
		all, err := pastActions(ctx)
		all.Entries = append(all.Entries, history.Entry{Environment: "dev", Action: "merge", Pull: 7}, history.Entry{Environment: "prod", Action: "close", Pull: 7}, history.Entry{Environment: "prod", Action: "merge", Pull: 8}, history.Entry{Environment: "gone", Action: "merge", Pull: 99})
		return all, err
	}
	h := New(Options{Store: fleet(), History: done})
	for query, want := range map[string]string{"%2312": "./environments/stage/pulls/12", "%23120": "", "%23": "", "12": "", "%238": "./environments/prod/pulls/8", "8": "", "%237": "", "%2399": ""} {
		w := ask(h, http.MethodGet, "/search?q="+query)
		if got := w.Header().Get("Location"); got != want {
			t.Errorf("%s leads to %q (%d), want %q", query, got, w.Code, want)
		}
	}
	for query, want := range map[string]string{"%237": ">pull request 7</a> <span class=\"soft\">of prod<", "7": ">pull request 7</a> <span class=\"soft\">of dev<", "8": "pull request 8", "%2399": "Nothing is called"} {
		if body := ask(h, http.MethodGet, "/search?q="+query).Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s does not find %s:\n%s", query, want, mainOf(body))
		}
	}
	fails := New(Options{Store: fleet(), History: func(context.Context) (history.Log, error) { return history.Log{}, errors.New("no repository") }})
	if w := ask(fails, http.MethodGet, "/search?q=%2312"); w.Header().Get("Location") != "./environments/stage/pulls/12" {
		t.Errorf("without a history the open one is %d: %s", w.Code, w.Body)
	}
}
