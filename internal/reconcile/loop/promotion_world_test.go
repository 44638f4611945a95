package loop_test

import (
	"cmp"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// promotionFile is where a base says in which order commits go.
const promotionFile = ".fairlead/promotion.yaml"

// person is who commits with commitNow.
const person = "a@example.com"

// commitNow has a person change files of a branch of the control plane at this time;
// "" removes one. It gives the commit.
func (w *world) commitNow(branch, message string, files map[string]string) string {
	w.Helper()
	return w.commitFrom(branch, branch, message, files)
}

// commitFrom is commitNow on another commit: what was on the branch is lost.
func (w *world) commitFrom(parent, branch, message string, files map[string]string) string {
	w.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: w.server.PeopleURL(w.cp()), Dir: filepath.Join(w.TempDir(), "now")})
	if err != nil {
		w.Fatal(err)
	}
	if _, err := remote.Sync(w.Context()); err != nil {
		w.Fatal(err)
	}
	old, parent := w.head(w.cp(), branch), w.head(w.cp(), parent)
	all := map[string][]byte{}
	for file, text := range gittest.Files(w, w.server.Dir(w.cp()), parent) {
		all[file] = []byte(text)
	}
	for file, text := range files {
		if all[file] = []byte(text); text == "" {
			delete(all, file)
		}
	}
	t, err := tree.FromFiles(all)
	if err != nil {
		w.Fatal(err)
	}
	pack, err := remote.Write(w.Context(), git.Commit{Tree: t, Parents: []string{parent}, When: w.now, Message: message + "\n", Author: git.Signature{Name: "a", Email: person}})
	if err != nil {
		w.Fatal(err)
	}
	if err := remote.Push(w.Context(), pack, git.RefUpdate{Ref: "refs/heads/" + branch, Old: old, New: pack.Commits[0]}); err != nil {
		w.Fatal(err)
	}
	return pack.Commits[0]
}

// cp gives the name of the control plane on the server.
func (w *world) cp() string {
	name := strings.TrimSuffix(strings.TrimPrefix(w.place, strings.TrimSuffix(w.server.URL(""), ".git")), ".git")
	return strings.TrimPrefix(name, "/")
}

// changeNow is change, at this time.
func (w *world) changeNow(level int) string {
	w.Helper()
	return w.commitNow("main", fmt.Sprintf("level %d", level), map[string]string{
		"configs/level.yaml": fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: level, labels: {platform-config: \"true\"}}\ndata: {LEVEL: \"%d\"}\n", level),
	})
}

// chainOf gives what a file says in which order commits go.
func chainOf(environments string) string {
	return "apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: fleet}\nspec:\n  environments:\n" + environments
}

// own gives an object of one of our kinds.
func own(kind, name, spec string) string {
	return fmt.Sprintf("apiVersion: fairlead.io/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec: %s\n", kind, name, spec)
}

// recordText gives a record as a person writes it.
func recordText(w *world, commit string) string {
	return string(promote.NewRecord(w.place, "main", commit))
}

// records gives the commits that environments have, by the names that the test gave
// them: "dev=2 stage=1 prod=-".
func (w *world) records(names map[string]string, environments ...string) string {
	w.Helper()
	var all []string
	for _, e := range environments {
		commit := w.record(e)
		all = append(all, e+"="+cmp.Or(names[commit], commit, "-"))
	}
	return strings.Join(all, " ")
}

// wantLine checks which commits environments have.
func (w *world) wantLine(names map[string]string, want string) {
	w.Helper()
	var environments []string
	for _, word := range strings.Fields(want) {
		environment, _, _ := strings.Cut(word, "=")
		environments = append(environments, environment)
	}
	if got := w.records(names, environments...); got != want {
		w.Fatalf("the environments have %s, want %s; the log:\n%s", got, want, w.logs.String())
	}
}

// pass runs a cycle some time later.
func (d *daemon) pass(after time.Duration) {
	d.Helper()
	d.now = d.now.Add(after)
	if err := d.Cycle(d.Context()); err != nil {
		d.Fatal(err)
	}
}

// settle runs cycles, a minute after each other, until the records stay as they are.
func (d *daemon) settle(environments ...string) {
	d.Helper()
	for last, same := "", 0; same < 3; {
		d.pass(time.Minute)
		now := d.records(nil, environments...)
		if same++; now != last {
			last, same = now, 0
		}
	}
}

// wantNext checks what an environment should do, and that the reason has some words.
func (d *daemon) wantNext(environment string, state promote.DecisionState, words ...string) {
	d.Helper()
	next := d.stage(environment).Next
	text := reasons(next)
	for _, word := range words {
		if next.State != state || !strings.Contains(text, word) {
			d.Fatalf("%s is %s: %s\nwant %s, with %q; the log:\n%s", environment, next.State, text, state, word, d.logs.String())
		}
	}
}

// reasons gives all reasons of a decision.
func reasons(d promote.Decision) string {
	all := []string{d.Verdict.Reason}
	parts := slices.Clone(d.Verdict.Parts)
	for len(parts) > 0 {
		all = append(all, parts[0].Reason)
		parts = append(parts[1:], parts[0].Parts...)
	}
	return strings.Join(all, "; ")
}

// reports has a cluster report, to the daemon, that it runs the output of an
// environment, as Flux does.
func (w *world) reports(inbox *recorder.Recorder, branch, environment, cluster string, phase rollout.Phase) {
	w.Helper()
	_, err := inbox.Add(observe.Event{
		Cluster: cluster, Environment: environment, Object: "Kustomization/flux-system/apps", Branch: branch,
		Commit: w.head("out", branch), Phase: phase, Message: string(phase), When: w.now,
	})
	if err != nil {
		w.Fatal(err)
	}
}

// inbox has a daemon use what clusters report, which is nothing yet.
func (w *world) inbox() (*recorder.Recorder, func(*loop.Options)) {
	w.Helper()
	inbox := w.openReports(filepath.Join(w.TempDir(), "ledger.db"))
	w.Cleanup(func() { w.closeReports(inbox) })
	return inbox, func(o *loop.Options) { o.Inbox = inbox }
}

// openReports opens what clusters have reported to a file, which may be missing.
func (w *world) openReports(file string) *recorder.Recorder {
	w.Helper()
	known := recorder.Open(w.Context(), recorder.Options{Path: file, Now: func() time.Time { return w.now }, Logger: slog.New(slog.NewTextHandler(&w.logs, nil))})
	if err := known.Check(); err != nil {
		w.Fatal(err)
	}
	return known
}

func (w *world) closeReports(known *recorder.Recorder) {
	w.Helper()
	if err := known.Close(); err != nil {
		w.Fatal(err)
	}
}

// wantTold checks what was said of a commit of the base.
func (w *world) wantTold(commit, want string) {
	w.Helper()
	if diff := gocmp.Diff(want, w.told(commit)); diff != "" {
		w.Fatalf("of commit %s is said (-want +got):\n%s\nthe log:\n%s", text.ShortCommit(commit), diff, w.logs.String())
	}
}

// mergeRecord merges the open pull request of a record, as a person does.
func (w *world) mergeRecord(environment string) {
	w.Helper()
	f := w.plain("cp")
	all, err := f.AllPulls()
	if err != nil {
		w.Fatal(err)
	}
	for _, p := range all {
		if p.Base == environment && p.State == forge.Open {
			if err := f.MergePull(w.Context(), p.Number, p.Commit); err != nil {
				w.Fatal(err)
			}
			return
		}
	}
	w.Fatalf("nobody proposes a record for %s: %v; the log:\n%s", environment, all, w.logs.String())
}
