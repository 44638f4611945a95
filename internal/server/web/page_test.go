package web

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestStyleIsAllowed compares the style in the page, as the browser sees it, with
// the hash in the header; and looks for styles and scripts that are not allowed.
func TestStyleIsAllowed(t *testing.T) {
	w := ask(open(fleet()), http.MethodGet, "/")
	body := w.Body.String()
	parts := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindStringSubmatch(body)
	if parts == nil {
		t.Fatal("there is no style")
	}
	hash := sha256.Sum256([]byte(parts[1]))
	if want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"; !strings.Contains(w.Header().Get("Content-Security-Policy"), want) {
		t.Errorf("%s is not in %s", want, w.Header().Get("Content-Security-Policy"))
	}
	for _, no := range []string{" style=", "<script", " onclick", "ZgotmplZ", "javascript:"} {
		if strings.Contains(body, no) {
			t.Errorf("%s is in the page", no)
		}
	}
}

func TestLink(t *testing.T) {
	for raw, want := range map[string]string{
		"https://git.example.com/a/b/pull/1": "https://git.example.com/a/b/pull/1",
		"http://localhost:3000/x?y=z#w":      "http://localhost:3000/x?y=z#w",
		"HTTPS://git.example.com/":           "https://git.example.com/",
		"javascript:alert(1)":                "",
		"data:text/html,x":                   "",
		"ssh://git@git.example.com/a":        "",
		"git@git.example.com:a/b":            "",
		"https://user:secret@example.com/":   "",
		"https:///path":                      "",
		"//example.com/":                     "",
		"/srv/git":                           "",
		"http://%zz/":                        "",
		"":                                   "",
	} {
		if got := safeLink(raw); got != want {
			t.Errorf("link(%q) is %q, want %q", raw, got, want)
		}
	}
}

func TestTimes(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                               "now",
		400 * time.Millisecond:          "now",
		-400 * time.Millisecond:         "now",
		59 * time.Second:                "59 s ago",
		-time.Minute:                    "in 1 min",
		59*time.Minute + 59*time.Second: "59 min ago",
		47 * time.Hour:                  "47 h ago",
		48 * time.Hour:                  "2 days ago",
		-240 * time.Hour:                "in 10 days",
	} {
		if got := newMoment(noon.Add(-d), noon); got.Text != want || got.Exact == "" {
			t.Errorf("%v before now is %+v, want %q", d, got, want)
		}
	}
	if got := newMoment(time.Time{}, noon); got != (moment{}) {
		t.Errorf("no time is %+v", got)
	}
	for d, want := range map[time.Duration]string{0: "0 ms", 1500 * time.Millisecond: "1.5 s", 75400 * time.Millisecond: "1m15s"} {
		if got := elapsedText(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestCounted(t *testing.T) {
	stop, warning := problem.Problem{}, problem.Problem{Warning: true}
	for want, l := range map[string]problem.List{
		"1 problem":             {stop},
		"2 warnings":            {warning, warning},
		"2 problems, 1 warning": {stop, warning, stop},
	} {
		if got := problemCountText(l); got != want {
			t.Errorf("%v is %q, want %q", l, got, want)
		}
	}
}

// TestSharedProblems: what several environments have wrong is on the page once, with their names.
func TestSharedProblems(t *testing.T) {
	mistake := problem.Problem{Pos: problem.Pos{Layer: "base", File: "a.yaml", Line: 7}, Summary: "the file is not YAML"}
	own := problem.Problem{Pos: problem.Pos{Layer: "prod", File: "b.yaml"}, Summary: "there is no such policy"}
	store := &status.Store{}
	store.RetainEnvironments([]string{"dev", "prod"})
	store.SetEnvironment(status.Environment{Name: "dev", State: status.Problems, Problems: problem.List{mistake}})
	store.SetEnvironment(status.Environment{Name: "prod", State: status.Problems, Problems: problem.List{mistake, own}})
	page := ask(open(store), http.MethodGet, "/").Body.String()
	for part, want := range map[string]int{
		"the file is not YAML": 1, "In dev, prod.": 1, "there is no such policy": 1, "1 problem of several environments, above": 2,
	} {
		if got := strings.Count(page, part); got != want {
			t.Errorf("%q is on the page %d times, want %d:\n%s", part, got, want, page)
		}
	}
}
