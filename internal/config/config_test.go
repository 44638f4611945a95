package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// environment is what the tests have for os.Getenv.
func environment(name string) string {
	return map[string]string{"HOME": "/home/gull", "TOKEN": "hunter2"}[name]
}

// folder makes a folder with a good secret, an empty one and one that all can read.
// longSecret is as long as the secret of the ledger has to be.
const longSecret = "0123456789abcdef0123456789abcdef"

func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"key": "hunter2\n", "empty": "\n", "open": "hunter2\n", "known_hosts": "host key", "long": longSecret} {
		write(t, filepath.Join(dir, name), text)
	}
	if err := os.Chmod(filepath.Join(dir, "open"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const required = "controlPlane: {repo: ../cp}\n"

func TestDefaults(t *testing.T) {
	got, problems := config.Parse("fairlead.yaml", []byte(required), "/etc/fairlead", environment)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := &config.Settings{
		OverdueAfter:  15 * time.Minute,
		ControlPlane:  config.ControlPlane{Repo: "/etc/cp", Branch: "main"},
		DataDir:       "/home/gull/.local/state/fairlead/" + giturl.FolderName("/etc/cp"),
		Listen:        "127.0.0.1:8080",
		Schedule:      config.Schedule{Interval: time.Minute, Jitter: 6 * time.Second},
		Timeout:       2 * time.Minute,
		RenderTimeout: 2 * time.Minute,
		Parallel:      4,
		Output:        config.Output{BranchPrefix: "fairlead/", Retired: "remove"},
		Promotion:     "managed", MissingValues: "refuse", Verify: "1%",
		Author: config.Author{Name: "Fairlead", Email: "fairlead@localhost"},
		Ledger: config.Ledger{Keep: config.Keep{Spans: 90 * 24 * time.Hour, Arrivals: 30 * 24 * time.Hour, Days: 400 * 24 * time.Hour}, Retire: 7 * 24 * time.Hour},
		Web:    config.Web{Read: "everybody", Session: config.WebSession{Idle: 8 * time.Hour, Life: 24 * time.Hour}},
		Feeds:  config.Feeds{Every: 5 * time.Minute},
		Log:    config.Log{Format: "text", Level: "info"},
	}
	if diff := cmp.Diff(want, got, plain); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// plain leaves out what the settings keep for themselves.
var plain = cmpopts.IgnoreUnexported(config.Schedule{}, config.SecretRef{}, config.Costs{})

func TestValues(t *testing.T) {
	dir := folder(t)
	const text = `
controlPlane: {repo: "file:///srv/git/cp", branch: trunk}
environments: [dev]
write: true
dataDir: data
listen: ":80"
schedule: {interval: 20m, jitter: 0}
timeout: 30s
renderTimeout: 40s
parallel: 64
remotes:
- {url: "https://github.com/", token: {env: TOKEN}}
- {url: "https://github.com/acme", githubApp: {id: 1, installation: 2, key: {file: key}}}
- {url: "git@git.example.com:", ssh: {key: {file: key}, passphrase: {env: TOKEN}, knownHosts: known_hosts}}
map: {"https://github.com/acme/app": ../app, "git@h:x": "https://h/x"}
signing: {gpg: {key: {file: key}}}
webhooks: {github: {secret: {file: key}, previous: {env: TOKEN}}, gitlab: {secret: {env: TOKEN}}, flux: {secret: {env: TOKEN}}}
ledger: {secret: {file: long}, previous: {file: long}, postgres: {url: {env: TOKEN}}, keep: {spans: 30d}}
promotion: external
missingValues: publish
nextEnvironment: {dev: stage, stage: prod}
probes: [{url: "https://metrics.example.com/api", token: {file: key}}, {url: "http://tests.example.com"}]
feeds: {allow: [ghcr.io/shop], every: 1h}
`
	got, problems := config.Parse("fairlead.yaml", []byte(text), dir, environment)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	key := config.SecretRef{File: filepath.Join(dir, "key")}
	want := &config.Settings{
		OverdueAfter:  time.Hour,
		ControlPlane:  config.ControlPlane{Repo: "/srv/git/cp", Branch: "trunk"},
		Environments:  []string{"dev"},
		Write:         true,
		DataDir:       filepath.Join(dir, "data"),
		Listen:        ":80",
		Schedule:      config.Schedule{Interval: 20 * time.Minute},
		Timeout:       30 * time.Second,
		RenderTimeout: 40 * time.Second,
		Parallel:      64,
		Output:        config.Output{BranchPrefix: "fairlead/", Retired: "remove"},
		Remotes: []config.Remote{
			{URL: "https://github.com/", Token: &config.SecretRef{Env: "TOKEN"}, Username: "x-access-token"},
			{URL: "https://github.com/acme", GitHubApp: &config.GitHubApp{ID: 1, Installation: 2, Key: key, API: "https://api.github.com"}},
			{URL: "git@git.example.com:", SSH: &config.SSH{Key: key, Passphrase: &config.SecretRef{Env: "TOKEN"}, KnownHosts: filepath.Join(dir, "known_hosts")}},
		},
		Map:     map[string]string{"https://github.com/acme/app": filepath.Join(filepath.Dir(dir), "app"), "git@h:x": "https://h/x"},
		Signing: &config.Signing{GPG: &config.SigningKey{Key: key}},
		Author:  config.Author{Name: "Fairlead", Email: "fairlead@localhost"},
		Webhooks: config.Webhooks{
			GitHub: &config.Webhook{Secret: key, Previous: &config.SecretRef{Env: "TOKEN"}},
			GitLab: &config.Webhook{Secret: config.SecretRef{Env: "TOKEN"}},
			Flux:   &config.Webhook{Secret: config.SecretRef{Env: "TOKEN"}},
		},
		Web: config.Web{Read: "everybody", Session: config.WebSession{Idle: 8 * time.Hour, Life: 24 * time.Hour}},
		Ledger: config.Ledger{
			Secret: &config.SecretRef{File: filepath.Join(dir, "long")}, Previous: &config.SecretRef{File: filepath.Join(dir, "long")},
			Postgres: &config.Postgres{URL: config.SecretRef{Env: "TOKEN"}}, Keep: config.Keep{Spans: 30 * 24 * time.Hour, Arrivals: 30 * 24 * time.Hour, Days: 400 * 24 * time.Hour}, Retire: 7 * 24 * time.Hour,
		},
		Promotion: "external", MissingValues: "publish",
		NextEnvironment: map[string]string{"dev": "stage", "stage": "prod"}, Verify: "1%",
		Probes: []config.Probe{{URL: "https://metrics.example.com/api", Token: &key}, {URL: "http://tests.example.com"}},
		Feeds:  config.Feeds{Allow: []string{"ghcr.io/shop"}, Every: time.Hour},
		Log:    config.Log{Format: "text", Level: "info"},
	}
	if diff := cmp.Diff(want, got, plain); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if wrong := validate(t, text); wrong != nil {
		t.Errorf("the schema says %s", wrong)
	}
	for _, ref := range []config.SecretRef{*got.Remotes[0].Token, got.Remotes[1].GitHubApp.Key} {
		if secret, err := ref.Read(); err != nil || secret.Reveal() != "hunter2" {
			t.Errorf("%+v is %q, %v", ref, secret.Reveal(), err)
		}
	}
}

func TestDataDir(t *testing.T) {
	for _, test := range []struct {
		name, want string
		env        map[string]string
	}{
		{"systemd", "/var/lib/fairlead", map[string]string{"STATE_DIRECTORY": "/var/lib/fairlead:/var/lib/other", "HOME": "/root"}},
		{"XDG", "/state/fairlead/" + giturl.FolderName("/cp"), map[string]string{"XDG_STATE_HOME": "/state", "HOME": "/root"}},
		{"a relative XDG folder does not count", "/root/.local/state/fairlead/" + giturl.FolderName("/cp"), map[string]string{"XDG_STATE_HOME": "state", "HOME": "/root"}},
		{"nothing", "fairlead.yaml:1: dataDir: is required where none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is set", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, problems := config.Parse("fairlead.yaml", []byte(required), "/etc", func(name string) string { return test.env[name] })
			got := ""
			if s != nil {
				got = s.DataDir
			} else if len(problems) == 1 {
				got = problems[0].String()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// shown gives problems as people see them, less the file and the folder of the test.
func shown(problems problem.List, dir string) string {
	var out strings.Builder
	for _, p := range problems {
		kind := ""
		if p.Warning {
			kind = "warning: "
		}
		out.WriteString(kind + strings.TrimPrefix(p.String(), "fairlead.yaml:") + " | " + p.Hint + "\n")
	}
	return strings.ReplaceAll(out.String(), dir, "DIR")
}

func TestLoad(t *testing.T) {
	dir := folder(t)
	path := filepath.Join(dir, "fairlead.yaml")
	if _, _, err := config.Load(path, environment); err == nil || !strings.Contains(err.Error(), "read the settings: open "+path) {
		t.Errorf("a missing file gives %v", err)
	}
	write(t, path, required)
	s, problems, err := config.Load(path, environment)
	if err != nil || len(problems) > 0 || s.ControlPlane.Repo != filepath.Join(filepath.Dir(dir), "cp") {
		t.Errorf("got %+v, %v, %v", s, problems, err)
	}
	write(t, path, "wirte: true")
	s, problems, err = config.Load(path, environment)
	if err != nil || s != nil || !problems.Stops() || problems[0].Pos.File != path {
		t.Errorf("got %+v, %v, %v", s, problems, err)
	}
	write(t, path, required+strings.Repeat("#", 1<<20))
	if _, _, err := config.Load(path, environment); err == nil || err.Error() != "read the settings: "+path+" is over 1 MiB" {
		t.Errorf("a large file gives %v", err)
	}
}
