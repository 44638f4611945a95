package actions_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/edit"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// addOutputs gives every environment an output.
func (w *world) addOutputs() {
	w.t.Helper()
	for _, env := range []string{"dev", "stage", "prod"} {
		w.work.Switch(env)
		w.work.Write("to.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata:\n  name: "+env+"\nspec:\n  repo: "+w.server.URL("plane")+"-out\n  branch: "+env+"\n  path: .\n")
		w.work.Write(".fairlead/hold.yaml", "apiVersion: fairlead.io/v1alpha1\nkind: Hold\nmetadata:\n  name: hold\nspec:\n  reason: wait\n")
		w.work.Commit("where it goes")
		w.work.Push()
	}
}

// TestCreateEnvironmentKilled: killed after the branch was pushed, the same command ends the work; a branch that somebody
// else has made stays.
func TestCreateEnvironmentKilled(t *testing.T) {
	w := newWorld(t)
	w.addOutputs()
	made := edit.NewEnvironment{Name: "qa", From: "dev", Before: []string{"stage"}}
	o := w.options()
	effects := 0
	o.BeforeEffect = func(what string) {
		if effects++; effects == 2 {
			panic(errors.New("killed before " + what))
		}
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("it was not killed")
			}
		}()
		_, _ = w.open(o).CreateEnvironment(t.Context(), made, "")
	}()
	branches := func() string {
		return gittest.Git(t, w.server.Dir("plane"), "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads/qa")
	}
	first := branches()
	if !strings.HasPrefix(first, "qa ") || strings.Contains(w.file("main", ".fairlead/promotion.yaml"), "qa") {
		t.Fatalf("there is %q", first)
	}
	r, err := w.open(w.options()).CreateEnvironment(t.Context(), made, "why")
	if err != nil || !r.Changed || branches() != first {
		t.Fatalf("%+v, %v, %s", r, err, branches())
	}
	if text := w.file("main", ".fairlead/promotion.yaml"); !strings.Contains(text, "  - name: qa\n    after: [dev]\n  - name: stage\n    after: [qa]\n") {
		t.Errorf("the order is\n%s", text)
	}
	if kept := gittest.Git(t, w.server.Dir("plane"), "ls-tree", "-r", "--name-only", "qa"); strings.Contains(kept, "hold") {
		t.Errorf("the branch has\n%s", kept)
	}
	var refusal *problem.Refusal
	w.work.Switch("theirs")
	w.work.Write("x", "x")
	w.work.Commit("x")
	w.work.Push()
	made.Name, made.Before = "theirs", nil
	if _, err := w.open(w.options()).CreateEnvironment(t.Context(), made, ""); !errors.As(err, &refusal) {
		t.Errorf("the error is %v", err)
	}
}

// TestEditRefused: a change that adds a problem is not written, and one that leaves those that are there is.
func TestEditRefused(t *testing.T) {
	w := newWorld(t)
	w.addOutputs()
	before := w.head("main")
	of := actions.ObjectRef{Kind: "Promotion", Name: "main"}
	set := func(path, value string) error {
		_, err := w.open(w.options()).SetValues(t.Context(), of, []edit.Setting{{Path: path, Value: value}}, "")
		return err
	}
	var added *actions.ProblemsError
	if err := set("environments[stage].after", "[uat]"); !errors.As(err, &added) || !added.List.Stops() || w.head("main") != before {
		t.Errorf("the error is %v", err)
	}
	w.work.Switch("main")
	w.work.Pull("main")
	w.work.Write(".fairlead/promotion.yaml", strings.Replace(promotion, "[dev]", "[uat]", 1))
	w.work.Commit("a mistake")
	w.work.Push()
	if err := set("environments[prod].after", "[dev, stage]"); err != nil {
		t.Errorf("a problem that was there stops it: %v", err)
	}
	if err := set("environments[stage].after", "[dev]"); err != nil {
		t.Errorf("the mistake cannot be mended: %v", err)
	}
}
