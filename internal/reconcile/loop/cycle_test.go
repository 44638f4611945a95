package loop_test

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// world is a control plane and a GitOps repository on a server, and people who work
// on them.
type world struct {
	*testing.T
	server      *gittest.Server
	now         time.Time
	logs        logText
	people      *gittest.Work // in the control plane
	outPeople   *gittest.Work // in the GitOps repository; nil until they are there
	data        string
	more        string // settings
	place       string // of the control plane
	kind        string // of the forge, in the settings
	secret      map[string]string
	reportsFile string // a file with what clusters have reported; "" for none

	writers map[string]*writer
}

// logText is what several daemons write.
type logText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *logText) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *logText) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// newWorld makes the scaffold of fairlead init, for a test that others may run beside.
func newWorld(t *testing.T, layout scaffold.Layout, environments ...string) *world {
	t.Helper()
	sampleScenario(t)
	t.Parallel()
	server := gittest.Serve(t)
	server.Create("cp")
	server.Create("out")
	return worldOn(t, server, "cp", "out", layout, environments)
}

// worldOn makes the scaffold in two empty repositories of a server.
func worldOn(t *testing.T, server *gittest.Server, cp, out string, layout scaffold.Layout, environments []string) *world {
	t.Helper()
	sampleScenario(t)
	w := &world{T: t, server: server, now: start, data: t.TempDir(), more: "write: true\npromotion: external\n", writers: map[string]*writer{}}
	o := scaffold.Options{ControlPlane: server.URL(cp), GitOps: server.URL(out), Environments: environments, Layout: layout, Sample: true}
	controlPlane, err := scaffold.ControlPlaneBranches(o)
	if err != nil {
		t.Fatal(err)
	}
	gitOps, err := scaffold.GitOpsBranches(o)
	if err != nil {
		t.Fatal(err)
	}
	w.fill(cp, controlPlane)
	w.fill(out, gitOps)
	w.people = server.Work(t, cp)
	w.place = server.URL(cp)
	return w
}

// fill pushes branches to a new repository.
func (w *world) fill(name string, branches []scaffold.Branch) {
	w.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: w.server.PeopleURL(name), Dir: filepath.Join(w.TempDir(), "fill")})
	if err != nil {
		w.Fatal(err)
	}
	if _, err := remote.Sync(context.Background()); err != nil {
		w.Fatal(err)
	}
	for _, b := range branches {
		pack, err := remote.Write(context.Background(), git.Commit{Tree: b.Files, Message: b.Message + "\n", When: start, Author: git.Signature{Name: "init", Email: "init@localhost"}})
		if err != nil {
			w.Fatal(err)
		}
		if err := remote.Push(context.Background(), pack, git.RefUpdate{Ref: "refs/heads/" + b.Name, New: pack.Commits[0]}); err != nil {
			w.Fatal(err)
		}
	}
}

// daemon is one life of the daemon.
type daemon struct {
	*world
	*loop.Loop
	store *status.Store
}

func (w *world) settingsText(data string) string {
	host := strings.TrimSuffix(strings.TrimPrefix(w.server.URL(""), "http://"), "/.git")
	kind := w.kind
	if kind == "" {
		kind = "kind: git"
	}
	return "controlPlane: {repo: " + w.place + "}\ndataDir: " + data + "\nschedule: {interval: 1m, jitter: 0s}\n" +
		"forges: [{host: \"" + host + "\", " + kind + "}]\n" + w.more
}

func (w *world) settings(data string) *config.Settings {
	w.Helper()
	s, problems := config.Parse("fairlead.yaml", []byte(w.settingsText(data)), w.TempDir(), func(name string) string { return w.secret[name] })
	if problems.Stops() {
		w.Fatal(problems)
	}
	return s
}

