package recorder_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgercases"
)

// commitNamed returns a commit for the name of an output, which is one letter.
func commitNamed(name string) string {
	return strings.Repeat(fmt.Sprintf("%x", name[0]), 20)
}

// arrivalRig is a ledger with outputs that no repository has.
type arrivalRig struct {
	*rig
	outputs ledger.Outputs
	changed map[string][]string // the cluster types that an output has changed, by its commit
	names   map[string]string   // of commits
	folders map[string]string
	newest  string
}

func newArrivalRig(t *testing.T, newStore func(*testing.T) testStore) *arrivalRig {
	r := &arrivalRig{rig: newRig(t, newStore), changed: map[string][]string{}, names: map[string]string{}, folders: map[string]string{}}
	r.open()
	return r
}

// addOutput records an output, as "12:00 output B large=2 small=2".
func (r *arrivalRig) addOutput(at time.Time, name string, folders []string) {
	r.Helper()
	commit := commitNamed(name)
	c := ledger.OutputChange{Revision: commit, Merged: at}
	for _, f := range folders {
		clusterType, id, _ := strings.Cut(f, "=")
		if r.folders[clusterType] != id {
			c.Folders = append(c.Folders, ledger.FolderChange{ClusterType: clusterType, ID: id})
			r.changed[commit] = append(r.changed[commit], clusterType)
			r.folders[clusterType] = id
		}
	}
	s := r.store.open()
	err := s.WriteOutputs(r.Context(), ledgerdb.Outputs{Environment: ledgerdb.Environment{Name: "prod"}, Follows: r.newest, Changes: []ledger.OutputChange{c}})
	_ = s.Close()
	if err != nil {
		r.Fatal(err)
	}
	r.newest, r.names[commit] = commit, name
	r.outputs.Add(ledger.Output{Revision: commit, Merged: at, Folders: maps.Clone(r.folders)})
}

// receive receives a report of the object P, as "12:02 e1/large ready B".
func (r *arrivalRig) receive(at time.Time, cluster, phase, name string) {
	r.Helper()
	id, clusterType, _ := strings.Cut(cluster, "/")
	r.now = at
	c := ledger.Contact{Name: id, Group: ledger.Group{Environment: "prod", ClusterType: clusterType}, Platform: "P", Every: time.Minute, Received: at}
	r.recorder.Receive(c, []ledger.Report{{Object: ledger.Object{Name: "P"}, Phase: ledger.ParsePhase(phase), Target: "main@sha1:" + commitNamed(name), Said: at}})
}

func (r *arrivalRig) flush() {
	r.Helper()
	if err := r.recorder.Flush(r.Context()); err != nil {
		r.Fatal(err)
	}
}

// step does what a line says. It returns false for an output, if those come last.
func (r *arrivalRig) step(line string) {
	r.Helper()
	words := strings.Fields(line)
	at := ledgercases.Clock(r.T, words[0])
	if words[1] == "output" {
		r.addOutput(at, words[2], words[3:])
		return
	}
	r.receive(at, words[1], words[2], words[3])
}

