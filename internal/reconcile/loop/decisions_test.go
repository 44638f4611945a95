package loop_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

const decisionFile = model.DecisionFolder + "/hello.yaml"

// chooses makes the policy of the sample choose one cluster type.
func (w *world) chooses(environment, choice string) {
	w.Helper()
	w.edit(environment, "scheduling-policies/hello.yaml", "  name: hello\n", "  name: hello\n  annotations:\n    fairlead.io/choose: '"+choice+"'\n")
}

func (w *world) decision(environment string) string {
	w.Helper()
	return gittest.Files(w, w.server.Dir(w.cp()), w.head(w.cp(), environment))[decisionFile]
}

// countSince counts the commits of the environment's branch since another.
func (w *world) countSince(commit string) string {
	w.Helper()
	return gittest.Git(w, w.server.Dir("cp"), "rev-list", "--count", commit+"..dev")
}

// TestDecisionIsWritten: the daemon writes what was chosen in one commit, before it proposes the output, and then
// nothing more. What was chosen stays when a cluster type is added, moves with a taint, and goes with the policy.
func TestDecisionIsWritten(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.chooses("dev", "{pick: 1}")
	before := w.head(w.cp(), "dev")
	d := w.begin(w.data)
	d.cycle()
	first := w.decision("dev")
	head := w.head(w.cp(), "dev")
	if !strings.Contains(first, "hello-web: [") || w.countSince(before) != "1" {
		t.Fatalf("the decision is\n%s", first)
	}
	d.want(map[string]status.State{"dev": status.Proposed})
	proposed := w.open("dev").Commit
	for range 2 {
		d.cycle()
	}
	if w.head(w.cp(), "dev") != head || w.open("dev").Commit != proposed {
		t.Error("there are more commits, though nothing has changed")
	}

	w.merge("dev")
	d.cycle()
	chosen := "cloud"
	if strings.Contains(first, "edge") {
		chosen = "edge"
	}
	w.edit("dev", "cluster-types/"+chosen+".yaml", "  name: "+chosen+"\n", "  name: "+chosen+"\n  annotations: {fairlead.io/taints: \"drain:NoSelect\"}\n")
	d.cycle()
	if moved := w.decision("dev"); moved == first || strings.Contains(moved, "["+chosen+"]") {
		t.Errorf("after the taint the decision is\n%s", moved)
	}
	if body := w.open("dev").Body; !strings.Contains(body, "assignment moved") {
		t.Errorf("the pull request says\n%s", body)
	}
	if message := gittest.Git(w, w.server.Dir("cp"), "log", "-1", "--format=%B", "dev"); !strings.Contains(message, "hello/hello-web: "+chosen+" → ") || !strings.Contains(message, "(taint drain)") {
		t.Errorf("the message is\n%s", message)
	}

	w.edit("dev", "scheduling-policies/hello.yaml", "fairlead.io/choose", "example.com/choose")
	d.cycle()
	if left := w.decision("dev"); left != "" {
		t.Errorf("the policy has no choice, and there is\n%s", left)
	}
}

// TestDecisionIsBroken: a file that cannot be read stops the environment, whose output stays, and nothing is written.
func TestDecisionIsBroken(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.chooses("dev", "{pick: 1}")
	d := w.begin(w.data)
	d.cycle()
	w.edit("dev", decisionFile, "kind: Decision", "kind: Decision: x")
	head, proposed := w.head(w.cp(), "dev"), w.open("dev").Commit
	d.cycle()
	d.want(map[string]status.State{"dev": status.Problems})
	if w.head(w.cp(), "dev") != head || w.open("dev").Commit != proposed {
		t.Error("something was written")
	}
}

