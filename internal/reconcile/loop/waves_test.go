package loop_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/verify"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// inWaves has cloud go first in dev, for an hour, then edge, then the rest; stage follows dev.
const inWaves = `
    - name: dev
      merge: MERGE
      proof: [rollout]
      waves:
        - {name: canary, clusterTypes: {matchLabels: {location: cloud}}, proof: [rollout, {soak: 1h}]}
        - {name: first-edge, clusterTypes: {matchLabels: {ring: first}}}
    - {name: stage, after: [dev], merge: direct, proof: []}
`

type waveWorld struct {
	*world
	d     *daemon
	inbox *recorder.Recorder
	use   func(*loop.Options)
	names map[string]string // of commits of the base
}

func newWaveWorld(t *testing.T, merge string) *waveWorld {
	t.Helper()
	chain := strings.ReplaceAll(inWaves, "MERGE", merge)
	before := regexp.MustCompile(`(?s)      waves:.*?    - \{name: stage`).ReplaceAllString(strings.ReplaceAll(chain, "merge: manual", "merge: direct"), "    - {name: stage")
	w := &waveWorld{world: fleetOf(t, scaffold.Branches, before, "dev", "stage"), names: map[string]string{}}
	w.reportsFile = filepath.Join(t.TempDir(), "reports")
	w.inbox = w.openReports(w.reportsFile)
	t.Cleanup(func() {
		if w.inbox != nil {
			w.closeReports(w.inbox)
		}
	})
	w.use = func(o *loop.Options) { o.Inbox = w.inbox }
	edge := gittest.Show(w, w.server.Dir("cp"), "dev", "cluster-types/edge.yaml")
	field := strings.Replace(strings.Replace(edge, "name: edge", "name: field", 1), "location: edge", "location: edge\n    ring: first", 1)
	w.commitNow("dev", "field", map[string]string{"cluster-types/field.yaml": field})
	w.names[w.changeNow(0)] = "0"
	w.d = w.begin(w.data, w.use)
	w.settle()
	w.ready("cloud", "edge", "field")
	w.settle()
	w.commitNow("main", "waves", map[string]string{promotionFile: chainOf(chain)})
	w.settle()
	w.wantLine(w.names, "dev=0 stage=0")
	w.wantFolders("cloud=0 edge=0 field=0")
	return w
}

func (w *waveWorld) settle() { w.Helper(); w.d.settle("dev", "stage") }

func (w *waveWorld) ready(types ...string) { w.Helper(); w.report(rollout.Ready, types...) }

// freeze begins a freeze of dev, or changes it.
func (w *waveWorld) freeze(more string) {
	w.Helper()
	w.commitNow("main", "freeze", map[string]string{".fairlead/freeze.yaml": own("Freeze", "fair", "{reason: the fair, environments: [dev]"+more+"}")})
	w.settle()
}

func (w *waveWorld) report(phase rollout.Phase, types ...string) {
	w.Helper()
	for _, name := range types {
		e := w.fluxEvent(name+"-1", phase)
		e.ClusterType, e.Message = name, string(phase)
		w.add(w.inbox, e)
	}
}

func (w *waveWorld) restart() {
	w.Helper()
	w.d.Close()
	w.d = w.begin(w.TempDir(), w.use)
}

var levelLine = regexp.MustCompile(`LEVEL: "?(\d+)`)

func (w *waveWorld) folderLevels(commit string) string {
	w.Helper()
	levels := map[string]string{}
	for file, text := range gittest.Files(w, w.server.Dir("out"), commit) {
		name, _, _ := strings.Cut(file, "/")
		for _, m := range levelLine.FindAllStringSubmatch(text, -1) {
			levels[name] = m[1]
		}
	}
	return strings.Trim(fmt.Sprint(levels), "map[]")
}

// wantFolders checks the output of dev, as in "cloud=1 edge=0", and that its commit verifies.
func (w *waveWorld) wantFolders(want string) {
	w.Helper()
	got := strings.ReplaceAll(w.folderLevels(w.head("out", "dev")), ":", "=")
	if got != want {
		w.Fatalf("the output of dev has %s, want %s; the log:\n%s", got, want, w.logs.String())
	}
	w.verifies(w.head("out", "dev"))
}

func (w *waveWorld) verifies(commit string) {
	w.Helper()
	if results := w.verify(commit); len(results) != 1 || results[0].Count > 0 {
		w.Fatalf("commit %s does not verify: %+v", commit, results)
	}
}

func (w *waveWorld) verify(commit string) []verify.Result {
	w.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: w.server.PeopleURL("out"), Dir: w.TempDir()})
	if err != nil {
		w.Fatal(err)
	}
	if _, err := remote.Sync(w.Context()); err != nil {
		w.Fatal(err)
	}
	results, err := verify.Commit(w.Context(), remote.Mirror(), commit, func(ctx context.Context, base string) (*source.Source, error) {
		return source.Open(ctx, source.Options{ControlPlane: w.place, CacheDir: w.TempDir(), Parser: model.NewParser()})
	})
	if err != nil {
		w.Fatal(err)
	}
	return results
}

func (w *waveWorld) written() publish.Written {
	w.Helper()
	r, err := publish.ReadRecord([]byte(gittest.Show(w, w.server.Dir("out"), "dev", publish.RecordFile)))
	if err != nil {
		w.Fatal(err)
	}
	return r.Environments[0]
}

func (w *waveWorld) hasPull() bool {
	w.Helper()
	return strings.Contains(gittest.Git(w, w.server.Dir("out"), "for-each-ref", "--format=%(refname)"), "refs/heads/fairlead/dev\n")
}

