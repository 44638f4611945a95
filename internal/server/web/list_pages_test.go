package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestListPages: long lists have pages, which lead to each other and keep what was asked for.
func TestListPages(t *testing.T) {
	store, chain := &status.Store{}, status.Chain{Head: c1, Stages: []status.Stage{{Environment: "dev", Commit: c1, Merged: true}}}
	broken := status.Environment{Name: "dev", State: status.Failed, Error: "it broke"}
	for i := range 120 {
		chain.Commits = append(chain.Commits, status.Commit{ID: fmt.Sprintf("%040x", i+1), Subject: fmt.Sprintf("change %d", i), Author: "alice", When: noon})
	}
	for i := range 80 {
		broken.Problems.Warnf(problem.Pos{Layer: "base", File: fmt.Sprintf("f%03d.yaml", i)}, "", "", "warning %d", i)
	}
	store.SetPromotions(chain)
	store.SetEnvironment(broken)
	h := open(store)
	for _, c := range []struct {
		target    string
		items     int
		has, lack string
	}{
		{"/commits", 50, `<a href="./commits?page=2" rel="next">Next</a>`, `rel="prev"`},
		{"/commits?page=3&q=change", 20, `<a href="./commits?page=2&amp;q=change" rel="prev">Back</a>`, `rel="next"`},
		{"/commits?page=99", 20, "101 to 120 of 120 commits", `rel="next"`},
		{"/commits?q=change+11", 11, "change 119", `class="pager"`},
		{"/problems?severity=warning", 50, `<a href="./problems?kind=warning&amp;page=2" rel="next">Next</a>`, `rel="prev"`},
		{"/problems?kind=warning", 50, `<a href="./problems?kind=warning&amp;page=2" rel="next">Next</a>`, `rel="prev"`},
	} {
		body := mainOf(ask(h, http.MethodGet, c.target).Body.String())
		items := strings.Count(body, `<th scope="row">`) + strings.Count(body, `<li><p><span class="tag`)
		if items != c.items || !strings.Contains(body, c.has) || strings.Contains(body, c.lack) {
			t.Errorf("%s has %d items, want %d, %s and no %s:\n%s", c.target, items, c.items, c.has, c.lack, body[max(0, len(body)-600):])
		}
	}
}

// TestListFilters: what openapi.json describes of a list is what its page, its answer, its text and its table take; what
// it does not have is refused, and what was probably meant is named.
func TestListFilters(t *testing.T) {
	h, doc := open(fleet()), checker{doc: document(t)}
	values := map[string]string{"env": "prod", "state": "busy", "kind": "mistake", "rows": "team", "cols": "region", "since": "2026-11-20", "until": "2026-11-20", "for": "me", "who": "erin", "what": "hold", "pull": "none", "severity": "warning", "label": "size=small", "q": "x", "from": "dev", "to": "prod"}
	needed := map[string]string{explainPath: "&env=dev&q=x", diffPath: "&from=dev&to=prod"} // by questions
	for _, row := range append(newSite(Options{}).rows, waitingRow) {
		if row.isOpen {
			continue
		}
		list, has := row.path, []string{}
		for _, p := range row.filters {
			has = append(has, p.name)
		}
		for _, path := range []string{list, api + list, list + csvExtension} {
			get, isThere := doc.at("paths", path, "get")
			if !isThere && strings.HasSuffix(path, csvExtension) {
				continue
			}
			var described []string
			all, _ := get["parameters"].([]any)
			for _, one := range all {
				name := doc.resolve(one.(object))["name"].(string)
				if !slices.Contains(commonParameters, name) {
					described = append(described, name)
				}
				value := values[name]
				if name == "kind" && list == diffPath {
					value = "values"
				}
				if w := ask(h, http.MethodGet, path+"?"+askOnce(name, value, needed[list])); w.Code == http.StatusBadRequest {
					t.Errorf("%s does not take %s, which is described: %s", path, name, w.Body)
				}
			}
			for _, name := range described {
				if !slices.Contains(has, name) {
					t.Errorf("%s has %s in openapi.json alone", path, name)
				}
			}
			if path == list && len(described) != len(has) {
				t.Errorf("openapi.json has %q of %s, want %q", described, path, has)
			}
			for query, filter := range map[string]string{"bogus=1": "", "environment=": "env", "envrionment=prod": "env", "stat=good": "state", "froced=on": "forced", "lable=a=b": "label", "knid=values": "kind"} {
				w, text := ask(h, http.MethodGet, path+"?"+query+needed[list]), askText(h, path+"?"+query+needed[list])
				name, _, _ := strings.Cut(query, "=")
				says := "his list has no filter " + name
				if list == mapPath {
					says = "he map has no parameter " + name
				}
				if needed[list] != "" {
					says = "his question has no parameter " + name
				}
				if w.Code != http.StatusBadRequest || text.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), says) || !strings.Contains(text.Body.String(), says) {
					t.Errorf("%s?%s is %d, as text %d, want %q:\n%.300s", path, query, w.Code, text.Code, says, text.Body)
				}
				if said := strings.NewReplacer(`\`, "", `"`, "").Replace(text.Body.String()); slices.Contains(has, filter) && !strings.Contains(said, "did you mean "+filter+"?") {
					t.Errorf("%s?%s does not say what was meant:\n%s", path, query, text.Body)
				}
			}
		}
	}
}

