package cycle_test

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/cycle"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/gittest"
	"github.com/fairlead-io/fairlead/internal/scaffold"
	"github.com/fairlead-io/fairlead/internal/status"
)

// world is a control plane and a GitOps repository on a server, and people who work
// on them.
type world struct {
	*testing.T
	server *gittest.Server
	now    time.Time
	logs   bytes.Buffer
	people *gittest.Work // in the control plane
	data   string
	more   string // settings
}

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// newWorld makes the scaffold of fairlead init.
func newWorld(t *testing.T, layout scaffold.Layout, environments ...string) *world {
	t.Helper()
	w := &world{T: t, server: gittest.Serve(t), now: start, data: t.TempDir(), more: "write: true\n"}
	o := scaffold.Options{ControlPlane: w.server.Create("cp"), GitOps: w.server.Create("out"), Environments: environments, Layout: layout, Sample: true}
	controlPlane, err := scaffold.ControlPlane(o)
	if err != nil {
		t.Fatal(err)
	}
	gitOps, err := scaffold.GitOps(o)
	if err != nil {
		t.Fatal(err)
	}
	w.fill("cp", controlPlane)
	w.fill("out", gitOps)
	w.people = w.server.Work(t, "cp")
	return w
}

// fill pushes branches to a new repository.
func (w *world) fill(name string, branches []scaffold.Branch) {
	w.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: w.server.URL(name), Dir: filepath.Join(w.TempDir(), "fill")})
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
	*cycle.Loop
	store *status.Store
}

func (w *world) settings(data string) *config.Settings {
	w.Helper()
	text := "controlPlane: {repo: " + w.server.URL("cp") + "}\ndataDir: " + data + "\nschedule: {interval: 1m, jitter: 0s}\n" + w.more
	s, problems := config.Parse("fairlead.yaml", []byte(text), w.TempDir(), func(string) string { return "" })
	if problems.Stops() {
		w.Fatal(problems)
	}
	return s
}

// begin starts a daemon with a data folder of its own, or that of the last one.
func (w *world) begin(data string, more ...func(*cycle.Options)) *daemon {
	w.Helper()
	d := &daemon{world: w, store: &status.Store{}}
	o := cycle.Options{
		Settings: w.settings(data), Store: d.store, Now: func() time.Time { return w.now }, Random: func() float64 { return 0 },
		Logger: slog.New(slog.NewTextHandler(&w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range more {
		f(&o)
	}
	loop, err := cycle.New(context.Background(), o)
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
	e, ok := d.store.Snapshot().Environment(name)
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

// plain gives the forge of a repository, as it is now.
func (w *world) plain(name string) *forge.Plain {
	w.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: w.server.URL(name), Dir: filepath.Join(w.TempDir(), "person")})
	if err != nil {
		w.Fatal(err)
	}
	if _, err := remote.Sync(context.Background()); err != nil {
		w.Fatal(err)
	}
	return forge.NewPlain(remote, git.Signature{Name: "person", Email: "person@localhost"}, func() time.Time { return w.now })
}

// pulls gives "number state head title" of all pull requests, oldest first.
func (w *world) pulls() []string {
	w.Helper()
	all, err := w.plain("out").List()
	if err != nil {
		w.Fatal(err)
	}
	slices.Reverse(all)
	var lines []string
	for _, p := range all {
		lines = append(lines, strings.Join([]string{string(p.State), p.Head, p.Base, p.Title}, " "))
	}
	return lines
}

// merge merges the open pull request of an environment, as a person does.
func (w *world) merge(environment string) {
	w.Helper()
	f := w.plain("out")
	all, err := f.List()
	if err != nil {
		w.Fatal(err)
	}
	for _, p := range all {
		if p.Mark == environment && p.State == forge.Open {
			if err := f.Merge(context.Background(), p.Number, p.Commit); err != nil {
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

func TestFlow(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	d := w.begin(w.data)
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Proposed})
	t.Log(w.pulls(), gittest.Refs(t, w.server.Dir("out")))
	t.Log(gittest.Files(t, w.server.Dir("out"), "fairlead/dev"))
	t.Log(d.state("dev"))
	t.Log(w.logs.String())
}
