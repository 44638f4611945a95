package recorder_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/reconcile/wanted"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// writeThree writes the outputs A, B, which changes large and small, C, which changes large only, and D,
// which takes back what they have changed, and calls after for each.
func (o *outputs) writeThree(names map[string]string, after func()) {
	for _, c := range []struct {
		at, name string
		files    map[string]string
	}{
		{"11:00", "A", map[string]string{
			"large/api/reconciler.yaml": reconciler("api", "main", ""), "large/api/namespace.yaml": "one", "large/web/reconciler.yaml": reconciler("web", "", "v1"),
			"small/api/reconciler.yaml": reconciler("api", "main", ""), "README.md": "of no type",
			".fairlead/output.yaml": outputRecord("base1"),
		}},
		{"12:00", "B", map[string]string{".fairlead/output.yaml": outputRecord("base2"), "large/api/namespace.yaml": "two", "small/api/reconciler.yaml": reconciler("api", "", "v2")}},
		{"13:00", "C", map[string]string{"large/web/reconciler.yaml": "", "large/new/reconciler.yaml": reconciler("new", "dev", ""), "tiny/new/reconciler.yaml": reconciler("new", "dev", "")}},
	} {
		names[o.commit(c.at, c.files)] = c.name
		after()
	}
	for sha, name := range names {
		if name == "A" {
			names[o.commitTree("14:00", sha)] = "D"
			break
		}
	}
	after()
}

// outputRecord returns the record of an output.
func outputRecord(base string) string {
	return fmt.Sprintf("apiVersion: fairlead.io/v1alpha1\nkind: Output\nenvironments: [{environment: prod, tree: t, from: [{layer: base, commit: %s}, {layer: prod, commit: plane1}]}]\n", base)
}

const wantedDump = `arrival A e1 1795431660 0
arrival D e1 1795442400 0
environment prod main prod
file large/api 1-0 F
file large/new 3-4 F
file large/web 1-3 F
file large/web 4-0 F
file small/api 1-2 F
file small/api 2-4 F
file small/api 4-0 F
file tiny/new 3-4 F
folder large 1-2 F
folder large 2-3 F
folder large 3-4 F
folder large 4-0 F
folder small 1-2 F
folder small 2-4 F
folder small 4-0 F
folder tiny 3-4 F
output prod 1 line 1 A of base1 plane1 0 1795431600
output prod 2 line 1 B of base2 plane1 0 1795435200
output prod 3 line 1 C of base2 plane1 0 1795438800
output prod 4 line 1 D of base1 plane1 0 1795442400
part F Kustomization/flux-system/api of https://example.com/api main ./deploy -
part F Kustomization/flux-system/api of https://example.com/api v2 ./deploy v2
part F Kustomization/flux-system/new of https://example.com/new dev ./deploy -
part F Kustomization/flux-system/web of https://example.com/web v1 ./deploy v1
type prod/large 3
type prod/small -1
type prod/tiny -1`

// TestOutputs: what is recorded of a branch that grew is what is recorded of the whole branch, by one
// process or two, from a whole mirror or a partial one, and what a rebuilt ledger has.
func TestOutputs(t *testing.T) {
	for _, partial := range []bool{false, true} {
		onBothEngines(t, fmt.Sprintf("partial %t", partial), func(t *testing.T, newStore func(*testing.T) testStore) {
			o, names := newOutputs(t, partial), map[string]string{}
			grown := newRig(t, newStore)
			grown.open()
			o.writeThree(names, func() {
				o.record(grown.recorder)
				o.record(grown.recorder)
				grown.reportFirst(names)
			})
			want := dumpWanted(grown.store, names)
			if diff := cmp.Diff(wantedDump, maskDigests(want)); diff != "" {
				t.Fatalf("recorded is (-want +got):\n%s", diff)
			}
			whole := newRig(t, newStore)
			whole.open()
			whole.reportFirst(names)
			o.remote = o.newRemote(partial)
			o.sync(o.remote)
			o.record(whole.recorder)
			if diff := cmp.Diff(want, dumpWanted(whole.store, names)); diff != "" {
				t.Errorf("of the whole branch is recorded (-grown +whole):\n%s", diff)
			}
			o.checkRebuild(grown.store, names, want)
			if grown.log.Len()+whole.log.Len() > 0 {
				t.Errorf("%s%s", &grown.log, &whole.log)
			}
		})
	}
}

