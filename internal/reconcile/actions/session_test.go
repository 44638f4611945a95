package actions_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// world is a control plane on a server, with the environments dev and stage, which comes
// after dev, and three commits of the base.
type world struct {
	t      *testing.T
	server *gittest.Server
	work   *gittest.Work
	base   []string // oldest first
}

const promotion = `apiVersion: fairlead.io/v1alpha1
kind: Promotion
metadata:
  name: main
spec:
  environments:
  - name: dev
  - name: stage
    after: [dev]
  - name: prod
    after: [stage]
    gates:
    - approval: {count: 1}
`

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, server: gittest.Serve(t)}
	url := w.server.Create("plane")
	w.work = w.server.Work(t, "plane")
	w.work.Switch("main")
	for _, env := range []string{"dev", "stage", "prod"} {
		w.work.Write(".environments/"+env+".yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata:\n  name: "+env+
			"\nspec:\n  controlPlane:\n    repo: "+url+"\n    branch: "+env+"\n    path: .\n")
	}
	w.work.Write(".fairlead/promotion.yaml", promotion)
	for i := range 3 {
		w.work.Write("readme.md", fmt.Sprint(i))
		w.base = append(w.base, w.work.Commit(fmt.Sprintf("Change %d\n\nMore about it", i)))
	}
	w.work.Push()
	for i, env := range []string{"dev", "stage", "prod"} {
		w.work.Switch(env)
		if env == "prod" {
			w.work.Write("readme.md", "prod")
		} else {
			w.work.Write("base-repo.yaml", record(url, w.base[2-i]))
		}
		w.work.Commit("begin")
		w.work.Push()
	}
	return w
}

func record(url, commit string) string {
	return "# Who moves it: Fairlead.\n" + string(promote.NewRecord(url, "main", commit))
}

var alice = git.Signature{Name: "Alice", Email: "alice@example.com"}

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (w *world) options() actions.Options {
	return actions.Options{
		ControlPlane: w.server.URL("plane"), Mirrors: &repos.Mirrors{Dir: w.t.TempDir()}, Prefix: "fairlead/", Author: alice, Now: func() time.Time { return now },
	}
}

