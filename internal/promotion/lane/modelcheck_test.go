package lane

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

type world struct {
	t       *testing.T
	base    map[string]tree.Tree // by commit
	history History
	dev     promote.Stage
	stage   promote.Stage
	proofs  map[string]gate.Verdict // of lanes in dev
}

var laneNames = []string{"a", "b", "c", "d"}

// newWorld returns a random world. The file t/all is in all objects, t/NAME in those of one lane, and a lane whose file ends
// with "+NAME" has that lane's file in its objects too. A file with "bad" cannot be rendered.
func newWorld(t *testing.T, seed uint64) *world {
	random := rand.New(rand.NewPCG(seed, 7))
	w := &world{t: t, base: map[string]tree.Tree{}, proofs: map[string]gate.Verdict{}}
	files := map[string]string{"t/all": "0", "w/a.yaml": "0", "w/b.yaml": "0"}
	n := 2 + random.IntN(6)
	var commits []string
	for i := range n {
		for range 1 + random.IntN(2)*random.IntN(3) {
			change := []string{"t/all", "t/a", "t/b", "w/a.yaml", "w/b.yaml", "w/c.yaml", "w/d.yaml", "w/a.yaml", "w/b.yaml"}[random.IntN(9)]
			switch random.IntN(9) {
			case 0:
				delete(files, change)
			case 1:
				files[change] = fmt.Sprintf("%d+%s", random.IntN(3), laneNames[random.IntN(4)])
			case 2:
				if random.IntN(3) == 0 {
					files[change] = "bad"
				}
			default:
				files[change] = fmt.Sprint(random.IntN(4))
			}
		}
		var words []string
		for name, content := range files {
			words = append(words, name+"="+content)
		}
		commit := fmt.Sprintf("c%d", i)
		w.base[commit] = filesOf(t, strings.Join(words, " "))
		commits = slices.Insert(commits, 0, commit)
	}
	line := promote.NewLine(commits)
	var err error
	w.history, err = NewHistory(line, func(commit, before string) ([]string, error) {
		return partition.ChangedLanes(w.base[before], w.base[commit], nil), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	at := random.IntN(n)
	w.dev = promote.Stage{Name: "dev", Position: promote.Position{Commit: commits[at], Merged: random.IntN(4) > 0, Proven: map[string]bool{}}}
	w.dev.Proof.Status = []gate.Status{gate.Pass, gate.Fail, gate.Wait}[random.IntN(3)]
	for _, older := range commits[at+1:] {
		if random.IntN(2) == 0 {
			w.dev.Proven[older] = true
		}
	}
	for _, lane := range append(laneNames, Platform) {
		if status := []gate.Status{gate.Pass, gate.Fail, gate.Wait, ""}[random.IntN(4)]; status != "" {
			w.proofs[lane] = gate.Verdict{Status: status}
		}
	}
	w.stage = promote.Stage{Name: "stage", After: []string{"dev"}, Position: promote.Position{
		Commit: commits[at+random.IntN(n-at)], Merged: true, Proof: gate.Verdict{Status: gate.Pass}}}
	return w
}

var partition = NewPartition(model.Lanes{Each: "w/*"})

func (w *world) render(c Composition) (Output, error) {
	lanes := map[string]tree.Tree{}
	for lane, commit := range c.Lanes {
		lanes[lane] = w.base[commit]
	}
	base, err := partition.Compose(w.base[c.Platform], lanes)
	if err != nil {
		return Output{}, err
	}
	read := func(file string) string {
		e, _ := base.Lookup(file)
		return string(e.Data)
	}
	o := Output{Owners: Owners{clusterTypes: map[string]bool{"ct": true}, targets: map[string]string{}}}
	files := map[string][]byte{"ct/README.md": []byte("a cluster type")}
	for _, lane := range laneNames {
		own := read("w/" + lane + ".yaml")
		o.Owners.targets[lane] = lane
		if own == "" {
			continue
		}
		_, other, _ := strings.Cut(own, "+")
		text := strings.Join([]string{own, read("t/all"), read("t/" + lane), read("w/" + other + ".yaml")}, ",")
		if strings.Contains(text, "bad") {
			return Output{Problem: "a bad file"}, nil
		}
		files["ct/"+lane+"/object.yaml"] = []byte(text)
	}
	o.Tree, err = tree.FromFiles(files)
	return o, err
}

func (w *world) input() Input {
	return Input{
		History: w.history, Stages: []Stage{{Stage: w.dev}, {Stage: w.stage}}, Environment: "stage", Render: w.render,
		Proof: func(_, lane string) (gate.Verdict, bool) { v, known := w.proofs[lane]; return v, known },
	}
}

func (w *world) decide() Report {
	r, err := Decide(w.input())
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) provenCommits(lane, version string) (found []string) {
	for commit := range w.base {
		isPresent := commit == w.dev.Commit && w.dev.Merged && (w.dev.Proof.Status == gate.Pass || w.proofs[lane].Status == gate.Pass)
		if w.history.Version(lane, commit) == version && (isPresent || w.dev.Proven[commit]) {
			found = append(found, commit)
		}
	}
	return found
}

func (w *world) checkDecisions(r Report) (broken []string) {
	failf := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	find := func(lane string) Decision {
		i := slices.IndexFunc(r.Decisions, func(d Decision) bool { return d.Lane == lane })
		if i < 0 {
			return Decision{}
		}
		return r.Decisions[i]
	}
	c := Composition{Platform: w.stage.Commit, Lanes: map[string]string{}}
	for _, lane := range laneNames {
		c.Lanes[lane] = w.stage.Commit
	}
	proven := map[string]bool{}
	for _, d := range r.Decisions {
		if d.State == Waits {
			continue
		}
		if !w.history.Line(d.Lane).IsNewer(d.Candidate, d.Current) {
			failf("order: %s from %s to %s", d.Lane, d.Current, d.Candidate)
		}
		for _, s := range w.history.stepsBetween(d.Lane, d.Current, d.Candidate) {
			for _, lane := range s.Lanes {
				if other := find(lane); other.State != d.State || lane != d.Lane && !slices.Contains(d.With, lane) || !w.history.includes(other.Candidate, s.Commit) {
					failf("joint: %s gets %s, which changes %s too, and that gets %s with %v", d.Lane, s.Commit, lane, other.Candidate, d.With)
				}
			}
		}
		if d.State != Moves {
			continue
		}
		by := w.provenCommits(d.Lane, d.Candidate)
		if len(by) == 0 {
			failf("proof: %s gets %s, which dev has not verified", d.Lane, d.Candidate)
		}
		for _, commit := range by {
			proven[commit] = true
		}
		if d.Lane == Platform {
			c.Platform = d.Candidate
		} else {
			c.Lanes[d.Lane] = d.Candidate
		}
	}
	before, _ := w.render(Composition{Platform: w.stage.Commit})
	after, err := w.render(c)
	if err != nil || after.Problem != "" && before.Problem == "" {
		failf("what moves cannot be rendered: %v %s", err, after.Problem)
	}
	for lane, folder := range changedOwners(before, after) {
		isVerified := false
		for commit := range proven {
			verified, _ := w.render(Composition{Platform: commit})
			isVerified = isVerified || verified.Problem == "" && changedOwners(after, verified)[lane] == ""
		}
		if !isVerified {
			failf("context: what %s becomes was never verified in dev", folder)
		}
		if d := find(lane); find(Platform).State != Moves && d.Lane != "" && d.State != Moves {
			failf("disjoint: %s changes, and %s does not move", folder, lane)
		}
	}
	return broken
}

// TestModelCheck holds decisions about random histories against the rules: order, joint commits, proof, disjointness, and that
// what an environment gets was verified; and, where all was verified, that the base in the end is that of the branch.
func TestModelCheck(t *testing.T) {
	seeds, moves, waits := uint64(100_000), 0, 0
	if testing.Short() {
		seeds /= 40
	}
	for seed := range seeds {
		w := newWorld(t, seed)
		r := w.decide()
		if broken := w.checkDecisions(r); len(broken) > 0 {
			t.Fatalf("seed %d: %s\ndev %+v\nstage %s\n%+v\n%s", seed, strings.Join(broken, "\n"), w.dev.Position, w.stage.Commit, r, w.describe())
		}
		for _, d := range r.Decisions {
			if d.State == Moves {
				moves++
			} else {
				waits++
			}
		}
		w.dev.Merged, w.dev.Proof.Status = true, gate.Pass
		w.dev.Commit = w.history.line.Head()
		before, _ := w.render(Composition{Platform: w.stage.Commit})
		after, _ := w.render(Composition{Platform: w.dev.Commit})
		if before.Problem+after.Problem != "" {
			continue
		}
		r = w.decide()
		for _, d := range r.Decisions {
			if d.State != Moves || d.Candidate != w.history.Version(d.Lane, w.dev.Commit) {
				t.Fatalf("seed %d: all is verified, and %+v\nstage %s\n%+v\n%s", seed, d, w.stage.Commit, r, w.describe())
			}
		}
		for _, c := range r.Commits {
			if !c.Moves {
				t.Fatalf("seed %d: all is verified, and %+v does not move", seed, c)
			}
		}
	}
	if moves < int(seeds)/10 || waits < int(seeds)/10 {
		t.Errorf("%d lanes move, and %d wait: the histories show too little", moves, waits)
	}
}

func (w *world) describe() string {
	var b strings.Builder
	for _, s := range w.history.steps {
		fmt.Fprintln(&b, s.Commit, s.Lanes, describeFiles(w.base[s.Commit]))
	}
	return b.String()
}