// TestStalePlacement: a Choice beside its policy follows a Placement, of whose decisions there is a warning when they are older
// than the settings want; what they decide counts all the same.
func TestStalePlacement(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.commitNow("dev", "follow a Placement", map[string]string{
		"scheduling-policies/hello-choice.yaml": "apiVersion: fairlead.io/v1alpha1\nkind: Choice\nmetadata: {name: hello}\nspec: {policy: hello, by: ocm, placement: shop/hello}\n",
		model.DecisionFolder + "/ocm.yaml": "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: PlacementDecision\n" +
			"metadata: {name: hello-decision-1, namespace: shop, labels: {cluster.open-cluster-management.io/placement: hello}}\nstatus: {decisions: [{clusterName: edge}]}\n",
	})
	committed := w.now
	w.more += "scheduling: {stale: 24h}\n"
	d := w.begin(w.data)
	for _, test := range []struct {
		age   time.Duration
		stale bool
	}{{time.Hour, false}, {25 * time.Hour, true}} {
		w.now = committed.Add(test.age)
		d.cycle()
		d.want(map[string]status.State{"dev": status.Proposed})
		if decision := w.decision("dev"); !strings.Contains(decision, "by: ocm\n") || !strings.Contains(decision, "hello-web: [edge]") {
			t.Fatalf("after %s the decision is\n%s", test.age, decision)
		}
		isOfPages := func(p problem.Problem) bool { return p.Warning && p.Pos.File == model.DecisionFolder+"/ocm.yaml" }
		if slices.ContainsFunc(d.state("dev").Problems, isOfPages) != test.stale {
			t.Errorf("after %s the problems are %v", test.age, d.state("dev").Problems)
		}
	}
}

// TestDecisionKilled: a daemon that is killed at any step, and started again, makes the same commits.
func TestDecisionKilled(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.chooses("dev", "{pick: 1}")
	w.more += "parallel: 1\n"
	before := w.save()
	w.life(w.data)
	want := w.outcome()
	decided := w.head(w.cp(), "dev")
	steps := w.killAtEveryStep(before, w.beginAgain(want))
	decides, proposes := slices.Index(steps, "commit to dev"), slices.Index(steps, "push our branch")
	if decides < 0 || decides > proposes {
		t.Errorf("the steps are %q, and the decision should come before the proposal", steps)
	}
	if w.head(w.cp(), "dev") != decided {
		t.Error("the commit of the decision is another one")
	}
}

