package web

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"

	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

// csvExtension is that of the paths of lists as tables for spreadsheets, and csvText their type.
const csvExtension, csvText = ".csv", "text/csv; charset=utf-8"

type assignedTable []answer.AssignmentPart

func (s *site) serveCSV(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.EscapedPath(), csvExtension)
	q := s.find(&url.URL{Path: path, RawQuery: r.URL.RawQuery})
	q.table = true
	f := s.findAt(r.Context(), s.loadSource(r.Context(), q), q)
	var table plaintext.Table
	switch rows := f.answer.(type) {
	case nil: // a commit leads to its time
		redirectBelow(w, r, strings.Replace(f.redirect, "?", csvExtension+"?", 1))
		return
	case assignedTable:
		table = plaintext.NewAssignmentsTable(rows)
	case answer.History:
		table = plaintext.NewHistoryTable(rows, s.options.Now())
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
