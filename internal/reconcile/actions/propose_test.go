package actions_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// Somebody else pushes between the look and the push: it is decided anew, and what they
// wrote stays.
func TestRace(t *testing.T) {
	w := newWorld(t)
	others := 0
	o := w.options()
	o.BeforeEffect = func(string) {
		if others++; others > 2 {
			return
		}
		w.work.Pull("dev")
		w.work.Write("theirs.yaml", fmt.Sprint(others))
		w.work.Commit("theirs")
		w.work.Push()
	}
	if got, err := w.open(o).Hold(t.Context(), "dev", "wait", ""); err != nil || !got.Changed {
		t.Fatalf("%+v, %v", got, err)
	}
	if others != 3 || w.file("dev", "theirs.yaml") != "2" || !strings.Contains(w.file("dev", ".fairlead/hold.yaml"), "wait") {
		t.Errorf("after %d attempts there is %q", others, w.file("dev", "theirs.yaml"))
	}
}

// A race is decided anew: what was right may be wrong by then.
func TestRaceRefused(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	o.BeforeEffect = func(string) {
		if _, err := w.open(w.options()).Hold(t.Context(), "stage", "stop", ""); err != nil {
			t.Error(err)
		}
	}
	var refusal *problem.Refusal
	_, err := w.open(o).Promote(t.Context(), actions.Promotion{Environment: "stage", From: "dev", Report: w.known()})
	if !errors.As(err, &refusal) || refusal.Reason != "stage is held: stop" {
		t.Errorf("%v", err)
	}
}

// With a forge it is proposed, and nothing else moves.
func TestPropose(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	o.Forge = func(remote *git.Remote, _ string) (forge.Forge, error) {
		return forge.NewPlain(remote, alice, o.Now), nil
	}
	before := gittest.Git(t, w.server.Dir("plane"), "rev-parse", "stage")
	d := w.open(o)
	got, err := d.Rollback(t.Context(), actions.Rollback{Environment: "dev", To: "main~2", Reason: "x"})
	var refusal *problem.Refusal
	if !errors.As(err, &refusal) || w.named(refusal.Reason) != "dev never had BASE0" {
		t.Errorf("%+v, %v", got, err)
	}
	for range 2 { // twice is once
		if got, err = d.Promote(t.Context(), actions.Promotion{Environment: "stage", From: "dev", Report: w.known()}); err != nil {
			t.Fatal(err)
		}
	}
	if got.Pull == nil || got.Pull.Number != 1 || got.Pull.State != forge.Open || got.Commit != "" || !got.Changed {
		t.Errorf("%+v", got)
	}
	if after := gittest.Git(t, w.server.Dir("plane"), "rev-parse", "stage"); after != before {
		t.Error("the branch has moved")
	}
	digest := regexp.MustCompile("Fairlead-Digest: sha256:[0-9a-f]{64}\n")
	message := w.head("fairlead/change/promote/stage")
	if !digest.MatchString(message) {
		t.Errorf("an amendment would not be noticed:\n%s", message)
	}
	w.equal("the message", digest.ReplaceAllString(message, ""), `Alice <alice@example.com>
Promote BASE2 to stage

Change 2

Fairlead-Promoted: BASE2
Fairlead-Promotion: stage
Fairlead-Action: promote`)
}

// An environment may have a repository of its own, which may be read elsewhere.
func TestOtherRepository(t *testing.T) {
	w := newWorld(t)
	w.server.Create("team")
	team := w.server.Work(t, "team")
	team.Switch("live")
	team.Write("envs/team/readme.md", "x")
	team.Commit("begin")
	team.Push()
	w.work.Switch("main")
	w.work.Write(".environments/team.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata:\n  name: team\n"+
		"spec:\n  controlPlane:\n    repo: https://git.example.com/acme/team\n    branch: live\n    path: envs/team\n")
	w.base = append(w.base, w.work.Commit("An environment elsewhere"))
	w.work.Push()
	o := w.options()
	o.Map = map[string]string{"https://git.example.com/acme/team.git": w.server.URL("team")}
	d := w.open(o)
	if got, err := d.Promote(t.Context(), actions.Promotion{Environment: "team", Commit: "main"}); err != nil || !got.Changed {
		t.Fatalf("%+v, %v", got, err)
	}
	want := string(promote.NewRecord(w.server.URL("plane"), "main", w.base[3]))
	if diff := cmp.Diff(want, gittest.Show(t, w.server.Dir("team"), "live", "envs/team/base-repo.yaml")); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}
	if _, err := d.Hold(t.Context(), "team", "wait", ""); err != nil {
		t.Fatal(err)
	}
	if text := gittest.Show(t, w.server.Dir("team"), "live", "envs/team/.fairlead/hold.yaml"); !strings.Contains(text, "wait") {
		t.Errorf("the hold is %q", text)
	}
}
