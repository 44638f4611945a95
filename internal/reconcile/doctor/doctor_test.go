package doctor_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/doctor"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// secret is the token of the settings, which no output may have.
const secret = "topsecret-0123456789"

// world is a control plane, acme/cp, a GitOps repository, acme/out, and a forge's API
// that says what a case has.
type world struct {
	*testing.T
	git  *gittest.Server
	api  *httptest.Server
	data string // the data folder

	mu       sync.Mutex
	requests []string
}

// newWorld makes a world. answers give, by path, what the API says: "STATUS", headers,
// an empty line and a body. What is not there is 404.
func newWorld(t *testing.T, answers func(path string) string, environments ...string) *world {
	t.Helper()
	w := &world{T: t, git: gittest.Serve(t), data: t.TempDir()}
	o := scaffold.Options{ControlPlane: w.git.Create("acme/cp"), GitOps: w.git.Create("acme/out"), Environments: environments, Sample: true}
	controlPlane, err := scaffold.ControlPlaneBranches(o)
	if err != nil {
		t.Fatal(err)
	}
	gitOps, err := scaffold.GitOpsBranches(o)
	if err != nil {
		t.Fatal(err)
	}
	w.fill("acme/cp", controlPlane)
	w.fill("acme/out", gitOps)
	w.api = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.requests = append(w.requests, r.Method+" "+r.URL.EscapedPath())
		w.mu.Unlock()
		reply(rw, answers(r.URL.EscapedPath()))
	}))
	t.Cleanup(w.api.Close)
	return w
}

func (w *world) fill(name string, branches []scaffold.Branch) {
	w.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: w.git.Dir(name), Dir: filepath.Join(w.TempDir(), "fill")})
	if err != nil {
		w.Fatal(err)
	}
	push(w.T, remote, branches)
}

// push makes the branches of a remote what they are here.
func push(t *testing.T, remote *git.Remote, branches []scaffold.Branch) {
	t.Helper()
	if _, err := remote.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, b := range branches {
		old, _ := remote.Mirror().Branch(b.Name) // "" if it is not there
		pack, err := remote.Write(t.Context(), git.Commit{Tree: b.Files, Message: b.Message + "\n", When: now, Author: git.Signature{Name: "init", Email: "init@localhost"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Push(t.Context(), pack, git.RefUpdate{Ref: "refs/heads/" + b.Name, Old: old, New: pack.Commits[0]}); err != nil {
			t.Fatal(err)
		}
	}
}

// reply writes an answer of a case.
func reply(w http.ResponseWriter, text string) {
	w.Header().Set("Date", now.Format(http.TimeFormat))
	if text == "" {
		text = "404\n\n{\"message\": \"Not Found\"}"
	}
	status, rest, _ := strings.Cut(text, "\n")
	head, body, _ := strings.Cut("\n"+rest, "\n\n")
	header, _ := textproto.NewReader(bufio.NewReader(strings.NewReader(strings.TrimPrefix(head, "\n") + "\n\n"))).ReadMIMEHeader()
	for name, values := range header {
		w.Header()[name] = values
	}
	code, err := strconv.Atoi(strings.TrimSpace(status))
	if err != nil {
		code = http.StatusTeapot
	}
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body))
}

// host is the place of the Git server.
func (w *world) host() string { return strings.TrimSuffix(w.git.URL(""), "/.git") }

// examine gives the findings as the command shows them, with names for the servers.
func (w *world) examine(more string) string {
	w.Helper()
	return w.examineWith(more, doctor.Options{})
}

// examineWith does so with more options.
func (w *world) examineWith(more string, o doctor.Options) string {
	w.Helper()
	if !strings.Contains(more, "listen:") {
		more += "listen: 127.0.0.1:0\n"
	}
	names := strings.NewReplacer("GITHOST", strings.TrimPrefix(w.host(), "http://"), "GIT", w.host(), "API", w.api.URL, "DIR", w.data)
	text := names.Replace("controlPlane: {repo: GIT/acme/cp.git}\ndataDir: DIR\ntimeout: 10s\n" + more)
	settings, problems := config.Parse("fairlead.yaml", []byte(text), w.TempDir(), func(name string) string {
		return map[string]string{"TOKEN": secret, "KEY": "not a key"}[name]
	})
	if problems.Stops() {
		w.Fatalf("%v\n%s", problems, text)
	}
	o.Settings, o.Now, o.CheckListen = settings, func() time.Time { return now }, daemon.CheckListen
	found, err := doctor.Examine(w.Context(), o)
	if err != nil {
		w.Fatal(err)
	}
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%-4s  %s  %s\n", f.Level, f.Subject, f.Message)
		if (f.Hint == "") != (f.Level == doctor.OK) {
			w.Errorf("%s %s: the hint is %q", f.Level, f.Subject, f.Hint)
		}
		if f.Hint != "" {
			fmt.Fprintf(&b, "      hint: %s\n", f.Hint)
		}
	}
	if strings.Contains(b.String(), secret) {
		w.Errorf("the output has the token:\n%s", b.String())
	}
	return strings.NewReplacer(w.host(), "GIT", strings.TrimPrefix(w.host(), "http://"), "GITHOST", w.api.URL, "API", w.data, "DIR").Replace(b.String())
}

// TestFindings has a case for each set-up.
func TestFindings(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, c *golden.Case) {
		t.Parallel()
		w := newWorld(t, func(path string) string { return c.Text("api" + path) }, "dev")
		before := w.refs()
		for step := range strings.Lines(c.Text("git")) {
			w.step(strings.Fields(step))
		}
		changed := w.refs()
		got := w.examine(c.Text("settings"))
		c.Want(t, "want", got)
		if again := w.examine(c.Text("settings")); again != got {
			t.Errorf("the second time it says\n%s", again)
		}
		if w.refs() != changed {
			t.Errorf("the repositories were changed: before %s", before)
		}
		for _, r := range w.requests {
			if !strings.HasPrefix(r, http.MethodGet) {
				t.Errorf("the forge was asked to %s", r)
			}
		}
	})
}

// step changes the Git repositories before the examination.
func (w *world) step(words []string) {
	w.Helper()
	switch dir := w.git.Dir(words[1]); words[0] {
	case "password":
		w.git.RequirePassword(words[1], words[2])
	case "unwritable":
		gittest.Git(w, dir, "config", "http.receivepack", "false")
	case "remove":
		gittest.Git(w, dir, "update-ref", "-d", "refs/heads/"+words[2])
	case "gone":
		if err := os.RemoveAll(dir); err != nil {
			w.Fatal(err)
		}
	default:
		w.Fatalf("there is no step %s", words[0])
	}
}

func (w *world) refs() string {
	var all []string
	for _, name := range []string{"acme/cp", "acme/out"} {
		if _, err := os.Stat(w.git.Dir(name)); err == nil {
			all = append(all, gittest.Git(w, w.git.Dir(name), "for-each-ref"))
		}
	}
	return strings.Join(slices.Compact(all), "\n")
}
