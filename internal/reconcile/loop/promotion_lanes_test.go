package loop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

func laneFile(lane string) string { return "workloads/" + lane + ".yaml" }

func laneWorkload(name, branch string) string {
	var targets strings.Builder
	for _, environment := range []string{"dev", "stage", "prod"} {
		fmt.Fprintf(&targets, "    - name: web\n      environment: %s\n      manifests: {repo: https://git.example.com/%s, branch: %s, path: deploy}\n", environment, name, branch)
	}
	return "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: " + name + ", labels: {app: hello}}\nspec:\n  deploymentTargets:\n" + targets.String()
}

func lanesWorld(t *testing.T, lanes string) (*world, *daemon, map[string]string) {
	t.Helper()
	w, names := newLanesWorld(t, lanes)
	d := w.begin(w.data)
	for range 3 {
		d.settle("dev", "stage", "prod")
		d.runsWell("dev", "stage", "prod")
	}
	w.wantBases(names, "dev=1 stage=1 prod=1")
	return w, d, names
}

func newLanesWorld(t *testing.T, lanes string) (*world, map[string]string) {
	t.Helper()
	w := newWorld(t, scaffold.Branches, "dev", "stage", "prod")
	w.more = "write: true\n"
	first := w.commitNow("main", "two teams", map[string]string{
		promotionFile: "apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: fleet}\nspec:\n  lanes: " + lanes + `
  environments:
    - {name: dev, merge: direct}
    - {name: stage, after: [dev], merge: direct}
    - {name: prod, after: [stage], merge: direct}
`,
		laneFile("hello"): laneWorkload("hello", "main"), laneFile("shop"): laneWorkload("shop", "main"),
	})
	return w, map[string]string{first: "1"}
}

// change has a team change its workload; a branch that begins with "bad" is one that does not exist.
func (w *world) changeLane(names map[string]string, lane, branch string) string {
	w.Helper()
	commit := w.commitNow("main", lane+" on "+branch, map[string]string{laneFile(lane): laneWorkload(lane, branch)})
	names[commit] = fmt.Sprint(len(names) + 1)
	return commit
}

// runsWell has the clusters of environments report each object of their outputs: as failed, if its branch does not exist.
func (w *world) runsWell(environments ...string) {
	w.Helper()
	for _, environment := range environments {
		outer, files := forge.Success, gittest.Files(w, w.server.Dir("out"), w.head("out", environment))
		for file, content := range files {
			lane, isReconciler := strings.CutSuffix(strings.TrimPrefix(file, "cloud/"), "-web/reconciler.yaml")
			if !isReconciler || !strings.HasPrefix(file, "cloud/") {
				continue
			}
			outcome, text := forge.Success, "ready"
			if strings.Contains(content, "branch: \"bad\"") {
				outcome, outer, text = forge.Failure, forge.Failure, "couldn't find remote ref"
			}
			w.says(environment, "kustomization/"+lane+"-web/1", outcome, text)
		}
		w.says(environment, "kustomization/apps/1", outer, "")
	}
}

