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

// serveCSV answers with all rows of a list, as its address asks for them.
func (s *site) serveCSV(w http.ResponseWriter, r *http.Request) {
	path, query := strings.TrimSuffix(r.URL.EscapedPath(), csvExtension), r.URL.Query()
	src := s.loadSource(r.Context(), path)
	f := found{errorAnswer{"there are no tables of the past", "leave out at"}, http.StatusBadRequest, ""}
	if query.Get("at") == "" {
		f = s.findAt(r.Context(), src, path, query)
	}
	var table plaintext.Table
	switch f.answer.(type) {
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
		table = plaintext.NewHistoryTable(src.History(all, filter), s.options.Now())
	default:
		p, err := newText(f.code, f.answer, plaintext.Facts{})
		if err != nil {
			s.serveInternalError(w, r, err)
			return
		}
		s.writePacked(w, r, p.code, p.kind, p.body, nil)
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
