package loop_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestMergePolicies: one environment is merged by the daemon, one by a forge that
// cannot, one by people.
func TestMergePolicies(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "stage", "prod")
	w.more += "merge: {dev: direct, stage: when-green}\n"
	d := w.begin(w.data)
	d.cycle()
	d.want(map[string]status.State{"dev": status.InSync, "stage": status.Proposed, "prod": status.Proposed})
	if got := d.state("stage").Reason; !strings.Contains(got, "merge is when-green") {
		t.Errorf("of a forge that cannot merge by itself it says %q", got)
	}
	if _, ok := gittest.Files(t, w.server.Dir("out"), "dev")["cloud/hello-web/namespace.yaml"]; !ok {
		t.Error("what was merged is not on the branch")
	}
	if _, ok := gittest.Refs(t, w.server.Dir("out"))["refs/heads/fairlead/dev"]; ok {
		t.Error("the branch of the pull request is still there")
	}
	d.cycle()
	d.cycle()
	before := len(w.server.Requests("out"))
	d.cycle()
	if n := len(w.server.Requests("out")) - before; n != 1 {
		t.Errorf("a quiet cycle makes %d requests, want 1", n)
	}
	d.want(map[string]status.State{"dev": status.InSync, "stage": status.Proposed, "prod": status.Proposed})
}

// TestEnvironmentGone: the pull request, the branch and the issue of an environment
// that is removed go too; its output stays.
func TestEnvironmentGone(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	d := w.begin(w.data)
	d.cycle()
	before := gittest.Refs(t, w.server.Dir("out"))["refs/heads/prod"]
	w.edit("dev", "cluster-types/cloud.yaml", "kind: ClusterType", "kind: ClusterTypo")
	d.cycle()
	w.people.Pull("main")
	w.people.Remove(".environments/prod.yaml")
	w.people.Commit("prod is gone")
	w.people.Push("main")
	d.cycle()
	refs := gittest.Refs(t, w.server.Dir("out"))
	if refs["refs/heads/fairlead/prod"] != "" || refs["refs/heads/prod"] != before {
		t.Errorf("the references are %v", refs)
	}
	all, err := w.plain("out").AllPulls()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Mark == "prod" && (p.State != "closed" || !strings.Contains(p.Reason, "no longer in the control plane")) {
			t.Errorf("the pull request of prod is %s: %s", p.State, p.Reason)
		}
	}
}

// TestTypoMended: an environment whose file cannot be read for a while is not gone, and
// nobody has said no to it.
func TestTypoMended(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	d := w.begin(w.data)
	d.cycle()
	first := w.open("prod")
	w.people.Pull("main")
	good := gittest.Show(t, w.people.Dir, "HEAD", ".environments/prod.yaml")
	for _, text := range []string{"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata: {name: prod\n", good} {
		w.people.Write(".environments/prod.yaml", text)
		w.people.Commit("edit")
		w.people.Push("main")
		d.cycle()
	}
	d.cycle()
	if s := d.state("prod"); s.State != status.Proposed {
		t.Errorf("after the typo was mended, prod is %s: %s", s.State, s.Reason)
	}
	_ = first
}
