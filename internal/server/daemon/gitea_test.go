package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/gitea"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
	"github.com/fairlead-io/fairlead/internal/testkit/giteatest"
	"github.com/fairlead-io/fairlead/internal/testkit/pgtest"
)

const (
	hookSecret  = "a-webhook-secret"
	requiredJob = "ci/test"
)

// organizations counts those on the server that all tests share: each has its own.
var organizations atomic.Int64

// newGitea makes a control plane and a GitOps repository in an organization of their own.
func newGitea(t *testing.T) (s *giteatest.Server, cp, out string) {
	t.Helper()
	s = giteatest.Share(t)
	owner := fmt.Sprintf("acme-%d", organizations.Add(1))
	cp, out = owner+"/control-plane", owner+"/gitops"
	s.Create(cp)
	s.Create(out)
	return s, cp, out
}

// giteaTests are the tests of this package with a Gitea.
type giteaTests struct{ m *testing.M }

func (g giteaTests) Run() int { return giteatest.Run(g.m) }

func TestMain(m *testing.M) {
	if os.Getenv(lifeSettings) != "" {
		os.Exit(runLife())
	}
	code := pgtest.Run(giteaTests{m})
	if builtIn != "" {
		_ = os.RemoveAll(builtIn) // a file that stays there is no failure
	}
	os.Exit(code)
}

// flow is a daemon that watches repositories of a real Gitea, and is woken by its
// webhooks only.
type flow struct {
	*testing.T
	server *giteatest.Server
	cp     string // its repositories
	out    string
	more   string            // settings
	env    map[string]string // more variables of the process
	base   string            // of the address of the daemon
	log    *strings.Builder
	cycles chan status.Snapshot
}

// fillGitea pushes the branches of a scaffold to a repository that has a first commit.
func fillGitea(t *testing.T, s *giteatest.Server, repo string, branches []scaffold.Branch) {
	t.Helper()
	fillRemote(t, s.Remote(repo), branches)
}

// fillRemote pushes the branches of a scaffold to a repository.
func fillRemote(t *testing.T, url string, branches []scaffold.Branch) {
	t.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: url, Dir: filepath.Join(t.TempDir(), "fill")})
	must(t, err)
	_, err = remote.Sync(t.Context())
	must(t, err)
	for _, b := range branches {
		old, _ := remote.Mirror().Branch(b.Name) // "" if it is not there
		pack, err := remote.Write(t.Context(), git.Commit{Tree: b.Files, Message: b.Message + "\n", When: time.Unix(1e9, 0), Author: git.Signature{Name: "a", Email: "a@example.com"}})
		must(t, err)
		must(t, remote.Push(t.Context(), pack, git.RefUpdate{Ref: "refs/heads/" + b.Name, Old: old, New: pack.Commits[0]}))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// await waits for a cycle after which something is so.
func (f *flow) await(what string, is func(status.Environment) bool) status.Environment {
	f.Helper()
	for {
		select {
		case s := <-f.cycles:
			if e, ok := s.FindEnvironment("dev"); ok && is(e) {
				return e
			}
		case <-f.Context().Done():
			f.Fatalf("%s: the test ended", what)
		case <-time.After(5 * time.Minute):
			f.Fatalf("%s: nothing came of it", what)
		}
	}
}

// comments gives the comments on a pull request.
func (f *flow) comments(repo string, number int) []string {
	f.Helper()
	req, err := http.NewRequestWithContext(f.Context(), http.MethodGet, fmt.Sprintf("%s/api/v1/repos/%s/issues/%d/comments", f.server.URL, repo, number), nil)
	must(f.T, err)
	req.Header.Set("Authorization", "token "+f.server.Token)
	answer, err := http.DefaultClient.Do(req)
	must(f.T, err)
	defer answer.Body.Close()
	var all []struct{ Body string }
	must(f.T, json.NewDecoder(answer.Body).Decode(&all))
	var texts []string
	for _, c := range all {
		texts = append(texts, c.Body)
	}
	return texts
}

// begin fills the repositories and starts the daemon.
func begin(t *testing.T) *flow {
	t.Helper()
	f := newFlow(t, nil, "dev")
	f.server.Protect(f.out, "dev", requiredJob)
	f.serve("external")
	return f
}

// newFlow fills the repositories, with more files in the base.
func newFlow(t *testing.T, more map[string]string, environments ...string) *flow {
	t.Helper()
	s, controlPlane, gitOps := newGitea(t)
	o := scaffold.Options{ControlPlane: s.URL + "/" + controlPlane + ".git", GitOps: s.URL + "/" + gitOps + ".git", Environments: environments, Sample: true}
	cp, err := scaffold.ControlPlaneBranches(o)
	must(t, err)
	out, err := scaffold.GitOpsBranches(o)
	must(t, err)
	files := map[string][]byte{}
	for file, text := range cp[0].Files.All() {
		files[file] = text
	}
	for file, text := range more {
		files[file] = []byte(text)
	}
	cp[0].Files, err = tree.FromFiles(files)
	must(t, err)
	fillGitea(t, s, controlPlane, cp)
	fillGitea(t, s, gitOps, out)
	f := &flow{T: t, server: s, cp: controlPlane, out: gitOps, log: &strings.Builder{}, cycles: make(chan status.Snapshot, 1000)}
	t.Cleanup(func() {
		if strings.Contains(f.log.String(), s.Token) || strings.Contains(f.log.String(), hookSecret) {
			t.Error("the log has a secret")
		}
		if t.Failed() {
			t.Log(f.log.String())
		}
	})
	return f
}

// serve starts a daemon that knows nothing yet, and gives what ends it, once or more.
func (f *flow) serve(promotion string) (stop func()) {
	f.Helper()
	text := fmt.Sprintf(`controlPlane: {repo: %q}
dataDir: %q
listen: 127.0.0.1:0
write: true
promotion: %s
schedule: {interval: 1h}
forges: [{host: %q, kind: gitea}]
remotes: [{url: %q, token: {env: TOKEN}}]
webhooks: {gitea: {secret: {env: HOOK}}}
`, f.server.URL+"/"+f.cp+".git", f.TempDir(), promotion, strings.TrimPrefix(f.server.URL, "http://"), f.server.URL+"/")
	text += f.more
	env := map[string]string{"TOKEN": f.server.Token, "HOOK": hookSecret, "LEDGER": strings.Repeat("0123456789", 4)}
	maps.Copy(env, f.env)
	settings, problems := config.Parse("fairlead.yaml", []byte(text), f.TempDir(), func(name string) string { return env[name] })
	if problems.Stops() {
		f.Fatal(problems)
	}
	ctx, cancel := context.WithCancel(f.Context())
	ended := make(chan error, 1)
	address := make(chan string, 1)
	go func() {
		ended <- daemon.Serve(ctx, daemon.Options{
			Settings: settings, Version: "test", Log: f.log, Ready: func(a string) { address <- a }, After: func(s status.Snapshot) { f.cycles <- s },
		})
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			f.Error(err)
		}
	})
	f.Cleanup(stop)
	f.base = "http://" + <-address
	hook := f.base + "/webhooks/gitea"
	f.server.Webhook(f.cp, hook, hookSecret)
	f.server.Webhook(f.out, hook, hookSecret)
	return stop
}

