package loop_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// line is three environments in which everything is proven at once.
const line = `
    - {name: dev, merge: direct, proof: []}
    - {name: stage, after: [dev], merge: direct, proof: []}
    - {name: prod, after: [stage], merge: direct, proof: []}
`

// TestUnknownCommit: an environment whose record names what the base does not have
// stays as it is, and says so; those that do not come after it go on.
func TestUnknownCommit(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, `
    - {name: dev, merge: direct, proof: []}
    - {name: stage, after: [dev], merge: direct, proof: []}
    - {name: prod, after: [dev], merge: direct, proof: []}
`, "dev", "stage", "prod")
	names := map[string]string{w.changeNow(1): "1"}
	d := w.begin(w.data)
	d.settle("dev", "stage", "prod")
	w.wantLine(names, "dev=1 stage=1 prod=1")
	before := w.head("out", "stage")
	unknown := strings.Repeat("ab", 20)
	w.commitNow("stage", "by hand", map[string]string{"base-repo.yaml": recordText(w, unknown)})
	names[w.changeNow(2)] = "2"
	d.settle("dev", "stage", "prod")
	w.wantLine(names, "dev=2 stage="+unknown+" prod=2")
	d.wantNext("stage", promote.Stopped, "base-repo.yaml names commit "+unknown)
	e := d.state("stage")
	if e.State != status.Problems || len(e.Problems) == 0 || !strings.Contains(e.Problems[0].String(), unknown) {
		t.Errorf("stage is %s with %v", e.State, e.Problems)
	}
	if after := w.head("out", "stage"); after != before {
		t.Errorf("the output of stage is %s, and was %s", after, before)
	}
	d.quiet("cp", "out")

	w.commitNow("stage", "mend it", map[string]string{"base-repo.yaml": recordText(w, w.head("cp", "main~1"))})
	d.settle("dev", "stage", "prod")
	w.wantLine(names, "dev=2 stage=2 prod=2")
}

// TestBrokenPromotion: what cannot be understood stops all promotions and no
// rendering, and is said in the chain, and once in the log.
func TestBrokenPromotion(t *testing.T) {
	for name, test := range map[string]struct{ chain, want string }{
		"chain: a circle":          {"    - {name: dev, after: [stage]}\n    - {name: stage, after: [dev]}\n", "is circular"},
		"unknown gate":             {"    - {name: dev, proof: [rolout]}\n    - {name: stage, after: [dev]}\n", `there is no gate "rolout"`},
		"unknown zone":             {"    - {name: dev, gates: [window: {allow: [{cron: 0 9 * * *, duration: 1h, timeZone: Mars/Base}]}]}\n    - {name: stage, after: [dev]}\n", "Mars/Base"},
		"never opens":              {"    - {name: dev, gates: [window: {allow: [{cron: 0 9 30 2 *, duration: 1h}]}]}\n    - {name: stage, after: [dev]}\n", "never"},
		"chain: not YAML":          {"    - {name: dev\n    - {name: stage, after: [dev]}\n", "the file is not YAML"},
		"chain: unknown neighbour": {"    - {name: dev}\n    - {name: stage, after: [dve]}\n", "dve"},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, test.chain, "dev", "stage")
			d := w.begin(w.data)
			for range 3 {
				d.pass(time.Hour)
				w.changeNow(1)
			}
			d.pass(time.Hour)
			begins := status.Proposed
			if strings.HasPrefix(name, "chain: ") { // nobody knows what comes after what
				begins = status.Waiting
			}
			d.want(map[string]status.State{"dev": begins, "stage": status.Waiting})
			w.wantLine(nil, "dev=- stage=-")
			chain := d.store.Snapshot().Chain
			if len(chain.Problems) == 0 || !strings.Contains(chain.Problems[0].String(), test.want) {
				t.Errorf("the problems are %v, want %q", chain.Problems, test.want)
			}
			if n := strings.Count(w.logs.String(), "nothing is promoted until this is fixed"); n != 1 {
				t.Errorf("it is said %d times:\n%s", n, w.logs.String())
			}
			d.quiet("cp", "out")
			w.commitNow("main", "mend", map[string]string{promotionFile: chainOf(two(""))})
			mended := w.changeNow(2)
			d.settle("dev", "stage")
			w.wantLine(map[string]string{mended: "m"}, "dev=m stage=m")
			w.commitNow("main", "break", map[string]string{promotionFile: chainOf(test.chain)})
			d.pass(time.Hour)
			if n := strings.Count(w.logs.String(), "nothing is promoted until this is fixed"); n != 2 {
				t.Errorf("after it was mended and came back it was said %d times", n)
			}
		})
	}
}

// TestForcePush: an environment whose commit is no longer on the base's branch stays as
// it is, and a person sets it to one that is.
func TestForcePush(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, line, "dev", "stage", "prod")
	first := w.changeNow(1)
	lost := w.changeNow(2)
	names := map[string]string{first: "1", lost: "2"}
	d := w.begin(w.data)
	d.settle("dev", "stage", "prod")
	w.wantLine(names, "dev=2 stage=2 prod=2")
	third := w.commitFrom("main~1", "main", "another", map[string]string{"configs/level.yaml": ""})
	names[third] = "3"
	d.settle("dev", "stage", "prod")
	w.wantLine(names, "dev=2 stage=2 prod=2")
	for _, e := range []string{"dev", "prod"} {
		d.wantNext(e, promote.Stopped, fmt.Sprintf("main was rewritten and has no commit %s any more: push it back to main, or fairlead rollback %s --to COMMIT --reason REASON", lost[:7], e))
	}
	for _, e := range []string{"dev", "stage", "prod"} {
		w.commitNow(e, "after the force-push", map[string]string{"base-repo.yaml": recordText(w, first)})
	}
	d.settle("dev", "stage", "prod")
	w.wantLine(names, "dev=3 stage=3 prod=3")
}

