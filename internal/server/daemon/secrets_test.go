package daemon_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
	"github.com/fairlead-io/fairlead/internal/server/web"
	"github.com/fairlead-io/fairlead/internal/server/webhook"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// The secrets, by the names that the settings give them.
const (
	appKey         = "APP_KEY"
	token          = "TOKEN"
	otherToken     = "OTHER_TOKEN"
	sshKey         = "SSH_KEY"
	sshPassphrase  = "SSH_PASSPHRASE"
	signKey        = "SIGN_KEY"
	signPassphrase = "SIGN_PASSPHRASE"
	hook           = "HOOK"
	oldHook        = "OLD_HOOK"
	// inURL is in a URL that somebody wrote into the control plane, which has it.
	inURL = "the password in a URL"
	// installed is how each token of the App's installation begins.
	installed = "an installation's token"
)

// secretive is a set-up that has all kinds of credentials, and remembers whatever
// anybody could see.
type secretive struct {
	*testing.T
	fake    *githubfake.Server
	ssh     *gittest.SSHServer
	people  *gittest.Work // in the control plane
	data    string
	now     time.Time
	secrets map[string]string

	mu     sync.Mutex
	log    bytes.Buffer
	shown  strings.Builder // what was asked for, and all errors
	window http.Handler
	loop   *loop.Loop
	edits  int
}

// Write takes a line of the log.
func (s *secretive) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(line)
}

func newSecretive(t *testing.T) *secretive {
	t.Helper()
	s := &secretive{T: t, fake: githubfake.Serve(t), data: t.TempDir(), now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	s.ssh = gittest.ServeSSH(t, s.fake.Git.Root)
	s.secrets = map[string]string{installed: "fake-installation-token-"}
	for _, name := range []string{token, otherToken, sshPassphrase, signPassphrase, hook, oldHook, inURL} {
		s.secrets[name] = "it's/" + rand.Text() + "+=&" // which URLs and JSON write otherwise
	}
	s.keys()
	s.fake.Token = s.secrets[token]
	for _, name := range []string{"control-plane", "gitops", "till", "quay", "buoy"} {
		s.fake.Create("acme/" + name)
	}
	s.repositories()
	s.fake.Git.RequirePassword("acme/gitops", s.secrets[token])
	s.fake.Git.RequirePassword("acme/buoy", s.secrets[otherToken])
	s.fake.Git.RequirePassword("acme/quay", s.secrets[inURL])
	return s
}

// keys makes the private keys.
func (s *secretive) keys() {
	s.Helper()
	app, err := rsa.GenerateKey(rand.Reader, 2048)
	must(s.T, err)
	s.fake.Install("1", 2, &app.PublicKey)
	s.secrets[appKey] = string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(app)}))
	text, err := os.ReadFile(s.ssh.KeyFile)
	must(s.T, err)
	login, err := ssh.ParseRawPrivateKey(text)
	must(s.T, err)
	_, sign, err := ed25519.GenerateKey(rand.Reader)
	must(s.T, err)
	for name, key := range map[string]any{sshKey: login, signKey: sign} {
		passphrase := s.secrets[map[string]string{sshKey: sshPassphrase, signKey: signPassphrase}[name]]
		block, err := ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
		must(s.T, err)
		s.secrets[name] = string(pem.EncodeToMemory(block))
	}
}