// TestGiteaFlow is the whole way on a real Gitea: a commit of the control plane, its
// webhook, the pull request, a required status, the merge, its webhook, quiet.
func TestGiteaFlow(t *testing.T) {
	f := begin(t)
	first := f.await("the first cycle", func(e status.Environment) bool { return e.State == status.Proposed })
	f.server.Commit(f.cp, "dev", "configs/more.yaml", `apiVersion: v1
kind: ConfigMap
metadata:
  name: more
  labels: {platform-config: "true"}
data:
  MORE: "yes"
`)
	second := f.await("a commit of the control plane", func(e status.Environment) bool { return e.Pull != nil && e.Pull.Head != first.Pull.Head })
	if second.Pull.Number != first.Pull.Number {
		t.Errorf("pull request %d came, and was %d", second.Pull.Number, first.Pull.Number)
	}
	ci, err := gitea.New(forge.Options{
		API: f.server.URL, Repo: f.out, Token: func(context.Context) (string, error) { return f.server.Token, nil }, Now: time.Now,
	})
	must(t, err)
	must(t, ci.SetStatus(t.Context(), second.Output.Commit, forge.Status{Context: requiredJob, Outcome: forge.Success, Description: "fine"}))
	f.server.Settle(f.out)
	f.server.Merge(f.out, second.Pull.Number)
	f.await("the merge", func(e status.Environment) bool { return e.State == status.InSync })
}

// TestGiteaPreview is a change of the control plane that somebody proposes: one
// comment says what it means, and says it anew after the next push.
func TestGiteaPreview(t *testing.T) {
	f := begin(t)
	f.await("the first cycle", func(e status.Environment) bool { return e.State == status.Proposed })
	config := func(value string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\n  labels: {platform-config: \"true\"}\ndata:\n  MORE: \"" + value + "\"\n"
	}
	f.server.Commit(f.cp, "change", "configs/more.yaml", config("one"))
	number := f.server.Propose(f.cp, "change", "main", "please")
	said := func(what string) {
		t.Helper()
		f.await(what, func(status.Environment) bool {
			all := f.comments(f.cp, number)
			return len(all) == 1 && strings.Contains(all[0], what)
		})
	}
	said("MORE")
	f.server.Commit(f.cp, "change", "configs/second.yaml", strings.Replace(strings.Replace(config("x"), "MORE", "SECOND", 1), "name: more", "name: second", 1))
	said("SECOND")
	if all := f.comments(f.cp, number); len(all) != 1 {
		t.Errorf("there are %d comments, want one that is edited: %q", len(all), all)
	}
}
