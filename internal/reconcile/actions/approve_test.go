package actions_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestApproveForged: somebody who has written a person's approval in their name does not keep the person from
// approving with a signature, and the person approves once.
func TestApproveForged(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	forged, err := w.open(o).Approve(t.Context(), actions.Approval{Environment: "prod", Commit: w.base[1], Reason: "looks good"})
	if err != nil || !forged.Changed {
		t.Fatalf("%+v, %v", forged, err)
	}
	o.Sign = func(text []byte, _ time.Time) (string, error) { return "of " + string(text[:45]), nil }
	for _, changed := range []bool{true, false} {
		got, err := w.open(o).Approve(t.Context(), actions.Approval{Environment: "prod", Commit: w.base[1], Reason: "looks good"})
		if err != nil || got.Changed != changed {
			t.Fatalf("%+v, %v; want changed %t", got, err, changed)
		}
	}
	text := w.file("prod", ".fairlead/approvals/"+w.base[1][:12]+"-alice-example-com-ff8d9819.yaml")
	if !strings.HasPrefix(text, "# The approval in "+forged.Commit+" has another signature.") {
		t.Errorf("the file is\n%s", text)
	}
}

func TestApprove(t *testing.T) {
	w := newWorld(t)
	d := w.open(w.options())
	got, err := d.Approve(t.Context(), actions.Approval{Environment: "prod", Reason: "looks good", Report: w.known()})
	if err != nil || got.To != w.base[1] || !got.Changed {
		t.Fatalf("%+v, %v", got, err)
	}
	w.equal("the file", w.file("prod", ".fairlead/approvals/"+w.base[1][:12]+"-alice-example-com-ff8d9819.yaml"), `apiVersion: fairlead.io/v1alpha1
kind: Approval
metadata:
  name: BASE1-alice-example-com-ff8d9819
spec:
  commit: BASE1
  reason: looks good`)
	w.equal("the message", w.head("prod"), "Alice <alice@example.com>\nApprove BASE1 for prod\n\nlooks good\n\nFairlead-Approval: prod\nFairlead-Commit: BASE1\nFairlead-Action: approve")
	if got, err = d.Approve(t.Context(), actions.Approval{Environment: "prod", Commit: w.base[1][:8], Reason: "again"}); err != nil || got.Changed {
		t.Errorf("again: %+v, %v", got, err)
	}
	var refusal *problem.Refusal
	if _, err = d.Approve(t.Context(), actions.Approval{Environment: "prod", Commit: ""}); !errors.As(err, &refusal) {
		t.Errorf("nobody knows what: %v", err)
	}
	if _, err = d.Approve(t.Context(), actions.Approval{Environment: "prod", Commit: "dev"}); !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, "not on the base's branch") {
		t.Errorf("a commit of an environment: %v", err)
	}
}

// TestApproveAgain: who signed in at the page approves once, whatever their address is.
func TestApproveAgain(t *testing.T) {
	w := newWorld(t)
	for i, address := range []string{"alice@a.example", "alice@b.example"} {
		o := w.options()
		o.Author.Email, o.Trailers = address, []string{"Fairlead-Via: web", "Fairlead-Actor: https://issuer.example.com#7"}
		got, err := w.open(o).Approve(t.Context(), actions.Approval{Environment: "prod", Commit: w.base[1]})
		if err != nil || got.Changed != (i == 0) {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}
}

// Two people whose addresses look alike have a file each, and a file that an older version
// has named counts as whose it is.
func TestApproveAlike(t *testing.T) {
	w := newWorld(t)
	w.work.Pull("prod")
	w.work.Write(".fairlead/approvals/"+w.base[1][:12]+"-a-b-example-com.yaml",
		"apiVersion: fairlead.io/v1alpha1\nkind: Approval\nmetadata: {name: old}\nspec: {commit: "+w.base[1]+"}\n")
	gittest.Git(t, w.work.Dir, "add", "-A")
	gittest.Git(t, w.work.Dir, "-c", "user.name=A", "commit", "--quiet", "--author", "A <a.b@example.com>", "--message", "approve")
	w.work.Push()
	for _, test := range []struct {
		address string
		changed bool
	}{{"a.b@example.com", false}, {"a-b@example.com", true}, {"a-b@example.com", false}} {
		o := w.options()
		o.Author.Email = test.address
		if got, err := w.open(o).Approve(t.Context(), actions.Approval{Environment: "prod", Commit: w.base[1]}); err != nil || got.Changed != test.changed {
			t.Errorf("%s: %+v, %v", test.address, got, err)
		}
	}
	if files := gittest.Git(t, w.server.Dir("plane"), "ls-tree", "-r", "--name-only", "prod", ".fairlead/approvals"); strings.Count(files, "a-b-example-com") != 2 {
		t.Errorf("the files are\n%s", files)
	}
}

// An approval of what is there already says so, and is written only if it counts for
// something.
func TestApprovePresent(t *testing.T) {
	w := newWorld(t)
	d := w.open(w.options())
	before := gittest.Refs(t, w.server.Dir("plane"))
	got, err := d.Approve(t.Context(), actions.Approval{Environment: "stage", Commit: w.base[1]})
	if err != nil || got.Changed || w.named(got.Summary) != "stage has BASE1 already, and its proof asks for no approval" {
		t.Errorf("it is there: %+v, %v", got, err)
	}
	if diff := cmp.Diff(before, gittest.Refs(t, w.server.Dir("plane"))); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
	got, err = d.Approve(t.Context(), actions.Approval{Environment: "stage", Commit: w.base[0]})
	if err != nil || !got.Changed || w.named(got.Summary) != "alice@example.com approves BASE0 for stage, which has a newer one already, BASE1" {
		t.Errorf("it has a newer one: %+v, %v", got, err)
	}
	w.work.Pull("main")
	w.work.Write(".fairlead/promotion.yaml", strings.Replace(promotion, "after: [dev]\n", "after: [dev]\n    proof: [{approval: {count: 1}}]\n", 1))
	w.work.Commit("ask for approvals")
	w.work.Push()
	got, err = w.open(w.options()).Approve(t.Context(), actions.Approval{Environment: "stage", Commit: w.base[1]})
	if err != nil || !got.Changed || w.named(got.Summary) != "alice@example.com approves BASE1 for stage, which has it already: it counts for its proof" {
		t.Errorf("its proof asks for it: %+v, %v", got, err)
	}
}