// TestDecisionRace: two daemons make one commit.
func TestDecisionRace(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.chooses("dev", "{pick: 1}")
	before := w.head(w.cp(), "dev")
	one, two := w.begin(t.TempDir()), w.begin(t.TempDir())
	done := make(chan error)
	for _, d := range []*daemon{one, two} {
		go func() { done <- d.Cycle(t.Context()) }()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := w.countSince(before); n != "1" {
		t.Errorf("the branch has %s new commits", n)
	}
	one.cycle()
	two.cycle()
	one.want(map[string]status.State{"dev": status.Proposed})
	two.want(map[string]status.State{"dev": status.Proposed})
}

// TestDecisionOfPromoted: a promoted base with a new target is decided and written before its output is proposed, once.
func TestDecisionOfPromoted(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.chooses("dev", "{pick: 1}")
	w.pin()
	var mu sync.Mutex // repositories are fetched at the same time
	var steps []string
	d := w.begin(w.data, func(o *loop.Options) {
		o.BeforeEffect = func(what string) {
			mu.Lock()
			defer mu.Unlock()
			steps = append(steps, what)
		}
	})
	d.cycle()
	steps = nil
	w.edit("main", "workloads/hello.yaml", "    - name: web\n      environment: dev\n", "    - name: api\n      environment: dev\n      manifests: {repo: https://example.com/hello, branch: main, path: .}\n    - name: web\n      environment: dev\n")
	w.pin()
	promoted := w.head(w.cp(), "dev")
	d.cycle()
	if w.countSince(promoted) != "1" || !strings.Contains(w.decision("dev"), "hello-api: [") {
		t.Errorf("the decision is\n%s", w.decision("dev"))
	}
	decides, proposes := slices.Index(steps, "commit to dev"), slices.Index(steps, "push our branch")
	if decides < 0 || decides > proposes || slices.Contains(steps[proposes+1:], "push our branch") {
		t.Errorf("the steps are %q", steps)
	}
	if message := gittest.Git(w, w.server.Dir("out"), "log", "-1", "--format=%B", "fairlead/dev"); !strings.Contains(message, w.head(w.cp(), "dev")) {
		t.Errorf("the output is of another commit:\n%s", message)
	}
}

// TestDecisionIsProposed: where records are written by pull request, so are decisions, and the output does not wait.
func TestDecisionIsProposed(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.chooses("dev", "{pick: 1}")
	w.commitNow("main", "propose records", map[string]string{promotionFile: own("Promotion", "main", "{external: true, environments: [{name: dev, record: pull-request}]}")})
	before := w.head(w.cp(), "dev")
	d := w.begin(w.data)
	d.cycle()
	d.cycle()
	if w.head(w.cp(), "dev") != before {
		t.Error("the decision was written directly")
	}
	if w.open("dev").Number == 0 || gittest.Files(w, w.server.Dir("cp"), w.head("cp", "fairlead/decisions/dev"))[decisionFile] == "" {
		t.Error("something is not proposed")
	}
	gittest.Git(w, w.server.Dir("cp"), "update-ref", "refs/heads/dev", "refs/heads/fairlead/decisions/dev")
	proposed := w.open("dev")
	d.cycle()
	if strings.Contains(strings.Join(slices.Sorted(maps.Keys(w.branches("cp"))), " "), "decisions") || w.open("dev").Number != proposed.Number {
		t.Errorf("the branches are %v", w.branches("cp"))
	}
}

// TestPreviewOfChoice: the comment on a pull request of the control plane says which units it moves and why, and which
// have no room.
func TestPreviewOfChoice(t *testing.T) {
	fake, d := onGitHub(t, "dev")
	d.chooses("dev", "{pick: 1}")
	d.cycle()
	chosen, other := "cloud", "edge"
	if strings.Contains(d.decision("dev"), "edge") {
		chosen, other = other, chosen
	}
	work := fake.Git.Work(t, githubCP)
	taint := func(clusterType string) {
		file := "cluster-types/" + clusterType + ".yaml"
		name := "  name: " + clusterType + "\n"
		text := gittest.Show(t, work.Dir, "HEAD", file)
		work.Write(file, strings.Replace(text, name, name+"  annotations: {fairlead.io/taints: \"drain:NoSelect\"}\n", 1))
		work.Commit("drain " + clusterType)
		work.Push("HEAD:drain")
	}
	gittest.Git(t, work.Dir, "checkout", "-qB", "drain", "origin/dev")
	taint(chosen)
	number := fake.Propose(githubCP, githubfake.Proposed{Head: "drain", Base: "dev", Title: "drain"})
	for _, want := range []string{
		"**Places that policies choose**: 1 unit moves, 0 stay\n\n- hello/hello-web: " + chosen + " → " + other + " (taint drain)\n",
		"the choice would leave hello-web nowhere: 0 of 2 cluster types can take it: 2 had an untolerated taint (drain)",
	} {
		gittest.Git(t, fake.Git.Dir(githubCP), "update-ref", fmt.Sprintf("refs/pull/%d/head", number), "refs/heads/drain")
		d.cycle()
		if all := fake.Comments(githubCP, number); len(all) != 1 || !strings.Contains(all[0], want) {
			t.Errorf("the comments lack %q:\n%s", want, all)
		}
		taint(other)
	}
}

// TestDecisionOfEphemeral: an ephemeral environment takes the decisions of its environment along.
func TestDecisionOfEphemeral(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.chooses("dev", "{pick: 1}")
	d := w.begin(w.data)
	d.cycle()
	w.clone("pr-7", time.Hour)
	if got := gittest.Files(w, w.server.Dir("cp"), "ephemeral/pr-7")[decisionFile]; got != w.decision("dev") {
		t.Errorf("the decision of the ephemeral environment is\n%s", got)
	}
	head := w.head("cp", "ephemeral/pr-7")
	d.now = d.now.Add(-time.Hour) // so that it is not over
	d.cycle()
	if w.head("cp", "ephemeral/pr-7") != head || d.state("pr-7").State != status.InSync {
		t.Error("something else was decided for it")
	}
}

// TestDecisionsOfPlain: without the annotation there are no decisions, and nothing is written to the environment.
func TestDecisionsOfPlain(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	head := w.head("cp", "dev")
	d := w.begin(w.data)
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed})
	if w.head("cp", "dev") != head {
		t.Error("the environment's branch has a commit of ours")
	}
}