func (w *world) open(o actions.Options) *actions.Session {
	w.t.Helper()
	d, err := actions.Open(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// head gives the message of a branch's head, and who wrote it.
func (w *world) head(branch string) string {
	return gittest.Git(w.t, w.server.Dir("plane"), "log", "-1", "--format=%an <%ae>%n%B", branch)
}

func (w *world) file(branch, path string) string {
	return gittest.Show(w.t, w.server.Dir("plane"), branch, path)
}

// named writes the ids of commits of the base as BASE0, BASE1 and so on.
func (w *world) named(text string) string {
	for i, c := range w.base {
		text = strings.ReplaceAll(text, c, fmt.Sprintf("BASE%d", i))
		text = strings.ReplaceAll(text, c[:12], fmt.Sprintf("BASE%d", i))
		text = strings.ReplaceAll(text, c[:7], fmt.Sprintf("BASE%d", i))
	}
	return text
}

// known is how the environments fare when dev has proven the newest commit.
func (w *world) known() *status.Chain {
	pass := gate.Verdict{Gate: "proof", Status: gate.Pass, Reason: "it is proven"}
	return &status.Chain{Stages: []status.Stage{
		{Environment: "dev", Commit: w.base[2], Merged: true, Proof: pass},
		{Environment: "stage", Commit: w.base[1], Merged: true, Proof: pass, Next: promote.Decision{
			Candidate: w.base[2], Verdict: gate.Verdict{Parts: []gate.Verdict{{Gate: "after", Status: gate.Pass}}},
		}},
		{Environment: "prod", Next: promote.Decision{
			Candidate: w.base[1], Verdict: gate.Verdict{Parts: []gate.Verdict{
				{Gate: "after", Status: gate.Pass}, {Gate: "gates", Status: gate.Wait, Reason: "1 approval missing"},
			}},
		}},
	}}
}

func (w *world) equal(what, got, want string) {
	w.t.Helper()
	if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(w.named(got))); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestPromote(t *testing.T) {
	w := newWorld(t)
	d := w.open(w.options())
	got, err := d.Promote(t.Context(), actions.Promotion{Environment: "stage", From: "dev", Reason: "it is urgent", Report: w.known()})
	if err != nil {
		t.Fatal(err)
	}
	if !got.Changed || got.From != w.base[1] || got.To != w.base[2] || got.Branch != "stage" || got.Commit == "" {
		t.Errorf("result %+v", got)
	}
	w.equal("the message", w.head("stage"), `Alice <alice@example.com>
Promote BASE2 to stage

Change 2

it is urgent

Fairlead-Promoted: BASE2
Fairlead-Promotion: stage
Fairlead-Action: promote`)
	if diff := cmp.Diff(record(w.server.URL("plane"), w.base[2]), w.file("stage", "base-repo.yaml")); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}

	// What it has already is not promoted again, whoever asks.
	got, err = d.Promote(t.Context(), actions.Promotion{Environment: "stage", Commit: "main", Report: w.known()})
	if err != nil || got.Changed || w.named(got.Summary) != "stage has BASE2 already" {
		t.Errorf("result %+v, %v", got, err)
	}
}

func TestPromoteRefused(t *testing.T) {
	w := newWorld(t)
	w.work.Switch("side")
	side := w.work.Commit("not merged")
	w.work.Push()
	d := w.open(w.options())
	failed := w.known()
	failed.Stages[0].Proof = gate.Verdict{Status: gate.Fail, Reason: "the rollout failed"}
	failed.Stages[1].Next = promote.Decision{Candidate: w.base[2], Verdict: gate.Verdict{Parts: []gate.Verdict{{Gate: "after dev", Status: gate.Wait}}}}
	for _, test := range []struct {
		name  string
		p     actions.Promotion
		want  string
		never bool // not with force either
	}{
		{"not on the base", actions.Promotion{Environment: "dev", Commit: side}, "commit " + side[:7] + " is not on the base's branch", true},
		{"older", actions.Promotion{Environment: "dev", Commit: "main~1"}, "BASE1 is older than BASE2, which dev has", true},
		{"nothing is known", actions.Promotion{Environment: "stage", Commit: "main"}, "it is not known whether BASE2 was verified in dev", false},
		{"it failed", actions.Promotion{Environment: "stage", Commit: "main", Report: failed}, "BASE2 failed in dev: the rollout failed", false},
		{"dev has another", actions.Promotion{Environment: "prod", Commit: "main", Report: w.known()}, "stage has an older commit, BASE1", false},
		{"its gates", actions.Promotion{Environment: "prod", Report: w.known()}, "BASE1 may not enter prod: 1 approval missing", false},
		{"another than that of the gates", actions.Promotion{Environment: "prod", Commit: w.base[0], Report: w.known()},
			"there is no record that BASE0 was verified in stage, which has BASE1 now", false},
		{"from another commit", actions.Promotion{Environment: "stage", From: "dev", Commit: "main~1", Report: w.known()}, "dev has BASE2, not BASE1", true},
		{"from where nobody knows how it fares", actions.Promotion{Environment: "stage", From: "dev"}, "it is not known whether BASE2 was verified in dev", false},
		{"from where there is none", actions.Promotion{Environment: "dev", From: "prod"}, "prod has no commit yet", true},
		{"nobody knows what", actions.Promotion{Environment: "stage"}, "it is not known which commit is next for stage", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := gittest.Refs(t, w.server.Dir("plane"))
			_, err := d.Promote(t.Context(), test.p)
			var refusal *problem.Refusal
			if !errors.As(err, &refusal) || w.named(refusal.Reason) != test.want {
				t.Fatalf("%v; want %s", err, test.want)
			}
			if diff := cmp.Diff(before, gittest.Refs(t, w.server.Dir("plane"))); diff != "" {
				t.Errorf("something was written:\n%s", diff)
			}
			if test.never {
				test.p.Force, test.p.Reason = true, "because"
				if _, err := d.Promote(t.Context(), test.p); !errors.As(err, &refusal) {
					t.Errorf("with force: %v", err)
				}
			}
		})
	}
}

