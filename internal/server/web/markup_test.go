package web

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/server/answer"
)

func commitsOf(text string) answer.CommitFilter { return answer.CommitFilter{Text: text} }

func splitAddress(t *testing.T, address string) (string, url.Values) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.EscapedPath(), u.Query()
}

// shownAt returns the page at a path of an answer.
func shownAt(path string, of any, names []string, query url.Values) any {
	return newPage(of, newSite(Options{}).find(&url.URL{Path: path, RawQuery: query.Encode()}), names)
}

func askTagged(h http.Handler, address, tag string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, address, nil)
	r.Header.Set("If-None-Match", tag)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

var (
	// element is a tag as a browser reads it, with its attributes in double quotes; and nothing else may
	// begin with <.
	element   = regexp.MustCompile(`</?([a-zA-Z][a-zA-Z0-9]*)((?:\s+[a-zA-Z-]+(?:="[^"<>]*")?)*)\s*/?>`)
	attribute = regexp.MustCompile(`([a-z-]+)="([^"]*)"`)
)

// checkMarkup checks that a page consists of the elements and attributes of the templates alone.
func checkMarkup(t *testing.T, text, body string) {
	t.Helper()
	rest := strings.TrimPrefix(body, "<!DOCTYPE html>")
	for _, m := range element.FindAllStringSubmatch(rest, -1) {
		if slices.Contains([]string{"img", "iframe", "style", "object", "embed", "base"}, strings.ToLower(m[1])) {
			t.Errorf("%q makes %s", text, m[0])
		}
		for _, a := range attribute.FindAllStringSubmatch(m[2], -1) {
			if strings.HasPrefix(a[1], "on") || a[1] == "style" {
				t.Errorf("%q makes %s", text, m[0])
			}
			if slices.Contains([]string{"href", "src", "action"}, a[1]) && !regexp.MustCompile(`^(https?://|\.{0,2}/|#)`).MatchString(a[2]) {
				t.Errorf("%q makes the link %s", text, m[0])
			}
		}
	}
	if left := element.ReplaceAllString(rest, ""); strings.ContainsAny(left, "<") {
		at := strings.Index(left, "<")
		t.Errorf("%q is on the page as markup: …%s…", text, left[max(0, at-60):min(len(left), at+60)])
	}
}

// checkLinks follows the links of a page within the site.
func checkLinks(t *testing.T, h http.Handler, address string) {
	t.Helper()
	base, err := url.Parse("http://localhost" + address)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`<(?:a|link|script)[^>]* (?:href|src)="([^"]*)"`).FindAllStringSubmatch(ask(h, http.MethodGet, address).Body.String(), -1) {
		link, err := base.Parse(html.UnescapeString(m[1]))
		if err != nil || link.Host != "localhost" {
			continue
		}
		if w := ask(h, http.MethodGet, link.RequestURI()); w.Code != http.StatusOK {
			t.Errorf("%s leads to %s, which answers %d", address, link.RequestURI(), w.Code)
		}
	}
}
