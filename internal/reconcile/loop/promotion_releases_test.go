package loop_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/reconcile/verify"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

const (
	pinsOfTill = ".fairlead/pins/till.yaml"
	pinOfTill  = ".fairlead/pins/pinned/till.yaml"
)

// releasesWorld is a chain whose only workload is in a team's repository; its versions follow each other by [releasesWorld.push].
type releasesWorld struct {
	*world
	*daemon
	team   *gittest.Work
	pushed map[string]string // names of commits

	lastPushed string
}

func newReleasesWorld(t *testing.T, feeds string) *releasesWorld {
	t.Helper()
	w := newWorld(t, scaffold.Branches, "dev", "stage", "prod")
	w.more = "write: true\n"
	w.register(w.server.Create("till"), "main")
	r := &releasesWorld{world: w, team: w.server.Work(t, "till"), pushed: map[string]string{}}
	r.push("v1")
	w.commitNow("main", "lanes and feeds", map[string]string{promotionFile: "apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: fleet}\nspec:\n  lanes: {each: workloads/*}\n  environments:\n" +
		"    - {name: dev, merge: direct}\n    - {name: stage, after: [dev], merge: direct}\n    - {name: prod, after: [stage], merge: direct}\n", "feeds.yaml": feeds})
	r.daemon = w.begin(w.data)
	return r
}

const feedOfTill = "apiVersion: fairlead.io/v1alpha1\nkind: Feed\nmetadata: {name: till}\nspec: {workload: till}\n"

// push has the team change its workload.
func (r *releasesWorld) push(version string) {
	var targets strings.Builder
	for _, environment := range []string{"dev", "stage", "prod"} {
		fmt.Fprintf(&targets, "    - name: web\n      environment: %s\n      manifests: {repo: https://git.example.com/till, branch: %s, path: deploy}\n", environment, version)
	}
	r.team.Write("deploy/till.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: till, labels: {app: hello}}\nspec:\n  deploymentTargets:\n"+targets.String())
	r.lastPushed = r.team.Commit(version)
	r.pushed[r.lastPushed] = version
	r.team.Push()
}

