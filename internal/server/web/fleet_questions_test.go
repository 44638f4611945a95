package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// fleetQuestion is a request about the fleet, and the code that it is answered with.
type fleetQuestion struct {
	to              http.Handler
	question, query string
	tag             string // of If-None-Match
	code            int
}

// fleetQuestionsOf have all answers that there are.
func fleetQuestionsOf(t *testing.T) []fleetQuestion {
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	full := New(Options{Fleet: w.View})
	away := New(Options{Fleet: &fleetview.View{
		Ledger: w.Recorder, Now: w.View.Now,
		Ask: func(context.Context, func(*ledgerdb.Store) error) error { return errors.New("the disk is full") },
	}})
	var all []fleetQuestion
	asked := map[string]bool{}
	for _, one := range []struct{ name, query string }{
		{"clusters", "limit=8"}, {"standing", ""}, {"behind", "environment=prod&limit=7"}, {"where", "workload=checkout&limit=8"}, {"history", "workload=checkout&limit=11"},
		{"compare", "environment=stage&with=prod"}, {"compare", "environment=stage&with=prod&limit=2"}, {"lead", "environment=prod&limit=2"},
		{"drift", "environment=prod"}, {"drift", "environment=prod&limit=2"},
	} {
		tag := askFleet(fleetQuestion{to: full, question: one.name, query: one.query}).Header().Get("ETag")
		asked[one.name] = true
		all = append(all,
			fleetQuestion{full, one.name, one.query, "", 200}, fleetQuestion{full, one.name, one.query, `"old"`, 200}, fleetQuestion{full, one.name, one.query, `"old", W/` + tag, 304},
			fleetQuestion{full, one.name, "colour=blue", "", 400},
			fleetQuestion{New(Options{}), one.name, one.query, "", 404}, fleetQuestion{away, one.name, one.query, "", 503})
	}
	if len(asked) != len(fleetview.Names()) {
		t.Errorf("asked are %v, and there are %v", asked, fleetview.Names())
	}
	return all
}

// askFleet sends a question.
func askFleet(q fleetQuestion) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, fleetQuestions+q.question+"?"+q.query, nil)
	r.Header.Set("If-None-Match", q.tag)
	w := httptest.NewRecorder()
	q.to.ServeHTTP(w, r)
	return w
}

// answerFleet checks all answers to questions about the fleet.
func (c checker) answerFleet(t *testing.T) {
	t.Helper()
	for _, q := range fleetQuestionsOf(t) {
		w := askFleet(q)
		if w.Code != q.code {
			t.Errorf("%s?%s with the tag %s: %d, want %d\n%s", q.question, q.query, q.tag, w.Code, q.code, w.Body)
		}
		c.answer(t, "get", fleetQuestions+q.question, w)
		c.answer(t, "get", fleetQuestions+q.question, ask(q.to, http.MethodPut, fleetQuestions+q.question))
	}
}