// TestRecords: a record is made as Kalypso makes it, or changed in place, wherever it
// is, and nothing else of its file is touched.
func TestRecords(t *testing.T) {
	const commented = "# what dev runs\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo # by hand\nmetadata:\n  name: main\nspec:\n  repo: REPO\n  branch: main\n  path: .   # all of it\n  commit: \"FIRST\"   # promoted\n# the end\n"
	for name, test := range map[string]struct {
		before func(w *world, first string) map[string]string // of dev
		file   string
		want   string
	}{
		"none": {
			before: func(*world, string) map[string]string { return map[string]string{"base-repo.yaml": ""} },
			file:   "base-repo.yaml",
			want:   "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata:\n  name: main\nspec:\n  repo: REPO\n  branch: main\n  path: .\n  commit: LAST\n",
		},
		"comments": {
			before: func(w *world, first string) map[string]string {
				return map[string]string{"base-repo.yaml": strings.NewReplacer("REPO", w.place, "FIRST", first).Replace(commented)}
			},
			file: "base-repo.yaml", want: strings.Replace(commented, "\"FIRST\"", "LAST", 1),
		},
		"another file": {
			before: func(w *world, first string) map[string]string {
				return map[string]string{"base-repo.yaml": "", "deep/which.yaml": strings.NewReplacer("REPO", w.place, "FIRST", first).Replace(commented)}
			},
			file: "deep/which.yaml", want: strings.Replace(commented, "\"FIRST\"", "LAST", 1),
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct, proof: []}\n", "dev")
			first := w.changeNow(1)
			w.commitNow("dev", "by hand", test.before(w, first))
			before := gittest.Files(t, w.server.Dir("cp"), "dev")
			last := w.changeNow(2)
			d := w.begin(w.data)
			for range 4 {
				d.pass(time.Minute)
			}
			if e := d.state("dev"); e.State != status.InSync {
				t.Errorf("dev is %s: %s; %v", e.State, e.Reason, e.Problems)
			}
			before[test.file] = strings.NewReplacer("REPO", w.place, "LAST", last).Replace(test.want)
			if diff := cmp.Diff(before, gittest.Files(t, w.server.Dir("cp"), "dev")); diff != "" {
				t.Errorf("the branch of dev (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBrokenCommit: a commit that cannot be rendered says where it is wrong, and that is
// nothing that failed on clusters.
func TestBrokenCommit(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, two(""), "dev", "stage")
	w.commitNow("main", "break it", map[string]string{"workloads/bad.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: WorkloadRegistration\nmetadata: {name: bad}\nspec: {wokload: x}\n"})
	d := w.begin(w.data)
	d.settle("dev", "stage")
	s := d.stage("dev")
	if !s.HasProblems() || !strings.HasPrefix(s.Proof.Reason, "base/workloads/bad.yaml:4: WorkloadRegistration/bad: spec has no field") {
		t.Errorf("the proof of dev is %+v", s.Proof)
	}
}

// TestExternal: who leaves the moving to others has nothing moved and nothing said.
func TestExternal(t *testing.T) {
	for name, test := range map[string]struct {
		more  string
		files map[string]string
	}{
		"settings":  {"write: true\npromotion: external\n", nil},
		"Promotion": {"write: true\n", map[string]string{promotionFile: "apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: fleet}\nspec: {external: true}\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scaffold.Branches, "dev", "stage")
			w.more = test.more
			if test.files != nil {
				w.commitNow("main", "external", test.files)
			}
			before := gittest.Refs(t, w.server.Dir("cp"))
			commit := w.head("cp", "main")
			d := w.begin(w.data)
			d.cycle()
			d.cycle()
			after := gittest.Refs(t, w.server.Dir("cp"))
			for _, branch := range []string{"main", "dev", "stage"} {
				if after["refs/heads/"+branch] != before["refs/heads/"+branch] {
					t.Errorf("branch %s has moved", branch)
				}
			}
			w.wantTold(commit, "")
			d.want(map[string]status.State{"dev": status.Proposed, "stage": status.Proposed})
			d.quiet("cp", "out")
		})
	}
}

// TestReadOnly: without write nothing is written, and what would be done is shown.
func TestReadOnly(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, line, "dev", "stage", "prod")
	w.more = ""
	commit := w.changeNow(1)
	before := []map[string]string{gittest.Refs(t, w.server.Dir("cp")), gittest.Refs(t, w.server.Dir("out"))}
	d := w.begin(w.data)
	d.cycle()
	d.cycle()
	after := []map[string]string{gittest.Refs(t, w.server.Dir("cp")), gittest.Refs(t, w.server.Dir("out"))}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the repositories (-before +after):\n%s", diff)
	}
	if next := d.stage("dev").Next; next.State != promote.Promotes || next.Candidate != commit {
		t.Errorf("dev is %s for %s", next.State, next.Candidate)
	}
	d.wantNext("stage", promote.Current, "waiting for dev to get its first commit")
	d.quiet("cp", "out")
	if entries, err := os.ReadDir(w.data); err != nil || len(entries) == 0 {
		t.Errorf("the data folder has %v, %v", entries, err)
	}
}
