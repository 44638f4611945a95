package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/config"
)

func TestRemote(t *testing.T) {
	var s config.Settings
	for _, url := range []string{
		"https://github.com", "https://github.com/acme/", "https://github.com/acme/app.git", "http://plain.example/",
		"https://h:8443/", "git@git.example.com:", "ssh://git@git.example.com/team", "https://closed.example/team",
	} {
		s.Remotes = append(s.Remotes, config.Remote{URL: url})
	}
	for url, want := range map[string]string{
		"https://github.com/other/x":            "https://github.com",
		"https://github.com":                    "https://github.com",
		"https://GitHub.com:443/other/x":        "https://github.com",
		" https://user@github.com/other/x.git ": "https://github.com",
		"https://github.com/acme":               "https://github.com/acme/",
		"https://github.com/acme/lib":           "https://github.com/acme/",
		"https://github.com/acme/app":           "https://github.com/acme/app.git",
		"https://github.com/acme/app.git/":      "https://github.com/acme/app.git",
		"https://github.com/acme/application":   "https://github.com/acme/",
		"https://github.com/acme-evil/app":      "https://github.com",
		"https://github.com/Acme/app":           "https://github.com",
		"https://h:8443/x":                      "https://h:8443/",
		"http://plain.example/x":                "http://plain.example/",
		"ssh://git.example.com/x":               "git@git.example.com:",
		"ssh://alice@git.example.com:22/x":      "git@git.example.com:",
		"git.example.com:x/y.git":               "git@git.example.com:",
		"git@git.example.com:team/app":          "ssh://git@git.example.com/team",
		"git@git.example.com:/team/app":         "ssh://git@git.example.com/team",

		"https://github.com.evil.example/acme/app":           "",
		"https://github.com@evil.example/acme/app":           "",
		"https://evil.example/https://github.com/acme":       "",
		"https://github.community/x":                         "",
		"http://github.com/acme/app":                         "",
		"ssh://git@github.com/acme/app":                      "",
		"git@github.com:acme/app":                            "",
		"https://github.com:8443/acme/app":                   "",
		"https://plain.example/x":                            "",
		"https://h/x":                                        "",
		"ssh://git.example.com:2222/x":                       "",
		"https://closed.example/team/../other/x":             "",
		"https://closed.example/team/%2e%2e/other/x":         "",
		"https://closed.example/team/..%2fother/x":           "",
		"https://closed.example/team%2Fx/../y":               "",
		"https://closed.example/team%2fx":                    "",
		"https://closed.example/team/./x":                    "",
		"https://closed.example/team//x":                     "",
		`https://closed.example/team/..\other`:               "",
		`https://closed.example\@evil.example/team/app`:      "",
		"https://closed.example/team.git/x":                  "",
		"git.example.com:22@evil.example:x":                  "",
		"/srv/git/app":                                       "",
		"file:///github.com/acme/app":                        "",
		"":                                                   "",
		"https://":                                           "",
		"https://closed.example%2F.evil.example/team/app":    "",
		"https://closed.example?@evil.example/team/app":      "",
		"https://closed.example#@evil.example/team/app":      "",
		"https://evil.example#https://closed.example/team/x": "",
	} {
		got, ok := s.Remote(url)
		if got.URL != want || ok != (want != "") {
			t.Errorf("%s has the remote %q (%v), want %q", url, got.URL, ok, want)
		}
	}
}

// TestProbe: a token goes only where it is meant to go.
func TestProbe(t *testing.T) {
	var s config.Settings
	for _, url := range []string{"https://a.example.com", "https://a.example.com/api/", "http://a.example.com:9090/x", "https://b.example.com/team", "https://[::1]:8443/"} {
		s.Probes = append(s.Probes, config.Probe{URL: url})
	}
	for url, want := range map[string]string{
		"https://a.example.com":                  "https://a.example.com",
		"https://A.example.com:443/":             "https://a.example.com",
		"https://a.example.com/apis":             "https://a.example.com",
		"https://a.example.com/API/x":            "https://a.example.com",
		"https://a.example.com/api":              "https://a.example.com/api/",
		"https://a.example.com/api/x%20y?q=../z": "https://a.example.com/api/",
		"http://a.example.com:9090/x/y":          "http://a.example.com:9090/x",
		"https://b.example.com/team/x":           "https://b.example.com/team",
		"https://[::1]:8443/x":                   "https://[::1]:8443/",

		"https://a.example.com.evil.org/":          "",
		"https://a.example.com@evil.org/":          "",
		"https://gull@a.example.com/":              "",
		"https://@a.example.com/":                  "",
		"https://evil.org/https://a.example.com/":  "",
		"https://evil.org#https://a.example.com/":  "",
		`https://a.example.com\@evil.org/`:         "",
		"https:a.example.com":                      "",
		"//a.example.com/":                         "",
		"http://a.example.com/":                    "",
		"http://a.example.com:9090/xy":             "",
		"https://a.example.com:8443/":              "",
		"https://b.example.com/":                   "",
		"https://b.example.com/teams":              "",
		"https://b.example.com/team.git":           "",
		"https://b.example.com/team/../other":      "",
		"https://b.example.com/team/%2e%2e/other":  "",
		"https://b.example.com/team/%252e%252e/x":  "",
		"https://b.example.com/team/..%2fother":    "",
		"https://b.example.com/team%2Fx":           "",
		"https://b.example.com/team%252Fx":         "",
		"https://b.example.com/team/..%5cother":    "",
		"https://b.example.com/team//x":            "",
		"https://b.example.com/team/x%0d%0aHost:x": "",
		"ssh://a.example.com/x":                    "",
		"a.example.com:x":                          "",
		"/api":                                     "",
		"":                                         "",
	} {
		got, ok := s.Probe(url)
		if got.URL != want || ok != (want != "") {
			t.Errorf("%s has the probe %q (%v), want %q", url, got.URL, ok, want)
		}
	}
}

