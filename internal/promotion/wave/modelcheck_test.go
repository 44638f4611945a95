package wave

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

// world is an environment with random cluster types and waves, and what the events of a history did.
type world struct {
	t      *testing.T
	random *rand.Rand
	types  map[string]map[string]string
	waves  []model.Wave
	log    []string

	head     tree.Tree
	commit   int // of head
	record   *Advance
	target   tree.Tree // of the advance, or wanted
	wanted   tree.Tree
	frozen   bool
	verdicts map[string]gate.Verdict
	offered  map[string]bool // waves whose proofs passed before the next one was offered
	released map[string]bool // folders, since the advance began
	edited   map[string]bool // by strangers, since the advance began
	next     proposal
	previous *Advance // the one that did not end before record began
	batches  map[string]int
	from     int
	first    bool // folders of removed cluster types go with the first wave
	drops    bool // a folder that is gone is that of a removed cluster type

	decisions  []*model.WaveDecision
	paused     bool
	superseded map[string]bool      // advances whose base was replaced
	targets    map[string]tree.Tree // by advance
	was        map[string]snapshot  // by commit
	done       map[string]int       // how often each event happened
}

// snapshot is the output branch at a commit.
type snapshot struct {
	tree   tree.Tree
	record *Advance
}

// proposal is an open pull request.
type proposal struct {
	commit   int // the head that it is for; 0 for no proposal
	tree     tree.Tree
	record   *Advance
	decision Decision
	back     *Advance // that it takes back; nil for none
}

var folders = []string{"a", "b", "c", "d", "e", "f"}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, random: rand.New(rand.NewPCG(seed, 3)), types: map[string]map[string]string{}, batches: map[string]int{}, commit: 1}
	w.superseded, w.targets, w.was, w.done = map[string]bool{}, map[string]tree.Tree{}, map[string]snapshot{}, map[string]int{}
	for _, name := range folders {
		w.types[name] = map[string]string{"ring": fmt.Sprint(w.random.IntN(4)), "region": fmt.Sprint(w.random.IntN(2))}
	}
	for i := range 1 + w.random.IntN(3) {
		one := model.Wave{Name: fmt.Sprint("w", i)}
		switch w.random.IntN(3) {
		case 0:
			one.ClusterTypes.Requirements = []model.Requirement{{Key: "ring", Operator: model.In, Values: []string{fmt.Sprint(i)}}}
		case 1:
			one.Pick = &model.Pick{Count: 1, By: []string{"", "region"}[w.random.IntN(2)]}
		case 2:
			one.Pick = &model.Pick{Percent: 30, By: []string{"", "region"}[w.random.IntN(2)]}
		}
		w.waves = append(w.waves, one)
		w.batches[one.Name] = w.random.IntN(3)
	}
	w.from, w.first, w.drops = w.random.IntN(3), w.random.IntN(2) == 0, w.random.IntN(2) == 0
	w.head = w.randomOutput()
	w.wanted, w.target = w.head, w.head
	w.begin()
	w.save()
	return w
}

func (w *world) randomOutput() tree.Tree {
	var entries []tree.Entry
	for _, name := range folders {
		if w.random.IntN(8) > 0 {
			entries = append(entries, newFolder(name, w.random.IntN(3)))
		}
	}
	return tree.FromEntries(append(entries, tree.Dir(".github", tree.FromEntries([]tree.Entry{tree.File("commit", []byte(fmt.Sprint(w.random.IntN(1000))))}))))
}

func newFolder(name string, version int) tree.Entry {
	return tree.Dir(name, tree.FromEntries([]tree.Entry{tree.File("x.yaml", fmt.Append(nil, name, version))}))
}

func foldersOf(t tree.Tree) Folders {
	all := Folders{}
	for _, e := range t.Entries() {
		if e.IsDir() && e.Name[0] != '.' {
			all[e.Name] = e.ID
		}
	}
	return all
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\nwaves %+v of %v\n%v", fmt.Sprintf(format, args...), w.waves, w.types, w.log)
}

