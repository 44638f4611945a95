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
	if got := giturl.Host("https://Example.com:8443/x"); got != "example.com:8443" {
		t.Errorf("the host is %q", got)
	}
	if got := giturl.Host("http://example.com/x"); got != "" {
		t.Errorf("a plain http URL has the host %q: a token would be sent in the clear", got)
	}
}
