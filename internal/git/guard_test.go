package git_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/git/protocol"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestGuard: a remote that the operator did not name reaches nothing on this machine, over
// HTTP and SSH.
func TestGuard(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	for _, url := range []string{server.URL + "/x", "ssh://git@" + address + "/x", "git@localhost:x", "ssh://git@169.254.169.254/x"} {
		remote, err := git.NewRemote(git.RemoteOptions{URL: url, Dir: filepath.Join(t.TempDir(), "mirror"), Guard: true})
		if err != nil {
			t.Fatal(err)
		}
		_, err = remote.Sync(context.Background())
		if !errors.Is(err, protocol.ErrForbidden) || !errors.Is(err, git.ErrUnreachable) && !strings.Contains(err.Error(), git.ErrUnreachable.Error()) || !strings.Contains(err.Error(), "network.allow") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if asked != 0 {
		t.Errorf("the server was asked %d times", asked)
	}
}

// TestGuardOfRedirects: a redirect leads to this machine or its platform only where the
// settings have named the address itself, whoever answers with it.
func TestGuardOfRedirects(t *testing.T) {
	var asked atomic.Int32
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "hunter2", http.StatusForbidden)
	})
	for scheme, start := range map[string]func(http.Handler) *httptest.Server{"http": httptest.NewServer, "https": trustedTLS(t)} {
		inside := start(answer)
		port := inside.URL[strings.LastIndexByte(inside.URL, ':'):]
		for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
			for _, host := range []string{"127.0.0.1" + port, "localhost" + port, "[::1]" + port, "[::ffff:127.0.0.1]" + port, "0.0.0.0" + port, "169.254.169.254", "[fd00:ec2::254]"} {
				server := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, scheme+"://"+host+r.URL.RequestURI(), code)
				}))
				for _, guard := range []bool{false, true} {
					for _, brief := range []bool{false, true} {
						own := func(url string) bool { return giturl.SameServer(url, server.URL) }
						remote := newRemote(t, git.RemoteOptions{URL: server.URL + "/x", NarrowPoll: brief, Guard: guard, IsTrusted: own})
						if _, err := remote.Sync(t.Context()); !errors.Is(err, protocol.ErrForbidden) || !strings.Contains(err.Error(), "network.allow") {
							t.Errorf("%d to %s://%s (brief %v, guarded %v): %v", code, scheme, host, brief, guard, err)
						}
					}
				}
				server.Close()
			}
		}
		inside.Close()
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the server inside was asked %d times", n)
	}
	inside := httptest.NewServer(answer)
	defer inside.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inside.URL+r.URL.RequestURI(), http.StatusFound)
	}))
	defer server.Close()
	remote := newRemote(t, git.RemoteOptions{URL: server.URL + "/x", IsTrusted: func(url string) bool { return strings.HasPrefix(url, inside.URL) }})
	if _, err := remote.Sync(t.Context()); err == nil || asked.Load() != 1 {
		t.Errorf("a named server was asked %d times: %v", asked.Load(), err)
	}
}

func newRemote(t *testing.T, o git.RemoteOptions) *git.Remote {
	t.Helper()
	o.Dir = filepath.Join(t.TempDir(), "mirror")
	remote, err := git.NewRemote(o)
	if err != nil {
		t.Fatal(err)
	}
	return remote
}

// trustedTLS returns what starts a TLS server whose certificate this process trusts.
func trustedTLS(t *testing.T) func(http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file) // all servers of httptest have the same certificate
	return httptest.NewTLSServer
}

// TestAnswersOfStrangers: nothing that a server says is repeated which the operator did not
// name, when it is polled, fetched from, and read from later.
func TestAnswersOfStrangers(t *testing.T) {
	const secret = "hunter2"
	line := func(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }
	server := gittest.ServeGit(t)
	url, _ := gitOps(t, server)
	for _, answer := range []gittest.Fault{
		{Status: 400, Body: secret}, {Status: 401, Body: secret}, {Status: 403, Body: secret}, {Status: 404, Body: secret}, {Status: 418, Body: secret},
		{Status: 429, Body: secret}, {Status: 500, Body: secret}, {Status: 502, Body: "<h1>" + secret}, {Status: 503, Body: secret, Header: http.Header{"Retry-After": {"9"}}},
		{Status: 200, Body: secret}, {Status: 200, Body: line("ERR " + secret)}, {Status: 200, Body: line("ERR upload-pack: not our ref " + secret)},
		{Status: 200, Body: line("packfile\n") + line("\x03"+secret)}, {Status: 200, Body: line("packfile\n") + line("\x01"+secret)},
		{Status: 200, Body: line("# service=git-upload-pack\n") + "0000" + line("ERR "+secret)}, {Status: 200, Body: line(secret)},
		{Status: 302, Header: http.Header{"Location": {"http://" + secret + ".invalid/info/refs"}}}, {Status: 302, Header: http.Header{"Location": {"gopher://" + secret}}},
	} {
		for _, brief := range []bool{false, true} {
			remote := newRemote(t, git.RemoteOptions{URL: url, NarrowPoll: brief, Partial: true, Guard: true, IsTrusted: func(named string) bool { return giturl.SameServer(url, named) }})
			remove := server.Inject("out", answer)
			_, first := remote.Sync(t.Context())
			remove()
			if _, err := remote.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			view := views(t, remote, head(t, remote))[0]
			remove = server.Inject("out", answer)
			view.Tree.Entries()
			_, polled := remote.Sync(t.Context())
			_, other := remote.Sync(t.Context())
			ahead := remote.Prefetch(t.Context(), view.Tree, tree.Tree{}, 0)
			fetched := remote.Fetch(t.Context(), strings.Repeat("1", 40))
			remove()
			for what, err := range map[string]error{"first": first, "read": view.Err(), "ahead": ahead, "poll": polled, "again": other, "fetch": fetched} {
				if err == nil && what != "ahead" || strings.Contains(fmt.Sprintf("%v %+v", err, err), secret) {
					t.Errorf("%s, %d %q (brief %v): %v", what, answer.Status, answer.Body, brief, err)
				}
			}
		}
	}
}

// TestRedirectDropsCredentials: what is for one server is not shown to another, also if
// only the port is another one.
func TestRedirectDropsCredentials(t *testing.T) {
	shown := []string{}
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown = append(shown, r.Method+" "+r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer thief.Close()
	for _, code := range []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		ours := ""
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ours = r.Header.Get("Authorization")
			http.Redirect(w, r, thief.URL+r.URL.RequestURI(), code)
		}))
		remote, err := git.NewRemote(git.RemoteOptions{
			URL: server.URL + "/x", Dir: filepath.Join(t.TempDir(), "mirror"), NarrowPoll: true, IsTrusted: func(string) bool { return true },
			Credentials: func(context.Context) (git.Credentials, error) {
				return git.Credentials{Username: "robot", Secret: "hunter2"}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := remote.Sync(t.Context()); err == nil {
			t.Error("it was synced")
		}
		if _, err := remote.ListReferences(t.Context()); err == nil {
			t.Error("it was asked")
		}
		if ours == "" {
			t.Errorf("%d: the server itself was not shown the credential", code)
		}
		server.Close()
	}
	if len(shown) == 0 {
		t.Error("no request came to the other server")
	}
	for _, s := range shown {
		if strings.TrimSpace(s) != "GET" && strings.TrimSpace(s) != "POST" {
			t.Errorf("the other server was shown %q", s)
		}
	}
}