// wantAsRead checks that what is stored follows from the spans.
func (r *arrivalRig) wantAsRead() {
	r.Helper()
	var want []string
	for _, c := range r.recorder.Clusters() {
		s := r.store.open()
		spans, err := s.FindHistory(r.Context(), ledger.Object{Cluster: c.ID, Name: c.Platform})
		_ = s.Close()
		if err != nil {
			r.Fatal(err)
		}
		for commit, types := range r.changed {
			if !slices.Contains(types, c.Group.ClusterType) {
				continue
			}
			o, _ := r.outputs.Find(commit)
			a := ledger.FindArrival(spans, &r.outputs, o, c.Group.ClusterType)
			line := r.names[commit] + " " + c.ID
			if a.Failed >= 0 {
				line += " failed " + o.Merged.Add(a.Failed).Format(time.TimeOnly)
			}
			if a.Ready >= 0 {
				line += " ready " + o.Merged.Add(a.Ready).Format(time.TimeOnly)
			}
			if a.Failed >= 0 || a.Ready >= 0 {
				want = append(want, line)
			}
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(strings.Join(want, "\n"), arrivals(r.store, r.names)); diff != "" {
		r.Errorf("stored is not what the spans say (-spans +stored):\n%s", diff)
	}
}

// outputsOfCases are those of the golden cases.
const outputsOfCases = "11:00 output A large=1 small=1\n12:00 output B large=2 small=2\n"

const rolledOut = outputsOfCases + "11:05 e1/large ready A\n11:05 e2/large ready A\n11:05 w1/small ready A\n12:02 e1/large ready B\n12:03 w1/small ready B\n12:04 e2/large progressing B\n12:09 e2/large failed B\n"

const arrivedThree = "A e1 ready 11:05:00\nA e2 ready 11:05:00\nA w1 ready 11:05:00\nB e1 ready 12:02:00\n"

var arrivalCases = []struct{ name, steps, want string }{
	{"3 roll-out", rolledOut, arrivedThree + "B e2 failed 12:09:00\nB w1 ready 12:03:00"},
	{"4 mended", rolledOut + "12:20 e2/large ready B\n", arrivedThree + "B e2 failed 12:09:00 ready 12:20:00\nB w1 ready 12:03:00"},
	{"5 only the other type changed", outputsOfCases + "12:03 w1/small ready B\n12:03 e1/large ready B\n13:00 output C large=3\n13:02 e1/large ready C\n13:02 w1/small ready C\n",
		"B e1 ready 12:03:00\nB w1 ready 12:03:00\nC e1 ready 13:02:00"},
	{"6 rollback", outputsOfCases + "11:05 e1/large ready A\n11:05 e2/large ready A\n12:02 e1/large ready B\n14:00 output D large=1 small=1\n14:02 e1/large ready D\n",
		"A e1 ready 11:05:00\nA e2 ready 11:05:00\nB e1 ready 12:02:00\nD e1 ready 14:02:00\nD e2 ready 14:00:00"},
	{"6 a rollback is not what it goes back to", outputsOfCases + "14:00 output D large=1 small=1\n14:02 e1/large ready D\n", "D e1 ready 14:02:00"},
	{"8 one second", outputsOfCases + "12:03 e1/large ready B\n12:03 e1/large failed B\n", "B e1 failed 12:03:00"},
	{"13 unknown, then known", outputsOfCases + "13:00:20 e1/large ready C\n13:00:30 e1/large ready C\n13:00 output C large=3\n", "C e1 ready 13:00:20"},
	{"at once through two", outputsOfCases + "13:00 output C large=3\n13:05 w1/small ready C\n13:05 e1/large ready C\n", "B w1 ready 13:05:00\nC e1 ready 13:05:00"},
	{"another type", outputsOfCases + "12:02 e1/large ready B\n12:30 e1/small progressing B\n12:40 e1/small ready B\n13:00 output C large=3 small=3\n13:02 e1/small ready C\n", ""},
	{"none of ours", outputsOfCases + "12:02 e1/large ready X\n", ""},
}

// TestArrivals: when outputs came to clusters does not depend on when the reports, and the outputs, are
// written.
func TestArrivals(t *testing.T) {
	onBothEngines(t, "", func(t *testing.T, newStore func(*testing.T) testStore) {
		for _, c := range arrivalCases {
			for _, how := range []string{"as it comes", "reports written at the end", "outputs known at the end"} {
				r := newArrivalRig(t, newStore)
				var last []string
				for _, line := range strings.Split(strings.TrimSpace(c.steps), "\n") {
					if how == "outputs known at the end" && strings.Contains(line, " output ") {
						last = append(last, line)
						continue
					}
					r.step(line)
					if how != "reports written at the end" {
						r.flush()
					}
				}
				r.flush()
				for _, line := range last {
					r.step(line)
				}
				got := arrivals(r.store, r.names)
				if c.want != "" || c.name == "none of ours" {
					if diff := cmp.Diff(c.want, got); diff != "" {
						t.Errorf("%s, %s (-want +got):\n%s", c.name, how, diff)
					}
				}
				if c.name != "another type" { // its history is judged by its last type
					r.wantAsRead()
				}
			}
		}
	})
}

// TestArrivalsOfRandomHistories: what is stored of any history is what its spans say.
func TestArrivalsOfRandomHistories(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 17))
		r := newArrivalRig(t, newSQLiteStore)
		at := ledgercases.Clock(t, "08:00")
		outputs := 0
		for range 60 {
			at = at.Add(time.Duration(random.IntN(3)) * time.Duration(random.IntN(90)) * time.Second)
			switch {
			case outputs == 0 || outputs < 12 && random.IntN(5) == 0:
				name := string(rune('A' + outputs))
				r.addOutput(at, name, []string{fmt.Sprintf("large=%d", random.IntN(3)), fmt.Sprintf("small=%d", random.IntN(2))})
				outputs++
			case random.IntN(4) == 0:
				r.flush()
			default:
				cluster := []string{"e1/large", "e2/large", "w1/small"}[random.IntN(3)]
				phase := []string{"ready", "failed", "progressing"}[random.IntN(3)]
				r.receive(at, cluster, phase, string(rune('A'+max(outputs-1-random.IntN(3), 0))))
			}
		}
		r.flush()
		r.wantAsRead()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
