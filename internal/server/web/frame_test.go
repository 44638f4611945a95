package web

import (
	"net/http"
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
		"/environments/pord":  `There is no environment &#34;pord&#34;. Did you mean &#34;prod&#34;?</p>`,
		"/commits/zz":         `Commit &#34;zz&#34; is not among the newest of the base. Ask fairlead explain promotion about older ones.`,
		"/diff?from=x&to=dev": `There is no environment &#34;x&#34;.`,
	} {
		if body := ask(h, http.MethodGet, path).Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s does not say %s:\n%s", path, want, body)
		}
	}
}