// repositories fills them: a control plane with three workloads.
func (s *secretive) repositories() {
	s.Helper()
	o := scaffold.Options{
		ControlPlane: s.fake.Git.URL("acme/control-plane"), GitOps: s.fake.Git.URL("acme/gitops"), Environments: []string{"dev"}, Sample: true,
	}
	controlPlane, err := scaffold.ControlPlaneBranches(o)
	must(s.T, err)
	gitOps, err := scaffold.GitOpsBranches(o)
	must(s.T, err)
	for name, branches := range map[string][]scaffold.Branch{"acme/control-plane": controlPlane, "acme/gitops": gitOps} {
		remote, err := git.NewRemote(git.RemoteOptions{URL: s.fake.Git.Dir(name), Dir: filepath.Join(s.TempDir(), "fill")})
		must(s.T, err)
		_, err = remote.Sync(s.Context())
		must(s.T, err)
		for _, b := range branches {
			pack, err := remote.Write(s.Context(), git.Commit{Tree: b.Files, Message: b.Message + "\n", When: s.now, Author: git.Signature{Name: "a", Email: "a@example.com"}})
			must(s.T, err)
			must(s.T, remote.Push(s.Context(), pack, git.RefUpdate{Ref: "refs/heads/" + b.Name, New: pack.Commits[0]}))
		}
	}
	withUser := strings.Replace(s.fake.Git.URL("acme/quay"), "http://", "http://robot:"+url.QueryEscape(s.secrets[inURL])+"@", 1)
	s.people = s.fake.Git.Work(s, "acme/control-plane")
	for name, place := range map[string]string{"till": s.ssh.URL("acme/till"), "buoy": s.fake.Git.URL("acme/buoy"), "quay": withUser} {
		team := s.fake.Git.Work(s, "acme/"+name)
		team.Write("deploy/workload.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: "+name+", labels: {app: hello}}\nspec:\n  deploymentTargets:\n"+
			"  - name: shop\n    environment: dev\n    manifests: {repo: \""+s.fake.Git.URL("acme/"+name)+"\", branch: main, path: ./v1}\n")
		team.Commit("begin")
		team.Push()
		s.people.Write("workloads/"+name+".yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: WorkloadRegistration\nmetadata: {name: "+name+"}\nspec:\n"+
			"  workload: {repo: \""+place+"\", branch: main, path: ./deploy}\n  workspace: "+name+"\n")
	}
	s.people.Commit("register")
	s.people.Push("main")
}

// settings reads the settings; some of the environment may be other than it should be.
func (s *secretive) settings(data string, other map[string]string) *config.Settings {
	s.Helper()
	host := strings.TrimSuffix(s.fake.Git.URL(""), "/.git")
	sshHost, _, _ := strings.Cut(strings.TrimPrefix(s.ssh.URL(""), "ssh://git@"), "/")
	text := fmt.Sprintf(`controlPlane: {repo: "%[1]s/acme/control-plane.git"}
dataDir: %[2]q
write: true
timeout: 2s
schedule: {interval: 1m, jitter: 0s}
log: {level: debug}
forges: [{host: %[3]q, kind: github, api: %[4]q}, {host: %[5]q, kind: git}]
remotes:
- {url: "%[1]s/acme/control-plane", githubApp: {id: 1, installation: 2, key: {env: APP_KEY}, api: %[4]q}}
- {url: "%[1]s/acme/gitops", token: {env: TOKEN}, username: robot}
- {url: "%[1]s/acme/buoy", token: {env: OTHER_TOKEN}}
- {url: "ssh://git@%[5]s/", ssh: {key: {env: SSH_KEY}, passphrase: {env: SSH_PASSPHRASE}, knownHosts: %[6]q}}
signing: {ssh: {key: {env: SIGN_KEY}, passphrase: {env: SIGN_PASSPHRASE}}}
webhooks: {github: {secret: {env: HOOK}, previous: {env: OLD_HOOK}}, gitlab: {secret: {env: HOOK}}, gitea: {secret: {env: HOOK}}}
`, host, data, strings.TrimPrefix(host, "http://"), s.fake.API(), sshHost, s.ssh.KnownHosts)
	values := maps.Clone(s.secrets)
	maps.Copy(values, other)
	settings, problems := config.Parse("fairlead.yaml", []byte(text), s.TempDir(), func(name string) string { return values[name] })
	s.show("settings", problems)
	if settings == nil {
		s.Fatal(problems)
	}
	return settings
}

// begin makes a loop with a window; the error is shown.
func (s *secretive) begin(data string, other map[string]string) error {
	s.Helper()
	settings, store, m := s.settings(data, other), &status.Store{}, metrics.New("test")
	logger := daemon.NewLogger(settings.Log, s)
	loop, err := loop.New(s.Context(), loop.Options{
		Settings: settings, Store: store, Metrics: m, Logger: logger, Now: func() time.Time { return s.now }, Random: func() float64 { return 0 },
	})
	s.show("begin", err)
	if err != nil {
		return err
	}
	s.Cleanup(loop.Close)
	s.loop = loop
	hooks := webhook.New(webhook.Options{
		Secrets: settings.WebhookSecrets, Known: loop.KnowsRepository, Wake: func(e webhook.Event) { loop.Wake(e.Repo) }, Now: time.Now, Observe: m.RecordWebhook,
	})
	s.window = web.New(web.Options{Store: store, Metrics: m, Version: "test", Logger: logger, Webhooks: hooks, Wake: func() { loop.Wake("") }})
	return nil
}

