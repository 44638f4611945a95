package doctor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/reconcile/doctor"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gitlabfake"
)

// TestExamineRunning: a daemon that runs asks each credential, and each repository whose forge it uses, once; it
// pushes and fetches nothing. What is left of a rate limit when little is, it leaves to its work.
func TestExamineRunning(t *testing.T) {
	hub, lab := githubfake.Serve(t), gitlabfake.Serve(t)
	lab.TokenExpires = "2026-03-05"
	for _, c := range []struct {
		name, kind, api, token string
		place                  string   // of Git
		fault                  func()   // that the first request meets
		want                   []string // a part of each line
		asked                  string
		expires                time.Time
	}{
		{name: "GitHub", kind: "github", api: hub.API(), token: hub.Token, place: hub.Create("acme/cp"),
			want:  []string{"ok CP: API GitHub shows it", "ok CP: forge GitHub, at", "warn REMOTE: token GitHub takes it, and does not show", "warn settings: write it is off"},
			asked: "/rate_limit /repos/acme/cp"},
		{name: "GitLab", kind: "gitlab", api: lab.API(), token: lab.Token, place: lab.Create("acme/cp"),
			want:  []string{"ok CP: API GitLab shows it, and we may write to it", "ok REMOTE: API GitLab 18.2.1", "ok REMOTE: token GitLab takes it; its scopes: api"},
			asked: "/version /personal_access_tokens/self /projects/acme%2Fcp", expires: time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)},
		{name: "a token that is refused", kind: "github", api: hub.API(), token: "other", place: hub.Git.URL("acme/cp"),
			want: []string{"fail REMOTE: token GitHub does not take it (401 Unauthorized: Bad credentials)"}, asked: "/rate_limit"},
		{name: "little is left", kind: "github", api: hub.API(), token: hub.Token, place: hub.Git.URL("acme/cp"),
			fault: func() { // by the daemon's work
				hub.Inject(githubfake.Fault{Times: 1, Status: 200, Body: "{}", Header: map[string][]string{"X-Ratelimit-Limit": {"5000"}, "X-Ratelimit-Remaining": {"999"},
					"X-Ratelimit-Reset": {fmt.Sprint(now.Add(time.Minute).Unix())}, "Date": {now.Format(time.RFC1123)}}})
			},
			want: []string{"ok REMOTE: API it is not asked now"}, asked: ""},
	} {
		remote := strings.TrimSuffix(c.place, "acme/cp.git")
		settings, problems := config.Parse("fairlead.yaml", fmt.Appendf(nil, "controlPlane: {repo: %q}\ndataDir: %q\nforges: [{host: %q, kind: %s, api: %q}]\nremotes: [{url: %q, token: {env: TOKEN}}]\n",
			c.place, t.TempDir(), strings.Split(c.place, "/")[2], c.kind, c.api, remote), t.TempDir(), func(string) string { return c.token })
		if problems.Stops() {
			t.Fatal(problems)
		}
		o := doctor.Options{Settings: settings, Now: func() time.Time { return now }, Keyring: access.New(settings, func() time.Time { return now })}
		known := status.Snapshot{Environments: []status.Environment{{Name: "dev", Output: status.Output{Repo: c.place, Branch: "dev"}}, {Name: "none"}}}
		if c.fault != nil {
			c.fault()
			if _, err := doctor.ExamineRunning(t.Context(), o, known); err != nil {
				t.Fatal(err)
			}
		}
		hubBefore, labBefore := len(hub.Requests()), len(lab.Requests())
		found, err := doctor.ExamineRunning(t.Context(), o, known)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, f := range found {
			lines = append(lines, fmt.Sprintf("%s %s %s", f.Level, strings.NewReplacer(c.place, "CP", remote, "REMOTE").Replace(f.Subject), f.Message))
			if f.Level != doctor.OK && f.Hint == "" {
				t.Errorf("%s: %v has no hint", c.name, f)
			}
		}
		text := strings.Join(lines, "\n")
		for _, want := range c.want {
			if !strings.Contains("\n"+text, "\n"+want) {
				t.Errorf("%s: no line begins with %q:\n%s", c.name, want, text)
			}
		}
		if strings.Contains(text, "rate limit") && c.fault == nil || strings.Contains(text, "token expiry") {
			t.Errorf("%s: the daemon shows that itself:\n%s", c.name, text)
		}
		var asked []string
		for _, r := range hub.Requests()[hubBefore:] {
			asked = append(asked, r.Path)
		}
		for _, r := range lab.Requests()[labBefore:] {
			asked = append(asked, r.Path)
		}
		if got := strings.Join(asked, " "); got != c.asked {
			t.Errorf("%s: it asked %s, want %s", c.name, got, c.asked)
		}
		if at := o.Keyring.Limiter(c.place).Report().Expires; !at.Equal(c.expires) {
			t.Errorf("%s: the token expires at %v, want %v", c.name, at, c.expires)
		}
	}
}

