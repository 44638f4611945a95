package loop_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/server/web"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// two is dev, in which everything is proven at once, and stage with some more.
func two(stage string) string {
	return "    - {name: dev, merge: direct, proof: []}\n    - {name: stage, after: [dev], merge: direct, proof: [], " + stage + "}\n"
}

// TestGates: what keeps a commit from an environment is said, and lets it pass when it
// is over.
func TestGates(t *testing.T) {
	for name, test := range map[string]struct {
		stage  string
		before func(w *world) // the first cycle
		wants  string         // what is said while it waits
		state  promote.DecisionState
		meet   func(w *world, commit string)
		after  time.Duration
	}{
		"window": {
			stage: `gates: [window: {allow: [{cron: "0 14 * * *", duration: 2h, timeZone: UTC}]}]`, wants: "14:00", state: promote.Waiting, after: 5 * time.Hour,
		},
		"approval": {
			stage: "gates: [approval: {by: [a@example.com]}]", wants: "approval", state: promote.Waiting,
			meet: func(w *world, commit string) {
				w.commitNow("stage", "approve", map[string]string{".fairlead/approvals/a.yaml": own("Approval", "a", "{commit: \""+commit+"\"}")})
			},
		},
		"approval in a file of the folder": {
			stage: "gates: [approval]", wants: "approval", state: promote.Waiting,
			meet: func(w *world, commit string) {
				w.commitNow("stage", "approve", map[string]string{"yes.yaml": own("Approval", "a", "{commit: \""+commit[:10]+"\"}")})
			},
		},
		"freeze that ends by itself": {
			before: func(w *world) {
				w.commitNow("main", "freeze", map[string]string{"freeze.yaml": own("Freeze", "fair", "{reason: the fair, environments: [stage], to: \"2026-03-01T12:00:00Z\"}")})
			},
			wants: "the fair", state: promote.Waiting, after: 5 * time.Hour,
		},
		"freeze with an exception": {
			before: func(w *world) {
				w.commitNow("main", "freeze", map[string]string{"freeze.yaml": own("Freeze", "fair", "{reason: the fair, environments: [stage]}")})
			},
			wants: "the fair", state: promote.Waiting,
			meet: func(w *world, commit string) {
				spec := fmt.Sprintf("{reason: the fair, environments: [stage], except: [{commit: \"%s\", reason: a leak}]}", commit)
				w.commitNow("main", "except", map[string]string{"freeze.yaml": own("Freeze", "fair", spec)})
			},
		},
		"hold": {
			before: func(w *world) {
				w.commitNow("stage", "hold", map[string]string{".fairlead/hold.yaml": own("Hold", "hold", "{reason: a demo}")})
			},
			wants: "a demo", state: promote.Held,
			meet: func(w *world, _ string) {
				w.commitNow("stage", "release", map[string]string{".fairlead/hold.yaml": ""})
			},
		},
		"status of the base": {
			stage: "gates: [status: {contexts: [ci/test]}]", wants: "ci/test", state: promote.Waiting, after: time.Hour,
			meet: func(w *world, commit string) {
				if err := w.plain("cp").SetStatus(w.Context(), commit, forge.Status{Context: "ci/test", Outcome: forge.Success}); err != nil {
					w.Fatal(err)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, two(test.stage), "dev", "stage")
			if test.before != nil {
				test.before(w)
			}
			commit := w.changeNow(1)
			names := map[string]string{commit: "1"}
			d := w.begin(w.data)
			d.settle("dev", "stage")
			w.wantLine(names, "dev=1 stage=-")
			d.wantNext("stage", test.state, test.wants)
			d.pass(time.Minute)
			if test.meet != nil {
				test.meet(w, commit)
			}
			d.pass(test.after)
			d.pass(time.Minute)
			if name == "freeze with an exception" { // which is itself a newer commit of the base, and is frozen
				w.wantLine(map[string]string{commit: "1", w.head("cp", "main"): "2"}, "dev=2 stage=1")
				return
			}
			w.wantLine(names, "dev=1 stage=1")
		})
	}
}

// TestApprovalByFreezer: who has frozen an environment, or changed its gates, is no author of what comes with
// other people's changes, and may approve that.
func TestApprovalByFreezer(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, two(""), "dev", "stage")
	first := w.changeNow(1)
	d := w.begin(w.data)
	d.settle("dev", "stage")
	w.commitNow("main", "freeze", map[string]string{
		".fairlead/freezes/fair.yaml": own("Freeze", "fair", "{reason: the fair, environments: [stage], to: \"2026-03-01T12:00:00Z\"}"),
		promotionFile:                 chainOf(two("gates: [approval: {by: [a@example.com], distinct: true}]")),
	})
	w.change(2)
	gittest.Git(t, w.people.Dir, "commit", "-q", "--amend", "--no-edit", "--author=Paula <paula@example.com>")
	second := gittest.Git(t, w.people.Dir, "rev-parse", "HEAD")
	w.people.Push("--force", "main")
	w.commitNow("stage", "approve", map[string]string{".fairlead/approvals/a.yaml": own("Approval", "a", "{commit: \""+second+"\"}")})
	names := map[string]string{first: "1", second: "2"}
	d.settle("dev")
	w.wantLine(names, "dev=2 stage=1")
	d.pass(5 * time.Hour)
	d.settle("dev", "stage")
	w.wantLine(names, "dev=2 stage=2")
}