// show keeps what somebody sees.
func (s *secretive) show(what string, value any) {
	fmt.Fprintf(&s.shown, "%s: %v\n%+v\n", what, value, value)
}

// cycle runs a cycle, an hour after the last, and looks at all that the window shows.
func (s *secretive) cycle(what string) {
	s.Helper()
	s.now = s.now.Add(time.Hour)
	s.show(what, s.loop.Cycle(s.Context()))
	for _, path := range []string{"/", "/readyz", "/metrics", "/api/v1/status", "/api/v1/environments", "/api/v1/environments/dev",
		"/environments", "/environments/dev", "/commits", "/problems", "/health", "/search?q=dev", "/api/v1/overview", "/api/v1/commits", "/api/v1/problems", "/api/v1/health", "/api/v1/search?q=dev"} {
		s.ask(httptest.NewRequest(http.MethodGet, path, nil))
	}
}

func (s *secretive) ask(r *http.Request) int {
	s.Helper()
	w := httptest.NewRecorder()
	s.window.ServeHTTP(w, r)
	s.show(r.URL.Path, fmt.Sprint(w.Code, w.Header(), w.Body))
	return w.Code
}

// edit changes something that is rendered.
func (s *secretive) edit() {
	s.Helper()
	s.edits++
	s.people.Pull("dev")
	s.people.Write("configs/more.yaml", fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\n  labels: {platform-config: \"true\"}\ndata: {MORE: \"%d\"}\n", s.edits))
	s.people.Commit("edit")
	s.people.Push("dev")
}

// flow is the life of a change, and of one that is previewed.
func (s *secretive) flow() {
	s.Helper()
	s.cycle("the first cycle")
	if !strings.Contains(s.shown.String(), `"state": "proposed"`) {
		s.Fatalf("nothing was proposed:\n%s\n%s", s.shown.String(), s.log.String())
	}
	if text := gittest.Git(s, s.fake.Git.Dir("acme/gitops"), "cat-file", "commit", "fairlead/dev"); !strings.Contains(text, "SSH SIGNATURE") {
		s.Errorf("the commit is not signed:\n%s", text)
	}
	s.people.Pull("main")
	gittest.Git(s, s.people.Dir, "checkout", "-qB", "change")
	s.people.Write("workloads/more.yaml", "kind: WorkloadRegistration\n")
	commit := s.people.Commit("change")
	s.people.Push("+HEAD:change")
	number := s.fake.Propose("acme/control-plane", githubfake.Proposed{Head: "change", Base: "main", Title: "mine"})
	gittest.Git(s, s.fake.Git.Dir("acme/control-plane"), "update-ref", fmt.Sprintf("refs/pull/%d/head", number), commit)
	s.cycle("a preview")
	if len(s.fake.Comments("acme/control-plane", number)) != 1 {
		s.Errorf("nothing is said of pull request %d:\n%s", number, s.log.String())
	}
}

// faults has everything fail that can, each while there is something to do.
func (s *secretive) faults() {
	s.Helper()
	for _, f := range []gittest.Fault{{Status: 401}, {Status: 403, Body: "forbidden"}, {Status: 500}, {Reset: true}} {
		for _, repos := range [][]string{{"acme/control-plane"}, {"acme/gitops", "acme/quay", "acme/buoy"}} {
			s.edit()
			var removes []func()
			for _, repo := range repos {
				removes = append(removes, s.fake.Git.Inject(repo, f))
			}
			s.cycle(fmt.Sprintf("%+v at %s", f, repos))
			for _, remove := range removes {
				remove()
			}
		}
	}
	for repo, f := range map[string]gittest.Fault{"acme/quay": {Stall: true}, "acme/gitops": {Service: "git-receive-pack", Status: 403}} {
		s.edit()
		remove := s.fake.Git.Inject(repo, f)
		s.cycle(fmt.Sprintf("%+v at %s", f, repo))
		remove()
	}
	for _, f := range []githubfake.Fault{
		{Path: "/repos/*/*/pulls", Status: 401}, {Path: "/repos/*/*/statuses/*", Status: 403}, {Path: "/repos/*/*/pulls", Status: 500},
		{Path: "/repos/*/*/pulls", CutAfter: 10}, {Path: "/repos/*/*/statuses/*", Empty: true},
		{Path: "/app/installations/*/access_tokens", Status: 401}, {Path: "/app/installations/*/access_tokens", Status: 500},
		{Path: "/app/installations/*/access_tokens", CutAfter: 60},
	} {
		s.edit()
		f.Times = 1
		s.fake.Inject(f)
		s.cycle(fmt.Sprintf("%+v", f))
	}
	for _, said := range []string{"access was refused", "HTTP status 500", "connection reset", "it took too long", "401", "403"} {
		if !strings.Contains(s.log.String(), said) {
			s.Errorf("nothing has failed with %q", said)
		}
	}
}