// Force goes on record: who, why, and against what.
func TestPromoteForced(t *testing.T) {
	w := newWorld(t)
	d := w.open(w.options())
	if _, err := d.Hold(t.Context(), "stage", "the load test\nFairlead-Forced: nothing", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Freeze(t.Context(), actions.Freeze{Name: "christmas", Reason: "nobody is here"}); err != nil {
		t.Fatal(err)
	}
	got, err := d.Promote(t.Context(), actions.Promotion{Environment: "stage", Commit: "main", Reason: "the fix\nof the outage", Force: true})
	if err != nil {
		t.Fatal(err)
	}
	w.equal("against it", strings.Join(got.Forced, "\n"), `stage is held: the load test Fairlead-Forced: nothing
freeze christmas: nobody is here, until a person ends it
it is not known whether BASE2 was verified in dev`)
	w.equal("the message", w.head("stage"), `Alice <alice@example.com>
Promote BASE2 to stage

Change 2

Overrides: stage is held: the load test Fairlead-Forced: nothing
Overrides: freeze christmas: nobody is here, until a person ends it
Overrides: it is not known whether BASE2 was verified in dev

Fairlead-Promoted: BASE2
Fairlead-Promotion: stage
Fairlead-Forced: the fix of the outage
Fairlead-Action: promote`)
}

// TestPromoteForcedGates: whoever insists is told all that is overridden, and so is who reads it later: what is not
// verified, and each gate that does not pass.
func TestPromoteForcedGates(t *testing.T) {
	w := newWorld(t)
	d := w.open(w.options())
	known := w.known()
	known.Stages[1].Proof = gate.Verdict{Status: gate.Wait, Reason: "it soaks"}
	known.Stages[2].Next.Verdict.Parts = []gate.Verdict{{Gate: "after stage", Status: gate.Wait}, {Gate: "gates", Status: gate.Wait, Reason: "freeze q4", Parts: []gate.Verdict{
		{Gate: "freeze", Status: gate.Wait, Reason: "freeze q4"}, {Gate: "approval", Status: gate.Wait, Reason: "2 approvals missing"},
		{Gate: "smoke", Status: gate.Pass}, {Gate: "window", Status: gate.Wait, Reason: "it is closed until Monday"},
	}}}
	got, err := d.Promote(t.Context(), actions.Promotion{Environment: "prod", Reason: "the fix", Force: true, Report: known})
	if err != nil {
		t.Fatal(err)
	}
	w.equal("against it", strings.Join(got.Forced, "\n"), `BASE1 is not verified in stage yet: it soaks
BASE1 may not enter prod: 2 approvals missing
BASE1 may not enter prod: it is closed until Monday`)
}

// The first environment needs no proof, and what nothing speaks against is not forced,
// though somebody says so.
func TestPromoteFirst(t *testing.T) {
	w := newWorld(t)
	w.work.Switch("main")
	w.base = append(w.base, w.work.Commit("Change 3"))
	w.work.Push()
	d := w.open(w.options())
	if _, err := d.Promote(t.Context(), actions.Promotion{Environment: "dev", Commit: "main", Reason: "I am sure", Force: true}); err != nil {
		t.Fatal(err)
	}
	if text := w.head("dev"); strings.Contains(text, "Forced") || !strings.Contains(text, "I am sure") {
		t.Errorf("the message is\n%s", text)
	}
}

func TestHoldAndRelease(t *testing.T) {
	w := newWorld(t)
	d := w.open(w.options())
	if got, err := d.Release(t.Context(), "dev", ""); err != nil || got.Changed || got.Summary != "dev is not held" {
		t.Errorf("released what is free: %+v, %v", got, err)
	}
	got, err := d.Hold(t.Context(), "dev", "a load test: until five", "")
	if err != nil || !got.Changed {
		t.Fatalf("%+v, %v", got, err)
	}
	w.equal("the file", w.file("dev", ".fairlead/hold.yaml"), `apiVersion: fairlead.io/v1alpha1
kind: Hold
metadata:
  name: hold
spec:
  reason: 'a load test: until five'`)
	w.equal("the message", w.head("dev"), "Alice <alice@example.com>\nHold dev\n\na load test: until five\n\nFairlead-Action: hold")
	if got, err = d.Hold(t.Context(), "dev", "a load test: until five", ""); err != nil || got.Changed {
		t.Errorf("held again: %+v, %v", got, err)
	}
	var refusal *problem.Refusal
	for _, scope := range []string{model.ScopePromotion, model.ScopeWaves} {
		if got, err := d.Hold(t.Context(), "dev", "less", scope); !errors.As(err, &refusal) {
			t.Errorf("a hold with scope %s: %+v, %v", scope, got, err)
		}
	}
	if got, err = d.Release(t.Context(), "dev", "it is over"); err != nil || !got.Changed {
		t.Errorf("released: %+v, %v", got, err)
	}
	w.equal("the files", gittest.Git(t, w.server.Dir("plane"), "ls-tree", "-r", "--name-only", "dev"), "base-repo.yaml")

	w.work.Pull("dev")
	w.work.Write(".fairlead/holds/lane-shop.yaml", "apiVersion: fairlead.io/v1alpha1\nkind: Hold\nmetadata: {name: hold}\nspec: {lane: shop, reason: the sale}\n")
	w.work.Commit("hold a lane")
	w.work.Push()
	if got, err = w.open(w.options()).Release(t.Context(), "dev", ""); err != nil || got.Changed || len(got.Notes) != 1 {
		t.Errorf("released while a lane is held: %+v, %v", got, err)
	}
	w.work.Write("mine.yaml", "apiVersion: fairlead.io/v1alpha1\nkind: Hold\nmetadata: {name: mine}\nspec: {reason: by hand}\n")
	w.work.Commit("hold it")
	w.work.Push()
	if _, err := w.open(w.options()).Release(t.Context(), "dev", ""); !errors.As(err, &refusal) ||
		refusal.Reason != "dev is also held by Hold/mine in mine.yaml, which no operator action wrote: by hand" {
		t.Errorf("a hold that somebody wrote: %v", err)
	}
}

func TestRollback(t *testing.T) {
	w := newWorld(t)
	d := w.open(w.options())
	if _, err := d.Promote(t.Context(), actions.Promotion{Environment: "stage", From: "dev", Report: w.known()}); err != nil {
		t.Fatal(err)
	}
	got, err := d.Rollback(t.Context(), actions.Rollback{Environment: "stage", Reason: "it is slow"})
	if err != nil || got.From != w.base[2] || got.To != w.base[1] {
		t.Fatalf("%+v, %v", got, err)
	}
	w.equal("the message", w.head("stage"), `Alice <alice@example.com>
Roll stage back to BASE1

Change 1

it is slow

Fairlead-Promoted: BASE1
Fairlead-Promotion: stage
Fairlead-Action: rollback`)
	if diff := cmp.Diff(record(w.server.URL("plane"), w.base[1]), w.file("stage", "base-repo.yaml")); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}
	if text := w.file("stage", ".fairlead/hold.yaml"); !strings.Contains(text, "reason: it is slow\n") {
		t.Errorf("the hold is\n%s", text)
	}
	// It has had no older one, so that there is nowhere to go.
	var refusal *problem.Refusal
	if _, err := d.Rollback(t.Context(), actions.Rollback{Environment: "stage", Reason: "it is slow"}); !errors.As(err, &refusal) ||
		refusal.Reason != "stage had no older commit before" {
		t.Errorf("once more: %v", err)
	}
	// A record that somebody broke by hand is mended by going back.
	w.work.Pull("dev")
	w.work.Write("base-repo.yaml", record(w.server.URL("plane"), strings.Repeat("ab", 20)))
	w.work.Commit("typo")
	w.work.Push()
	if got, err := w.open(w.options()).Rollback(t.Context(), actions.Rollback{Environment: "dev", Reason: "a typo"}); err != nil || got.To != w.base[2] {
		t.Errorf("a commit that is not there: %+v, %v", got, err)
	}
}

