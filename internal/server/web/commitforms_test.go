package web

import (
	"encoding/xml"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestCommitBadge: a badge says how far a commit has got, or that of one environment, and is a picture whatever somebody
// wrote as the subject.
func TestCommitBadge(t *testing.T) {
	store := fleet()
	hostile := chain()
	hostile.Commits[0].Subject = "</title><script>alert(1)</script> \x1b[2J\ufffe ]]> &"
	store.SetPromotions(hostile)
	h := open(store)
	for _, c := range []struct{ target, label, word, ground string }{
		{"/commits/" + c4 + ".svg", "c4d4e4f", "◔ dev: rolling out", "#164e8a"},
		{"/commits/" + c4 + ".svg?env=prod", "c4d4e4f", "◷ prod: waits", "#4b4f8f"},
		{"/commits/" + c3 + ".svg", "c3d3e3f", "✓ test: verified", "#0b5f4a"},
	} {
		w := ask(h, http.MethodGet, c.target)
		var picture struct {
			Title string `xml:"title"`
			Rects []struct {
				Fill string `xml:"fill,attr"`
			} `xml:"rect"`
			Texts []string `xml:"g>text"`
			Rest  string   `xml:"script"`
		}
		err := xml.Unmarshal(w.Body.Bytes(), &picture)
		if err != nil || w.Header().Get("Content-Type") != svgText || w.Header().Get("ETag") == "" || picture.Rest != "" {
			t.Errorf("%s is no picture: %v\n%s", c.target, err, w.Body)
			continue
		}
		if picture.Texts[0] != c.label || picture.Texts[1] != c.word || picture.Rects[1].Fill != c.ground || !strings.HasPrefix(picture.Title, c.label+" ") {
			t.Errorf("%s is %+v, want %q and %q on %s", c.target, picture, c.label, c.word, c.ground)
		}
		if askTagged(h, c.target, w.Header().Get("ETag")).Code != http.StatusNotModified {
			t.Errorf("%s is sent again", c.target)
		}
	}
	unrendered := open(hosted())
	if w := ask(unrendered, http.MethodGet, "/commits/"+strings.Repeat("c5", 20)+".svg"); !strings.Contains(w.Body.String(), "changes nothing") {
		t.Errorf("the badge of a commit that changes nothing is %s", w.Body)
	}
	if w := ask(open(&status.Store{}), http.MethodGet, "/commits/"+c4+".svg"); w.Code != http.StatusNotFound || w.Header().Get("Content-Type") != plainText {
		t.Errorf("the badge of a commit that is not known is %d: %s", w.Code, w.Body)
	}
	for _, query := range []string{"", "?env=prod"} {
		if w := ask(h, http.MethodGet, "/commits/"+c4[:7]+".svg"+query); w.Header().Get("Location") != "./../commits/"+c4+".svg"+query {
			t.Errorf("a part of an id with %q leads to %q", query, w.Header().Get("Location"))
		}
	}
}
