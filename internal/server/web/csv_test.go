package web

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/history"
)

// TestCSV: the fleet and the history are tables for spreadsheets, with all rows that were asked for, none of which is a
// formula; what cannot be answered is said, and is no table.
func TestCSV(t *testing.T) {
	done := func(ctx context.Context) (history.Log, error) {
		all, err := pastActions(ctx)
		all.Entries[0].Reason = "=HYPERLINK(\"https://evil.example.com\")"
		return all, err
	}
	store := fleet()
	h := New(Options{Store: store, History: done, Past: pastOf(store), Now: func() time.Time { return noon }})
	for target, want := range map[string]struct {
		code, lines int
		says        string
	}{
		"/fleet.csv":                            {200, 69, "environment,clusterType,target,wanted,runs,clusters,state,why\ndev,large,checkout,1.5.0,,,,\n"},
		"/fleet.csv?env=prod&workload=checkout": {200, 58, "prod,large,checkout,1.4.2,,,,\n"},
		"/fleet.csv?rows=team&page=9&q=zzz":     {200, 1, "environment,"},
		"/fleet.csv?env=pord":                   {404, 2, "there is no environment"},
		"/fleet.csv?at=2026-11-20":              {200, 69, "dev,large,checkout,1.5.0,,,,\n"},
		"/fleet.csv?at=2026-11-20&env=dev":      {200, 4, "dev,large,checkout,1.5.0,,,,\n"},
		"/fleet.csv?at=2020-01-01":              {404, 2, "nothing is known of any environment"},
		"/fleet.csv?at=2026-11-20&q=x&page=2":   {200, 1, "environment,"},
		"/fleet.csv?at=never":                   {400, 2, "the moment is no time and no commit"},
		"/history.csv?at=2026-11-21T10:30:00Z":  {200, 73, "why,via\n2026-11-21T10:00:00Z,carol,prod,promote"},
		"/history.csv":                          {200, 74, "since,by,environment,action,from,to,title,why,via\n2026-11-21T11:00:00Z,Fairlead,dev,promote," + c2 + "," + c4 + ",Promote to dev,\"'=HYPERLINK("},
		"/history.csv?env=prod&page=2":          {200, 9, ",erin,prod,approve,,,Approve the plan b86d2da of shop/eu/database in prod,,\n"},
		"/history.csv?since=gestern":            {400, 2, "is no date"},
	} {
		w := ask(h, http.MethodGet, target)
		body := w.Body.String()
		isTable := w.Header().Get("Content-Type") == csvText && strings.Contains(w.Header().Get("Content-Disposition"), "attachment")
		if w.Code != want.code || strings.Count(body, "\n") != want.lines || !strings.Contains(body, want.says) || isTable != (want.code == http.StatusOK) {
			t.Errorf("%s is %d, a table: %v, of %d lines, want %d, %d and %q:\n%.600s", target, w.Code, isTable, strings.Count(body, "\n"), want.code, want.lines, want.says, body)
		}
	}
	for page, link := range map[string]string{"/fleet?env=prod&rows=target": `href="./fleet.csv?env=prod&amp;rows=target"`, "/history?env=prod&page=1": `href="./history.csv?env=prod"`, "/history": `href="./history.csv"`, "/fleet?at=2026-11-20": `href="./fleet.csv?at=2026-11-20"`, "/history?at=2026-11-21&env=prod": `href="./history.csv?env=prod&amp;at=2026-11-21"`} {
		if body := ask(h, http.MethodGet, page).Body.String(); !strings.Contains(body, link) {
			t.Errorf("%s does not lead to %s", page, link)
		}
	}
	if w := ask(New(Options{Store: fleet()}), http.MethodGet, "/history.csv"); w.Code != http.StatusNotFound {
		t.Errorf("without a history it is %d", w.Code)
	}
}