// TestWaves is the plain life of a change.
func TestWaves(t *testing.T) {
	w := newWaveWorld(t, "manual")
	w.names[w.changeNow(1)] = "1"
	w.settle()
	pull := w.open("dev")
	w.wantWaves("canary proposed 0/0, first-edge waiting 0/0, rest waiting 0/0")
	if !strings.HasPrefix(pull.Title, "dev canary 1/3: ") || !strings.Contains(pull.Body, "**Later:** `rest`") {
		t.Errorf("the pull request is %q:\n%s", pull.Title, pull.Body)
	}
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=0")
	w.wantLine(w.names, "dev=1 stage=0")
	a := w.written().Advance
	if a == nil || a.Wave != "canary" || len(w.written().Older) != 1 {
		t.Fatalf("the record is %+v", w.written())
	}

	w.wantWaves("canary rolling-out 0/1, first-edge waiting 0/0, rest waiting 0/0")
	w.ready("edge", "field") // which got nothing new
	w.d.pass(2 * time.Hour)
	w.settle()
	if w.hasPull() {
		t.Fatal("the next wave is proposed without a report of the first")
	}
	w.d.wantNext("stage", promote.Current)
	w.ready("cloud")
	w.settle()
	if w.hasPull() {
		t.Fatal("the next wave is proposed before the first has soaked")
	}
	w.d.pass(time.Hour)
	w.settle()
	if title := w.open("dev").Title; !strings.HasPrefix(title, "dev first-edge 2/3: ") {
		t.Errorf("the pull request is %q", title)
	}
	w.wantWaves("canary verified 1/1, first-edge proposed 0/0, rest waiting 0/0")
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=1")
	w.ready("field")
	w.settle()
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=1 edge=1 field=1")
	w.wantLine(w.names, "dev=1 stage=0")
	if r := w.written(); r.Advance != nil || r.Older != nil {
		t.Errorf("the record is %+v", r)
	}
	w.wantWaves("")
	w.ready("cloud", "edge", "field")
	w.settle()
	w.wantLine(w.names, "dev=1 stage=1")
	if diff := cmp.Diff(a.Waves[0].Folders, []string{"cloud"}); diff != "" {
		t.Error(diff)
	}
}

// wantWaves checks the report of dev's waves: state and ready clusters of each.
func (w *waveWorld) wantWaves(want string) {
	w.Helper()
	stage := w.d.stage("dev")
	var got []string
	for _, one := range stage.Waves {
		got = append(got, fmt.Sprintf("%s %s %d/%d", one.Name, one.State, one.Ready, one.Clusters))
	}
	if strings.Join(got, ", ") != want {
		w.Errorf("the waves of dev are %v, want %s", got, want)
	}
}

func (w *waveWorld) beginWaves(level int) {
	w.Helper()
	w.names[w.changeNow(level)] = fmt.Sprint(level)
	w.settle()
	w.merge("dev")
	w.settle()
	w.wantFolders(fmt.Sprintf("cloud=%d edge=0 field=0", level))
}

func (w *waveWorld) finishWaves() {
	w.Helper()
	for range 5 {
		w.ready("cloud", "edge", "field")
		w.settle()
		w.d.pass(time.Hour)
		w.settle()
		if !w.hasPull() {
			break
		}
		w.merge("dev")
		w.settle()
	}
}

// TestWaveConfig: a change of configs waits for the last wave, and then goes by waves itself.
func TestWaveConfig(t *testing.T) {
	w := newWaveWorld(t, "manual")
	w.beginWaves(1)
	w.level("debug", "warning")
	w.settle()
	target := w.written().Tree
	if reason := w.d.state("dev").Reason; !strings.Contains(reason, "what is newer of dev waits for the last wave") {
		t.Errorf("dev is %q", reason)
	}
	w.ready("cloud")
	w.settle()
	w.d.pass(time.Hour)
	w.settle()
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=1")
	if w.written().Tree != target {
		t.Error("the target has changed")
	}
	w.restart()
	w.settle()
	w.ready("field")
	w.settle()
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=1 edge=1 field=1")
	if title := w.open("dev").Title; !strings.HasPrefix(title, "dev canary 1/3: ") {
		t.Errorf("after the waves, dev proposes %q", title)
	}
	w.finishWaves()
	w.wantFolders("cloud=1 edge=1 field=1")
	if r := w.written(); r.Advance != nil || w.hasPull() {
		t.Errorf("the record is %+v", r)
	}
	w.wantLine(w.names, "dev=1 stage=1")
}

// TestWaveFails: where the first wave fails no other is proposed. A newer commit begins with the first
// wave again.
func TestWaveFails(t *testing.T) {
	w := newWaveWorld(t, "manual")
	w.beginWaves(1)
	w.report(rollout.Failed, "cloud")
	w.settle()
	w.wantWaves("canary failed 0/1, first-edge waiting 0/0, rest waiting 0/0")
	w.d.pass(3 * time.Hour)
	w.settle()
	if w.hasPull() {
		t.Fatal("a wave is proposed, and the one before failed")
	}
	if reason := w.d.state("dev").Reason; !strings.Contains(reason, "is halted: wave canary failed: Kustomization/flux-system/fleet failed on cloud-1") {
		t.Errorf("dev is %q", reason)
	}
	w.names[w.changeNow(2)] = "2"
	w.settle()
	w.wantLine(w.names, "dev=2 stage=0")
	if title := w.open("dev").Title; !strings.HasPrefix(title, "dev canary 1/3: ") {
		t.Errorf("dev proposes %q", title)
	}
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=2 edge=0 field=0")
	w.finishWaves()
	w.wantFolders("cloud=2 edge=2 field=2")
	w.wantLine(w.names, "dev=2 stage=2")
}

