package publish_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// world is a GitOps repository on a server, and a person who works in it.
type world struct {
	*testing.T
	server *gittest.Server
	person *gittest.Work
	now    time.Time
}

// newWorld makes a repository whose branch main has a README.
func newWorld(t *testing.T) *world {
	t.Helper()
	gittest.SampleCases(t)
	w := &world{T: t, server: gittest.Serve(t), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	w.server.Create("out")
	w.person = w.server.Work(t, "out")
	w.person.Switch("main")
	w.commit("main", "README.md", "of people\n")
	return w
}

// commit is a commit of the person on a branch.
func (w *world) commit(branch, path, text string) string {
	w.Helper()
	if w.refs()["refs/heads/"+branch] != "" {
		w.person.Pull(branch)
	}
	w.person.Write(path, text)
	id := w.person.Commit("by hand")
	w.person.Push(branch)
	return id
}

func (w *world) git(args ...string) string {
	w.Helper()
	return gittest.Git(w, w.person.Dir, args...)
}

// refs gives the references of the server.
func (w *world) refs() map[string]string { return gittest.Refs(w, w.server.Dir("out")) }

func (w *world) branch(name string) string { return w.refs()["refs/heads/"+name] }

// publisher is one who publishes, with a mirror of its own.
type publisher struct {
	*world
	publish.Options
	forge *counting
}

// counting is a forge that counts its calls.
type counting struct {
	*forge.Plain
	calls []string
	fail  error // of the calls that write
}

func (c *counting) Pulls(ctx context.Context, head, base string) ([]forge.Pull, error) {
	c.calls = append(c.calls, "pulls")
	return c.Plain.Pulls(ctx, head, base)
}

func (c *counting) OpenPulls(ctx context.Context) ([]forge.Pull, error) {
	c.calls = append(c.calls, "open pulls")
	return c.Plain.OpenPulls(ctx)
}

func (c *counting) OpenPull(ctx context.Context, p forge.Proposal) (forge.Pull, error) {
	c.calls = append(c.calls, "open")
	if c.fail != nil {
		return forge.Pull{}, c.fail
	}
	return c.Plain.OpenPull(ctx, p)
}

func (c *counting) EditPull(ctx context.Context, number int, p forge.Proposal) (forge.Pull, error) {
	c.calls = append(c.calls, "edit")
	if c.fail != nil {
		return forge.Pull{}, c.fail
	}
	return c.Plain.EditPull(ctx, number, p)
}

func (c *counting) ClosePull(ctx context.Context, number int, reason string) error {
	c.calls = append(c.calls, "close")
	if c.fail != nil {
		return c.fail
	}
	return c.Plain.ClosePull(ctx, number, reason)
}

func (w *world) publisher() *publisher {
	w.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: w.server.URL("out"), Dir: filepath.Join(w.TempDir(), "mirror"), NarrowPoll: true})
	if err != nil {
		w.Fatal(err)
	}
	author := git.Signature{Name: "Fairlead", Email: "fairlead@localhost"}
	f := &counting{Plain: forge.NewPlain(remote, author, func() time.Time { return w.now })}
	return &publisher{w, publish.Options{Remote: remote, Forge: f, Prefix: "fairlead/", Author: author, Write: true}, f}
}

// proposal proposes files for dev; version is that of the base.
func (w *world) proposal(version string, files map[string]string) publish.Proposal {
	w.Helper()
	contents := map[string][]byte{}
	for path, text := range files {
		contents[path] = []byte(text)
	}
	rendered, err := tree.FromFiles(contents)
	if err != nil {
		w.Fatal(err)
	}
	return publish.Proposal{
		Environment: "dev", Branch: "main", Rendered: rendered,
		Inputs: []source.Commit{{Layer: "base", Repo: "https://git.example.com/cp", Commit: strings.Repeat(version, 40), When: w.now}},
	}
}

// simple proposes one file.
func (w *world) simple(text string) publish.Proposal {
	return w.proposal("1", map[string]string{"pier/gull-main/reconciler.yaml": "kind: Puller\nfrom: " + text + "\n"})
}

// try publishes what the server has by then.
func (p *publisher) try(what publish.Proposal) (publish.Result, error) {
	if _, err := p.Remote.Sync(context.Background()); err != nil {
		return publish.Result{}, err
	}
	p.forge.calls = nil
	p.Forge = p.forge
	return publish.Publish(context.Background(), p.Options, what)
}

// want publishes, and checks what has become of it.
func (p *publisher) want(state publish.State, what publish.Proposal) publish.Result {
	p.Helper()
	r, err := p.try(what)
	if err != nil {
		p.Fatal(err)
	}
	if r.State != state {
		p.Fatalf("it is %s (%s), want %s; the forge was asked for %v", r.State, r.Reason, state, p.forge.calls)
	}
	return r
}

// pulls gives "state title" of all pull requests, oldest first.
func (w *world) pulls() []string {
	w.Helper()
	var lines []string
	for _, p := range w.list() {
		lines = append(lines, string(p.State)+" "+p.Title)
	}
	return lines
}

func (w *world) list() []forge.Pull {
	w.Helper()
	p := w.publisher()
	if _, err := p.Remote.Sync(context.Background()); err != nil {
		w.Fatal(err)
	}
	all, err := p.forge.AllPulls()
	if err != nil {
		w.Fatal(err)
	}
	slices.Reverse(all)
	return all
}

// states gives the states of all pull requests, oldest first.
func (w *world) states() string {
	w.Helper()
	var states []string
	for _, p := range w.list() {
		states = append(states, string(p.State))
	}
	return strings.Join(states, " ")
}

// close closes a pull request, as a person does.
func (w *world) close(number int) {
	w.Helper()
	p := w.publisher()
	if _, err := p.Remote.Sync(context.Background()); err != nil {
		w.Fatal(err)
	}
	if err := p.forge.Plain.ClosePull(context.Background(), number, "no"); err != nil {
		w.Fatal(err)
	}
}

// merge merges our branch as a person does who does not tell the forge.
func (w *world) merge() {
	w.Helper()
	w.git("fetch", "-q", "origin")
	w.git("push", "-q", "origin", "origin/fairlead/dev:main")
}

func equal[V comparable](t testing.TB, what string, got, want V) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// above says how many commits our branch has that main has not.
func (w *world) above() string {
	w.Helper()
	return gittest.Git(w, w.server.Dir("out"), "rev-list", "--count", "main..fairlead/dev")
}
