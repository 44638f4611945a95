package giturl_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

func TestNormalize(t *testing.T) {
	const want = "git.example.com/team/app"
	for _, url := range []string{
		"https://git.example.com/team/app", "https://git.example.com/team/app.git", "https://git.example.com/team/app/",
		"https://Git.Example.COM/team/app.git", "https://user:pw@git.example.com/team/app", "ssh://git@git.example.com/team/app.git",
		"git@git.example.com:team/app.git", "git.example.com:team/app", " https://git.example.com/team/app ",
	} {
		if got := giturl.Normalize(url); got != want {
			t.Errorf("%s is %s, want %s", url, got, want)
		}
	}
	for url, want := range map[string]string{
		"/srv/git/app.git": "/srv/git/app", "file:///srv/git/app": "/srv/git/app", "./app": "./app",
		"https://git.example.com/Team/App": "git.example.com/Team/App", "https://h:8443/x": "h:8443/x",
	} {
		if got := giturl.Normalize(url); got != want {
			t.Errorf("%s is %s, want %s", url, got, want)
		}
	}
}

func TestIsRemote(t *testing.T) {
	for url, want := range map[string]bool{
		"https://example.com/x": true, "ssh://git@example.com/x": true, "git@example.com:x/y": true, "example.com:x": true,
		"file:///srv/x": false, "/srv/x": false, "./a:b": false, "../x": false, ".": false, "folder": false,
	} {
		if got := giturl.IsRemote(url); got != want {
			t.Errorf("IsRemote(%s) is %v", url, got)
		}
	}
}

func TestRedact(t *testing.T) {
	for url, want := range map[string]string{
		"https://user:hunter2@example.com/x": "https://example.com/x", "https://ghp_token@example.com/x": "https://example.com/x", "https://u:p%zz@example.com": "(a URL that cannot be read)",
		"https://example.com/x": "https://example.com/x",
		"git@example.com:x":     "git@example.com:x",
	} {
		if got := giturl.Redact(url); got != want {
			t.Errorf("%s is shown as %s, want %s", url, got, want)
		}
	}
	for location, want := range map[string]string{
		"https://Example.com:8443/x":  "https://example.com:8443",
		"https://me@example.com:443/": "https://example.com",
		"http://example.com/x":        "http://example.com",
		"http://example.com:80/x":     "http://example.com",
		"http://example.com:443/x":    "http://example.com:443",
		"http://[::1]:3000/x":         "http://[::1]:3000",
		"ssh://example.com/x":         "",
		"git@example.com:x":           "",
		"file:///x":                   "",
		"/srv/x":                      "",
	} {
		if got := giturl.HTTPServer(location); got != want {
			t.Errorf("the server of %s is %q, want %q", location, got, want)
		}
	}
}