// begin starts a daemon with a data folder of its own, or that of the last one.
func (w *world) begin(data string, more ...func(*loop.Options)) *daemon {
	w.Helper()
	d := &daemon{world: w, store: &status.Store{}}
	o := loop.Options{
		Settings: w.settings(data), Store: d.store, Now: func() time.Time { return w.now }, Random: func() float64 { return 0 }, Patience: time.Hour,
		Logger: slog.New(slog.NewTextHandler(&w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	inbox, err := readReports(w.reportsFile, w.now)
	if err != nil {
		w.Fatal(err)
	}
	o.Inbox = inbox
	for _, f := range more {
		f(&o)
	}
	loop, err := loop.New(context.Background(), o)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(loop.Close)
	d.Loop = loop
	return d
}

// cycle runs a cycle that must be able to read the control plane.
func (d *daemon) cycle() {
	d.Helper()
	d.now = d.now.Add(time.Hour)
	if err := d.Cycle(context.Background()); err != nil {
		d.Fatal(err)
	}
}

// state gives the report of an environment.
func (d *daemon) state(name string) status.Environment {
	d.Helper()
	e, ok := d.store.Snapshot().FindEnvironment(name)
	if !ok {
		d.Fatalf("there is no report of %s; the log:\n%s", name, d.logs.String())
	}
	return e
}

// want checks the state of all environments.
func (d *daemon) want(states map[string]status.State) {
	d.Helper()
	got := map[string]status.State{}
	for _, e := range d.store.Snapshot().Environments {
		got[e.Name] = e.State
	}
	if !maps.Equal(got, states) {
		d.Fatalf("the environments are %v, want %v; the log:\n%s", got, states, d.logs.String())
	}
}

// plain gives the forge of a repository, as it is now. People reach it by its path.
func (w *world) plain(name string) *forge.Plain {
	w.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: w.server.PeopleURL(name), Dir: filepath.Join(w.TempDir(), "person")})
	if err != nil {
		w.Fatal(err)
	}
	if _, err := remote.Sync(context.Background()); err != nil {
		w.Fatal(err)
	}
	return forge.NewPlain(remote, git.Signature{Name: "person", Email: "person@localhost"}, func() time.Time { return w.now })
}

// merge merges the open pull request of an environment, as a person does.
func (w *world) merge(environment string) {
	w.Helper()
	f := w.plain("out")
	all, err := f.AllPulls()
	if err != nil {
		w.Fatal(err)
	}
	for _, p := range all {
		if p.Mark == environment && p.State == forge.Open {
			if err := f.MergePull(context.Background(), p.Number, p.Commit); err != nil {
				w.Fatal(err)
			}
			return
		}
	}
	w.Fatalf("%s has no open pull request", environment)
}

// edit changes a file of a branch of the control plane.
func (w *world) edit(branch, path, old, new string) {
	w.Helper()
	w.people.Pull(branch)
	text := gittest.Show(w, w.people.Dir, "HEAD", path)
	changed := strings.ReplaceAll(text, old, new)
	if changed == text {
		w.Fatalf("%s of %s does not have %q:\n%s", path, branch, old, text)
	}
	w.people.Write(path, changed)
	w.people.Commit("edit " + path)
	w.people.Push(branch)
}

// open gives the open pull request of an environment.
func (w *world) open(environment string) forge.Pull {
	w.Helper()
	all, err := w.plain("out").AllPulls()
	if err != nil {
		w.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(p forge.Pull) bool { return p.Mark != environment || p.State != forge.Open })
	if len(all) != 1 {
		w.Fatalf("%s has %d open pull requests; the log:\n%s", environment, len(all), w.logs.String())
	}
	return all[0]
}

// above counts the commits of a branch of the GitOps repository that another lacks.
func (w *world) above(branch, base string) string {
	w.Helper()
	return gittest.Git(w, w.server.Dir("out"), "rev-list", "--count", base+".."+branch)
}

// quiet runs a cycle in which nothing may happen: each repository is asked once, and
// nothing is said.
func (d *daemon) quiet(repositories ...string) {
	d.Helper()
	asked := map[string]int{}
	for _, name := range repositories {
		asked[name] = len(d.server.Requests(name))
	}
	said := len(d.logs.String())
	d.cycle()
	for _, name := range repositories {
		if all := d.server.Requests(name)[asked[name]:]; len(all) != 1 {
			d.Errorf("%s was asked %d times in a quiet cycle: %v", name, len(all), all)
		}
	}
	for line := range strings.Lines(d.logs.String()[said:]) {
		if !strings.Contains(line, "level=DEBUG") {
			d.Errorf("a quiet cycle says %s", line)
		}
	}
}

// writer is somebody who writes to a branch without a process for each commit.
type writer struct {
	*world
	remote *git.Remote
	branch string
	head   string
	files  tree.Tree
}

// writer gives the one who writes to a branch; nobody else may move it meanwhile.
func (w *world) writer(repo, branch string) *writer {
	w.Helper()
	if p := w.writers[repo+" "+branch]; p != nil {
		return p
	}
	remote, err := git.NewRemote(git.RemoteOptions{URL: w.server.PeopleURL(repo), Dir: filepath.Join(w.TempDir(), "writer")})
	if err != nil {
		w.Fatal(err)
	}
	if _, err := remote.Sync(w.Context()); err != nil {
		w.Fatal(err)
	}
	p := &writer{world: w, remote: remote, branch: branch}
	if p.head, err = remote.Mirror().Branch(branch); err != nil {
		w.Fatal(err)
	}
	if p.files, err = remote.Mirror().ReadTree(p.head); err != nil {
		w.Fatal(err)
	}
	w.writers[repo+" "+branch] = p
	return p
}

// write commits a file of the root, and pushes.
func (p *writer) write(name, text string) {
	p.Helper()
	file, err := tree.FromFiles(map[string][]byte{name: []byte(text)})
	if err != nil {
		p.Fatal(err)
	}
	entries := file.Entries()
	for _, e := range p.files.Entries() {
		if e.Name != name {
			entries = append(entries, e)
		}
	}
	before := p.files
	p.files = tree.FromEntries(entries)
	pack, err := p.remote.Write(p.Context(), git.Commit{Tree: p.files, Parents: []string{p.head}, When: p.now, Message: "edit\n", Known: []tree.Tree{before}})
	if err != nil {
		p.Fatal(err)
	}
	if err := p.remote.Push(p.Context(), pack, git.RefUpdate{Ref: "refs/heads/" + p.branch, Old: p.head, New: pack.Commits[0]}); err != nil {
		p.Fatal(err)
	}
	p.head = pack.Commits[0]
}
