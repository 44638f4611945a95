package loop_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/cost"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/ephemeral"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestEphemeralStack: an ephemeral environment has a copy of a stack, with a state of its own. When its
// time is over, the stack is torn down, over restarts, until clusters of the environment that it was
// made from report that as complete; only then does the environment go. The stack that it is a copy of
// stays as it is.
func TestEphemeralStack(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, shape.layout, "dev")
			inbox, use := w.inbox()
			d := w.begin(w.data, use)
			protected := strings.Replace(stackFileText, "network, type: terraform,", "network, type: terraform, destroyProtection: true,", 1)
			w.commitNow("dev", "a stack", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": protected})
			d.cycle()
			w.merge("dev")
			d.cycle()
			dev := w.below(shape.branch("dev"), shape.folder("dev"))
			if _, err := w.desk().Create(t.Context(), ephemeral.Creation{Name: "pr-7", From: "dev", TTL: 48 * time.Hour, Stacks: []string{"checkout/dev"}}); err != nil {
				t.Fatal(err)
			}
			own := func(file string) string {
				return w.below(shape.branch("pr-7"), shape.folder("pr-7"))["environments/checkout/dev-pr-7/"+file]
			}
			d.cycle()
			d.cycle()
			d.want(map[string]status.State{"dev": status.InSync, "pr-7": status.InSync})
			for _, part := range []string{"name: checkout-dev-pr-7-eks", "namespace: zmart-checkout-dev-pr-7", "checkout/dev-pr-7/eks/terraform.tfstate", "destroy: false"} {
				if o := own("eks/objects/terraform.yaml"); !strings.Contains(o, part) {
					t.Errorf("there is no %q in\n%s", part, o)
				}
			}
			if o := own("eks/objects/gitrepository.yaml"); !strings.Contains(o, "branch: fairlead-modules-pr-7") {
				t.Errorf("its root modules are not in a branch of their own:\n%s", o)
			}

			w.wantVerified(shape.branch("pr-7"))
			w.now = w.now.Add(50 * time.Hour)
			d.cycle()
			d = w.begin(t.TempDir(), use) // it remembers nothing
			for range 3 {
				d.cycle()
			}
			for _, component := range []string{"eks", "network"} {
				if o := own(component + "/objects/terraform.yaml"); !strings.Contains(o, "destroy: true") {
					t.Fatalf("%s is not torn down:\n%s", component, o)
				}
			}
			if text := w.branches("cp")["ephemeral/pr-7"]; text == "" {
				t.Fatal("the environment is gone before its stack")
			}
			w.wantVerified(shape.branch("pr-7"))
			if got := fmt.Sprint(d.state("pr-7").Problems); !strings.Contains(got, "it is removed when its stacks are destroyed") {
				t.Errorf("nothing says what it waits for: %s", got)
			}
			report := func(component string) {
				w.add(inbox, observe.Event{Cluster: "one", Environment: "dev", Object: "Kustomization/zmart-checkout-dev-pr-7/checkout-dev-pr-7-" + component,
					Branch: shape.branch("pr-7"), Commit: w.head("out", shape.branch("pr-7")), Phase: rollout.Ready, When: w.now})
			}
			report("eks")
			d.cycle()
			if o := own("network/objects/terraform.yaml"); !strings.Contains(o, "destroy: true") {
				t.Fatal("half destroyed, the stack is removed")
			}
			report("network")
			for range 3 {
				d.cycle()
			}
			if own("eks/objects/terraform.yaml") != "" || own("eks/objects/gitrepository.yaml") == "" {
				t.Error("the Terraform objects do not go before their sources")
			}
			report("eks")
			report("network")
			for range 6 {
				d.cycle()
			}
			left := w.branches("out")[shape.branch("pr-7")] != "" && own("eks/objects/terraform.yaml") != ""
			if left || w.branches("cp")["ephemeral/pr-7"] != "" {
				t.Errorf("destroyed, the stack or the environment is still there: %v\n%s", w.branches("cp"), w.logs.String())
			}
			for file, text := range w.below(shape.branch("dev"), shape.folder("dev")) {
				if strings.HasPrefix(file, "environments/") && dev[file] != text {
					t.Errorf("%s of dev has changed", file)
				}
			}
			d.quiet("cp", "out")
		})
	}
}