// askOnce returns a query with a parameter, and with what a question needs besides.
func askOnce(name, value, needed string) string {
	query, _ := url.ParseQuery(needed)
	query.Set(name, value)
	return query.Encode()
}

// TestStateFilters: states are asked for by the words that lists show, and by those of urgency; another one names both.
func TestStateFilters(t *testing.T) {
	h := open(stackFleet())
	for query, want := range map[string]string{
		"/environments?state=":     "dev rolling-out, test declined, stage proposed, east held, west failed, prod stopped, edge empty, later waiting, stacks in-sync",
		"/environments?state=busy": "dev rolling-out", "/environments?state=rolling+out": "dev rolling-out", "/environments?state=Rolling-Out": "dev rolling-out",
		"/environments?state=held": "east held", "/environments?state=stopped": "test declined, east held, prod stopped", "/environments?state=frozen": "", "/environments?state=in+sync": "stacks in-sync",
		"/stacks?state=not+merged": "stage shop/eu", "/stacks?state=stopped": "stage shop/us", "/stacks?state=waits+for+approval": "",
		"/cluster-types?label=size%3Dlarge": "large -", "/cluster-types?label=size%3Dlarge&q=zzz": "", "/cluster-types?label=size%3Dlarg": "", "/cluster-types?label=size%3D": "",
		"/fleet?state=behind": "", "/fleet?state=unknown&workload=payments&env=prod": "payments 2.1.0",
	} {
		w := askText(h, query)
		var got []string
		for i, line := range strings.Split(strings.TrimSpace(w.Body.String()), "\n") {
			if fields := strings.Fields(line); i > 0 {
				got = append(got, fields[0]+" "+fields[1])
			}
		}
		if w.Code != http.StatusOK || strings.Join(got, ", ") != want {
			t.Errorf("%s is %d and lists %q, want %q", query, w.Code, got, want)
		}
	}
	for query, says := range map[string][]string{
		"/environments?state=frozne": {`did you mean "frozen"?`, "good, busy, ", ", rolling-out, "}, "/stacks?state=frozen": {"good, busy, ", ", waits for approval, ", ", not merged"},
		"/cluster-types?label=size": {"the filter label is no KEY=VALUE", "write it as region=west"},
		"/fleet?state=held":         {"good, busy, ", ", behind, ", ", no report"}, "/fleet.csv?state=verified": {"good, busy, ", ", not verified, "},
	} {
		w := askText(h, query)
		for _, part := range says {
			if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), part) {
				t.Errorf("%s is %d, without %q:\n%s", query, w.Code, part, w.Body)
			}
		}
	}
}
