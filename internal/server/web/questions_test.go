package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/change/drift"
	"github.com/fairlead-io/fairlead/internal/change/explain"
)

// explainNothing answers by the question.
func explainNothing(_ context.Context, environment, query string) (explain.Document, error) {
	switch query {
	case "nothing":
		return explain.Document{}, &explain.QueryError{Summary: `"nothing" is not in ` + environment, Hint: `did you mean "northing"?`}
	case "huge":
		return explain.Document{Title: "huge", Sections: []explain.Section{{Heading: strings.Repeat("a", maxAnswer)}}}, nil
	case "slow":
		return explain.Document{}, context.DeadlineExceeded
	case "broken":
		return explain.Document{}, errors.New("read: token=abcdefgh12345678")
	}
	return explain.Document{Title: query + " in " + environment + ": assigned", Sections: []explain.Section{
		{Tables: []explain.Table{{Depth: 1, Rows: [][]explain.Cell{{{Text: "LOG_LEVEL"}, {Text: "<info>"}}, {{Text: "password=hunter2-and-more\x1b[2J"}}}}}},
		{Heading: "policies that select it: 1 of 2", Tables: []explain.Table{{Depth: 1, Rows: [][]explain.Cell{
			{{Text: "selects it"}, {Text: "all", Query: "SchedulingPolicy/all"}, {Text: "base/a.yaml:7", At: problem.Pos{Layer: "base", File: "a.yaml", Line: 7}}},
		}}}},
	}}, nil
}

// compareNothing answers by the names.
func compareNothing(_ context.Context, from, to string) (drift.Report, error) {
	if to == "west" {
		return drift.Report{}, problem.WithHint(errors.New("environment west cannot be compared: a.yaml:7: no"), "mend its problems first")
	}
	base := &drift.Base{From: c4, To: c1, OnlyFrom: []drift.Commit{{ID: c4, Title: "Less <noise>"}}}
	return drift.Report{From: from, To: to, Base: base, Topics: []drift.Topic{
		{Name: drift.Assignments, Count: 2, Findings: []drift.Finding{{Only: from, Because: "no policy of " + to + " selects it", Count: 2, Names: []string{"large/web", "small/<web>"}, Meaning: drift.Meant}}},
		{Name: drift.Values, Count: 40, Findings: []drift.Finding{{Change: "LOG_LEVEL: <info> → password=hunter2-and-more", Because: to + " has base/configs/fleet.yaml:3\x1b", Files: []string{"base/configs/fleet.yaml"}, Count: 40, Names: []string{"large/web"}, Meaning: drift.OnItsWay}}},
		{Name: drift.ClusterTypes, Count: 2, Findings: []drift.Finding{
			{Change: "reconciler: flux → argocd", Count: 1, Names: []string{"large"}, Meaning: drift.Meant}, {Change: "label size: s → m", Count: 1, Names: []string{"small"}, Meaning: drift.Neither},
		}},
	}}, nil
}

