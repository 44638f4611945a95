package giteatest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/testkit/giteatest"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

func TestMain(m *testing.M) { os.Exit(giteatest.Run(m)) }

// TestServers has two servers at once, which know nothing of each other.
func TestServers(t *testing.T) {
	for _, name := range []string{"one", "other"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := giteatest.Start(t)
			s.Create("acme/gitops")
			id := s.Commit("acme/gitops", "dev", "file", name)
			refs := gittest.Git(t, t.TempDir(), "ls-remote", s.Remote("acme/gitops"), "refs/heads/dev")
			if want := id + "\trefs/heads/dev"; refs != want {
				t.Errorf("git sees %q, want %q", refs, want)
			}
		})
	}
}

// TestWebhook has the server tell of a push and of a merge, signed.
func TestWebhook(t *testing.T) {
	const repo, secret = "acme/webhook", "not-a-secret"
	s := giteatest.Share(t)
	s.Create(repo)
	told := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		sum := hmac.New(sha256.New, []byte(secret))
		sum.Write(body)
		if signature := hex.EncodeToString(sum.Sum(nil)); signature != req.Header.Get("X-Gitea-Signature") {
			t.Errorf("the signature is %q, want %q", req.Header.Get("X-Gitea-Signature"), signature)
		}
		told <- req.Header.Get("X-Gitea-Event")
	}))
	t.Cleanup(hook.Close)
	s.Webhook(repo, hook.URL, secret)
	heard := map[string]bool{}
	hear := func(event string) {
		t.Helper()
		s.Until(func() bool {
			select {
			case e := <-told:
				heard[e] = true
			default:
			}
			return heard[event]
		})
	}
	s.Commit(repo, "dev", "file", "a")
	hear("push")
	number := s.Propose(repo, "dev", "main", "x")
	hear("pull_request")
	clear(heard)
	s.Merge(repo, number)
	hear("pull_request")
}

func TestPeople(t *testing.T) {
	const repo = "acme/people"
	s := giteatest.Share(t)
	s.Create(repo)
	s.UserToken("alice")
	s.Fork(repo, "alice")
	s.Commit("alice/people", "dev", "file", "a")
	number := s.Propose(repo, "alice:dev", "main", "x")
	s.Label(repo, number, "b")
	s.Label(repo, number, "a")
	if diff := cmp.Diff([]string{"a", "b"}, s.Labels(repo, number)); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	s.Unlabel(repo, number)
	if left := s.Labels(repo, number); len(left) > 0 {
		t.Errorf("the labels %q are left", left)
	}
}

// TestHooks: what the hooks of a push do is done, though Gitea is not started for each.
func TestHooks(t *testing.T) {
	const repo = "acme/hooks"
	s := giteatest.Share(t)
	s.Create(repo)
	s.Protect(repo, "main", "check")
	dir := t.TempDir()
	gittest.Git(t, dir, "clone", "-q", s.Remote(repo), ".")
	gittest.Git(t, dir, "commit", "-q", "--allow-empty", "-m", "x")
	refused := func(ref, want string) {
		t.Helper()
		cmd := exec.Command("git", "push", "-q", "origin", "HEAD:"+ref)
		cmd.Dir = dir
		if said, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(said), want) {
			t.Errorf("push to %s: %v: %s", ref, err, said)
		}
	}
	refused("refs/heads/main", "protected branch")
	refused("refs/pull/7/head", "rejected")
	gittest.Git(t, dir, "push", "-q", "origin", "HEAD:refs/heads/dev")
	s.Propose(repo, "dev", "main", "x") // which the server knows of from the hook
}