// TestRollbackPassesOverFailed: the statuses of the base's commits say which of them failed in the environment. One
// that did is marked in the list, and is gone back to only if it is named.
func TestRollbackPassesOverFailed(t *testing.T) {
	w := newWorld(t)
	w.work.Pull("stage")
	for _, commit := range w.base {
		w.work.Write("base-repo.yaml", record(w.server.URL("plane"), commit))
		w.work.Commit("to " + commit)
	}
	w.work.Push()
	o := w.options()
	o.Statuses = func(remote *git.Remote, _ string) (forge.Forge, error) {
		f := forge.NewPlain(remote, alice, func() time.Time { return now })
		return f, errors.Join(
			f.SetStatus(t.Context(), w.base[1], forge.Status{Context: promoter.DeployContext("stage"), Outcome: forge.Failure, Description: "Failed to deploy"}),
			f.SetStatus(t.Context(), w.base[0], forge.Status{Context: promoter.ProofContext("stage"), Outcome: forge.Success, Description: "Verified"}))
	}
	had, err := w.open(o).ListPrevious(t.Context(), "stage", 10)
	if err != nil || len(had) != 2 || had[0].Evidence != promoter.Failed || had[1].Evidence != promoter.Verified {
		t.Fatalf("what it had: %+v, %v", had, err)
	}
	for to, want := range map[string]string{"": "BASE0", w.base[1]: "BASE1"} {
		o.Confirm = func(context.Context, actions.Plan) error { return errPreview }
		got, err := w.open(o).Rollback(t.Context(), actions.Rollback{Environment: "stage", To: to, Reason: "it is slow"})
		if !errors.Is(err, errPreview) || w.named(got.To) != want || !strings.Contains(w.named(strings.Join(got.Notes, "; ")), "BASE1") {
			t.Errorf("--to %q: %+v, %v", w.named(to), got, err)
		}
	}
}

