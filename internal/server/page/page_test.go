package page

import (
	"strings"
	"testing"
	"time"
)

// TestTemplates: every template can be read.
func TestTemplates(t *testing.T) {
	for _, name := range []string{"overview", "environments", "cluster", "cluster-type", "environment", "problems", "commits", "commit", "health", "explain", "diff", "pull", "search", "settings", "missing", "fleet", "workloads", "workload", "assignment", "history"} {
		if _, err := loadTemplate(name, "../"); err != nil {
			t.Error(err)
		}
	}
}

// TestLink: links lead to pages of web servers alone, and tell no password.
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

// TestWords: times are exact, since the script makes them relative, and durations short.
func TestWords(t *testing.T) {
	at := time.Date(2026, 11, 23, 10, 0, 0, 0, time.FixedZone("", 3600))
	if got, want := plainTime(at)+" "+exactTime(at), "Mon 2026-11-23 09:00 UTC 2026-11-23T09:00:00Z"; got != want {
		t.Errorf("the time is %s, want %s", got, want)
	}
	for d, want := range map[time.Duration]string{0: "0 ms", 1500 * time.Millisecond: "1.5 s", 75400 * time.Millisecond: "1m15s"} {
		if got := elapsedText(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// TestRoot: pages find the root of the site wherever a proxy has it.
func TestRoot(t *testing.T) {
	for path, want := range map[string]string{"/": "./", "/commits?q=a/b": "./", "/commits/4a9a": "../", "/environments/a%2Fb": "../"} {
		if got := findRoot(path); got != want {
			t.Errorf("the root of %s is %s, want %s", path, got, want)
		}
	}
}

// TestReadableText: messages of programs have commits and times as the rest of a page has them.
func TestReadableText(t *testing.T) {
	commit, digest := strings.Repeat("4be1c2d0", 5), strings.Repeat("1a0d2d3b", 8)
	for message, want := range map[string]string{
		"it has dev@sha1:" + commit + ", which is not one of ours":                        "it has dev@sha1:4be1c2d, which is not one of ours",
		"merge it, or run fairlead approve dev " + commit + " --removals: it removes web": "merge it, or run fairlead approve dev " + commit + " --removals: it removes web",
		"latest@sha256:" + digest: "latest@sha256:1a0d2d3",
		"it was last in touch at 2026-11-23T11:09:00Z, and is not expected": "it was last in touch at Mon 2026-11-23 11:09 UTC, and is not expected",
		"since 2026-11-23T12:09:00.5+01:00":                                 "since Mon 2026-11-23 11:09 UTC",
		"2026-99-99T99:99:99Z is no time":                                   "2026-99-99T99:99:99Z is no time",
		"deadbeef is short, " + commit + "ff is no commit":                  "deadbeef is short, " + commit + "ff is no commit",
		"": "",
	} {
		if got := readableText(message); got != want {
			t.Errorf("%q is %q, want %q", message, got, want)
		}
	}
}