// reportFirst has a cluster report that it is ready at A, a minute later, if it has not yet.
func (r *rig) reportFirst(names map[string]string) {
	r.Helper()
	if len(r.recorder.Clusters()) == 0 {
		r.now = noon.Add(-time.Hour)
		r.report("e1", "ready", "main@sha1:"+commitOf(names, "A"))
	}
	if err := r.recorder.Flush(r.Context()); err != nil {
		r.Fatal(err)
	}
}

func commitOf(names map[string]string, name string) string {
	for sha, n := range names {
		if n == name {
			return sha
		}
	}
	return ""
}

// checkRebuild damages what is stored, rebuilds it, and compares it with what it was, and the ids of
// outputs with those that they had.
func (o *outputs) checkRebuild(store testStore, names map[string]string, want string) {
	o.Helper()
	ids := "select id || ' ' || sha from output"
	before := ask(store, ids)
	store.change("delete from part; update desired set to_seq = 1; delete from output where seq = 2; insert into environment(id, name, repo, branch, folder) values (7, 'gone', '', '', '')")
	s := store.open()
	done, err := recorder.RebuildOutputs(o.Context(), s, []wanted.Branch{o.branch()})
	if err := errors.Join(err, s.Close()); err != nil {
		o.Fatal(err)
	}
	if diff := cmp.Diff([]recorder.Rebuilt{{Environment: "prod", Outputs: 4, ClusterTypes: 2, Assignments: 3}}, done); diff != "" {
		o.Error(diff)
	}
	if diff := cmp.Diff(want, dumpWanted(store, names)); diff != "" {
		o.Errorf("rebuilt is (-grown +rebuilt):\n%s", diff)
	}
	after := ask(store, ids)
	slices.Sort(before)
	slices.Sort(after)
	lost := 0 // the one that was deleted
	for _, id := range before {
		if !slices.Contains(after, id) {
			lost++
		}
	}
	if len(before) != len(after) || lost > 1 {
		o.Errorf("outputs have the ids\n%s\nand had\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
}

// maskDigests replaces the ids of trees and blobs, and sorts the lines.
func maskDigests(text string) string {
	lines := strings.Split(digests.ReplaceAllString(text, "F"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

var digests = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// TestTwoRecordOutputs: two processes that record the same branch make the rows of one.
func TestTwoRecordOutputs(t *testing.T) {
	o, names := newOutputs(t, false), map[string]string{}
	one, two := newRig(t, newPostgresStore), newRig(t, newPostgresStore)
	one.open()
	two.open()
	first := two.recorder
	two.open()
	both := []*recorder.Recorder{first, two.recorder}
	o.writeThree(names, func() {
		o.record(one.recorder)
		done := make(chan struct{})
		go func() { o.record(first); close(done) }()
		o.record(two.recorder)
		<-done
		both[0], both[1] = both[1], both[0]
	})
	if diff := cmp.Diff(dumpWanted(one.store, names), dumpWanted(two.store, names)); diff != "" {
		t.Errorf("two have recorded (-one +two):\n%s", diff)
	}
}

// TestRewrittenOutputs: a branch that does not go on from the last output begins another line, with the
// commits that are new, or the one that it is set to; what reports name stays known; the folder of another
// place is read anew.
func TestRewrittenOutputs(t *testing.T) {
	onBothEngines(t, "", func(t *testing.T, newStore func(*testing.T) testStore) {
		o, names := newOutputs(t, false), map[string]string{}
		r := newRig(t, newStore)
		r.open()
		files := func(version string) map[string]string {
			return map[string]string{"large/api/reconciler.yaml": reconciler("api", "", version)}
		}
		a := o.commit("11:00", files("v1"))
		b := o.commit("12:00", files("v2"))
		o.record(r.recorder)
		r.now = noon
		r.report("e1", "ready", "sha1:"+b)
		if err := r.recorder.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.reset(a)
		again := o.commitTree("13:00", b) // the trees of B
		o.record(r.recorder)
		names[a], names[b], names[again] = "A", "B", "B'"
		abandoned := func() (all []string) {
			for _, line := range ask(r.store, "select sha || ' ' || abandoned from output where abandoned is not null order by seq") {
				sha, at, _ := strings.Cut(line, " ")
				all = append(all, names[sha]+" "+at)
			}
			return all
		}
		if diff := cmp.Diff([]string{"B 2"}, abandoned()); diff != "" {
			t.Errorf("the branch has no longer (-want +got):\n%s", diff)
		}
		e := o.commit("14:00", files("v3"))
		o.record(r.recorder)
		o.reset(b)
		o.record(r.recorder)
		o.record(r.recorder)
		names[e] = "E"
		if diff := cmp.Diff([]string{"B' 3", "E 3"}, abandoned()); diff != "" {
			t.Errorf("the branch has B again, and no longer (-want +got):\n%s", diff)
		}
		lines := ask(r.store, "select seq || ' line ' || line || ' ' || sha from output order by seq")
		types := ask(r.store, "select from_seq || '-' || coalesce(to_seq, 0) from desired_type order by from_seq")
		got := strings.Join(lines, "\n") + "\n" + strings.Join(types, "\n")
		for sha, name := range names {
			got = strings.ReplaceAll(got, sha, name)
		}
		if diff := cmp.Diff("1 line 1 A\n2 line 1 B\n3 line 2 B'\n4 line 2 E\n5 line 3 B\n1-2\n2-4\n4-5\n5-0", got); diff != "" {
			t.Errorf("recorded is (-want +got):\n%s", diff)
		}
		// It has been at B all the time, which was wanted again at the end.
		if diff := cmp.Diff("B e1 ready 12:01:00\nB e1 ready 14:00:00", arrivals(r.store, names)); diff != "" {
			t.Error(diff)
		}

		moved := o.branch()
		moved.Folder = "prod/large"
		r.recorder.TellOutputs([]wanted.Branch{moved})
		r.recorder.RecordToldOutputs(t.Context())
		now := ask(r.store, "select cluster_type.name from desired_type join cluster_type on cluster_type.id = cluster_type where to_seq is null")
		if diff := cmp.Diff([]string{"api"}, now); diff != "" {
			t.Errorf("in the other folder there are (-want +got):\n%s", diff)
		}
		if r.log.Len() > 0 {
			t.Error(&r.log)
		}
	})
}

// TestOutputsWhileAway: what could not be recorded is recorded when the store, or the server, is back. It
// is said once.
func TestOutputsWhileAway(t *testing.T) {
	onBothEngines(t, "", func(t *testing.T, newStore func(*testing.T) testStore) {
		o, names := newOutputs(t, true), map[string]string{}
		r, steady := newRig(t, newStore), newRig(t, newStore)
		r.open()
		steady.open()
		remove := func() {}
		number := 0
		o.writeThree(names, func() {
			o.record(steady.recorder)
			number++
			if number == 2 {
				away(r.store)
				o.record(r.recorder)
				o.record(r.recorder)
				back(r.store)
			}
			if number == 3 {
				o.remote = o.newRemote(true)
				o.sync(o.remote)
				remove = o.server.Inject("out", gittest.Fault{Status: 503})
				o.record(r.recorder)
				o.record(r.recorder)
				remove()
			}
		})
		_ = r.recorder.Flush(t.Context())
		o.record(r.recorder)
		if diff := cmp.Diff(dumpWanted(steady.store, names), dumpWanted(r.store, names)); diff != "" {
			t.Errorf("recorded is (-steady +away):\n%s", diff)
		}
		if n := strings.Count(r.log.String(), "what clusters should run could not be recorded"); n < 2 || n > 4 {
			t.Errorf("it is said %d times:\n%s", n, &r.log)
		}
	})
}

// TestBlobsOfOneAssignment: of a commit that changes one of 1,000 assignments one file is read.
func TestBlobsOfOneAssignment(t *testing.T) {
	if testing.Short() {
		t.Skip("-short commits no 1,000 assignments")
	}
	o := newOutputs(t, false)
	files := map[string]string{}
	for i := range 20 {
		for j := range 50 {
			target := fmt.Sprintf("target-%d-%d", i, j)
			files[fmt.Sprintf("type-%d/%s/reconciler.yaml", i, target)] = reconciler(target, "main", "")
		}
	}
	first := o.commit("11:00", files)
	second := o.commit("12:00", map[string]string{"type-3/target-3-4/reconciler.yaml": reconciler("target-3-4", "", "v2")})
	reader := wanted.NewReader(o.branch(), wanted.Known{})
	for _, c := range []struct {
		commit string
		blobs  int
	}{{first, 1000}, {second, 1001}} {
		change, err := reader.ReadChange(t.Context(), c.commit)
		if err != nil || reader.Blobs != c.blobs || len(change.Parts) != len(change.Files) {
			t.Fatalf("%d blobs, %d parts, %v", reader.Blobs, len(change.Parts), err)
		}
	}
}

// TestLostStoreOfOutputs: with a store that was lost, all is recorded again, and known of the clusters
// from what they say next.
func TestLostStoreOfOutputs(t *testing.T) {
	onBothEngines(t, "", func(t *testing.T, newStore func(*testing.T) testStore) {
		o, names := newOutputs(t, false), map[string]string{}
		r := newRig(t, newStore)
		r.open()
		o.writeThree(names, func() { o.record(r.recorder) })
		want := dumpWanted(r.store, names)
		if err := r.recorder.Close(); err != nil {
			t.Fatal(err)
		}
		r.store.lose()
		r.open()
		o.record(r.recorder)
		if diff := cmp.Diff(want, dumpWanted(r.store, names)); diff != "" {
			t.Errorf("recorded again is (-before +after):\n%s", diff)
		}
		r.now = noon.Add(3 * time.Hour)
		r.report("e1", "ready", "sha1:"+commitOf(names, "D"))
		if err := r.recorder.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := arrivals(r.store, names); got != "D e1 ready 15:01:00" {
			t.Errorf("arrivals are %s", got)
		}
	})
}

// TestQuietOutputs: as long as nothing is new on a branch, the store is not asked what it has of it.
func TestQuietOutputs(t *testing.T) {
	onBothEngines(t, "", func(t *testing.T, newStore func(*testing.T) testStore) {
		o, r := newOutputs(t, false), newRig(t, newStore)
		r.open()
		o.commit("11:00", map[string]string{"large/web/reconciler.yaml": reconciler("web", "main", "")})
		o.record(r.recorder)
		r.store.change("alter table cluster_type rename to aside")
		o.record(r.recorder)
		o.record(r.recorder)
		if r.log.Len() > 0 {
			t.Fatalf("nothing was new, and the log has\n%s", r.log.String())
		}
		head := o.commit("12:00", map[string]string{"large/web/reconciler.yaml": reconciler("web", "next", "")})
		o.record(r.recorder)
		if r.log.Len() == 0 {
			t.Error("a commit is new, and the store was not asked")
		}
		r.store.change("alter table aside rename to cluster_type")
		o.record(r.recorder)
		if got := ask(r.store, "select sha from output order by seq desc limit 1"); len(got) != 1 || got[0] != head {
			t.Errorf("the newest output is %v, want %s", got, head)
		}
	})
}