var errPreview = errors.New("preview")

// What somebody has broken by hand is mended by an action, or it is said how Git mends it.
func TestBroken(t *testing.T) {
	w := newWorld(t)
	spoil := func(branch, file, text string) string {
		w.work.Pull(branch)
		w.work.Write(file, text)
		id := w.work.Commit("spoil it")
		w.work.Push()
		return id[:7]
	}
	var refusal *problem.Refusal
	d := w.open(w.options())
	spoil("stage", ".fairlead/hold.yaml", "<<<<<<< HEAD\nkind: {Hold\n")
	if _, err := d.Promote(t.Context(), actions.Promotion{Environment: "stage", From: "dev", Report: w.known()}); !errors.As(err, &refusal) ||
		!strings.Contains(refusal.Reason, ".fairlead/hold.yaml:") || refusal.Hint() != "fairlead release removes it" {
		t.Errorf("a promotion to what may be held: %v", err)
	}
	got, err := d.Release(t.Context(), "stage", "")
	if err != nil || got.Summary != "stage is not held any more: .fairlead/hold.yaml, which could not be read, is removed" {
		t.Errorf("a hold that cannot be read: %+v, %v", got, err)
	}
	w.equal("the files", gittest.Git(t, w.server.Dir("plane"), "ls-tree", "-r", "--name-only", "stage"), "base-repo.yaml")

	id := spoil("stage", "hold.yaml", "apiVersion: fairlead.io/v1alpha1\nkind: Hold\nmetadata: {name: hold}\nspec: {because: of me}\n")
	if _, err := w.open(w.options()).Release(t.Context(), "stage", ""); !errors.As(err, &refusal) ||
		!strings.Contains(refusal.Reason, "it is not known whether stage is held: stage/hold.yaml:") ||
		refusal.Hint() != "mend hold.yaml on branch stage, and push that; git revert "+id+" there takes back the commit that it came with" {
		t.Errorf("a hold of somebody else's that cannot be read: %v, %s", err, refusal.Hint())
	}
	id = spoil("dev", "base-repo.yaml", "{{{ <<<<<<< HEAD\n")
	if _, err := w.open(w.options()).Rollback(t.Context(), actions.Rollback{Environment: "dev", To: w.base[2], Reason: "mend it"}); !errors.As(err, &refusal) ||
		!strings.Contains(refusal.Hint(), "mend base-repo.yaml on branch dev, and push that; git revert "+id) {
		t.Errorf("a record that cannot be read: %v", err)
	}
}