// TestWaveFailsLater: a wave that was proven and fails later stops the waves after it, also one that is
// proposed. They go on when its clusters are ready again, also in another process.
func TestWaveFailsLater(t *testing.T) {
	w := newWaveWorld(t, "manual")
	w.beginWaves(1)
	w.ready("cloud")
	w.settle()
	w.d.pass(time.Hour)
	w.settle()
	w.open("dev")
	w.report(rollout.Progressing, "cloud")
	w.settle()
	w.open("dev") // a proof that has passed stays
	w.restart()
	w.settle()
	w.open("dev")
	w.report(rollout.Failed, "cloud")
	w.settle()
	if w.hasPull() {
		t.Fatal("the next wave is still proposed")
	}
	w.restart()
	w.settle()
	if w.hasPull() {
		t.Fatal("the next wave is proposed after a restart")
	}
	w.finishWaves()
	w.wantFolders("cloud=1 edge=1 field=1")
}

// TestWaveRollback: a rollback between two waves restores all folders at once.
func TestWaveRollback(t *testing.T) {
	w := newWaveWorld(t, "manual")
	before := w.record("dev")
	w.beginWaves(1)
	w.commitNow("dev", "roll back", map[string]string{"base-repo.yaml": recordText(w.world, before), "hold.yaml": own("Hold", "hold", "{reason: 1 is bad, commit: "+before+"}")})
	w.settle()
	if title := w.open("dev").Title; strings.Contains(title, "canary") {
		t.Errorf("dev proposes %q", title)
	}
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=0 edge=0 field=0")
	if r := w.written(); r.Advance != nil || r.Older != nil || w.hasPull() {
		t.Errorf("the record is %+v", r)
	}
}

// TestWaveStrangers: what others change in a folder is replaced with its wave, and what they change
// beside the folders delays no wave.
func TestWaveStrangers(t *testing.T) {
	w := newWaveWorld(t, "manual")
	w.beginWaves(1)
	out := w.server.Work(t, "out")
	out.Pull("dev")
	out.Write("README.md", "of people\n")
	out.Write("edge/more.yaml", "a: 1\n")
	out.Commit("by hand")
	out.Push("dev")
	w.settle()
	w.finishWaves()
	w.wantFolders("cloud=1 edge=1 field=1")
	files := gittest.Files(w, w.server.Dir("out"), "dev")
	if files["README.md"] != "of people\n" || files["edge/more.yaml"] != "" {
		t.Errorf("the output has README.md %q and edge/more.yaml %q", files["README.md"], files["edge/more.yaml"])
	}
}

// TestWaveTypes: a cluster type that is added in the middle waits for the next advance, and the folder
// of a removed one goes with the last wave.
func TestWaveTypes(t *testing.T) {
	w := newWaveWorld(t, "manual")
	w.beginWaves(1)
	edge := gittest.Show(w, w.server.Dir("cp"), "dev", "cluster-types/edge.yaml")
	w.commitNow("dev", "types", map[string]string{
		"cluster-types/field.yaml": "", "cluster-types/late.yaml": strings.Replace(edge, "name: edge", "name: late", 1),
	})
	w.settle()
	for range 2 {
		w.ready("cloud", "edge", "field")
		w.settle()
		w.d.pass(time.Hour)
		w.settle()
		w.merge("dev")
		w.settle()
	}
	w.wantFolders("cloud=1 edge=1 field=1")
	if pull := w.open("dev"); strings.Contains(pull.Title, "/") {
		t.Errorf("all that is left is one wave, and dev proposes %q", pull.Title)
	}
	w.finishWaves()
	w.wantFolders("cloud=1 edge=1 late=1")
}

// TestWaveOf: a change of an input that does not go by waves is proposed at once, and a commit of the base is not. The
// folder of a removed cluster type goes with the first wave, and its silence proves nothing.
func TestWaveOf(t *testing.T) {
	w := newWaveWorld(t, "manual")
	w.settings("manual", "      waves:", "      advance: {of: [base, workloads], removals: first}\n      waves:")
	w.level("debug", "warning")
	w.settle()
	if title := w.open("dev").Title; strings.Contains(title, "/") {
		t.Errorf("dev proposes %q", title)
	}
	w.merge("dev")
	w.settle()
	w.commitNow("dev", "no field", map[string]string{"cluster-types/field.yaml": ""})
	w.names[w.changeNow(1)] = "1"
	w.settle()
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=1 edge=0")
	w.ready("cloud")
	w.report(rollout.Failed, "field") // which has nothing to run any more
	w.settle()
	w.d.pass(time.Hour)
	w.settle()
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=1 edge=1")
}

// TestWavesAtOnce: a change within one wave has no waves, nor has the rest without waves in the Promotion.
func TestWavesAtOnce(t *testing.T) {
	w := newWaveWorld(t, "manual")
	w.commitNow("dev", "cloud only", map[string]string{
		"configs/cloud.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cloud, labels: {platform-config: \"true\", location: cloud}}\ndata: {CLOUD: \"7\"}\n",
	})
	w.settle()
	if title := w.open("dev").Title; strings.Contains(title, "canary") {
		t.Errorf("dev proposes %q", title)
	}
	w.merge("dev")
	w.settle()
	w.names[w.changeNow(1)] = "1"
	w.settle()
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=0")
	w.level("debug", "warning")
	w.settle()
	if w.hasPull() {
		t.Error("dev proposes what should wait for the first wave")
	}
	w.commitNow("main", "no waves", map[string]string{promotionFile: chainOf("    - {name: dev, merge: manual}\n    - {name: stage, after: [dev], merge: direct, proof: []}\n")})
	w.settle()
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=1 edge=1 field=1")
	if r := w.written(); r.Advance != nil || r.Older != nil || w.hasPull() {
		t.Errorf("the record is %+v", r)
	}
}

