package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

// missingAnswer is the answer of a name that nothing has, where a list has those that there are.
type missingAnswer struct {
	errorAnswer
	// List is the path of the list below /api/v1, and Nearest the path of what was probably meant; "" for none.
	// Pages have the same paths.
	List    string `json:"list,omitempty"`
	Nearest string `json:"nearest,omitempty"`
}

func answerUnknown(kind, name string, known []string, list string) found {
	nearest := problem.FindNearest(name, known)
	if nearest != "" {
		nearest = list + "/" + url.PathEscape(nearest)
	}
	hint := cmp.Or(problem.DidYouMean(name, known), api+"/"+list+" lists those that there are")
	return found{answer: missingAnswer{errorAnswer{fmt.Sprintf("there is no %s %q", kind, name), hint}, list, nearest}, code: http.StatusNotFound}
}

func newMissing(of any) page.Missing {
	switch a := of.(type) {
	case missingAnswer:
		name, err := url.PathUnescape(path.Base(a.Nearest))
		if a.Nearest == "" || err != nil {
			m := page.Missing{Error: a.Error, List: a.List}
			if !strings.HasPrefix(a.Hint, api) { // which the list is for people
				m.Hint = a.Hint
			}
			return m
		}
		return page.Missing{Error: a.Error, List: a.List, Nearest: name, NearestPath: a.Nearest}
	case errorAnswer:
		return page.Missing{Error: a.Error, Hint: a.Hint}
	}
	return page.Missing{}
}

// serveNothing answers an address that no route has: people with a page. One with a slash at the end leads to
// that without.
func (s *site) serveNothing(w http.ResponseWriter, r *http.Request) {
	if path := strings.Trim(r.URL.EscapedPath(), "/"); path != "" && strings.HasSuffix(r.URL.Path, "/") && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		if r.URL.RawQuery != "" {
			path += "?" + r.URL.RawQuery
		}
		redirectBelow(w, r, path)
		return
	}
	if sentence, hint := s.findUnavailable(r.URL.Path); sentence != "" {
		if isForProgram(r.URL.Path) {
			s.refuse(http.StatusNotFound, sentence, hint)(w, r)
		} else {
			s.writePage(w, r, http.StatusNotFound, page.Missing{Heading: "Not possible", Error: sentence, Hint: hint})
		}
		return
	}
	if r.Method != http.MethodGet || isForProgram(r.URL.Path) || !strings.Contains(r.Header.Get("Accept"), "text/html") && !prefersText(r) {
		s.refuse(http.StatusNotFound, NothingHere, "/api/v1/openapi.json says what there is")(w, r)
		return
	}
	var names []string
	for _, p := range s.rows {
		name, rest, _ := strings.Cut(strings.Trim(p.path, "/"), "/")
		if rest == "" && !strings.HasPrefix(name, "{") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	first, rest, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
	if first == "stacks" && rest != "" && !strings.Contains(rest, "/") { // a stack is named by its team, and its name
		s.writePage(w, r, http.StatusNotFound, newMissing(missingAnswer{errorAnswer{fmt.Sprintf("there is no stack %q", rest), ""}, "stacks", ""}))
		return
	}
	s.writePage(w, r, http.StatusNotFound, newMissing(missingAnswer{errorAnswer{NothingHere, ""}, "", problem.FindNearest(first, names)}))
}