// TestQuestions: what is explained and compared, and what is refused; nothing that looks like a secret is
// shown, and no more is asked of the loop than it bears.
func TestQuestions(t *testing.T) {
	h := open(fleet())
	for _, c := range []struct {
		target string
		code   int
		body   string // a part of the API's answer
		page   string // a part of the page
	}{
		{"/explain?env=dev&q=large/web", 200, `"query": "large/web"`, "<td>LOG_LEVEL</td><td>&lt;info&gt;</td>"},
		{"/explain?env=dev&q=large/web", 200, `"heading": "policies that select it: 1 of 2"`, `<a href="./explain?env=dev&amp;q=SchedulingPolicy%2Fall">all</a>`},
		{"/explain?env=dev&q=nothing", 404, "did you mean", "Did you mean"},
		{"/explain?env=dev&q=slow", 503, "waits for its end", "A cycle runs, and the question waits for its end."},
		{"/explain?env=dev&q=broken", 503, "token=***", "token=***"},
		{"/explain?env=none&q=x", 404, "there is no environment", "There is no environment"},
		{"/explain?env=dev", 400, "the query does not say what to explain", "<button>Explain</button>"},
		{"/diff?from=dev", 400, "the query does not say what to compare", "<button>Compare</button>"},
		{"/explain?env=dev&q=" + strings.Repeat("a", 257), 400, "too long", "too long"},
		{"/diff?from=dev&to=prod", 200, "dev → prod", "fairlead diff dev prod"},
		{"/diff?from=dev&to=prod", 200, `"only": "dev"`, `<a href="./explain?env=dev&amp;q=large%2fweb">large/web</a>`},
		{"/diff?from=dev&to=prod", 200, `"name": "values"`, `<a href="./explain?env=prod&amp;q=large%2fweb">large/web</a> and 39 more`},
		{"/diff?from=dev&to=prod", 200, "argocd", `<a href="./explain?env=prod&amp;q=ClusterType%2flarge">large</a>`},
		{"/diff?from=dev&to=prod", 200, `"meaning": "on its way"`, "1 neither meant nor on its way</span>"},
		{"/diff?from=dev&to=prod", 200, `"commits": [`, `comes with <span class="commit"><a href="./commits/` + c4},
		{"/diff?from=dev&to=prod", 200, `"environment": "dev"`, "1 commit only in dev"},
		{"/diff?from=dev&to=prod&kind=values", 200, `"kind": "values"`, `aria-current="true">values ✕</a>`},
		{"/diff?from=dev&to=prod&kind=values", 200, `"assignments": 2`, `<a href="./diff?from=dev&amp;kind=assignments&amp;to=prod">assignments</a>`},
		{"/diff?from=dev&to=prod&kind=configs", 200, "dev and prod do not differ in configs", "dev and prod do not differ in configs. <a href=\"./diff?from=dev&amp;to=prod\">Show all</a>"},
		{"/diff?from=dev&to=prod&kind=vlaues", 400, `did you mean \"values\"?`, "Did you mean &#34;values&#34;?"},
		{"/diff?from=dev&to=west", 409, "mend its problems first", "Mend its problems first."},
		{"/diff?from=dev&to=none", 404, "there is no environment", "There is no environment"},
	} {
		answer, page := ask(h, http.MethodGet, api+c.target), ask(h, http.MethodGet, c.target)
		if answer.Code != c.code || page.Code != c.code && (c.code != 400 || page.Code != 200) || !strings.Contains(answer.Body.String(), c.body) || !strings.Contains(page.Body.String(), c.page) {
			t.Errorf("%s: %d, page %d, want %d\n%s\n%s", c.target, answer.Code, page.Code, c.code, answer.Body, mainOf(page.Body.String()))
		}
		if all := answer.Body.String() + page.Body.String(); strings.Contains(all, "hunter2") || strings.Contains(all, "abcdefgh") || strings.Contains(all, "\x1b") {
			t.Errorf("%s shows a secret, or a control character:\n%s", c.target, all)
		}
	}
	if body := askText(h, "/diff?from=dev&to=prod&kind=values").Body.String(); !strings.Contains(body, "values: ") || strings.Contains(body, "assignments: ") {
		t.Errorf("as text, one kind of differences is:\n%s", body)
	}
	for range maxQuestions {
		ask(h, http.MethodGet, api+"/diff?from=dev&to=prod")
	}
	if w := ask(h, http.MethodGet, api+"/diff?from=dev&to=prod"); w.Code != http.StatusTooManyRequests {
		t.Errorf("after %d questions the next is %d", maxQuestions, w.Code)
	}
	if w := ask(New(Options{Store: fleet()}), http.MethodGet, "/explain"); w.Code != http.StatusNotFound {
		t.Errorf("without what answers it the page is %d", w.Code)
	}
}