// TestOrderUnknown: what stops promotions is named, and not a warning that stands before it.
func TestOrderUnknown(t *testing.T) {
	w := newWorld(t)
	w.work.Pull("main")
	w.work.Write(".fairlead/promotion.yaml", promotion[:strings.Index(promotion, "  - name: prod")]) // which is a warning
	w.work.Write(".fairlead/winter.yaml", "apiVersion: fairlead.io/v1alpha1\nkind: Freeze\nmetadata: {name: winter}\nspec: {reason: snow, environments: [nowhere]}\n")
	w.work.Commit("misspell")
	w.work.Push()
	var refusal *problem.Refusal
	_, err := w.open(w.options()).Promote(t.Context(), actions.Promotion{Environment: "stage", From: "dev", Report: w.known()})
	if !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, `there is no environment "nowhere" to freeze`) || strings.Contains(refusal.Reason, "is not promoted") {
		t.Errorf("the refusal is %v", err)
	}
}

// TestNewer: the commit that an environment has takes the place of those before it, and of
// no others.
func TestNewer(t *testing.T) {
	w := newWorld(t)
	w.work.Switch("side")
	side := w.work.Commit("not merged")
	w.work.Push()
	d := w.open(w.options())
	for _, test := range []struct{ name, environment, commit, want string }{
		{"an older one", "stage", w.base[0], w.base[1]},
		{"the same", "stage", w.base[1], ""},
		{"a newer one", "stage", w.base[2], ""},
		{"one of another branch", "stage", side, ""},
		{"one that there is not", "stage", strings.Repeat("ab", 20), ""},
		{"where there is none", "prod", w.base[0], ""},
		{"where nothing is known", "nowhere", w.base[0], ""},
	} {
		if got, err := d.FindNewerCommit(t.Context(), test.environment, test.commit); err != nil || got != test.want {
			t.Errorf("%s: %q, %v; want %q", test.name, got, err, test.want)
		}
	}
	w.work.Pull("stage")
	w.work.Write("base-repo.yaml", record(w.server.URL("plane"), w.base[2]))
	w.work.Commit("promote")
	w.work.Push()
	if got, err := d.FindNewerCommit(t.Context(), "stage", w.base[1]); err != nil || got != w.base[2] {
		t.Errorf("promoted meanwhile: %q, %v", got, err)
	}
}

func TestFreeze(t *testing.T) {
	w := newWorld(t)
	d := w.open(w.options())
	f := actions.Freeze{Name: "q4", Reason: "the books are closed", Environments: []string{"prod"}, From: now, To: now.Add(48 * time.Hour)}
	if got, err := d.Freeze(t.Context(), f); err != nil || !got.Changed || got.Branch != "main" {
		t.Fatalf("%+v, %v", got, err)
	}
	w.equal("the file", w.file("main", ".fairlead/freezes/q4.yaml"), `apiVersion: fairlead.io/v1alpha1
kind: Freeze
metadata:
  name: q4
spec:
  reason: the books are closed
  environments:
    - prod
  from: 2026-01-02T03:04:05Z
  to: 2026-01-04T03:04:05Z`)
	var refusal *problem.Refusal
	if _, err := d.Freeze(t.Context(), f); !errors.As(err, &refusal) {
		t.Errorf("once more: %v", err)
	}
	if got, err := d.AddException(t.Context(), "q4", w.base[2], "the fix"); err != nil || !got.Changed {
		t.Errorf("an exception: %+v, %v", got, err)
	}
	w.equal("the message", w.head("main"), "Alice <alice@example.com>\nLet BASE2 pass the freeze q4\n\nthe fix\n\nFairlead-Commit: BASE2\nFairlead-Freezes: prod\nFairlead-Action: freeze")
	if text := w.named(w.file("main", ".fairlead/freezes/q4.yaml")); !strings.HasSuffix(text, "  except:\n    - commit: BASE2\n      reason: the fix\n") {
		t.Errorf("the file is\n%s", text)
	}
	if got, err := d.AddException(t.Context(), "q4", w.base[2], "the fix"); err != nil || got.Changed {
		t.Errorf("the same exception: %+v, %v", got, err)
	}
	if got, err := d.EndFreeze(t.Context(), "q4", "they are open"); err != nil || !got.Changed {
		t.Errorf("the end: %+v, %v", got, err)
	}
	if got, err := d.EndFreeze(t.Context(), "q4", "they are open"); err != nil || got.Changed || got.Summary != "there is no freeze q4" {
		t.Errorf("the end again: %+v, %v", got, err)
	}
}
