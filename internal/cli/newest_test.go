package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestReleaseOrder: which of two versions is older, and which are none of a release.
func TestReleaseOrder(t *testing.T) {
	inOrder := []string{"v0.0.1", "v0.1.0-rc.1", "v0.1.0-rc.2", "v0.1.0", "v0.1.10", "v0.2.0", "v1.0.0-alpha", "v1.0.0", "v10.0.0"}
	for i, text := range inOrder {
		a, ok := parseRelease(text)
		if !ok {
			t.Errorf("%s is not taken for a release", text)
		}
		for j, other := range inOrder {
			b, _ := parseRelease(other)
			if got := a.isOlderThan(b); got != (i < j) {
				t.Errorf("%s is older than %s: %v", text, other, got)
			}
		}
	}
	for _, text := range []string{"", "unknown", "(devel)", "v1.2", "1.2.3", "v1.2.3+dirty", "v1.2.3.4", "v01.2.3", "v-1.2.3",
		"v0.0.0-20261123020304-0123456789ab", "v1.2.4-0.20261123020304-0123456789ab", "v1.2.3-rc.1 and more"} {
		if _, ok := parseRelease(text); ok {
			t.Errorf("%q is taken for a release", text)
		}
	}
}

// TestCheckRelease: what is found is said in one sentence; only a newer release is an update.
func TestCheckRelease(t *testing.T) {
	const page = `"html_url": "https://example.com/v0.2.0"`
	for name, c := range map[string]struct {
		version, answer string
		status          int
		want            string // the sentence, or a part of the error
		update          bool
	}{
		"newer":      {"v0.1.0", `{"tag_name": "v0.2.0", ` + page + `}`, 200, "fairlead v0.1.0; v0.2.0 is available: https://example.com/v0.2.0\n", true},
		"the same":   {"v0.2.0", `{"tag_name": "v0.2.0", ` + page + `}`, 200, "fairlead v0.2.0 is up to date\n", false},
		"ahead":      {"v0.3.0-rc.1", `{"tag_name": "v0.2.0", ` + page + `}`, 200, "fairlead v0.3.0-rc.1 is up to date\n", false},
		"a build":    {"(devel)", `{"tag_name": "v0.2.0", ` + page + `}`, 200, "fairlead (devel) is not a release; the newest release is v0.2.0: https://example.com/v0.2.0\n", false},
		"none yet":   {"(devel)", `{"message": "Not Found"}`, 404, "fairlead (devel); no release is published yet\n", false},
		"a limit":    {"v0.1.0", `{}`, 403, "answers 403 Forbidden", false},
		"no JSON":    {"v0.1.0", `<html>`, 200, "invalid character", false},
		"no version": {"v0.1.0", `{"tag_name": "latest"}`, 200, "tag_name is not a version", false},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.answer))
			}))
			defer server.Close()
			found, err := checkRelease(t.Context(), server.URL, c.version)
			if err != nil {
				if !strings.Contains(err.Error(), c.want) || found.Update {
					t.Errorf("the error is %v, want %q", err, c.want)
				}
				return
			}
			if got := found.describe(); got != c.want || found.Update != c.update {
				t.Errorf("%q, update %v; want %q, %v", got, found.Update, c.want, c.update)
			}
		})
	}
}

// TestVersionCheck: the command asks only with --check, and fails with a hint without a way.
func TestVersionCheck(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte(`{"tag_name": "v99.0.0", "html_url": "https://example.com"}`))
	}))
	var out, errs bytes.Buffer
	if code := Main(t.Context(), []string{"version", "--releases", server.URL}, &out, &errs); code != 0 || asked != 0 {
		t.Errorf("exit code %d, asked %d times: %s", code, asked, errs.String())
	}
	out.Reset()
	if code := Main(t.Context(), []string{"version", "--check", "--releases", server.URL, "--output", "json"}, &out, &errs); code != 0 || !strings.Contains(out.String(), `"newest": "v99.0.0"`) {
		t.Errorf("exit code %d: %s%s", code, out.String(), errs.String()) // what tests run is no release
	}
	server.Close()
	if code := Main(t.Context(), []string{"version", "--check", "--releases", server.URL}, &out, &errs); code != 1 || !strings.Contains(errs.String(), "fairlead: hint: "+releaseHint) {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}
