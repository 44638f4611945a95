package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/server/page"
)

// sendSettings sends the form of the settings with a cookie, from a page of a site.
func sendSettings(h http.Handler, form, cookie, site string) *httptest.ResponseRecorder {
	return sendForm(h, settingsPath, form, cookie, site)
}

func sendForm(h http.Handler, path, form, cookie, site string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", site)
	if cookie != "" {
		r.AddCookie(&http.Cookie{Name: viewCookie, Value: cookie})
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestSettings: the form changes what the cookie says and leads back, but to no other site; another site
// cannot send it.
func TestSettings(t *testing.T) {
	h := open(fleet())
	for _, c := range []struct {
		form, cookie, site string
		code               int
		wanted, location   string
	}{
		{"theme=dark&back=%2Fsettings", "", "same-origin", 303, "theme=dark", "./settings"},
		{"live=off&back=%2Fcommits%3Fq%3Da%2526b", "theme=dark", "same-origin", 303, "live=off&theme=dark", "./commits?q=a%26b"},
		{"theme=auto&live=on&keys=off", "live=off&theme=dark", "same-origin", 303, "keys=off", "./settings"},
		{"theme=%22%3E%3Cscript%3E&back=https%3A%2F%2Fevil.example%2F", "theme=light&x=y", "same-origin", 303, "theme=light", "./settings"},
		{"back=%2F%2Fevil.example%2F", "%zz", "same-origin", 303, "", "./settings"},
		{"zone=Europe%2FBerlin", "theme=dark", "same-origin", 303, "theme=dark&zone=Europe%2FBerlin", "./settings"},
		{"zone=", "zone=Europe%2FBerlin", "same-origin", 303, "", "./settings"},
		{"zone=..%2Fetc%2Fpasswd", "zone=Asia%2FTokyo", "same-origin", 303, "zone=Asia%2FTokyo", "./settings"},
		{"theme=dark", "", "cross-site", 403, "", ""},
		{"theme=" + strings.Repeat("a", maxForm), "", "same-origin", 400, "", ""},
	} {
		w := sendSettings(h, c.form, c.cookie, c.site)
		if w.Code != c.code || w.Header().Get("Location") != c.location {
			t.Errorf("%.80s is %d to %q, want %d to %q: %s", c.form, w.Code, w.Header().Get("Location"), c.code, c.location, w.Body)
		}
		if c.code != http.StatusSeeOther {
			continue
		}
		set := w.Result().Cookies()
		if len(set) != 1 || set[0].Value != c.wanted || !set[0].HttpOnly || set[0].SameSite != http.SameSiteLaxMode || set[0].Path != "" {
			t.Errorf("%s sets %v, want %s", c.form, set, c.wanted)
		}
	}
}

// askAs asks for a page with a cookie, as a client that reads gzip or not.
func askAs(h http.Handler, address, cookie, encoding string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, address, nil)
	r.AddCookie(&http.Cookie{Name: viewCookie, Value: cookie})
	r.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestView: a page has the theme of its reader from its first byte, follows the state unless it is paused,
// and knows shortcuts unless they are off; one reader's choice is not another's.
func TestView(t *testing.T) {
	h := open(fleet())
	auto, dark := askAs(h, "/", "", ""), askAs(h, "/", "theme=dark", "")
	if !strings.Contains(dark.Body.String(), `data-theme="dark"`) || strings.Contains(auto.Body.String(), "data-theme") || auto.Header().Get("ETag") == dark.Header().Get("ETag") {
		t.Errorf("the theme is not that of the cookie:\n%s", dark.Body)
	}
	for cookie, wanted := range map[string]bool{"live=off": false, "keys=off": true} {
		if got := strings.Contains(askAs(h, "/", cookie, "").Body.String(), `data-page="/"`); got != wanted {
			t.Errorf("with %s the page follows the state: %v", cookie, got)
		}
	}
	if body := askAs(h, "/", "keys=off", "").Body.String(); strings.Contains(body, "<dialog") || !strings.Contains(auto.Body.String(), "<dialog") {
		t.Errorf("without shortcuts the page lists them:\n%s", body)
	}
	settings := askAs(h, settingsPath, "theme=dark&live=off&keys=off", "").Body.String()
	for _, want := range []string{`value="dark" checked`, `name="live" value="off" checked`, `name="keys" value="off" checked`} {
		if !strings.Contains(settings, want) {
			t.Errorf("the settings do not show %s:\n%s", want, settings)
		}
	}
	checkMarkup(t, "the settings", settings)
}

// TestPacked: pages, answers and assets are packed for clients that read gzip, and are the same for others.
func TestPacked(t *testing.T) {
	h := open(fleet())
	for _, address := range []string{"/", "/environments/pord", "/api/v1/overview", "/assets/" + page.Build + "/fairlead.css", settingsPath} {
		plain := askAs(h, address, "", "")
		for encoding, isPacked := range map[string]bool{"gzip": true, "br, gzip;q=0.5": true, "gzip;q=0": false, "identity": false, "": false} {
			w := askAs(h, address, "", encoding)
			if (w.Header().Get("Content-Encoding") == "gzip") != isPacked || strings.TrimPrefix(w.Header().Get("Vary"), "Accept, ") != "Accept-Encoding" {
				t.Errorf("%s for %q has the encoding %q, and varies by %q", address, encoding, w.Header().Get("Content-Encoding"), w.Header().Get("Vary"))
			}
			if !isPacked {
				continue
			}
			unpacked, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(unpacked)
			if err != nil || string(body) != plain.Body.String() {
				t.Errorf("%s is another when it is packed (%v)", address, err)
			}
			if tag := w.Header().Get("ETag"); tag != plain.Header().Get("ETag") || tag != "" && !strings.HasPrefix(tag, "W/") {
				t.Errorf("%s has the tag %s when it is packed, and %s else", address, tag, plain.Header().Get("ETag"))
			}
		}
	}
	if tiny := askAs(h, "/api/v1/search", "", "gzip"); tiny.Header().Get("Content-Encoding") != "" {
		t.Errorf("an answer of %d bytes is packed", tiny.Body.Len())
	}
}

// answerSettings sends the form of the settings as it should be, and as it should not.
func (c checker) answerSettings(t *testing.T) {
	h := open(fleet())
	for _, w := range []*httptest.ResponseRecorder{
		sendSettings(h, "theme=dark", "", "same-origin"), sendSettings(h, "theme=dark", "", "cross-site"),
		sendSettings(h, strings.Repeat("a", maxForm+1), "", "same-origin"), ask(h, http.MethodPut, settingsPath),
	} {
		c.answer(t, "post", settingsPath, w)
	}
	c.answer(t, "get", settingsPath, ask(h, http.MethodGet, settingsPath))
	c.answer(t, "get", settingsPath, ask(h, http.MethodPut, settingsPath))
	for _, w := range []*httptest.ResponseRecorder{
		sendForm(h, wakePath, "", "", "same-origin"), sendForm(h, wakePath, "", "", "same-origin"), sendForm(h, wakePath, "", "", "cross-site"), ask(h, http.MethodGet, wakePath),
	} {
		c.answer(t, "post", wakePath, w)
	}
}

// TestWakeForm: a person starts a cycle from a page, and no two within 5 seconds.
func TestWakeForm(t *testing.T) {
	now, woken := noon, 0
	h := New(Options{Store: fleet(), Now: func() time.Time { return now }, Wake: func() { woken++ }})
	for i, test := range []struct {
		after time.Duration
		code  int
		woken int
	}{{0, http.StatusSeeOther, 1}, {4 * time.Second, http.StatusTooManyRequests, 1}, {time.Second, http.StatusSeeOther, 2}} {
		now = now.Add(test.after)
		w := sendForm(h, wakePath, "", "", "same-origin")
		if w.Code != test.code || woken != test.woken {
			t.Errorf("%d: %d, and %d cycles, want %d and %d", i, w.Code, woken, test.code, test.woken)
		}
	}
	if page := ask(h, http.MethodGet, "/health").Body.String(); !strings.Contains(page, `<form method="post" action="./wake">`) {
		t.Errorf("the page has no form:\n%s", page)
	}
}