func TestNext(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	now := time.Date(2025, 1, 31, 23, 58, 30, 5, berlin)
	for _, test := range []struct {
		schedule string
		random   float64
		want     string
	}{
		{"{}", 0, "2025-01-31T23:59:30.000000005+01:00"},
		{"{}", 0.5, "2025-01-31T23:59:33.000000005+01:00"},
		{"{interval: 1h}", 0.5, "2025-02-01T01:01:30.000000005+01:00"},
		{"{interval: 1h, jitter: 0}", 0.9, "2025-02-01T00:58:30.000000005+01:00"},
		{"{interval: 1h, jitter: 1h}", 0.5, "2025-02-01T01:28:30.000000005+01:00"},
		{"{cron: '*/5 * * * *'}", 0, "2025-02-01T00:00:00+01:00"},
		{"{cron: '*/5 * * * *'}", 0.5, "2025-02-01T00:00:03+01:00"},
		{"{cron: '*/5 * * * *', jitter: 1m}", 0.5, "2025-02-01T00:00:30+01:00"},
		{"{cron: '@hourly', jitter: 0}", 0.5, "2025-02-01T00:00:00+01:00"},
		{"{cron: '0 6 29 2 *', jitter: 0}", 0, "2028-02-29T06:00:00+01:00"},
		{"{cron: 'CRON_TZ=UTC 0 6 * * mon', jitter: 0}", 0, "2025-02-03T07:00:00+01:00"},
		{"{cron: '@every 90m', jitter: 0}", 0, "2025-02-01T01:28:30+01:00"},
	} {
		s, problems := config.Parse("fairlead.yaml", []byte(required+"schedule: "+test.schedule), "/", environment)
		if s == nil {
			t.Errorf("%s: %v", test.schedule, problems)
		} else if got := s.NextPoll(now, test.random).Format(time.RFC3339Nano); got != test.want {
			t.Errorf("%s: after %v and %v comes %s, want %s", test.schedule, now, test.random, got, test.want)
		}
	}
}

func TestSecretIsNotShown(t *testing.T) {
	secret := config.NewSecret("hunter2")
	hidden := struct{ secret config.Secret }{secret}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+verb+verb+verb+"\n", secret, &secret, hidden, []config.Secret{secret})
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "secret", secret, "hidden", hidden)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "secret", secret, "hidden", hidden)
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		text, err := marshal(map[string]any{"secret": secret, "pointer": &secret, "hidden": hidden})
		if err != nil {
			t.Error(err)
		}
		out.Write(text)
	}
	if strings.Contains(out.String(), "hunter") || strings.Contains(out.String(), "68756e") || !strings.Contains(out.String(), "[redacted]") {
		t.Errorf("the secret is shown in:\n%s", &out)
	}
	if secret.Reveal() != "hunter2" || (config.Secret{}).Reveal() != "" {
		t.Error("the secret is lost")
	}
}

// TestRead: a secret is read anew each time.
func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	ref := config.SecretRef{File: path}
	if _, err := ref.Read(); err == nil {
		t.Error("a missing file is a secret")
	}
	for text, want := range map[string]string{"one": "one", "two\n": "two", "three\r\n": "three", "four\n\n": "four\n", " five ": " five ", "six\r": "six\r"} {
		write(t, path, text)
		if got, err := ref.Read(); err != nil || got.Reveal() != want {
			t.Errorf("%q is read as %q, %v", text, got.Reveal(), err)
		}
	}
	write(t, path, "\n")
	if _, err := ref.Read(); err == nil || err.Error() != "read "+path+": it is empty" {
		t.Errorf("an empty file gives %v", err)
	}
	t.Setenv("FAIRLEAD_TEST_SECRET", "six")
	if got, err := (config.SecretRef{Env: "FAIRLEAD_TEST_SECRET"}).Read(); err != nil || got.Reveal() != "six" {
		t.Errorf("the variable is read as %q, %v", got.Reveal(), err)
	}
	if err := os.Unsetenv("FAIRLEAD_TEST_SECRET"); err != nil {
		t.Fatal(err)
	}
	if _, err := (config.SecretRef{Env: "FAIRLEAD_TEST_SECRET"}).Read(); err == nil {
		t.Error("a variable that is not set is a secret")
	}
}
