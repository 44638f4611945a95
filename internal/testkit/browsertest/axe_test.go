package browsertest

import (
	_ "embed"
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// axe is axe-core 4.14.1 (MPL-2.0, testdata/axe.LICENSE), as it is published.
//
//go:embed testdata/axe.min.js
var axe string

// fourViews are those in which pages are checked: on desktops and phones, light and dark, with the script.
var fourViews = []View{{1280, false, true}, {1280, true, true}, {400, false, true}, {400, true, true}}

// violation is a rule of WCAG 2.2 that a page breaks, and where.
type violation struct {
	ID    string   `json:"id"`
	Help  string   `json:"help"`
	Nodes []string `json:"nodes"`
}

// checkAccessible checks a page by the rules of axe-core.
func checkAccessible(t *testing.T, w *Window, path string) {
	t.Helper()
	w.Run(chromedp.Evaluate(axe, nil))
	var found struct {
		Passed     int         `json:"passed"`
		Violations []violation `json:"violations"`
	}
	w.Ask(`axe.run({runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
		.then(r => ({passed: r.passes.length, violations: r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.map(n => n.html.slice(0, 200))}))}))`, &found)
	for _, v := range found.Violations {
		t.Errorf("%s: %s: %s: %q", path, v.ID, v.Help, v.Nodes)
	}
	if found.Passed < 10 {
		t.Errorf("%s was checked by %d rules", path, found.Passed)
	}
}

// TestCheckedPages: each kind of page that openapi.json has is among those that tests check by the rules of axe-core, in
// both themes, in both widths.
func TestCheckedPages(t *testing.T) {
	text, err := os.ReadFile("../../server/web/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		Paths map[string]struct {
			Get struct {
				Responses map[string]struct{ Content map[string]any }
			}
		}
	}
	if err := json.Unmarshal(text, &described); err != nil {
		t.Fatal(err)
	}
	kinds := 0
	for path, is := range described.Paths {
		if is.Get.Responses["200"].Content["text/html"] == nil {
			continue
		}
		kinds++
		kind := regexp.MustCompile("^" + regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "[^/]+") + "$")
		isChecked := slices.ContainsFunc(slices.Concat(pages, fleetPages, peoplePages, stackPages, []string{clustersPage}), func(checked string) bool {
			u, err := url.Parse(checked)
			return err == nil && kind.MatchString(u.Path)
		})
		if !isChecked {
			t.Errorf("no test checks the accessibility of a page at %s", path)
		}
	}
	if kinds < 25 {
		t.Errorf("openapi.json has %d kinds of pages", kinds)
	}
}
