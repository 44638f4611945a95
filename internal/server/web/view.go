package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/server/page"
)

const (
	settingsPath = "/settings"
	// viewCookie is the cookie that remembers how a reader wants to see pages. It holds nothing else.
	viewCookie = "fairlead-view"
	// viewLife is how long it is remembered, and maxForm bounds the form that changes it.
	viewLife, maxForm = 365 * 24 * time.Hour, 16 << 10
)

func readView(r *http.Request) page.View {
	c, err := r.Cookie(viewCookie)
	if err != nil {
		return page.View{}
	}
	return page.ParseView(c.Value)
}

func (s *site) serveStyleGuide(w http.ResponseWriter, r *http.Request) {
	frame := s.newFrame(s.readState(), r.URL.EscapedPath(), readView(r))
	kept, err := page.Render(frame, page.StyleGuide{})
	if err != nil {
		s.serveInternalError(w, r, err)
		return
	}
	body, _ := kept.For(page.Reader{})
	s.writePacked(w, r, http.StatusOK, htmlText, body, nil)
}

// serveSettings answers with the page on which a reader changes the view. It has no answer in the API, for
// it says nothing of the fleet.
func (s *site) serveSettings(w http.ResponseWriter, r *http.Request) {
	if prefersText(r) {
		s.writePage(w, r, http.StatusOK, page.Settings{View: readView(r)})
		return
	}
	src, view := s.readSource(r.Context()), readView(r)
	kept, err := page.Render(s.newFrame(src, settingsPath, view), page.Settings{View: view})
	if err != nil {
		s.serveInternalError(w, r, err)
		return
	}
	body, _ := kept.For(page.Reader{})
	s.writePacked(w, r, http.StatusOK, htmlText, body, packBody(body))
}

func (s *site) serveView(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	err := r.ParseForm()
	if err != nil {
		s.writeJSON(w, r, http.StatusBadRequest, errorAnswer{"the form cannot be read", "send it from " + settingsPath})
		return
	}
	// Without a path it is for all pages of this site, wherever a proxy has them.
	http.SetCookie(w, &http.Cookie{Name: viewCookie, Value: readView(r).With(r.PostForm).String(), MaxAge: int(viewLife.Seconds()), HttpOnly: true, SameSite: http.SameSiteLaxMode})
	back, err := url.Parse(r.PostForm.Get("back"))
	if err != nil || back.Scheme != "" || back.Host != "" || !strings.HasPrefix(back.Path, "/") {
		back = &url.URL{Path: settingsPath}
	}
	redirect := "." + back.EscapedPath()
	if back.RawQuery != "" {
		redirect += "?" + back.RawQuery
	}
	w.Header().Set("Location", redirect)
	w.WriteHeader(http.StatusSeeOther)
}
