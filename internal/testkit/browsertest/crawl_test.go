package browsertest

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// maxCrawled bounds the pages that are crawled, and maxAsked and maxForecasts those of them that are rendered
// and simulated for: the daemon answers 60 and 12 within a minute.
const maxCrawled, maxAsked, maxForecasts = 400, 30, 8

var (
	crawledLink  = regexp.MustCompile(`<(?:a|link|script)\b[^>]* (?:href|src)="([^"]*)"`)
	crawledTitle = regexp.MustCompile(`(?s)<title>(.*?)</title>`)
	inline       = regexp.MustCompile(`<[a-z][^>]* (style|on[a-z]+)=`)
)

// beforeMerge matches what a page says of a time at which nothing was merged yet.
var beforeMerge = regexp.MustCompile(`nothing was merged before that|Nothing is known of any environment at`)

// crawl follows all links within the site: each leads to something; a page has one heading, a title of its
// own, and no inline style or script. It returns the addresses.
func crawl(t *testing.T, root string) (seen map[string]bool) {
	t.Helper()
	seen = map[string]bool{root + "/": true}
	titles, asked, forecasts := map[string]string{}, 0, 0
	for queue := []string{root + "/"}; len(queue) > 0 && len(seen) < maxCrawled; queue = queue[1:] {
		address := queue[0]
		answer, body := fetch(t, address)
		if answer.StatusCode == http.StatusNotFound && strings.Contains(address, "at=") && beforeMerge.MatchString(body) {
			continue // it says that nothing was merged then, and links to now
		}
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s answers %d:\n%s", address, answer.StatusCode, body)
		}
		if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") {
			continue
		}
		checkCrawled(t, address, body, titles)
		for _, m := range crawledLink.FindAllStringSubmatch(body, -1) {
			link, err := answer.Request.URL.Parse(html.UnescapeString(m[1]))
			if err != nil {
				t.Errorf("%s has the link %s: %v", address, m[1], err)
				continue
			}
			link.Fragment = ""
			isQuestion, isForecast := strings.HasSuffix(link.Path, "/explain") || strings.HasSuffix(link.Path, "/diff"), strings.HasSuffix(link.Path, "/forecast") || strings.HasSuffix(link.Path, ".ics")
			if !strings.HasPrefix(link.String(), root+"/") || seen[link.String()] || isQuestion && asked >= maxAsked || isForecast && forecasts >= maxForecasts {
				continue
			}
			switch {
			case isQuestion:
				asked++
			case isForecast:
				forecasts++
			}
			seen[link.String()] = true
			queue = append(queue, link.String())
		}
	}
	if len(seen) < 20 {
		t.Errorf("the crawler finds no more than %d addresses", len(seen))
	}
	return seen
}

func checkCrawled(t *testing.T, address, body string, titles map[string]string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.RawQuery = u.Query().Encode()                                                                          // links may be escaped in several ways
	if strings.HasPrefix(u.Path, "/commits") || strings.HasPrefix(u.Path, "/problems") || u.Path == "/map" { // a filter is the same page
		u.RawQuery = ""
	}
	title := crawledTitle.FindStringSubmatch(body)
	if title == nil {
		t.Errorf("%s has no title", address)
		return
	}
	if other, isTaken := titles[title[1]]; isTaken && other != u.String() {
		t.Errorf("%s and %s have the title %q", other, u, title[1])
	}
	titles[title[1]] = u.String()
	if n := strings.Count(body, "<h1"); n != 1 {
		t.Errorf("%s has %d headings of the first level", address, n)
	}
	if m := inline.FindString(body); m != "" {
		t.Errorf("%s has %s", address, m)
	}
}

// fetch returns the answer of an address, and its body.
func fetch(t *testing.T, address string) (*http.Response, string) {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}
