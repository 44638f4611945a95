package loop_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestLanesPlatformFails: while the platform fails, lanes whose objects it does not change are promoted with the platform from before.
func TestLanesPlatformFails(t *testing.T) {
	w, d, names := lanesWorld(t, "{named: [{name: shop, paths: [workloads/shop*]}]}")
	w.changeLane(names, "hello", "bad")
	w.changeLane(names, "shop", "next")
	d.advance(names)
	w.wantBases(names, "dev=3 stage=1,shop=3 prod=1,shop=3")
	w.changeLane(names, "hello", "good")
	d.advance(names)
	w.wantBases(names, "dev=4 stage=4 prod=4")
}

// TestLanesRemoved: removing a workload is the last step of its lane, and goes by itself; at the end nothing is left of the lane.
func TestLanesRemoved(t *testing.T) {
	w, d, names := lanesWorld(t, "{each: workloads/*}")
	text := gittest.Show(t, w.server.Dir("cp"), "main", promotionFile)
	w.commitNow("main", "limits", map[string]string{promotionFile: strings.Replace(text, "spec:\n", "spec:\n  limits: {removals: 100%, last: allow}\n", 1)})
	w.changeLane(names, "hello", "bad")
	names[w.commitNow("main", "shop is removed", map[string]string{laneFile("shop"): ""})] = "3"
	d.advance(names)
	w.wantBases(names, "dev=3 stage=1,shop=3 prod=1,shop=3")
	w.wantVerified("prod")
	if files := gittest.Files(t, w.server.Dir("out"), w.head("out", "prod")); files["cloud/shop-web/reconciler.yaml"] != "" || files["cloud/hello-web/reconciler.yaml"] == "" {
		t.Errorf("prod has %d files", len(files))
	}
	w.changeLane(names, "hello", "good")
	d.advance(names)
	w.wantBases(names, "dev=4 stage=4 prod=4")
}

func rolledBackLane(t *testing.T) (*world, map[string]string) {
	t.Helper()
	w, d, names := lanesWorld(t, "{each: workloads/*}")
	w.more += "parallel: 1\n"
	w.changeLane(names, "shop", "next")
	d.advance(names)
	if _, err := w.laneAction(d, names, "rollback prod shop"); err != nil {
		t.Fatal(err)
	}
	d.advance(names)
	w.wantBases(names, "dev=2 stage=2 prod=2,shop=1")
	w.changeLane(names, "hello", "next")
	for !strings.Contains(gittest.Show(t, w.server.Dir("out"), "stage", "cloud/hello-web/reconciler.yaml"), `branch: "next"`) {
		d.pass(time.Minute)
		w.runsWell("dev")
	}
	w.runsWell("stage")
	d.Close()
	w.now = w.now.Add(time.Hour)
	return w, names
}

// TestLanesRolledBackKilled: whenever the process dies after a lane was rolled back, the next one comes to the same end.
func TestLanesRolledBackKilled(t *testing.T) {
	w, names := rolledBackLane(t)
	steps := w.killAtEveryStep(w.save(), func(n int, _ string) {
		w.life([]string{w.data, w.TempDir()}[n%2])
		w.wantBases(names, "dev=3 stage=3 prod=3,shop=1")
	})
	if !slices.Contains(steps, "commit to prod") {
		t.Errorf("the steps were %q", steps)
	}
}

// TestLanesTwoDaemons: two daemons that look at the same time move lanes as one does.
func TestLanesTwoDaemons(t *testing.T) {
	w, names := rolledBackLane(t)
	before := w.save()
	w.life(w.data)
	commits := func() string { return gittest.Git(t, w.server.Dir("cp"), "log", "--format=%s", "prod") }
	want := commits()
	w.restore(before)
	one, two := w.begin(w.data), w.begin(t.TempDir())
	for range 3 {
		w.now = w.now.Add(time.Minute)
		var both sync.WaitGroup
		for _, d := range []*daemon{one, two} {
			both.Go(func() {
				if err := d.Cycle(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
	}
	w.wantBases(names, "dev=3 stage=3 prod=3,shop=1")
	if now := commits(); now != want {
		t.Errorf("two daemons made\n%s\none\n%s", now, want)
	}
}

// TestLanesInOnePull: lanes that move in one round share the pull request of the environment, which lists them. What a person pushes to
// it stays there and stops it, until the person takes it back.
func TestLanesInOnePull(t *testing.T) {
	w, d, names := lanesWorld(t, "{each: workloads/*}")
	text := gittest.Show(t, w.server.Dir("cp"), "main", promotionFile)
	w.commitNow("main", "people merge", map[string]string{promotionFile: strings.Replace(text, "name: stage, after: [dev], merge: direct", "name: stage, after: [dev]", 1)})
	w.changeLane(names, "hello", "bad")
	w.changeLane(names, "till", "main")
	w.changeLane(names, "shop", "next")
	d.advance(names)
	w.wantBases(names, "dev=4 stage=1,shop=4,till=3 prod=1")
	pull := w.open("stage")
	for _, part := range []string{"lane `shop`", "lane `till`"} {
		if !strings.Contains(pull.Body, part) {
			t.Errorf("the pull request has no %q:\n%s", part, pull.Body)
		}
	}
	proposed := w.head("out", "fairlead/stage")
	w.outPeople = w.server.Work(t, "out")
	w.outPeople.Pull("fairlead/stage")
	w.outPeople.Write("cloud/shop-web/reconciler.yaml", "# not yet\n")
	w.outPeople.Commit("not yet")
	w.outPeople.Push("fairlead/stage")
	edited := w.head("out", "fairlead/stage")
	w.changeLane(names, "shop", "later")
	d.advance(names)
	if s := d.stage("stage"); w.head("out", "fairlead/stage") != edited || d.state("stage").State != status.Edited {
		t.Errorf("the branch is at %s, %s was pushed: %+v", w.head("out", "fairlead/stage"), edited, s)
	}
	gittest.Git(t, w.server.Dir("out"), "update-ref", "refs/heads/fairlead/stage", proposed)
	d.advance(names)
	w.merge("stage")
	d.advance(names)
	w.wantBases(names, "dev=5 stage=1,shop=5,till=3 prod=1,shop=5,till=3")
}

// TestLanesRenamed: a file that moves from one lane to another is a joint commit of both, which keeps no third one back.
func TestLanesRenamed(t *testing.T) {
	w, d, names := lanesWorld(t, "{each: workloads/*}")
	names[w.commitNow("main", "renamed", map[string]string{laneFile("hello"): "", laneFile("greet"): laneWorkload("hello", "bad")})] = "2"
	w.changeLane(names, "shop", "next")
	d.advance(names)
	w.wantBases(names, "dev=3 stage=1,shop=3 prod=1,shop=3")
	if l := d.stage("stage").FindLane("hello"); l.Reason == "" {
		t.Errorf("lane hello is %+v", l)
	}
	names[w.commitNow("main", "fixed", map[string]string{laneFile("greet"): laneWorkload("hello", "good")})] = "4"
	d.advance(names)
	w.wantBases(names, "dev=4 stage=4 prod=4")
}