func (w *world) begin() {
	w.record, w.previous, w.frozen = nil, nil, false
	w.verdicts, w.offered, w.released, w.edited = map[string]gate.Verdict{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
}

// currentTypes are those of the target; some worlds have cluster types without a folder.
func (w *world) currentTypes() map[string]map[string]string {
	types := maps.Clone(w.types)
	maps.DeleteFunc(types, func(name string, _ map[string]string) bool {
		return w.drops && w.target.Sub(name).ID() == (tree.Tree{}).ID()
	})
	return types
}

func (w *world) save() {
	w.was[fmt.Sprint(w.commit)] = snapshot{w.head, cmp.Or(w.record, w.previous)}
}

func (w *world) isDecided(action, advance, name string) bool {
	return FindDecision(w.decisions, action, advance, name) != nil
}

// supersede has another target follow the advance.
func (w *world) supersede() {
	previous, verdicts := w.record, w.verdicts
	w.begin()
	w.previous, w.verdicts = previous, verdicts
}

// followDecisions reports whether the environment goes back, or stays where it went back to.
func (w *world) followDecisions() bool {
	if w.record != nil && (w.superseded[w.record.ID] || w.isDecided(model.ReplaceAdvance, w.record.ID, "") && w.wanted.ID() != w.target.ID()) {
		w.supersede()
	}
	if w.record != nil && w.isDecided(model.RejectAdvance, w.record.ID, "") {
		before := w.was[w.record.Begin]
		w.next = proposal{commit: w.commit, tree: before.tree, record: before.record, back: w.record}
		return true
	}
	isThere := w.previous == nil && w.head.ID() == w.wanted.ID()
	return w.record == nil && w.isDecided(model.RejectAdvance, NewID("prod", w.wanted.ID().String()), "") && !isThere
}

// look is a cycle of a new process: it decides, and replaces the proposal.
func (w *world) look() {
	w.next = proposal{}
	if w.followDecisions() {
		w.log = append(w.log, "look: goes back")
		return
	}
	if !w.frozen {
		w.target = w.wanted
	}
	verdicts := maps.Clone(w.verdicts)
	if a := cmp.Or(w.record, w.previous); a != nil {
		for _, m := range a.Reached() {
			if w.isDecided(model.SkipWave, a.ID, m.Name) {
				verdicts[m.Name] = gate.Verdict{Status: gate.Pass}
			}
		}
	}
	f := Facts{Head: foldersOf(w.head), Target: foldersOf(w.target), Record: w.record, Previous: w.previous, Batches: w.batches, From: w.from, RemovesFirst: w.first, Waves: Partition("prod", fmt.Sprint(w.target.ID()), w.waves, w.currentTypes()), Verdicts: verdicts}
	d := Decide(f)
	w.log = append(w.log, fmt.Sprintf("look: %s %d", d.State, d.Next))
	w.checkPartition(f, d)
	switch d.State {
	case Idle:
		if !maps.Equal(f.Head, f.Target) {
			w.fail("idle, and the head is not the target")
		}
		w.begin() // the record without an advance has no wave word
	case Whole:
		w.checkPrevious(f)
		w.next = proposal{w.commit, w.target, nil, d, nil}
	case Offers:
		if w.paused {
			return
		}
		w.checkPrevious(f)
		for i, m := range d.Waves[:d.Next] {
			if w.record != nil && i < w.record.reached() && verdicts[m.Name].Status != gate.Pass {
				w.fail("wave %s is offered, and the proof of %s is %q", d.Waves[d.Next].Name, m.Name, w.verdicts[m.Name].Status)
			}
		}
		mixed := d.Mix(w.head, w.target, func(string) bool { return true })
		w.next = proposal{w.commit, mixed, d.NewRecord(w.record, "prod", w.target.ID().String(), fmt.Sprint(w.commit)), d, nil}
	}
	if d.State != Idle && w.next.commit != 0 && w.isDecided(model.RejectAdvance, NewID("prod", w.target.ID().String()), "") {
		w.fail("a rejected target is offered")
	}
}

// checkPrevious: what another target leaves of an advance that did not end is proven.
func (w *world) checkPrevious(f Facts) {
	if w.previous == nil || w.record != nil {
		return
	}
	changed := changedFolders(f.Head, f.Target)
	for _, m := range w.previous.Reached() {
		stays := !slices.ContainsFunc(m.Folders, func(folder string) bool { return changed[folder] })
		if stays && f.Verdicts[m.Name].Status != gate.Pass {
			w.fail("another target is offered, and wave %s is not proven", m.Name)
		}
	}
}

// checkPartition: each changed folder is in exactly one wave.
func (w *world) checkPartition(f Facts, d Decision) {
	if d.Waves == nil {
		return
	}
	in := map[string]int{}
	for _, m := range d.Waves {
		for _, folder := range m.Folders {
			in[folder]++
		}
	}
	for folder := range changedFolders(f.Head, f.Target) {
		if in[folder] != 1 {
			w.fail("folder %s is in %d waves of %v", folder, in[folder], d.Waves)
		}
	}
	for folder, n := range in {
		if n != 1 {
			w.fail("folder %s is in %d waves of %v", folder, n, d.Waves)
		}
	}
}

// merge merges the open proposal, if the branch has not moved.
func (w *world) merge() {
	p := w.next
	if p.commit != w.commit {
		return
	}
	if p.back != nil {
		w.mergeBack(p)
		return
	}
	w.log = append(w.log, "merge")
	before, after, target := foldersOf(w.head), foldersOf(p.tree), foldersOf(w.target)
	var wave []string
	if p.decision.Waves != nil {
		wave = p.decision.Waves[p.decision.Next].Folders
	}
	for _, folder := range folders {
		if before[folder] == after[folder] {
			continue
		}
		if p.decision.Waves != nil && !slices.Contains(wave, folder) {
			w.fail("folder %s changes with wave %v", folder, wave)
		}
		if after[folder] != target[folder] {
			w.fail("folder %s is not the target's after the merge", folder)
		}
		if w.released[folder] && !w.edited[folder] {
			w.fail("folder %s changes again", folder)
		}
		w.released[folder] = true
	}
	if p.decision.Waves != nil {
		for _, m := range p.decision.Waves[:p.decision.Next] { // order
			for _, folder := range m.Folders {
				if after[folder] != target[folder] {
					w.fail("folder %s of the earlier wave %s is not released", folder, m.Name)
				}
			}
		}
		if p.record != nil && p.record.reached() <= p.decision.Next {
			w.fail("the record is at %s, and %s was merged", p.record.Wave, p.decision.Waves[p.decision.Next].Name)
		}
	}
	w.head, w.record, w.commit = p.tree, p.record, w.commit+1
	if w.record != nil {
		w.targets[w.record.ID] = w.target
		delete(w.superseded, w.record.ID) // it has the newest base
	}
	defer w.save()
	if w.record == nil {
		if w.head.ID() != w.target.ID() {
			w.fail("the advance ends, and the output is not that of the target")
		}
		w.begin()
		return
	}
	if !w.frozen && w.previous != nil { // verdicts are about the new advance
		w.verdicts, w.previous = map[string]gate.Verdict{}, nil
	}
	w.frozen = true
}

// mergeBack: the folders of the advance are as before it, and so is the record.
func (w *world) mergeBack(p proposal) {
	w.log = append(w.log, "merge back")
	w.done["back"]++
	before := w.was[p.back.Begin]
	w.begin()
	w.head, w.record, w.commit = p.tree, p.record, w.commit+1
	for _, m := range p.back.Waves {
		for _, folder := range m.Folders {
			if foldersOf(w.head)[folder] != foldersOf(before.tree)[folder] {
				w.fail("folder %s is not as before the advance", folder)
			}
		}
	}
	if w.record != nil {
		w.target, w.frozen = w.targets[w.record.ID], true
		if len(w.record.Reached()) == 0 || !slices.ContainsFunc(w.record.Waves, func(m Members) bool { return m.Name == w.record.Wave }) {
			w.fail("the record of before is %+v", w.record)
		}
	}
	w.save()
}

func (w *world) decide(action, name string) {
	if w.record == nil {
		return
	}
	w.log = append(w.log, action+" "+name)
	w.done[action]++
	w.decisions = append(w.decisions, &model.WaveDecision{Action: action, Advance: w.record.ID, Wave: name})
}

// step is one random event.
func (w *world) step() {
	switch w.random.IntN(16) {
	case 0:
		w.wanted = w.randomOutput()
		w.log = append(w.log, "another output is wanted")
	case 1:
		name := folders[w.random.IntN(len(folders))]
		w.head = tree.FromEntries(append(w.head.EntriesExcept(name), newFolder(name, w.random.IntN(4))))
		w.edited[name], w.commit = true, w.commit+1
		w.save()
		w.log = append(w.log, "a stranger edits "+name)
	case 2, 3, 4:
		if a := cmp.Or(w.record, w.previous); a != nil {
			reached := a.Reached()
			status := []gate.Status{gate.Pass, gate.Pass, gate.Pass, gate.Wait, gate.Fail}[w.random.IntN(5)]
			name := reached[w.random.IntN(len(reached))].Name
			w.verdicts[name] = gate.Verdict{Status: status}
			w.log = append(w.log, fmt.Sprintf("%s is %s", name, status))
		}
	case 5:
		if w.record != nil && w.random.IntN(3) == 0 { // the base was replaced
			w.log = append(w.log, "replaced")
			w.superseded[w.record.ID] = true
			w.supersede()
		}
	case 6, 7, 8:
		w.merge()
	case 9:
		if w.record != nil {
			reached := w.record.Reached()
			w.decide(model.SkipWave, BaseName(reached[w.random.IntN(len(reached))].Name))
		}
	case 10:
		w.paused = !w.paused
		w.next = proposal{} // an open one is withdrawn
	case 11:
		if w.random.IntN(3) == 0 {
			w.decide([]string{model.RejectAdvance, model.ReplaceAdvance}[w.random.IntN(2)], "")
		}
	default:
		w.look()
	}
}

// finish has everything go well: all proofs pass, and people merge. The advance ends, and that to what
// is wanted now.
func (w *world) finish() {
	w.paused, w.decisions = false, nil
	for range 2 * (len(folders) + 1) {
		if a := cmp.Or(w.record, w.previous); a != nil {
			for _, m := range a.Reached() {
				w.verdicts[m.Name] = gate.Verdict{Status: gate.Pass}
			}
		}
		w.look()
		w.merge()
	}
	w.look()
	if !maps.Equal(foldersOf(w.head), foldersOf(w.wanted)) {
		w.fail("the output is not what is wanted after two advances of %d waves", len(w.waves)+1)
	}
}

// TestModelCheck runs random histories of an environment with waves, and checks after each event what
// the package keeps true.
func TestModelCheck(t *testing.T) {
	histories := 20_000
	if testing.Short() {
		histories = 2_000
	}
	states, done := map[State]int{}, map[string]int{}
	for seed := range histories {
		w := newWorld(t, uint64(seed))
		for range 30 {
			w.step()
			if w.next.decision.State != "" {
				states[w.next.decision.State]++
			}
		}
		f := Facts{Head: foldersOf(w.head), Target: foldersOf(w.target), Record: w.record, Previous: w.previous, Batches: w.batches, From: w.from, RemovesFirst: w.first, Waves: Partition("prod", fmt.Sprint(w.target.ID()), w.waves, w.currentTypes()), Verdicts: w.verdicts}
		states[Decide(f).State]++
		w.finish()
		for event, n := range w.done {
			done[event] += n
		}
	}
	for _, event := range []string{"back", model.SkipWave, model.RejectAdvance, model.ReplaceAdvance} {
		if done[event] < histories/100 {
			t.Errorf("%s occurred %d times only", event, done[event])
		}
	}
	for _, s := range []State{Idle, Whole, Offers, Proving, Halted} {
		if states[s] < histories/100 {
			t.Errorf("state %s occurred %d times only", s, states[s])
		}
	}
}