// TestWavesDirect: where Fairlead merges, it merges each wave when those before are proven.
func TestWavesDirect(t *testing.T) {
	w := newWaveWorld(t, "direct")
	w.names[w.changeNow(1)] = "1"
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=0")
	w.ready("cloud", "edge", "field")
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=0")
	w.d.pass(time.Hour)
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=1")
	w.ready("field")
	w.settle()
	w.wantFolders("cloud=1 edge=1 field=1")
	w.wantLine(w.names, "dev=1 stage=0")
	w.ready("cloud", "edge", "field")
	w.settle()
	w.wantLine(w.names, "dev=1 stage=1")
}

// TestWavesKilledAtEveryStep: whenever the process dies while it publishes a wave, the next one comes to the same end,
// with the data folder that was left behind or without.
func TestWavesKilledAtEveryStep(t *testing.T) {
	w := newWaveWorld(t, "direct")
	w.more += "parallel: 1\n"
	w.names[w.changeNow(1)] = "1"
	w.diesInWave("cloud=1 edge=0 field=0", "push our branch", "merge the pull request")
	w.ready("cloud")
	w.settle()
	w.d.pass(time.Hour)
	w.diesInWave("cloud=1 edge=0 field=1", "set the status", "push our branch", "merge the pull request")
	w.ready("field")
	w.diesInWave("cloud=1 edge=1 field=1", "push our branch", "merge the pull request")
}

// diesInWave has dev come to some folders, and checks that it does wherever the process dies on the way.
func (w *waveWorld) diesInWave(folders string, mustHave ...string) {
	w.Helper()
	w.d.Close()
	w.closeReports(w.inbox)
	w.inbox = nil
	before, now := w.save(), w.now
	lives := func(data string) {
		w.d = w.begin(data)
		for range 4 {
			w.d.pass(0)
		}
		w.d.Close()
	}
	lives(w.data)
	w.wantFolders(folders)
	want, end := w.outcome(), w.now
	var steps []string
	for {
		w.restore(before)
		w.now = now
		step := w.diesAt(len(steps)+1, w.data, cyclesVariable+"=4")
		if step == "" {
			break
		}
		steps = append(steps, step)
		data := w.data
		if len(steps)%2 == 0 {
			data = w.TempDir()
		}
		lives(data)
		w.wantOutcome(fmt.Sprintf("killed at step %d (%s)", len(steps), step), want)
	}
	all := strings.Join(steps, "\n")
	for _, step := range mustHave {
		if !strings.Contains(all, step) {
			w.Errorf("on the way to %s the steps were %q, without %q", folders, steps, step)
		}
	}
	w.now = end
	w.inbox = w.openReports(w.reportsFile)
	w.d = w.begin(w.data, w.use)
}

func (w *waveWorld) settings(merge string, pairs ...string) {
	w.Helper()
	chain := strings.NewReplacer(append(pairs, "MERGE", merge)...).Replace(inWaves)
	w.commitNow("main", "settings", map[string]string{promotionFile: chainOf(chain)})
	w.settle()
}

// TestWaveRestart: the output has never more than two generations.
func TestWaveRestart(t *testing.T) {
	w := newWaveWorld(t, "manual")
	w.settings("manual", "      waves:", "      advance: {onChange: restart}\n      waves:")
	w.beginWaves(1)
	w.level("debug", "warning")
	w.settle()
	if title := w.open("dev").Title; !strings.HasPrefix(title, "dev canary 1/3: ") {
		t.Errorf("dev proposes %q", title)
	}
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=0")
	if n := len(w.written().Older); n != 1 {
		t.Errorf("the output has %d older generations", n)
	}
	w.finishWaves()
	w.wantFolders("cloud=1 edge=1 field=1")
	w.wantLine(w.names, "dev=1 stage=1")
}

// TestWaveLeft: another target that leaves the folders of a wave as they are waits for the proof of that
// wave, also where the wave failed and another base follows it.
func TestWaveLeft(t *testing.T) {
	w := newWaveWorld(t, "manual")
	w.settings("manual", "      waves:", "      advance: {onChange: restart}\n      waves:")
	w.beginWaves(1)
	w.commitNow("dev", "edge only", map[string]string{
		"configs/edge.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: edge, labels: {platform-config: \"true\", location: edge}}\ndata: {EDGE: \"7\"}\n",
	})
	w.settle()
	if w.hasPull() {
		t.Fatal("the change is proposed, and the first wave is not proven")
	}
	w.report(rollout.Failed, "cloud")
	w.settle()
	if w.hasPull() {
		t.Fatal("the change is proposed, and the first wave failed")
	}
	w.wantFolders("cloud=1 edge=0 field=0")
	w.finishWaves()
	w.wantFolders("cloud=1 edge=1 field=1")
}

// TestWaveBudget: failures within the budget of a wave stop no other, and more of them do.
func TestWaveBudget(t *testing.T) {
	w := newWaveWorld(t, "direct")
	w.settings("direct", "      waves:", "      advance: {budget: {clusterTypes: 1}}\n      waves:", "matchLabels: {ring: first}}", "matchLabels: {location: edge}}")
	w.names[w.changeNow(1)] = "1"
	w.settle()
	w.report(rollout.Failed, "cloud")
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=0") // the first wave has no budget
	w.ready("cloud")
	w.settle()
	w.d.pass(time.Hour)
	w.settle()
	w.wantFolders("cloud=1 edge=1 field=1")
}