// TestClusters: a commit is proven when clusters report it to the daemon, and they are
// heard of their own environment only.
func TestClusters(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, `
    - {name: dev, merge: direct, proof: [rollout: {clusters: 2}]}
    - {name: stage, after: [dev], merge: direct}
`, "dev", "stage")
	inbox, use := w.inbox()
	first := w.changeNow(1)
	names := map[string]string{first: "1"}
	d := w.begin(w.data, use)
	d.settle("dev", "stage")
	w.wantLine(names, "dev=1 stage=-")
	w.reports(inbox, "dev", "dev", "one", rollout.Ready)
	w.reports(inbox, "dev", "dev", "two", rollout.Progressing)
	w.reports(inbox, "dev", "stage", "three", rollout.Ready)
	d.pass(time.Hour)
	w.wantLine(names, "dev=1 stage=-")
	d.wantNext("stage", promote.Waiting, "1 of 2 clusters ready, 1 in progress")
	w.wantTold(first, "dev environment: pending Deploying")
	w.reports(inbox, "dev", "dev", "two", rollout.Ready)
	d.pass(time.Hour)
	w.wantLine(names, "dev=1 stage=1")
	w.wantTold(first, "dev environment: success Deployed")

	// What a cluster says of an older output says nothing of this one.
	second := w.changeNow(2)
	names[second] = "2"
	d.settle("dev", "stage")
	w.wantLine(names, "dev=2 stage=1")
	if proof := d.stage("dev").Proof; proof.Status != "wait" || !strings.Contains(proof.Reason, "on another commit") {
		t.Errorf("the proof is %s: %s", proof.Status, proof.Reason)
	}

	// A cluster of the environment that reports no output of it does not count, and is named.
	_, err := inbox.Add(observe.Event{
		Cluster: "four", Environment: "dev", Object: "Kustomization/flux-system/apps", Branch: "dev", Commit: strings.Repeat("f", 40), Phase: rollout.Ready, When: w.now,
	})
	if err != nil {
		t.Fatal(err)
	}
	d.pass(time.Hour)
	if proof := d.stage("dev").Proof; !strings.HasSuffix(proof.Reason, "; not counted: four, at no output of dev") || !strings.Contains(proof.Reason, "of 2 clusters") {
		t.Errorf("with a cluster at another commit, the proof is %s: %s", proof.Status, proof.Reason)
	}
}

// TestFailedRollout: a commit that fails on the clusters goes no further, and that is
// said on the commit; the one that mends it goes through.
func TestFailedRollout(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, `
    - {name: dev, merge: direct}
    - {name: stage, after: [dev], merge: direct, proof: []}
`, "dev", "stage")
	first := w.changeNow(1)
	names := map[string]string{first: "1"}
	d := w.begin(w.data)
	d.settle("dev", "stage")
	w.says("dev", "kustomization/apps/1111", forge.Failure, "image not found")
	d.pass(time.Hour)
	w.wantLine(names, "dev=1 stage=-")
	w.wantTold(first, "dev environment: failure Failed to deploy: kustomization/apps failed: image not found")
	d.wantNext("stage", promote.Waiting, "image not found")

	second := w.changeNow(2)
	names[second] = "2"
	d.settle("dev", "stage")
	w.wantLine(names, "dev=2 stage=-")
	w.says("dev", "kustomization/apps/1111", forge.Success, "reconciled")
	d.settle("dev", "stage")
	w.wantLine(names, "dev=2 stage=2")
	w.wantTold(first, "dev environment: failure Failed to deploy: kustomization/apps failed: image not found")
	w.wantTold(second, "dev environment: success Deployed\nstage environment: success Deployed")
}