// hooks delivers what is signed well, and what is not.
func (s *secretive) hooks() {
	s.Helper()
	body := `{"ref": "refs/heads/main", "repository": {"clone_url": "` + s.fake.Git.URL("acme/control-plane") + `"}}`
	for secret, good := range map[string]bool{s.secrets[hook]: true, s.secrets[oldHook]: true, "another": false, "": false} {
		h := hmac.New(sha256.New, []byte(secret))
		h.Write([]byte(body))
		for _, kind := range []string{"github", "gitea", "gitlab"} {
			r := httptest.NewRequest(http.MethodPost, "/webhooks/"+kind, strings.NewReader(body))
			r.Header.Set("X-GitHub-Event", "push")
			r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(h.Sum(nil)))
			r.Header.Set("X-Gitlab-Token", secret)
			if code := s.ask(r); kind == "github" && (code == http.StatusUnauthorized) == good {
				s.Errorf("a delivery is answered %d; that its secret is right is %v", code, good)
			}
		}
	}
}

// wrong has each secret be another, which cannot work.
func (s *secretive) wrong() {
	s.Helper()
	for _, name := range []string{appKey, token, otherToken, sshKey, sshPassphrase, signKey, signPassphrase} {
		bad := "no/" + rand.Text() + "+such"
		if s.begin(filepath.Join(s.data, name), map[string]string{name: bad}) == nil {
			s.cycle("with another " + name)
		}
		s.secrets["another "+name] = bad
	}
}

// TestNoSecretIsSeen runs the whole flow, with all that can fail, and looks for
// credentials wherever somebody could see them.
func TestNoSecretIsSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for time-outs of servers that stall, which a slow machine has before they do")
	}
	t.Parallel()
	s := newSecretive(t)
	must(t, s.begin(filepath.Join(s.data, "main"), nil))
	s.flow()
	s.faults()
	s.hooks()
	s.wrong()
	look := search(s.secrets)
	if found, _ := look.find(objects(t, s.fake.Git.Dir("acme/control-plane"))); found != inURL {
		t.Errorf("in the control plane %q is found, and has %s", found, inURL)
	}
	for _, r := range s.fake.Requests() {
		look.in(t, "a request "+r.Method+" "+r.Path, fmt.Sprint(r.Path, r.Query, r.Body))
	}
	look.in(t, "the log", s.log.String())
	look.in(t, "what is shown", s.shown.String())
	look.folder(t, s.data)
	look.folder(t, s.fake.Git.Root)
}

// TestWhatIsSearchedIsFound: the search sees secrets however they are written.
func TestWhatIsSearchedIsFound(t *testing.T) {
	const secret = "it's/a+secret&"
	look := search(map[string]string{"it": secret})
	for _, text := range []string{
		secret, "x" + secret + "x", url.QueryEscape(secret), url.PathEscape(secret), url.UserPassword("a", secret).String(), fmt.Sprintf("%+q", secret),
		hex.EncodeToString([]byte("a" + secret)), `{"a": "it's/a+secret\u0026"}`,
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte("x:" + secret)),
		base64.RawURLEncoding.EncodeToString([]byte("xyz:" + secret + "!")), base64.URLEncoding.EncodeToString([]byte("user:" + secret)),
	} {
		if found, _ := look.find(text); found == "" {
			t.Errorf("it is not found in %s", text)
		}
	}
	if found, _ := look.find("it's a secret"); found != "" {
		t.Errorf("%s is found where it is not", found)
	}
}