// TestWaveBudgetOfTypes: of a wave with two cluster types one may fail, and not both.
func TestWaveBudgetOfTypes(t *testing.T) {
	for _, c := range []struct{ budget, want string }{
		{"{clusterTypes: 1}", "cloud=1 edge=1 field=1"}, {"{clusterTypes: 0}", "cloud=0 edge=1 field=1"}, {"{clusters: 1}", "cloud=1 edge=1 field=1"}, {"{clusterTypes: 1, clusters: 0}", "cloud=0 edge=1 field=1"},
	} {
		t.Run(c.budget, func(t *testing.T) {
			w := newWaveWorld(t, "direct")
			w.settings("direct", "matchLabels: {location: cloud}}, proof: [rollout, {soak: 1h}]}", "matchLabels: {location: edge}}, budget: "+c.budget+"}")
			w.names[w.changeNow(1)] = "1"
			w.settle()
			w.wantFolders("cloud=0 edge=1 field=1")
			w.ready("edge")
			w.settle()
			w.report(rollout.Failed, "field")
			w.settle()
			w.wantFolders(c.want)
		})
	}
}

// TestWaveAway: clusters that were silent for long before a wave was merged do not hold it, and are named.
func TestWaveAway(t *testing.T) {
	w := newWaveWorld(t, "direct")
	w.settings("direct", "      waves:", "      advance: {away: 24h}\n      waves:", ", {soak: 1h}", "")
	w.d.pass(48 * time.Hour)
	e := w.fluxEvent("cloud-2", rollout.Ready)
	e.ClusterType, e.Message = "cloud", "ready"
	w.add(w.inbox, e)
	w.names[w.changeNow(1)] = "1"
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=0")
	e = w.fluxEvent("cloud-2", rollout.Ready)
	e.ClusterType, e.Message = "cloud", "ready"
	w.add(w.inbox, e)
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=1")
}

// TestWavePause: while waves are held none is proposed, and an open one is withdrawn. Released, it is proposed
// again: the same commit, once the inputs are those of the first wave.
func TestWavePause(t *testing.T) {
	w := newWaveWorld(t, "manual")
	held := map[string]string{"hold.yaml": own("Hold", "hold", "{reason: load test, scope: waves}")}
	w.names[w.changeNow(1)] = "1"
	w.settle()
	offered := w.head("out", "fairlead/dev")
	for range 2 {
		w.commitNow("dev", "hold", held)
		w.settle()
		if w.hasPull() {
			t.Fatal("a wave is proposed while waves are held")
		}
		if reason := w.d.stage("dev").Waves[w.reached()].Reason; !strings.Contains(reason, "load test") {
			t.Errorf("the wave waits because of %q", reason)
		}
		w.d.Close()
		w.d = w.begin(w.TempDir(), w.use)
		w.settle()
		w.commitNow("dev", "release", map[string]string{"hold.yaml": ""})
		w.settle()
		if again := w.head("out", "fairlead/dev"); w.reached() > 0 && again != offered {
			t.Errorf("after the release %s is proposed, and before %s", again, offered)
		}
		if w.reached() > 0 {
			break
		}
		w.merge("dev")
		w.settle()
		w.wantFolders("cloud=1 edge=0 field=0")
		w.commitNow("dev", "hold", held)
		w.settle()
		if reason := w.d.stage("dev").Waves[1].Reason; !strings.Contains(reason, "load test") || !strings.Contains(reason, "proof") {
			t.Errorf("the held wave waits because of %q", reason)
		}
		w.commitNow("dev", "release", map[string]string{"hold.yaml": ""})
		w.ready("cloud")
		w.settle()
		w.d.pass(time.Hour)
		w.settle()
		offered = w.head("out", "fairlead/dev")
	}
	w.finishWaves()
	w.wantFolders("cloud=1 edge=1 field=1")
}

func (w *waveWorld) reached() int {
	w.Helper()
	if a := w.written().Advance; a != nil {
		return len(a.Reached())
	}
	return 0
}

// TestWaveWindow: a wave with a window is proposed inside of it alone.
func TestWaveWindow(t *testing.T) {
	w := newWaveWorld(t, "direct")
	open := w.now.UTC().Add(5 * time.Hour).Truncate(time.Hour)
	window := fmt.Sprintf("gates: [{window: {allow: [{cron: '0 %d * * *', duration: 1h}]}}], merge: manual", open.Hour())
	w.settings("direct", "matchLabels: {ring: first}}", "matchLabels: {ring: first}}, "+window, ", {soak: 1h}", "")
	w.names[w.changeNow(1)] = "1"
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=0")
	w.ready("cloud")
	w.settle()
	if w.hasPull() {
		t.Fatal("the wave is proposed outside of its window")
	}
	w.d.pass(open.Sub(w.now.UTC()) + time.Minute)
	w.settle()
	if title := w.open("dev").Title; !strings.HasPrefix(title, "dev first-edge 2/3: ") {
		t.Errorf("dev proposes %q", title)
	}
	w.d.pass(2 * time.Hour)
	w.settle()
	if w.hasPull() {
		t.Fatal("the wave is still proposed after its window")
	}
	w.d.pass(22*time.Hour + 10*time.Minute)
	w.settle()
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=1")
	w.ready("field")
	w.settle()
	w.wantFolders("cloud=1 edge=1 field=1")
}