// withEphemeralStack returns a world in which pr-7 has a copy of the stack checkout/dev.
func withEphemeralStack(t *testing.T) (*world, *daemon) {
	t.Helper()
	w := newWorld(t, scaffold.Branches, "dev")
	d := w.begin(w.data)
	w.commitNow("dev", "a stack", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": stackFileText})
	d.cycle()
	if _, err := w.desk().Create(t.Context(), ephemeral.Creation{Name: "pr-7", From: "dev", TTL: 48 * time.Hour, Stacks: []string{"checkout/dev"}}); err != nil {
		t.Fatal(err)
	}
	d.cycle()
	d.cycle()
	return w, d
}

// TestEphemeralStackExtended: an environment whose time was extended while its stack was torn down has it
// again.
func TestEphemeralStackExtended(t *testing.T) {
	w, d := withEphemeralStack(t)
	wantDestroy := func(want string) {
		t.Helper()
		if o := w.below("ephemeral/pr-7", "environments/checkout/dev-pr-7")["eks/objects/terraform.yaml"]; !strings.Contains(o, "destroy: "+want) {
			t.Errorf("it does not say destroy: %s\n%s", want, o)
		}
	}
	wantDestroy("false")
	w.now = w.now.Add(50 * time.Hour)
	d.cycle()
	d.cycle()
	wantDestroy("true")
	if _, err := w.desk().Extend(t.Context(), "pr-7", 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	d.cycle()
	d.cycle()
	wantDestroy("false")
}

// TestEphemeralStackWithoutBranch: if the branch of an environment with a stack is deleted, its output
// stays until a person merges the removal.
func TestEphemeralStackWithoutBranch(t *testing.T) {
	w, d := withEphemeralStack(t)
	gittest.Git(t, w.server.Dir("cp"), "update-ref", "-d", "refs/heads/ephemeral/pr-7")
	for range 3 {
		d.cycle()
	}
	if o := w.below("ephemeral/pr-7", "environments/checkout/dev-pr-7")["eks/objects/terraform.yaml"]; !strings.Contains(o, "destroy: false") {
		t.Errorf("its stack is gone, and was not destroyed: %s", w.logs.String())
	}
	proposed := false
	for branch := range w.branches("out") {
		proposed = proposed || strings.HasPrefix(branch, "fairlead/change/removal/pr-7-")
	}
	if !proposed {
		t.Errorf("its removal is not proposed: %v", w.branches("out"))
	}
}

// TestEphemeralStackTakenOut: an environment whose stack is taken out of spec.stacks stays, as its output
// does, until the stack is destroyed: when its time is over, and when its branch is deleted.
func TestEphemeralStackTakenOut(t *testing.T) {
	list := regexp.MustCompile(`(?m)^ +stacks:\n( +- .*\n)+`)
	for _, end := range []string{"its time is over", "its branch is deleted"} {
		t.Run(end, func(t *testing.T) {
			w, d := withEphemeralStack(t)
			text := gittest.Git(t, w.server.Dir("cp"), "show", "ephemeral/pr-7:"+source.EphemeralFile) + "\n"
			without := list.ReplaceAllString(text, "")
			if without == text {
				t.Fatalf("there is no spec.stacks in\n%s", text)
			}
			w.commitNow("ephemeral/pr-7", "without the stack", map[string]string{source.EphemeralFile: without})
			d.cycle()
			if end == "its branch is deleted" {
				gittest.Git(t, w.server.Dir("cp"), "update-ref", "-d", "refs/heads/ephemeral/pr-7")
			} else {
				w.now = w.now.Add(50 * time.Hour)
			}
			for range 3 {
				d.cycle()
			}
			if w.below("ephemeral/pr-7", "environments/checkout/dev-pr-7")["eks/objects/terraform.yaml"] == "" {
				t.Errorf("its stack is gone, and was not destroyed: %s", w.logs.String())
			}
			if end == "its time is over" && w.branches("cp")["ephemeral/pr-7"] == "" {
				t.Error("the environment is gone before its stack")
			}
		})
	}
}

// clusterOfDev is a ledger with one cluster, of dev.
type clusterOfDev struct{ *recorder.Recorder }

func (clusterOfDev) Clusters() []ledger.Cluster {
	return []ledger.Cluster{{ID: "one", Names: []ledger.Naming{{Name: "one"}}, Group: ledger.Group{Environment: "dev"}}}
}

// TestEphemeralCosts: an ephemeral environment warns as soon as the plans of its stacks that were sent cost more than the
// settings allow.
func TestEphemeralCosts(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.more += "costs: {limit: {increase: 100, currency: EUR}}\n"
	inbox, use := w.inbox()
	costs := map[string][]cost.Change{}
	d := w.begin(w.data, use, func(o *loop.Options) {
		o.Ledger = clusterOfDev{inbox}
		o.FindPlans = func(namespace, object string) []stackview.ReportedPlan {
			if namespace != "zmart-checkout-dev-pr-7" || costs[object] == nil {
				return nil
			}
			first := stackview.ReportedPlan{PlanKey: stackview.PlanKey{Cluster: "one"}, Counts: tfplan.Counts{Add: 1}}
			first.Costs = costs[object]
			other := first
			other.Cluster, other.Costs = "of another environment", []cost.Change{{Currency: "EUR", Before: "0.00", After: "900.00", Difference: "900.00"}}
			return []stackview.ReportedPlan{first, other}
		}
	})
	w.commitNow("dev", "a stack", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": stackFileText})
	d.cycle()
	if _, err := w.desk().Create(t.Context(), ephemeral.Creation{Name: "pr-7", From: "dev", TTL: 48 * time.Hour, Stacks: []string{"checkout/dev"}}); err != nil {
		t.Fatal(err)
	}
	costs["checkout-dev-pr-7-network"] = []cost.Change{{Currency: "EUR", Before: "0.00", After: "60.00", Difference: "60.00"}}
	for after, want := range []bool{false, true} {
		d.cycle()
		d.cycle()
		got := fmt.Sprint(d.state("pr-7").Problems)
		if strings.Contains(got, "0.00 to 120.00 EUR a month (+120.00)") != want {
			t.Errorf("with %d plans more, it has %s", after, got)
		}
		costs["checkout-dev-pr-7-eks"] = costs["checkout-dev-pr-7-network"]
	}
	d.quiet("cp", "out")
}
