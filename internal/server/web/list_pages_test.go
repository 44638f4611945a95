package web

import (
	"fmt"
	"net/http"
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
		{"/commits?page=x", 50, "1 to 50 of 120 commits", `rel="prev"`},
		{"/commits?q=change+11", 11, "change 119", `class="pager"`},
		{"/problems?kind=warning", 50, `<a href="./problems?kind=warning&amp;page=2" rel="next">Next</a>`, `rel="prev"`},
	} {
		body := mainOf(ask(h, http.MethodGet, c.target).Body.String())
		items := strings.Count(body, `<th scope="row">`) + strings.Count(body, `<li><p><span class="tag`)
		if items != c.items || !strings.Contains(body, c.has) || strings.Contains(body, c.lack) {
			t.Errorf("%s has %d items, want %d, %s and no %s:\n%s", c.target, items, c.items, c.has, c.lack, body[max(0, len(body)-600):])
		}
	}
}