// TestWaveGates: a wave is proposed when it is approved, for the advance that it is of alone, and the next one when a
// status of its commit says so.
func TestWaveGates(t *testing.T) {
	w := newWaveWorld(t, "manual")
	w.settings("manual", "location: cloud}}, proof: [rollout, {soak: 1h}]}", "location: cloud}}, gates: [approval], proof: [rollout, {status: {contexts: [ci/e2e], of: output}}]}",
		"matchLabels: {ring: first}}", "matchLabels: {ring: first}}, gates: [approval], merge: direct")
	approve := func(wave string) {
		t.Helper()
		chain := w.d.store.Snapshot().Chain
		r, err := w.openActions().Approve(t.Context(), actions.Approval{Environment: "dev", Wave: wave, Report: &chain})
		if err != nil || !r.Changed {
			t.Fatalf("approving %s: %+v, %v", wave, r, err)
		}
		w.settle()
	}
	advances := map[string]bool{}
	for level := 1; level <= 2; level++ { // what was approved is another advance's then
		w.names[w.changeNow(level)] = fmt.Sprint(level)
		w.settle()
		if one := w.d.stage("dev").Waves[0]; w.hasPull() || !strings.Contains(one.Reason, "approval missing") || !one.LacksApproval {
			t.Fatalf("canary is proposed before it is approved, or waits because of %q", one.Reason)
		}
		advances[w.d.stage("dev").Advance] = true
		approve("canary")
		w.open("dev")
		if w.d.stage("dev").Waves[0].LacksApproval {
			t.Error("an approved wave waits for an approval")
		}
	}
	if len(advances) != 2 || advances[""] {
		t.Errorf("the advances are %v", advances)
	}
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=2 edge=0 field=0")
	approve("first-edge")
	w.ready("cloud")
	w.settle()
	w.wantFolders("cloud=2 edge=0 field=0")
	w.says("dev", "ci/e2e", forge.Success, "all good")
	w.settle()
	w.wantFolders("cloud=2 edge=0 field=2")
	if _, err := w.openActions().Approve(t.Context(), actions.Approval{Environment: "dev", Wave: "rest", Commit: w.written().Advance.ID}); err == nil {
		t.Error("a wave that asks nobody is approved")
	}
}

// TestWaveFreeze: a freeze stops the next wave, unless it lets those of a begun advance pass. Going back passes all.
func TestWaveFreeze(t *testing.T) {
	w := newWaveWorld(t, "direct")
	w.freeze(", waves: pass")
	w.level("debug", "warning")
	w.settle()
	if reason := w.d.stage("dev").Waves[0].Reason; w.hasPull() || !strings.Contains(reason, "the fair") {
		t.Fatalf("canary is proposed in a freeze, or waits because of %q", reason)
	}
	w.commitNow("main", "thaw", map[string]string{".fairlead/freeze.yaml": ""})
	commit := w.changeNow(1)
	w.settle()
	if a := w.written().Advance; a == nil || a.Wave != "canary" {
		t.Fatalf("the record is %+v", w.written())
	}
	w.freeze(", to: " + w.now.UTC().Add(30*24*time.Hour).Format(time.RFC3339))
	arrivals, err := w.d.Simulate(t.Context(), commit)
	if err != nil || arrivals[1].NotBefore.Before(w.now.Add(29*24*time.Hour)) {
		t.Errorf("in the freeze, stage has it at %+v, %v", arrivals, err)
	}
	w.freeze("")
	w.ready("cloud")
	w.settle()
	w.d.pass(time.Hour)
	w.settle()
	if a := w.written().Advance; w.hasPull() || a.Wave != "canary" {
		t.Fatalf("a wave passes the freeze: %+v", w.written())
	}
	w.freeze(", waves: pass")
	if a := w.written().Advance; a == nil || a.Wave != "first-edge" {
		t.Fatalf("the freeze stops a wave that it lets pass: %+v", w.written())
	}
	w.freeze("")
	w.decide(model.WaveDecision{Action: model.RejectAdvance, Reason: "it is worse"})
	if r := w.written(); r.Advance != nil {
		t.Errorf("the freeze keeps dev from going back: %+v", r)
	}
}

// TestWaveBroken: a file that may decide about waves pauses them, a record that people broke blocks the environment, and
// going back needs the commit of before the first wave.
func TestWaveBroken(t *testing.T) {
	w := newWaveWorld(t, "manual")
	w.beginWaves(1)
	w.ready("cloud")
	w.settle()
	w.commitNow("dev", "broken", map[string]string{promoter.WaveDecisionFile("", "x"): own("WaveDecision", "x", "{action: leap, advance: a}")})
	w.settle()
	w.d.pass(time.Hour)
	w.settle()
	if w.hasPull() {
		t.Fatal("a wave is proposed, and a file may decide otherwise")
	}
	w.commitNow("dev", "repaired", map[string]string{promoter.WaveDecisionFile("", "x"): own("WaveDecision", "x", "{action: reject, advance: 000000000000}")})
	w.settle()
	w.open("dev") // nobody knows that advance
	good, begin := gittest.Show(w, w.server.Dir("out"), "dev", publish.RecordFile), w.written().Advance.Begin
	write := func(text string) {
		t.Helper()
		out := w.server.Work(t, "out")
		out.Pull("dev")
		out.Write(publish.RecordFile, text)
		out.Commit("by hand")
		out.Push("dev")
		w.settle()
	}
	write(regexp.MustCompile(`(?m)^( +)- edge$`).ReplaceAllString(good, "$1- edge\n$1- cloud"))
	if s := w.d.state("dev"); !strings.Contains(fmt.Sprint(s), "twice in the waves") {
		t.Errorf("with a folder in two waves dev is %+v", s)
	}
	write(strings.Replace(good, "begin: "+begin, "begin: "+strings.Repeat("0", 40), 1))
	w.decide(model.WaveDecision{Action: model.RejectAdvance, Reason: "it is worse"})
	w.wantFolders("cloud=1 edge=0 field=0")
	if s := w.d.state("dev"); !strings.Contains(s.Reason, "cannot go back") {
		t.Errorf("dev goes back to nowhere: %+v", s)
	}
}