// has gives the versions in the outputs, and the releases in the environments.
func (r *releasesWorld) has() string {
	r.world.Helper()
	var all []string
	for _, environment := range []string{"dev", "stage", "prod"} {
		text := environment + "="
		for _, version := range r.pushed {
			out := gittest.Files(r.world, r.server.Dir("out"), r.head("out", environment))["cloud/till-web/reconciler.yaml"]
			if strings.Contains(out, `branch: "`+version+`"`) {
				text += version
			}
		}
		pins := gittest.Files(r.world, r.server.Dir(r.cp()), r.head(r.cp(), environment))[pinsOfTill]
		for i := range 10 {
			if strings.Contains(pins, fmt.Sprintf("name: till-%d\n", i)) {
				text += fmt.Sprintf("/%d", i)
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func (r *releasesWorld) want(want string) {
	r.world.Helper()
	if got := r.has(); got != want {
		r.world.Fatalf("the environments have %s, want %s; the log:\n%s", got, want, r.logs.String())
	}
}

// run runs cycles, after each of which clusters of some environments report that they run what they should, until all has come to
// rest.
func (r *releasesWorld) run(environments ...string) {
	r.world.Helper()
	for last, same := "", 0; same < 3; {
		r.pass(time.Minute)
		r.runsWell(environments...)
		now := r.has() + r.records(nil, "dev", "stage", "prod")
		if same++; now != last {
			last, same = now, 0
		}
	}
}

// TestReleases: a push to the repository of a team reaches dev only, and each other environment once the ones before have verified it.
func TestReleases(t *testing.T) {
	r := newReleasesWorld(t, feedOfTill)
	r.run("dev", "stage", "prod")
	r.want("dev=v1/1 stage=v1/1 prod=v1/1")
	r.push("v2")
	r.run()
	r.want("dev=v2/2 stage=v1/1 prod=v1/1")
	r.run("dev")
	r.want("dev=v2/2 stage=v2/2 prod=v1/1")
	stage, _ := r.stage("prod").FindRelease("till")
	if stage.Name != "till-1" || stage.Next != "till-2" || stage.State != status.StageVerified || len(stage.Change) != 1 {
		t.Errorf("prod is %+v", stage)
	}
	r.run("dev", "stage", "prod")
	r.want("dev=v2/2 stage=v2/2 prod=v2/2")
	release := r.head(r.cp(), "releases/till")
	if said := r.statuses(release); !slices.ContainsFunc(said, func(s forge.CommitStatus) bool { return s.Context == "prod environment" && s.Outcome == forge.Success }) {
		t.Errorf("the statuses of till-2: %+v", said)
	}
	heads := r.heads()
	r.run("dev", "stage", "prod")
	r.quiet("cp", "out", "till")
	if again := r.heads(); fmt.Sprint(again) != fmt.Sprint(heads) {
		t.Errorf("nothing is new, and the branches went from %v to %v", heads, again)
	}
}

// TestReleasesHeld: what a person holds of a lane stays, also what a person reverted, and the newest release comes once it is
// released.
func TestReleasesHeld(t *testing.T) {
	r := newReleasesWorld(t, feedOfTill)
	all := []string{"dev", "stage", "prod"}
	r.run(all...)
	const hold = ".fairlead/holds/lane-till.yaml"
	r.commitNow("prod", "hold it", map[string]string{hold: own("Hold", "hold", "{reason: the books, lane: till}")})
	r.push("v2")
	r.run(all...)
	r.push("v3")
	r.run(all...)
	r.want("dev=v3/3 stage=v3/3 prod=v1/1")
	r.commitNow("prod", "release it", map[string]string{hold: ""})
	r.run(all...)
	r.want("dev=v3/3 stage=v3/3 prod=v3/3")
	old := gittest.Show(t, r.server.Dir(r.cp()), r.head(r.cp(), "prod")+"~2", pinsOfTill)
	r.commitNow("prod", "Revert the promotion of till-3", map[string]string{pinsOfTill: old})
	r.run(all...)
	r.push("v4")
	r.run(all...)
	r.want("dev=v4/4 stage=v4/4 prod=v1/1")
}

// TestReleasesApart: a workload of another team that fails keeps no release back.
func TestReleasesApart(t *testing.T) {
	r := newReleasesWorld(t, feedOfTill)
	all := []string{"dev", "stage", "prod"}
	r.commitNow("main", "hello", map[string]string{laneFile("hello"): laneWorkload("hello", "main")})
	r.run(all...)
	r.commitNow("main", "a mistake in hello", map[string]string{laneFile("hello"): laneWorkload("hello", "bad")})
	r.run(all...)
	r.push("v2")
	r.run(all...)
	r.want("dev=v2/2 stage=v2/2 prod=v2/2")
	r.push("bad")
	r.run(all...)
	r.want("dev=bad/3 stage=v2/2 prod=v2/2")
	r.push("v4")
	r.run(all...)
	r.want("dev=v4/4 stage=v4/4 prod=v4/4")
}

// TestReleasesBroken: versions that cannot be read, or are those of no release, stop their environment and no other.
func TestReleasesBroken(t *testing.T) {
	r := newReleasesWorld(t, feedOfTill)
	all := []string{"dev", "stage", "prod"}
	r.run(all...)
	good := gittest.Show(t, r.server.Dir(r.cp()), "prod", pinsOfTill)
	r.commitNow("prod", "break it", map[string]string{pinsOfTill: strings.Replace(good, "versions:", "version:", 1)})
	r.push("v2")
	r.run(all...)
	r.want("dev=v2/2 stage=v2/2 prod=v1/1")
	if !r.state("prod").Problems.Stops() {
		t.Errorf("prod is %+v", r.state("prod"))
	}
	first := strings.TrimSpace(gittest.Git(t, r.server.Dir("till"), "rev-list", "--max-parents=0", "main"))
	second := strings.TrimSpace(gittest.Git(t, r.server.Dir("till"), "rev-parse", "main"))
	r.commitNow("prod", "another version", map[string]string{pinsOfTill: strings.ReplaceAll(good, first, second)})
	r.run(all...)
	r.want("dev=v2/2 stage=v2/2 prod=v2/1")
	if got, _ := r.stage("prod").FindRelease("till"); got.State != status.StageStopped {
		t.Errorf("prod is %+v", got)
	}
	r.commitNow("prod", "as it was", map[string]string{pinsOfTill: good})
	r.run(all...)
	r.want("dev=v2/2 stage=v2/2 prod=v2/2")
}

// TestReleasesRewritten: of a branch that no longer contains the last version no release is made, and one that somebody makes is
// promoted.
func TestReleasesRewritten(t *testing.T) {
	r := newReleasesWorld(t, feedOfTill)
	all := []string{"dev", "stage", "prod"}
	r.push("v2")
	r.run(all...)
	r.want("dev=v2/1 stage=v2/1 prod=v2/1")
	gittest.Git(t, r.server.Dir("till"), "update-ref", "refs/heads/main", "main~1")
	r.run(all...)
	r.want("dev=v2/1 stage=v2/1 prod=v2/1")
	if problems := r.store.Snapshot().Chain.Problems; len(problems) != 1 || !problems[0].Warning || problems[0].Subject != "Feed/till" {
		t.Errorf("the problems are %v", problems)
	}
}

// TestReleasesRemoved: without its feed, a workload follows its branch again, by a release that has no version of it.
func TestReleasesRemoved(t *testing.T) {
	r := newReleasesWorld(t, feedOfTill)
	r.run("dev", "stage", "prod")
	r.commitNow("main", "no feed", map[string]string{"feeds.yaml": ""})
	r.run("dev", "stage", "prod")
	r.want("dev=v1/2 stage=v1/2 prod=v1/2")
	r.push("v2")
	r.run()
	r.want("dev=v2/2 stage=v2/2 prod=v2/2")
}

// TestReleasesPinned: a pinned version stays while releases come and go, and a release goes no further from where it has not all of
// its versions.
func TestReleasesPinned(t *testing.T) {
	r := newReleasesWorld(t, feedOfTill)
	all := []string{"dev", "stage", "prod"}
	r.run(all...)
	first := r.lastPushed
	pin := own("Pin", "till", "{version: v1, commit: "+first+", registration: till, reason: the audit}")
	r.commitNow("prod", "pin it", map[string]string{pinOfTill: pin})
	r.push("v2")
	r.run(all...)
	r.want("dev=v2/2 stage=v2/2 prod=v1/2")
	prod, _ := r.stage("prod").FindRelease("till")
	if prod.State != status.StageVerified || !slices.Equal(prod.Versions, []string{"till v1 (pinned)"}) {
		t.Errorf("prod is %+v", prod)
	}
	r.commitNow("prod", "unpin it", map[string]string{pinOfTill: ""})
	r.run(all...)
	r.want("dev=v2/2 stage=v2/2 prod=v2/2")
	second := r.lastPushed
	r.commitNow("stage", "pin it", map[string]string{pinOfTill: strings.ReplaceAll(pin, first, second)})
	r.push("v3")
	r.run(all...)
	r.want("dev=v3/3 stage=v2/3 prod=v2/2")
	if prod, _ = r.stage("prod").FindRelease("till"); prod.Next != "till-3" || prod.Verdict.Status != gate.Wait {
		t.Errorf("prod is %+v", prod)
	}
	r.push("v4")
	r.run(all...)
	r.want("dev=v4/4 stage=v2/4 prod=v2/2")
	r.commitNow("stage", "unpin it", map[string]string{pinOfTill: ""})
	r.run("dev", "prod")
	r.want("dev=v4/4 stage=v4/4 prod=v2/2") // stage has reported on the pinned version only
	r.run(all...)
	r.want("dev=v4/4 stage=v4/4 prod=v4/4")
	r.commitNow("prod", "pin it wrongly", map[string]string{".fairlead/pins/till-pin.yaml": pin})
	r.push("v5")
	r.run(all...)
	r.want("dev=v5/5 stage=v5/5 prod=v4/4")
	if !r.state("prod").Problems.Stops() {
		t.Errorf("prod is %+v", r.state("prod"))
	}
}

// TestReleasesSkipped: a skipped version stays where it is, goes nowhere else, and the next one does.
func TestReleasesSkipped(t *testing.T) {
	r := newReleasesWorld(t, feedOfTill)
	all := []string{"dev", "stage", "prod"}
	r.run(all...)
	r.push("v2")
	r.run()
	r.want("dev=v2/2 stage=v1/1 prod=v1/1")
	skip := func(commit string) string {
		return own("Skip", "till-"+commit[:7], "{feed: till, commit: "+commit+", reason: it loses orders}")
	}
	r.commitNow("main", "skip it", map[string]string{".fairlead/skips/till-v2.yaml": skip(r.lastPushed)})
	r.run(all...)
	r.want("dev=v2/2 stage=v1/1 prod=v1/1")
	if dev, _ := r.stage("dev").FindRelease("till"); dev.State != status.StageFailed {
		t.Errorf("dev is %+v", dev)
	}
	arrivals, err := r.Simulate(t.Context(), "till-2")
	if err != nil || len(arrivals) != 3 || arrivals[1].State != promote.ArrivalNever || arrivals[2].State != promote.ArrivalNever {
		t.Errorf("till-2 would come as %+v, %v", arrivals, err)
	}
	r.push("v3")
	r.commitNow("main", "skip that, too", map[string]string{".fairlead/skips/till-v3.yaml": skip(r.lastPushed)})
	r.run(all...)
	r.want("dev=v2/2 stage=v1/1 prod=v1/1")
	r.push("v4")
	r.run(all...)
	r.want("dev=v4/3 stage=v4/3 prod=v4/3")
	r.commitNow("main", "skip what all have", map[string]string{".fairlead/skips/till-v4.yaml": skip(r.lastPushed)})
	r.run(all...)
	r.want("dev=v4/3 stage=v4/3 prod=v4/3")
}

// TestReleasesVerified: an output with pins is rendered again from its commits alone, whatever the team has pushed since, also where
// versions are mixed by a pin.
func TestReleasesVerified(t *testing.T) {
	r := newReleasesWorld(t, feedOfTill)
	all := []string{"dev", "stage", "prod"}
	r.run(all...)
	first := r.lastPushed
	r.push("v2")
	r.commitNow("prod", "pin it", map[string]string{pinOfTill: own("Pin", "till", "{version: v1, commit: "+first+", registration: till, reason: the audit}")})
	r.run(all...)
	r.want("dev=v2/2 stage=v2/2 prod=v1/2")
	heads := map[string]string{}
	for _, environment := range all {
		heads[environment] = r.head("out", environment)
	}
	r.push("v3")
	gittest.Git(t, r.server.Dir(r.cp()), "branch", "--quiet", "-D", "releases/till")
	remote, err := git.NewRemote(git.RemoteOptions{URL: r.server.PeopleURL("out"), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, environment := range all {
		results, err := verify.Commit(t.Context(), remote.Mirror(), heads[environment], func(context.Context, string) (*source.Source, error) {
			return source.Open(t.Context(), source.Options{ControlPlane: r.place, CacheDir: t.TempDir(), Parser: model.NewParser()})
		})
		if err != nil || len(results) != 1 || results[0].Count > 0 {
			t.Errorf("%s: %+v, %v", environment, results, err)
		}
	}
}

// TestReleasesTagged: a feed of tags releases the newest version within its range, and no push to the branch; a tag that was moved and
// an older one are no versions.
func TestReleasesTagged(t *testing.T) {
	r := newReleasesWorld(t, strings.Replace(feedOfTill, "workload: till", `workload: till, git: {tags: "v*"}, range: "<9"`, 1))
	all := []string{"dev", "stage", "prod"}
	tag := func(names ...string) {
		for _, name := range names {
			gittest.Git(t, r.server.Dir("till"), "tag", "--force", name, "main")
		}
	}
	r.run(all...)
	r.want("dev=v1 stage=v1 prod=v1")
	if problems := r.store.Snapshot().Chain.Problems; len(problems) != 1 || problems[0].Subject != "Feed/till" {
		t.Errorf("the problems are %v", problems)
	}
	tag("v1.9.0")
	r.push("v2")
	r.run(all...)
	r.want("dev=v1/1 stage=v1/1 prod=v1/1")
	tag("v1.10.0", "v9.0.0", "v1.11.0-rc.1", "later")
	r.run()
	r.want("dev=v2/2 stage=v1/1 prod=v1/1")
	r.run(all...)
	r.want("dev=v2/2 stage=v2/2 prod=v2/2")
	if prod, _ := r.stage("prod").FindRelease("till"); !slices.Equal(prod.Versions, []string{"till v1.10.0"}) {
		t.Errorf("prod is %+v", prod)
	}
	r.push("v3")
	tag("v1.8.0")
	r.run(all...)
	r.want("dev=v2/2 stage=v2/2 prod=v2/2")
	tag("v1.10.0")
	r.run(all...)
	r.want("dev=v2/2 stage=v2/2 prod=v2/2")
	if problems := r.store.Snapshot().Chain.Problems; len(problems) != 1 || problems[0].Subject != "Feed/till" {
		t.Errorf("the problems are %v", problems)
	}
	tag("v1.12.0")
	r.run(all...)
	r.want("dev=v3/3 stage=v3/3 prod=v3/3")
	before := r.heads()
	asked := len(r.server.Requests("till"))
	for range 20 {
		r.pass(time.Minute)
	}
	if after := r.heads(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("nothing is new, and the branches went from %v to %v", before, after)
	}
	if n := len(r.server.Requests("till")) - asked; n > 21 {
		t.Errorf("20 rounds made %d requests", n)
	}
}

// TestReleasesOfTwoLanes: releases of two lanes come in one commit and one change of the output, and that of one fails alone.
func TestReleasesOfTwoLanes(t *testing.T) {
	r := newReleasesWorld(t, feedOfTill+"---\n"+strings.ReplaceAll(feedOfTill, "till", "kiosk"))
	url := r.server.Create("kiosk")
	kiosk := r.server.Work(t, "kiosk")
	push := func(branch string) {
		kiosk.Write("deploy/kiosk.yaml", laneWorkload("kiosk", branch))
		kiosk.Commit(branch)
		kiosk.Push()
	}
	push("one")
	r.commitNow("main", "a kiosk", map[string]string{"workloads/kiosk.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: WorkloadRegistration\nmetadata: {name: kiosk}\nspec:\n  workload: {repo: " + url + ", branch: main, path: ./deploy}\n  workspace: shop\n"})
	all := []string{"dev", "stage", "prod"}
	r.run(all...)
	push("two")
	r.push("bad")
	commits := len(strings.Fields(gittest.Git(t, r.server.Dir("out"), "rev-list", "dev")))
	r.run()
	pins := gittest.Files(t, r.server.Dir(r.cp()), r.head(r.cp(), "dev"))
	if !strings.Contains(pins[pinsOfTill], "name: till-2\n") || !strings.Contains(pins[".fairlead/pins/kiosk.yaml"], "name: kiosk-2\n") {
		t.Errorf("dev has %s and %s", pins[pinsOfTill], pins[".fairlead/pins/kiosk.yaml"])
	}
	trailers := gittest.Git(t, r.server.Dir(r.cp()), "log", "-1", "--format=%(trailers:key=Fairlead-Lane,valueonly)", "dev")
	if n := len(strings.Fields(trailers)); n != 2 {
		t.Errorf("the promotion moves %d lanes: %s", n, trailers)
	}
	if n := len(strings.Fields(gittest.Git(t, r.server.Dir("out"), "rev-list", "dev"))) - commits; n != 1 && n != 2 { // with or without a merge
		t.Errorf("the output of dev has %d new commits", n)
	}
	for range 2 { // the till alone decides when a run ends
		r.run(all...)
	}
	r.want("dev=bad/2 stage=v1/1 prod=v1/1")
	for _, environment := range all {
		if kiosk, _ := r.stage(environment).FindRelease("kiosk"); kiosk.Name != "kiosk-2" || kiosk.State != status.StageVerified {
			t.Errorf("%s has %+v", environment, kiosk)
		}
	}
}

// TestReleasesKilled: whenever the process dies while a version comes, and while it moves on, the next one comes to the same end;
// and so do two at once.
func TestReleasesKilled(t *testing.T) {
	r := newReleasesWorld(t, feedOfTill)
	r.world.more += "parallel: 1\n"
	all := []string{"dev", "stage", "prod"}
	r.run(all...)
	r.daemon.Close()
	r.push("v2")
	r.now = r.now.Add(time.Hour)
	before := r.save()
	heads := ""
	steps := r.killAtEveryStep(before, func(n int, _ string) {
		data := []string{r.data, t.TempDir()}[n%2]
		for range 3 {
			r.life(data)
		}
		r.want("dev=v2/2 stage=v1/1 prod=v1/1")
		release := r.head(r.cp(), "releases/till")
		if heads == "" {
			heads = release
		}
		if release != heads {
			t.Errorf("till-2 is %s, and was %s", release, heads)
		}
	})
	if !slices.Contains(steps, "commit to releases/till") || !slices.Contains(steps, "commit to dev") {
		t.Errorf("the steps were %q", steps)
	}
	r.restore(before)
	one, two := r.begin(r.data), r.begin(t.TempDir())
	for range 4 {
		for _, d := range []*daemon{one, two} {
			d.pass(time.Minute)
		}
	}
	r.want("dev=v2/2 stage=v1/1 prod=v1/1")
	if release := r.head(r.cp(), "releases/till"); release != heads {
		t.Errorf("two daemons have made till-2 as %s, want %s", release, heads)
	}
}
