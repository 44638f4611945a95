package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

// The extensions of the other forms of a commit's page, and their types.
const (
	badgeExtension, calendarExtension = ".svg", ".ics"
	svgText, calendarText             = "image/svg+xml", "text/calendar; charset=utf-8"
)

func (s *site) serveCommit(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	id, isBadge := strings.CutSuffix(path, badgeExtension)
	if isBadge {
		s.serveForm(w, r, id, badgeExtension)
		return
	}
	id, isCalendar := strings.CutSuffix(path, calendarExtension)
	if isCalendar && s.options.Simulate != nil {
		s.serveForm(w, r, id+"/forecast", calendarExtension)
		return
	}
	s.servePage(w, r)
}

func (s *site) serveForm(w http.ResponseWriter, r *http.Request, path, extension string) {
	state, _ := s.options.Store.Version()
	p, err := s.loadOnce(extension+" "+path+"?"+r.URL.RawQuery, state, func() (rendered, error) {
		src := s.readState()
		f := s.findAt(r.Context(), src, s.find(&url.URL{Path: path, RawQuery: r.URL.RawQuery}))
		if f.redirect != "" {
			path, asked, isAsked := strings.Cut(f.redirect, "?")
			if !isAsked {
				asked = r.URL.RawQuery
			}
			if asked != "" {
				asked = "?" + asked
			}
			return rendered{code: f.code, redirect: strings.TrimSuffix(path, "/forecast") + extension + asked}, nil
		}
		return newForm(src, f, r.URL.Query())
	})
	if err != nil {
		s.serveInternalError(w, r, err)
		return
	}
	s.writeRendered(w, r, p)
}

// newForm returns the badge of a journey, the calendar of a forecast, or else why there is none.
func newForm(src answer.Source, f found, query url.Values) (rendered, error) {
	switch a := f.answer.(type) {
	case answer.Journey:
		if named := query.Get("env"); named != "" {
			if _, known := src.Environment(named); !known {
				return newText(http.StatusNotFound, findEnvironment(src, named).answer, plaintext.Facts{})
			}
		}
		body, err := page.RenderBadge(a, query.Get("env"))
		return newRendered(f.code, svgText, body), err
	case answer.Forecast:
		return newRendered(f.code, calendarText, []byte(plaintext.FormatCalendar(a, src.Snapshot.Chain.Checked))), nil
	}
	return newText(f.code, f.answer, plaintext.Facts{})
}