// TestWaveBatches: a wave goes in parts, each after the proof of the one before, and soaks once.
func TestWaveBatches(t *testing.T) {
	w := newWaveWorld(t, "direct")
	w.settings("direct", "matchLabels: {location: cloud}}, proof", "matchLabels: {location: edge}}, batch: 1, proof")
	w.names[w.changeNow(1)] = "1"
	w.settle()
	w.wantFolders("cloud=0 edge=1 field=0")
	w.ready("edge")
	w.settle()
	w.wantFolders("cloud=0 edge=1 field=1")
	w.ready("field")
	w.settle()
	w.wantFolders("cloud=0 edge=1 field=1")
	w.d.pass(time.Hour)
	w.settle()
	w.wantFolders("cloud=1 edge=1 field=1")
}

func (w *waveWorld) decide(d model.WaveDecision) {
	w.Helper()
	d.Name, d.Advance = d.Action, w.written().Advance.ID
	text, err := model.EncodeWaveDecision(d)
	if err != nil {
		w.Fatal(err)
	}
	w.commitNow("dev", d.Action, map[string]string{promoter.WaveDecisionFile("", d.Name): string(text)})
	w.settle()
}

// TestWaveSkip: the wave after one that failed and is skipped is proposed, also by another process.
func TestWaveSkip(t *testing.T) {
	w := newWaveWorld(t, "manual")
	w.beginWaves(1)
	w.report(rollout.Failed, "cloud")
	w.settle()
	if w.hasPull() {
		t.Fatal("a wave is proposed, and the one before failed")
	}
	w.decide(model.WaveDecision{Action: model.SkipWave, Wave: "canary", Reason: "it is being rebuilt"})
	w.wantWaves("canary verified 0/1, first-edge proposed 0/0, rest waiting 0/0")
	if reason := w.d.stage("dev").Waves[0].Reason; !strings.Contains(reason, "it is being rebuilt") {
		t.Errorf("the skipped wave says %q", reason)
	}
	w.restart()
	w.settle()
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=1")
	w.ready("field")
	w.settle()
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=1 edge=1 field=1")
	w.wantLine(w.names, "dev=1 stage=0") // its own proof counts all clusters
}

// TestWaveBack: what was taken back is proposed no more, and a newer commit begins with the first wave.
func TestWaveBack(t *testing.T) {
	w := newWaveWorld(t, "manual")
	w.settings("manual", "      waves:", "      advance: {onFailure: back}\n      waves:")
	before := w.written()
	w.beginWaves(1)
	w.report(rollout.Failed, "cloud")
	w.settle()
	if message := gittest.Git(w, w.server.Dir("cp"), "log", "-1", "--format=%B", "dev"); !strings.Contains(message, "Fairlead-Action: waves-back") {
		t.Errorf("the branch of dev ends with %q", message)
	}
	if title := w.open("dev").Title; !strings.HasPrefix(title, "dev back: ") {
		t.Errorf("dev proposes %q", title)
	}
	w.restart()
	w.settle()
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=0 edge=0 field=0")
	if diff := cmp.Diff(before, w.written()); diff != "" {
		t.Errorf("the record is another than before: %s", diff)
	}
	w.restart()
	w.settle()
	if w.hasPull() {
		t.Fatal("the rejected target is proposed again")
	}
	if reason := w.d.state("dev").Reason; !strings.Contains(reason, "is rejected: ") {
		t.Errorf("dev is %q", reason)
	}
	for range 2 { // the clusters run what was there before, which proves nothing of the commit
		w.ready("cloud", "edge", "field")
		w.d.pass(2 * time.Hour)
		w.settle()
		w.wantLine(w.names, "dev=1 stage=0")
		w.restart()
		w.settle()
	}
	w.names[w.changeNow(2)] = "2"
	w.settle()
	w.wantLine(w.names, "dev=2 stage=0")
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=2 edge=0 field=0")
	w.finishWaves()
	w.wantFolders("cloud=2 edge=2 field=2")
	w.wantLine(w.names, "dev=2 stage=2")
}

// TestWaveReplace: an advance that replaced another can be taken back to that.
func TestWaveReplace(t *testing.T) {
	w := newWaveWorld(t, "manual")
	w.beginWaves(1)
	first := w.written()
	for _, hasNewer := range []bool{false, true} {
		if hasNewer {
			w.level("debug", "warning")
			w.settle()
		}
		r, err := actions.DecideWaves(w.Context(), w.openActions(), actions.WaveOrder{Environment: "dev", Action: model.ReplaceAdvance, Reason: "a fix"})
		if err != nil || r.Changed != hasNewer {
			t.Fatalf("with something newer %t: %+v, %v", hasNewer, r, err)
		}
	}
	w.settle()
	if title := w.open("dev").Title; !strings.HasPrefix(title, "dev canary 1/3: ") {
		t.Errorf("dev proposes %q", title)
	}
	w.merge("dev")
	w.settle()
	if id := w.written().Advance.ID; id == first.Advance.ID {
		t.Errorf("it is still the advance %s", id)
	}
	w.decide(model.WaveDecision{Action: model.RejectAdvance, Reason: "it is worse"})
	w.merge("dev")
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=0")
	if diff := cmp.Diff(first, w.written()); diff != "" {
		t.Errorf("the record is another than before: %s", diff)
	}
	if w.hasPull() {
		t.Error("the rejected target is proposed again")
	}
	w.commitNow("dev", "retry", map[string]string{promoter.WaveDecisionFile("", model.RejectAdvance): ""})
	w.settle()
	w.merge("dev")
	w.settle()
	w.finishWaves()
	w.wantFolders("cloud=1 edge=1 field=1")
}

