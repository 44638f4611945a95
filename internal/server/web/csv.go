package web

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

// csvExtension is that of the paths of lists as tables for spreadsheets, and csvText their type.
const csvExtension, csvText = ".csv", "text/csv; charset=utf-8"

// csvPaths are the paths of lists that are tables for spreadsheets, too.
var csvPaths = []string{"/fleet", historyPath}

// fleetTable is the path of the fleet as such a table, and assignedTable what it has of the past.
const fleetTable = "/fleet" + csvExtension

type assignedTable []answer.AssignmentPart

// serveCSV answers with all rows of a list, as its address asks for them.
func (s *site) serveCSV(w http.ResponseWriter, r *http.Request) {
	path, query := strings.TrimSuffix(r.URL.EscapedPath(), csvExtension), r.URL.Query()
	src := s.loadSource(r.Context(), path)
	f, refused := refuseFilter(src, path, query)
	switch {
	case refused:
	case path+csvExtension == fleetTable && isPastQuery(path, query):
		f = s.findPast(r.Context(), src, fleetTable, query)
	default:
		f = s.findAt(r.Context(), src, path, query)
	}
	var table plaintext.Table
	switch rows := f.answer.(type) {
	case nil: // a commit leads to its time
		redirectBelow(w, r, strings.Replace(f.redirect, "?", csvExtension+"?", 1))
		return
	case assignedTable:
		table = plaintext.NewAssignmentsTable(rows)
	case answer.Fleet:
		table = plaintext.NewAssignmentsTable(src.ListAssigned(page.ParseFleetFilter(query).AssignmentFilter))
	case answer.History:
		all, err := s.loadHistory(r.Context())
		if err != nil {
			s.serveInternalError(w, r, err)
			return
		}
		filter := page.ParseHistoryFilter(query)
		filter.All = true
		table = plaintext.NewHistoryTable(src.History(cutHistory(all, query), filter), s.options.Now())
	default:
		p, err := newText(f.code, f.answer, plaintext.Facts{})
		if err != nil {
			s.serveInternalError(w, r, err)
			return
		}
		s.writeRendered(w, r, p)
		return
	}
	var body bytes.Buffer
	err := table.WriteCSV(&body)
	if err != nil {
		s.serveInternalError(w, r, err)
		return
	}
	w.Header().Set("Content-Disposition", `attachment; filename="fairlead-`+strings.TrimPrefix(path, "/")+csvExtension+`"`)
	s.writePacked(w, r, http.StatusOK, csvText, body.Bytes(), nil)
}