// TestListenWithoutSignIn: an address that other machines reach is warned of where nobody signs in.
func TestListenWithoutSignIn(t *testing.T) {
	const signIn = "web: {url: 'https://fairlead.example.com', signIn: {proxy: {from: [127.0.0.1], user: X-User, email: X-Email}}}\n"
	for text, warns := range map[string]bool{
		"listen: 0.0.0.0:8080\n": true, "listen: ':8080'\n": true, "listen: '[::]:8080'\n": true, "listen: 192.0.2.1:8080\n": true, "listen: fairlead.example.com:8080\n": true,
		"listen: 127.0.0.1:8080\n": false, "listen: '[::1]:8080'\n": false, "listen: localhost:8080\n": false, "": false,
		"listen: 0.0.0.0:8080\n" + signIn: false,
	} {
		settings, problems := config.Parse("fairlead.yaml", []byte("controlPlane: {repo: "+t.TempDir()+"}\ndataDir: "+t.TempDir()+"\n"+text), t.TempDir(), func(string) string { return "" })
		if problems.Stops() {
			t.Fatal(text, problems)
		}
		found, err := doctor.ExamineRunning(t.Context(), doctor.Options{Settings: settings, Now: func() time.Time { return now }}, status.Snapshot{})
		if err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Subject == "settings: web.signIn" && f.Level == doctor.Warn })
		if got != warns {
			t.Errorf("with %q it warns: %v", text, got)
		}
	}
}

// TestHeldUpClusters: the feature gate is named while a cluster has lately held up a newer commit.
func TestHeldUpClusters(t *testing.T) {
	settings, problems := config.Parse("fairlead.yaml", fmt.Appendf(nil, "controlPlane: {repo: %q}\ndataDir: %q\n", t.TempDir(), t.TempDir()), t.TempDir(), func(string) string { return "" })
	if problems.Stops() {
		t.Fatal(problems)
	}
	cluster := func(name, object string, before time.Duration) doctor.HeldUp {
		return doctor.HeldUp{Cluster: name, Object: object, Seen: now.Add(-before)}
	}
	for _, c := range []struct {
		name     string
		clusters []doctor.HeldUp
		want     []string // parts of the finding; nil if there is none
	}{
		{"none", nil, nil},
		{"long ago", []doctor.HeldUp{cluster("east-1", "Kustomization/flux-system/stacks", 8*24*time.Hour)}, nil},
		{"two", []doctor.HeldUp{cluster("east-1", "Kustomization/a/x", time.Hour), cluster("east-2", "Kustomization/b/y", time.Minute)}, []string{"east-1 and east-2", "Kustomization/b/y on east-2"}},
	} {
		found, err := doctor.ExamineRunning(t.Context(), doctor.Options{Settings: settings, Now: func() time.Time { return now }, HeldUp: c.clusters}, status.Snapshot{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(found, func(f doctor.Finding) bool { return f.Subject == "health checks" })
		if i < 0 || c.want == nil {
			if i >= 0 || c.want != nil {
				t.Errorf("%s: %+v", c.name, found)
			}
			continue
		}
		if f := found[i]; f.Level != doctor.Warn || !strings.Contains(f.Message, c.want[0]) || !strings.Contains(f.Message, c.want[1]) || !strings.Contains(f.Hint, "CancelHealthCheckOnNewRevision=true") {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// TestSchedulerPrograms: the program of a scheduler is missing, is no program, or is there.
func TestSchedulerPrograms(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"decide": 0o755, "notes": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]status.Level{"decide": doctor.OK, "notes": doctor.Fail, "missing": doctor.Fail} {
		text := fmt.Sprintf("controlPlane: {repo: %q}\ndataDir: %q\nschedulers: [{name: acme, command: [%q]}]\n", t.TempDir(), t.TempDir(), filepath.Join(dir, name))
		settings, problems := config.Parse("fairlead.yaml", []byte(text), t.TempDir(), func(string) string { return "" })
		if problems.Stops() {
			t.Fatal(problems)
		}
		found, err := doctor.ExamineRunning(t.Context(), doctor.Options{Settings: settings, Now: func() time.Time { return now }}, status.Snapshot{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(found, func(f doctor.Finding) bool { return f.Subject == "settings: scheduler acme" })
		if i < 0 || found[i].Level != want {
			t.Errorf("%s: %+v, want %s", name, found, want)
		}
	}
}