// TestWaveAdopted: folders that others wrote are replaced wave by wave, and verify names those that are left.
func TestWaveAdopted(t *testing.T) {
	w := newWaveWorld(t, "manual")
	out := w.server.Work(t, "out")
	out.Pull("dev")
	out.Remove(publish.RecordFile)
	for _, name := range []string{"cloud", "edge", "field"} {
		out.Write(name+"/more.yaml", "a: 1\n")
	}
	out.Commit("as if others had written it")
	out.Push("dev")
	w.settle()
	if title := w.open("dev").Title; !strings.HasPrefix(title, "dev canary 1/3: ") {
		t.Errorf("dev proposes %q", title)
	}
	w.merge("dev")
	w.settle()
	results := w.verify(w.head("out", "dev"))
	if diff := cmp.Diff([]string{"edge", "field"}, results[0].Unverified); diff != "" || results[0].Count > 0 {
		t.Errorf("verify says %+v", results)
	}
	w.finishWaves()
	w.wantFolders("cloud=0 edge=0 field=0")
	if results := w.verify(w.head("out", "dev")); results[0].Unverified != nil {
		t.Errorf("verify says %+v", results)
	}
}

// TestWavesInFolders: of two environments in one branch each has its own record and waves.
func TestWavesInFolders(t *testing.T) {
	waves := "proof: [rollout], waves: [{name: canary, clusterTypes: {matchLabels: {location: cloud}}}]"
	w := &waveWorld{world: fleetOf(t, scaffold.Folders, "    - {name: dev, merge: direct}\n    - {name: stage, merge: direct}\n", "dev", "stage"), names: map[string]string{}}
	w.reportsFile = filepath.Join(t.TempDir(), "reports")
	w.inbox = w.openReports(w.reportsFile)
	w.use = func(o *loop.Options) { o.Inbox = w.inbox }
	w.changeNow(0)
	w.d = w.begin(w.data, w.use)
	w.settle()
	w.commitNow("main", "waves", map[string]string{promotionFile: chainOf("    - {name: dev, merge: direct, " + waves + "}\n    - {name: stage, merge: direct, " + waves + "}\n")})
	w.changeNow(1)
	w.settle()
	want := func(want string) {
		t.Helper()
		var got []string
		for _, name := range []string{"dev", "stage"} {
			r, err := publish.ReadRecord([]byte(gittest.Show(w, w.server.Dir("out"), "main", "clusters/"+name+"/"+publish.RecordFile)))
			if err != nil {
				t.Fatal(err)
			}
			reached := "all"
			if a := r.Environments[0].Advance; a != nil {
				reached = a.Wave
			}
			got = append(got, name+" "+reached)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("the waves are %v, want %s", got, want)
		}
		for _, r := range w.verify(w.head("out", "main")) {
			if r.Count > 0 {
				t.Errorf("%s is not as rendered: %v", r.Environment, r.Different)
			}
		}
	}
	ready := func(environment string) {
		w.add(w.inbox, observe.Event{
			Cluster: "cloud-" + environment, ClusterType: "cloud", Environment: environment, Object: "Kustomization/flux-system/fleet",
			Branch: "main", Commit: w.head("out", "main"), Phase: rollout.Ready, Message: "ready", When: w.now,
		})
		w.settle()
	}
	want("dev canary, stage canary")
	ready("stage")
	want("dev canary, stage all")
	ready("dev")
	want("dev all, stage all")
	w.closeReports(w.inbox)
}

// TestWaveSimulation: a simulation counts the waves that are left, with their soaks and windows.
func TestWaveSimulation(t *testing.T) {
	w := newWaveWorld(t, "manual")
	open := w.now.UTC().Add(5 * time.Hour).Truncate(time.Hour)
	w.settings("manual", "matchLabels: {ring: first}}", fmt.Sprintf("matchLabels: {ring: first}}, gates: [{window: {allow: [{cron: '0 %d * * *', duration: 1h}]}}]", open.Hour()))
	commit := w.changeNow(1)
	want := func(notBefore time.Time, waves ...string) {
		t.Helper()
		arrivals, err := w.d.Simulate(t.Context(), commit)
		if err != nil {
			t.Fatal(err)
		}
		a := arrivals[1]
		if a.State != promote.ArrivalWaits || !a.NotBefore.Equal(notBefore) {
			t.Errorf("stage %s, not before %s, want %s", a.State, a.NotBefore, notBefore)
		}
		for _, name := range []string{"canary", "first-edge", "rest"} {
			if got := strings.Contains(fmt.Sprint(a.WaitsFor), "wave "+name+": "); got != slices.Contains(waves, name) {
				t.Errorf("it waits for %v, want the waves %v", a.WaitsFor, waves)
			}
		}
	}
	w.settle()
	want(open, "canary", "first-edge")
	w.merge("dev")
	w.settle()
	w.ready("cloud")
	w.settle()
	want(open, "first-edge")
	w.d.pass(open.Sub(w.now.UTC()) + time.Minute)
	w.settle()
	w.merge("dev")
	w.settle()
	want(time.Time{}, "first-edge")
}