// TestFailureNamesCluster: a failure that a commit status of Flux tells of names the cluster and
// the object, in Flux's own text, as soon as an event has them, and never the uid of a Provider:
// in the verdict, in what waits for it, and on the page.
func TestFailureNamesCluster(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, `
    - {name: dev, merge: direct}
    - {name: stage, after: [dev], merge: direct, proof: []}
`, "dev", "stage")
	inbox, use := w.inbox()
	w.changeNow(1)
	d := w.begin(w.data, use)
	d.settle("dev", "stage")
	w.says("dev", "kustomization/apps/0c9c1d2e", forge.Failure, "health check failed")
	d.pass(time.Hour)
	for _, step := range []struct {
		happens func()
		want    string
	}{
		{func() {}, "kustomization/apps failed: health check failed"},
		{func() { w.reports(inbox, "dev", "dev", "oslo", rollout.Progressing) }, "Kustomization/flux-system/apps failed on oslo: health check failed"},
		{func() { w.reports(inbox, "dev", "dev", "oslo", rollout.Failed) }, "Kustomization/flux-system/apps failed on oslo: failed"},
	} {
		step.happens()
		d.told()
		if proof := d.stage("dev").Proof; proof.Status != "fail" || !strings.HasSuffix(proof.Reason, step.want) {
			t.Errorf("the proof is %s: %s\nwant %s", proof.Status, proof.Reason, step.want)
		}
		d.wantNext("stage", promote.Waiting, step.want)
		page := httptest.NewRecorder()
		web.New(web.Options{Store: d.store}).ServeHTTP(page, httptest.NewRequest("GET", "http://localhost/", nil))
		if text := page.Body.String(); !strings.Contains(text, step.want) || strings.Contains(text, "0c9c1d2e") {
			t.Errorf("the page does not say %q, or has the uid of the Provider:\n%s", step.want, text)
		}
	}
}

// TestProvenThenBroken: what clusters report later counts, also when nothing moves, and
// also when another commit has come since.
func TestProvenThenBroken(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct}\n    - {name: stage, after: [dev], merge: direct, proof: []}\n", "dev", "stage")
	inbox, use := w.inbox()
	names := map[string]string{w.changeNow(1): "1"}
	d := w.begin(w.data, use)
	d.settle("dev")
	w.reports(inbox, "dev", "dev", "one", rollout.Ready)
	d.settle("dev", "stage")
	w.commitNow("stage", "hold", map[string]string{"hold.yaml": own("Hold", "hold", "{reason: wait}")})
	second := w.changeNow(2)
	names[second] = "2"
	d.settle("dev", "stage")
	w.reports(inbox, "dev", "dev", "one", rollout.Ready)
	d.settle("dev", "stage")
	w.wantTold(second, "dev environment: success Deployed")
	w.reports(inbox, "dev", "dev", "one", rollout.Failed)
	d.told()
	w.wantTold(second, "dev environment: failure Failed to deploy: Kustomization/flux-system/apps failed on one: failed")
	d.Close()

	names[w.changeNow(3)] = "3"
	w.commitNow("stage", "release", map[string]string{"hold.yaml": ""})
	d = w.begin(t.TempDir(), use)
	d.settle("dev", "stage")
	w.wantLine(names, "dev=3 stage=1")
}

// told runs the cycle that begins when somebody has told the daemon something.
func (d *daemon) told() {
	d.Helper()
	d.now = d.now.Add(time.Minute)
	if err := d.CycleOf(d.Context(), nil); err != nil {
		d.Fatal(err)
	}
}

// TestQueues: which commits of several an environment gets that has one already.
func TestQueues(t *testing.T) {
	for name, test := range map[string]struct {
		queue string
		want  string // what stage has after each of five looks, three commits after the first
	}{
		"latest": {"latest", "0 3 3 3 3"},
		"every":  {"every", "0 1 2 3 3"},
		"batch":  {"{batch: 4h}", "0 0 3 3 3"},
		"pinned": {"pinned", "0 0 0 0 0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, two("queue: "+test.queue), "dev", "stage")
			names := map[string]string{w.changeNow(0): "0"}
			w.commitNow("stage", "promote by hand", map[string]string{"base-repo.yaml": recordText(w, w.head("cp", "main"))})
			d := w.begin(w.data)
			d.settle("dev", "stage")
			w.commitNow("stage", "hold", map[string]string{".fairlead/hold.yaml": own("Hold", "hold", "{reason: wait}")})
			for level := 1; level <= 3; level++ {
				names[w.changeNow(level)] = fmt.Sprint(level)
				d.pass(time.Minute)
				d.pass(time.Minute)
			}
			w.wantLine(names, "dev=3 stage=0")
			if next := d.stage("stage").Next; name == "latest" && (len(next.Skipped) != 2 || next.State != promote.Held) {
				t.Errorf("stage is %s and would drop %v", next.State, next.Skipped)
			}
			w.commitNow("stage", "release", map[string]string{".fairlead/hold.yaml": ""})
			got := []string{"0"}
			for _, after := range []time.Duration{time.Minute, 4 * time.Hour, time.Minute, 4 * time.Hour} {
				d.pass(after)
				got = append(got, strings.TrimPrefix(w.records(names, "stage"), "stage="))
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("stage had %v, want %s; the log:\n%s", got, test.want, w.logs.String())
			}
			message := gittest.Git(t, w.server.Dir("cp"), "log", "-1", "--format=%B", "stage")
			if name == "latest" && !strings.Contains(message, "It supersedes the commits before it") {
				t.Errorf("the commit does not say what was dropped:\n%s", message)
			}
		})
	}
}
