package forge_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// answers is a transport that answers each request with the next headers.
type answers struct{ all []map[string]string }

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	header := http.Header{"Date": {theirs.Format(http.TimeFormat)}}
	for name, value := range a.all[0] {
		header.Set(name, value)
	}
	a.all = a.all[1:]
	code := http.StatusOK
	if header.Get("Www-Authenticate") != "" {
		code = http.StatusUnauthorized
	}
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

var (
	ours   = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	theirs = ours.AddDate(3, 0, 0) // the server's clock is ahead: only the difference counts
)

// TestCredentialReport: what the headers of answers tell of a credential is kept, by limit, until its token
// is another one. What makes no sense is not.
func TestCredentialReport(t *testing.T) {
	after := func(d time.Duration) string { return strconv.FormatInt(theirs.Add(d).Unix(), 10) }
	core := func(left string) map[string]string {
		return map[string]string{"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": left, "X-RateLimit-Reset": after(time.Minute), "X-RateLimit-Resource": "core"}
	}
	told := func(name string, most, left int, resets time.Duration) forge.RequestLimit {
		l := forge.RequestLimit{Name: name, Limit: most, Remaining: left, Asked: ours}
		if resets != 0 {
			l.Resets = ours.Add(resets)
		}
		return l
	}
	const inAMinute = 61 * time.Second // the date has no fraction
	for name, c := range map[string]struct {
		answers []map[string]string
		tokens  string // a letter for each request
		want    forge.CredentialReport
	}{
		"none told": {[]map[string]string{{}}, "a", forge.CredentialReport{}},
		"GitHub, whose limits are several": {[]map[string]string{core("10"), {"X-RateLimit-Limit": "30", "X-RateLimit-Remaining": "29", "X-RateLimit-Resource": "search"}, core("9")}, "aaa",
			forge.CredentialReport{Limits: []forge.RequestLimit{told("core", 5000, 9, inAMinute), told("search", 30, 29, 0)}}},
		"GitLab": {[]map[string]string{{"RateLimit-Limit": "2000", "RateLimit-Remaining": "1999", "RateLimit-Reset": after(time.Minute), "RateLimit-Name": "throttle_authenticated_api"}}, "a",
			forge.CredentialReport{Limits: []forge.RequestLimit{told("throttle_authenticated_api", 2000, 1999, inAMinute)}}},
		"a token that expires": {[]map[string]string{{"Github-Authentication-Token-Expiration": "2026-12-01 10:00:00 +0100"}, {}}, "aa",
			forge.CredentialReport{Expires: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)}},
		"one that was replaced": {[]map[string]string{{"Github-Authentication-Token-Expiration": "2026-12-01 10:00:00 UTC"}, core("10"), {}}, "aab", forge.CredentialReport{}},
		"refused":               {[]map[string]string{{}, {"Www-Authenticate": "Bearer"}}, "aa", forge.CredentialReport{Refused: true}},
		"accepted once more":    {[]map[string]string{{"Www-Authenticate": "Bearer"}, {}}, "ab", forge.CredentialReport{}},
		"nonsense": {[]map[string]string{{"X-RateLimit-Limit": "-5", "X-RateLimit-Remaining": "-6", "Github-Authentication-Token-Expiration": "soon"},
			{"X-RateLimit-Limit": "x", "X-RateLimit-Remaining": "3"}}, "aa", forge.CredentialReport{}},
		"a hostile name, and a time without end": {[]map[string]string{{"X-RateLimit-Limit": "1", "X-RateLimit-Remaining": "1", "X-RateLimit-Resource": "a \xff" + strings.Repeat("b", 100), "X-RateLimit-Reset": "9223372036854775807"}}, "a",
			forge.CredentialReport{Limits: []forge.RequestLimit{told("a "+strings.Repeat("b", 37)+"…", 1, 1, 48*time.Hour+time.Second)}}},
	} {
		limiter, token := &forge.Limiter{}, ""
		client, err := forge.NewClient("it", forge.Options{API: "https://forge.example", Client: &http.Client{Transport: &answers{c.answers}}, Limiter: limiter,
			Now: func() time.Time { return ours }, Token: func(context.Context) (string, error) { return token, nil }})
		if err != nil {
			t.Fatal(err)
		}
		for _, token = range strings.Split(c.tokens, "") {
			answer, err := client.HTTP.Get("https://forge.example/x")
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
		}
		c.want.Asked = ours
		if diff := cmp.Diff(c.want, limiter.Report()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