// bases returns what environments have: "stage=1 shop=2" if it has another commit of a lane.
func (w *world) bases(names map[string]string, environments ...string) string {
	w.Helper()
	var all []string
	for _, environment := range environments {
		text := environment + "=" + names[w.record(environment)]
		files := gittest.Files(w, w.server.Dir(w.cp()), w.head(w.cp(), environment))
		var lanes struct {
			Spec struct {
				Lanes map[string]struct{ Commit string }
			}
		}
		if err := yaml.Unmarshal([]byte(files[".fairlead/lanes.yaml"]), &lanes); err != nil {
			w.Fatal(err)
		}
		for _, lane := range []string{"hello", "shop", "till"} {
			if commit := lanes.Spec.Lanes[lane].Commit; commit != "" {
				text += "," + lane + "=" + names[commit]
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func (w *world) wantBases(names map[string]string, want string) {
	w.Helper()
	if got := w.bases(names, "dev", "stage", "prod"); got != want {
		w.Fatalf("the environments have %s, want %s; the log:\n%s", got, want, w.logs.String())
	}
}

// advance runs cycles in which clusters report what they run, until all has come to rest.
func (d *daemon) advance(names map[string]string) {
	d.Helper()
	all := []string{"dev", "stage", "prod"}
	for last, same := "", 0; same < 3; {
		d.pass(time.Minute)
		d.runsWell(all...)
		now := d.bases(names, all...)
		if same++; now != last {
			last, same = now, 0
		}
	}
}

// TestLanes: a team whose change fails in dev keeps no other team back, and goes on when it has mended that.
func TestLanesMove(t *testing.T) {
	w, d, names := lanesWorld(t, "{each: workloads/*}")
	bad := w.changeLane(names, "hello", "bad")
	shop := w.changeLane(names, "shop", "next")
	d.advance(names)
	d.wantArrivals(shop, "dev has; stage has shop; prod has shop")
	d.wantArrivals(bad, "dev left-out; stage never; prod never")
	w.wantBases(names, "dev=3 stage=1,shop=3 prod=1,shop=3")
	w.wantVerified("prod")
	if said := w.statuses(shop); !slices.ContainsFunc(said, func(s forge.CommitStatus) bool { return s.Context == "prod environment" && s.Outcome == forge.Success }) {
		t.Errorf("the statuses of shop's commit: %+v", said)
	}
	since := d.stage("prod").Deployed
	d.pass(time.Minute)
	if now := d.stage("prod").Deployed; since.IsZero() || !now.Equal(since) {
		t.Errorf("prod runs its lanes since %s, and now since %s", since, now)
	}
	d.wantNext("stage", promote.Waiting, "failed in dev")
	out := gittest.Show(t, w.server.Dir("out"), "prod", "cloud/shop-web/reconciler.yaml")
	if !strings.Contains(out, `branch: "next"`) {
		t.Errorf("prod runs for shop:\n%s", out)
	}
	w.changeLane(names, "hello", "good")
	d.advance(names)
	w.wantBases(names, "dev=4 stage=4 prod=4")
}

func (d *daemon) wantArrivals(commit, want string) {
	d.Helper()
	arrivals, err := d.Simulate(d.Context(), commit)
	if err != nil {
		d.Fatal(err)
	}
	var got []string
	for _, a := range arrivals {
		got = append(got, strings.Join(append([]string{a.Environment, string(a.State)}, a.Lanes...), " "))
	}
	if strings.Join(got, "; ") != want {
		d.Errorf("it arrives %s, want %s: %+v", strings.Join(got, "; "), want, arrivals)
	}
}

// TestLanesReverted: what a person reverts of a lane stays reverted until the hold is released.
func TestLanesReverted(t *testing.T) {
	w, d, names := lanesWorld(t, "{each: workloads/*}")
	w.changeLane(names, "hello", "bad")
	w.changeLane(names, "shop", "next")
	d.advance(names)
	const moved, reverted = "dev=3 stage=1,shop=3 prod=1,shop=3", "dev=3 stage=1,shop=3 prod=1"
	w.wantBases(names, moved)
	w.commitNow("prod", "Revert the promotion of shop", map[string]string{".fairlead/lanes.yaml": ""})
	d.advance(names)
	w.wantBases(names, reverted)
	d.wantNext("prod", promote.Held, "reverted by a@example.com")
	w.commitNow("prod", "shop may go on", map[string]string{".fairlead/release.yaml": "apiVersion: fairlead.io/v1alpha1\nkind: HoldRelease\nmetadata: {name: release}\nspec: {commit: " + w.head(w.cp(), "prod") + "}\n"})
	d.advance(names)
	w.wantBases(names, moved)
}

// TestLanesJoint: of a commit that changes two lanes, none moves without the other one.
func TestLanesJoint(t *testing.T) {
	w, d, names := lanesWorld(t, "{each: workloads/*}")
	both := w.commitNow("main", "both", map[string]string{laneFile("hello"): laneWorkload("hello", "bad"), laneFile("shop"): laneWorkload("shop", "next")})
	names[both] = "2"
	w.changeLane(names, "shop", "later")
	d.advance(names)
	w.wantBases(names, "dev=3 stage=1 prod=1")
	w.changeLane(names, "hello", "good")
	d.advance(names)
	w.wantBases(names, "dev=4 stage=4 prod=4")
}

// TestLanesContext: a lane that was verified with a newer platform, which changes its objects, waits for that.
func TestLanesContext(t *testing.T) {
	w, d, names := lanesWorld(t, "{each: workloads/*}")
	w.changeLane(names, "hello", "bad")
	names[w.changeNow(1)] = "3"
	w.changeLane(names, "shop", "next")
	d.advance(names)
	w.wantBases(names, "dev=4 stage=1 prod=1")
	w.changeLane(names, "hello", "good")
	d.advance(names)
	w.wantBases(names, "dev=5 stage=5 prod=5")
}

// TestLanesAdded: a new workload is a version of its lane, and so is its removal.
func TestLanesAdded(t *testing.T) {
	w, d, names := lanesWorld(t, "{each: workloads/*}")
	w.changeLane(names, "hello", "bad")
	w.changeLane(names, "till", "main")
	d.advance(names)
	w.wantBases(names, "dev=3 stage=1,till=3 prod=1,till=3")
	w.changeLane(names, "hello", "good")
	d.advance(names)
	w.wantBases(names, "dev=4 stage=4 prod=4")
}

// TestLanesSwitchedOff: without lanes in the Promotion, outputs stay as they are, and the next commit is promoted as a whole.
func TestLanesSwitchedOff(t *testing.T) {
	w, d, names := lanesWorld(t, "{each: workloads/*}")
	w.changeLane(names, "hello", "bad")
	w.changeLane(names, "shop", "next")
	d.advance(names)
	before := []string{w.head("out", "dev"), w.head("out", "stage"), w.head("out", "prod")}
	text := gittest.Show(t, w.server.Dir("cp"), "main", promotionFile)
	w.commitNow("main", "no lanes", map[string]string{promotionFile: strings.Replace(text, "  lanes: {each: workloads/*}\n", "", 1)})
	d.advance(names)
	w.wantBases(names, "dev=3 stage=1,shop=3 prod=1,shop=3")
	if after := []string{w.head("out", "dev"), w.head("out", "stage"), w.head("out", "prod")}; !slices.Equal(before, after) {
		t.Errorf("the outputs are at %v, and were at %v", after, before)
	}
	if d.store.Snapshot().Chain.Problems == nil {
		t.Error("nothing says that the lanes are unknown")
	}
	w.changeLane(names, "hello", "good")
	d.advance(names)
	w.wantBases(names, "dev=4 stage=4 prod=4")
}

// TestLanesKilled: whenever the process dies while a lane moves, the next one comes to the same end.
func TestLanesKilled(t *testing.T) {
	w, d, names := lanesWorld(t, "{each: workloads/*}")
	w.more += "parallel: 1\n"
	w.changeLane(names, "hello", "bad")
	w.changeLane(names, "shop", "next")
	for !strings.Contains(gittest.Show(t, w.server.Dir("out"), "dev", "cloud/shop-web/reconciler.yaml"), `branch: "next"`) {
		d.pass(time.Minute)
	}
	w.runsWell("dev")
	d.Close()
	w.now = w.now.Add(time.Hour)
	before := w.save()
	steps := w.killAtEveryStep(before, func(n int, _ string) {
		w.life([]string{w.data, w.TempDir()}[n%2])
		w.wantBases(names, "dev=3 stage=1,shop=3 prod=1")
	})
	if !slices.Contains(steps, "commit to stage") {
		t.Errorf("the steps were %q", steps)
	}
}

// TestLanesBeforeApply: an object that is reconciled between the merge of its lane's change and the apply of the output is ready with
// its files from before, and passes no lane.
func TestLanesBeforeApply(t *testing.T) {
	w, names := newLanesWorld(t, "{each: workloads/*}")
	inbox, use := w.inbox()
	d := w.begin(w.data, use)
	report := func(environment, object, commit string, phase rollout.Phase, message string) {
		w.now = w.now.Add(time.Second)
		w.add(inbox, observe.Event{
			Cluster: environment + "-1", Environment: environment, ClusterType: "cloud", Object: "Kustomization/flux-system/" + object,
			Branch: environment, Commit: commit, Phase: phase, Message: message, When: w.now,
		})
	}
	rest := func(phase rollout.Phase, message string) {
		for range 4 {
			for _, environment := range []string{"stage", "prod"} {
				if w.record(environment) != "" {
					report(environment, "fleet", w.head("out", environment), rollout.Ready, "")
				}
			}
			report("dev", "fleet", w.head("out", "dev"), phase, message)
			d.pass(time.Minute)
		}
	}
	d.settle("dev", "stage", "prod")
	for range 3 {
		rest(rollout.Ready, "")
	}
	const app = "1111111111111111111111111111111111111111"
	w.wantBases(names, "dev=1 stage=1 prod=1")
	before := w.head("out", "dev")
	w.changeLane(names, "hello", "bad")
	w.changeLane(names, "shop", "next")
	for w.head("out", "dev") == before || !strings.Contains(gittest.Show(t, w.server.Dir("out"), "dev", "cloud/shop-web/reconciler.yaml"), `branch: "next"`) {
		d.pass(time.Minute)
	}
	report("dev", "shop-web", app, rollout.Ready, "") // the output before
	const failed = "health check failed after 1s: failed early due to stalled resources: [GitRepository/flux-system/hello-web status: 'Failed': couldn't find remote ref]"
	rest(rollout.Failed, failed)
	w.wantBases(names, "dev=3 stage=1 prod=1")
	report("dev", "shop-web", app, rollout.Ready, "")
	for range 3 {
		rest(rollout.Failed, failed)
	}
	w.wantBases(names, "dev=3 stage=1,shop=3 prod=1,shop=3")
}

// TestLanesByEvents: where clusters report what applies the output, and its failure names objects of another lane, a lane moves once
// its own objects are reported as ready since they changed; or at once, if the message names all that are not ready.
func TestLanesByEvents(t *testing.T) {
	w, names := newLanesWorld(t, "{each: workloads/*}")
	inbox, use := w.inbox()
	d := w.begin(w.data, use)
	report := func(environment, object, branch, commit string, phase rollout.Phase, message string) {
		w.add(inbox, observe.Event{
			Cluster: environment + "-1", Environment: environment, ClusterType: "cloud", Object: "Kustomization/flux-system/" + object,
			Branch: branch, Commit: commit, Phase: phase, Message: message, When: w.now,
		})
	}
	// advance has the clusters of dev report what applies its output, and those of other environments that they run theirs.
	advance := func(phase rollout.Phase, message string) {
		for range 8 {
			d.pass(time.Minute)
			report("dev", "fleet", "dev", w.head("out", "dev"), phase, message)
			for _, other := range []string{"stage", "prod"} {
				if w.record(other) != "" {
					report(other, "fleet", other, w.head("out", other), rollout.Ready, "")
				}
			}
		}
	}
	failed := "health check failed after 1s: failed early due to stalled resources: [GitRepository/flux-system/hello-web status: 'Failed': couldn't find remote ref]"
	const app = "1111111111111111111111111111111111111111"
	reportShop := func(phase rollout.Phase) { report("dev", "shop-web", "main", app, phase, "") }
	d.settle("dev", "stage", "prod")
	advance(rollout.Ready, "")
	w.wantBases(names, "dev=1 stage=1 prod=1")
	reportShop(rollout.Ready)
	w.changeLane(names, "hello", "bad")
	w.changeLane(names, "shop", "next")
	for _, step := range []struct {
		name, message string
		phase         rollout.Phase // that shop is reported with; "" for nothing new
		want          string
	}{
		{"shop was ready before it changed", failed, "", "dev=3 stage=1 prod=1"},
		{"shop is not ready", failed, rollout.Progressing, "dev=3 stage=1 prod=1"},
		{"shop has failed too", failed, rollout.Failed, "dev=3 stage=1 prod=1"},
		{"a failure that names nothing", "apply failed", rollout.Ready, "dev=3 stage=1 prod=1"},
		{"shop is named too", strings.TrimSuffix(failed, "]") + ", Kustomization/flux-system/shop-web status: 'Failed']", rollout.Ready, "dev=3 stage=1 prod=1"},
		{"shop is ready", failed, rollout.Ready, "dev=3 stage=1,shop=3 prod=1,shop=3"},
	} {
		w.now = w.now.Add(time.Second)
		report("dev", "fleet", "dev", w.head("out", "dev"), rollout.Failed, "apply failed")
		if step.phase != "" {
			reportShop(step.phase)
		}
		advance(rollout.Failed, step.message)
		if got := w.bases(names, "dev", "stage", "prod"); got != step.want {
			t.Fatalf("%s: the environments have %s, want %s; the log:\n%s", step.name, got, step.want, w.logs.String())
		}
	}
	w.changeLane(names, "shop", "later")
	d.settle("dev")
	advance(rollout.Failed, strings.Replace(failed, "failed early due to stalled resources", "timeout waiting for", 1))
	w.wantBases(names, "dev=4 stage=1,shop=4 prod=1,shop=4")
}

// TestLanesOfFailedEnvironment: while an environment fails as a whole, the commit of a lane there is deployed, or fails, as its own
// objects are.
func TestLanesOfFailedEnvironment(t *testing.T) {
	w, d, names := lanesWorld(t, "{each: workloads/*}")
	w.changeLane(names, "hello", "bad")
	shop := w.changeLane(names, "shop", "next")
	for !strings.Contains(gittest.Show(t, w.server.Dir("out"), "prod", "cloud/shop-web/reconciler.yaml"), `branch: "next"`) {
		d.pass(time.Minute)
		d.runsWell("dev", "stage")
	}
	for _, c := range []struct {
		said  forge.Outcome // of shop
		state status.StageState
	}{{forge.Success, status.StageVerified}, {forge.Failure, status.StageFailed}} {
		w.says("prod", "kustomization/hello-web/1", forge.Failure, "the disk is full")
		w.says("prod", "kustomization/shop-web/1", c.said, "as it is")
		w.says("prod", "kustomization/apps/1", forge.Failure, "")
		d.pass(time.Minute)
		d.pass(time.Minute)
		s := d.stage("prod")
		if l := s.FindLane("shop"); s.Proof.Status != gate.Fail || l.Commit != shop || l.State != c.state {
			t.Errorf("prod is %+v", s)
		}
		if said := w.statuses(shop); !slices.ContainsFunc(said, func(s forge.CommitStatus) bool { return s.Context == "prod environment" && s.Outcome == c.said }) {
			t.Errorf("want %s of %+v", c.said, said)
		}
	}
}
