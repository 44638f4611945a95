// Package wave decides which cluster types of an environment get their new folders next.
//
// Each changed folder is in exactly one wave, changes only with it, and then is the target's. A wave
// waits for the proofs of all earlier ones.
package wave

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

// Members are the cluster types of a wave.
type Members struct {
	Name    string   `json:"name" yaml:"name"`
	Folders []string `json:"folders" yaml:"folders"`
}

// Advance records how far a target has got. It is part of the output, so that merges change it.
type Advance struct {
	ID string `json:"id" yaml:"id"` // see [NewID]
	// Begin is the commit of the output branch before the first wave.
	Begin string    `json:"begin" yaml:"begin"`
	Waves []Members `json:"waves" yaml:"waves"` // with changed folders
	Wave  string    `json:"wave" yaml:"wave"`   // the last merged one
}

// NewID returns the id of an advance to a target tree.
func NewID(environment, target string) string {
	sum := sha256.Sum256([]byte(environment + "\x00" + target))
	return hex.EncodeToString(sum[:6])
}

// Check returns why a record cannot be of an advance: people may have edited it. nil means that it can.
func (a *Advance) Check() error {
	in, isWave := map[string]bool{}, map[string]bool{}
	for _, m := range a.Waves {
		if len(m.Folders) == 0 || isWave[m.Name] {
			return fmt.Errorf("wave %q of its advance has no folders, or is there twice", m.Name)
		}
		isWave[m.Name] = true
		for _, folder := range m.Folders {
			if in[folder] {
				return fmt.Errorf("folder %q is twice in the waves of its advance", folder)
			}
			in[folder] = true
		}
	}
	if !isWave[a.Wave] {
		return fmt.Errorf("its advance has no wave %q", a.Wave)
	}
	return nil
}

// Reached returns the merged waves.
func (a *Advance) Reached() []Members { return a.Waves[:a.reached()] }

// Follower returns the name of the wave after one; "" for none.
func (a *Advance) Follower(name string) string {
	i := 1 + slices.IndexFunc(a.Waves, func(m Members) bool { return m.Name == name })
	if i == len(a.Waves) {
		return ""
	}
	return a.Waves[i].Name
}

func (a *Advance) reached() int {
	return 1 + slices.IndexFunc(a.Waves, func(m Members) bool { return m.Name == a.Wave })
}

// CheckWaves returns the problems of an environment's waves with its cluster types. hasOthers means that it
// has stacks or provisions clusters.
func CheckWaves(environment string, waves []model.Wave, types map[string]map[string]string, hasOthers bool) (problems problem.List) {
	if hasOthers && len(waves) > 0 {
		problems.Addf(waves[0].Pos, "", "remove the waves", "%s cannot have waves, because it has stacks or provisions clusters", environment)
		return problems
	}
	for i, m := range Partition(environment, "", waves, types) {
		if i < len(waves) && len(m.Folders) == 0 {
			problems.Warnf(waves[i].Pos, "", "", "wave %s of %s has no cluster types", m.Name, environment)
		}
	}
	return problems
}

// FindTypes returns the labels of the cluster types of a model, by which waves select them.
func FindTypes(m *model.Model) map[string]map[string]string {
	types := make(map[string]map[string]string, len(m.ClusterTypes))
	for _, t := range m.ClusterTypes {
		types[t.Name] = m.GroupLabels(t)
	}
	return types
}

// Partition divides cluster types, which are labels by name, into waves. The last one is the rest. advance is
// the id of the advance that begins; "" if it is unknown.
func Partition(environment, advance string, waves []model.Wave, types map[string]map[string]string) []Members {
	left := slices.Collect(maps.Keys(types))
	all := make([]Members, 0, len(waves)+1)
	add := func(name string, takes func(string) bool) {
		m := Members{Name: name, Folders: []string{}}
		rest := left[:0]
		for _, t := range left {
			if takes(t) {
				m.Folders = append(m.Folders, t)
			} else {
				rest = append(rest, t)
			}
		}
		left = rest
		slices.Sort(m.Folders)
		all = append(all, m)
	}
	for _, w := range waves {
		if w.Pick == nil {
			add(w.Name, func(t string) bool { return w.ClusterTypes.Matches(types[t]) })
			continue
		}
		selected := slices.DeleteFunc(slices.Clone(left), func(t string) bool { return !w.ClusterTypes.Matches(types[t]) })
		sortTypes(selected, *w.Pick, environment, advance, types)
		picked := pickTypes(*w.Pick, selected, types)
		add(w.Name, func(t string) bool { return picked[t] })
	}
	add(model.RestWave, func(string) bool { return true })
	return all
}

func sortTypes(names []string, p model.Pick, environment, advance string, types map[string]map[string]string) {
	salt := environment
	if p.Order == model.OrderRotate {
		salt += "\x00" + advance
	}
	rank := make(map[string]string, len(names))
	for _, name := range names {
		sum := sha256.Sum256([]byte(salt + "\x00" + name))
		switch value, ok := types[name][p.OrderLabel]; {
		case p.Order == model.OrderName:
			rank[name] = name
		case p.Order == model.OrderLabelled && !ok:
			rank[name] = "2" + name
		case p.Order == model.OrderLabelled:
			rank[name] = rankLabel(value) + "\x00" + name
		default:
			rank[name] = string(sum[:])
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(rank[a], rank[b]) })
}

// rankLabel sorts integers before other values.
func rankLabel(value string) string {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return "1" + value
	}
	return fmt.Sprintf("0%020d", uint64(n)^1<<63)
}

// pickTypes does not pick cluster types without the label.
func pickTypes(p model.Pick, left []string, types map[string]map[string]string) map[string]bool {
	groups := map[string][]string{}
	for _, t := range left {
		value, ok := types[t][p.By]
		if ok || p.By == "" {
			groups[value] = append(groups[value], t)
		}
	}
	picked := map[string]bool{}
	for _, group := range groups {
		n := p.Count
		if p.Percent > 0 {
			n = (len(group)*p.Percent + 99) / 100
		}
		for _, t := range group[:min(n, len(group))] {
			picked[t] = true
		}
	}
	return picked
}

// Folders are the ids of the folders of cluster types.
type Folders map[string]tree.ID

// Facts are what a decision follows from.
type Facts struct {
	Head, Target Folders                 // of the output branch and of the target
	Record       *Advance                // of the output branch, to Target; nil for none
	Waves        []Members               // of an advance that begins
	Batches      map[string]int          // most folders of a proposal, by wave of an advance that begins
	Gated        map[string]bool         // waves with gates or a merge of their own, which count also if no other one changes
	From         int                     // changed folders from which there are waves
	RemovesFirst bool                    // removed folders go with the first wave of an advance that begins
	Verdicts     map[string]gate.Verdict // by merged wave of Record or Previous
	// Previous is an advance that did not end: the output branch has it, and another target follows. Its
	// merged waves that the new target leaves as they are still have to be proven.
	Previous *Advance
}

// State is the state of an environment with waves.
type State string

// The states of an environment with waves.
const (
	Idle    State = "idle"    // the output branch has the target
	Whole   State = "whole"   // all changed folders are in one wave
	Offers  State = "offers"  // the next wave may be proposed
	Proving State = "proving" // the next wave waits for a proof
	Halted  State = "halted"  // a proof failed
)

// Decision is what to do next.
type Decision struct {
	State  State
	Waves  []Members // with changed folders; nil for Idle and Whole
	Next   int       // index of the wave that is proposed, or waits
	IsLast bool
	// Earlier is the wave that Next waits for, with its Verdict; "" for none.
	Earlier string
	Verdict gate.Verdict
}

// Decide returns what to do next.
func Decide(f Facts) Decision {
	changed := changedFolders(f.Head, f.Target)
	if len(changed) == 0 {
		return Decision{State: Idle}
	}
	var d Decision
	isWhole := false
	if f.Record != nil {
		d.Waves = completeWaves(f.Record.Waves, changed)
	} else {
		waves := f.Waves
		if f.RemovesFirst {
			waves = addRemoved(f)
		}
		d.Waves = splitBatches(restrictWaves(waves, changed), f.Batches)
		isWhole = len(d.Waves) == 1 && !f.Gated[d.Waves[0].Name] || len(changed) < f.From
	}
	if isWhole {
		d.Waves = []Members{{model.RestWave, slices.Sorted(maps.Keys(changed))}}
	}
	d.State = Offers
	hasChanged := func(m Members) bool {
		return slices.ContainsFunc(m.Folders, func(folder string) bool { return changed[folder] })
	}
	d.Next = slices.IndexFunc(d.Waves, hasChanged)
	d.IsLast = !slices.ContainsFunc(d.Waves[d.Next+1:], hasChanged)
	switch {
	case f.Record != nil:
		d.waitFor(f.Record.Waves[:min(d.Next, f.Record.reached())], f.Verdicts)
	case f.Previous != nil:
		d.waitFor(slices.DeleteFunc(slices.Clone(f.Previous.Reached()), hasChanged), f.Verdicts)
	}
	if isWhole && d.State == Offers {
		return Decision{State: Whole}
	}
	return d
}

// waitFor has a decision wait for the first failed proof of some waves, or the first that has not passed.
func (d *Decision) waitFor(waves []Members, verdicts map[string]gate.Verdict) {
	for _, m := range waves {
		v := verdicts[m.Name]
		if v.Status != gate.Pass && (d.Earlier == "" || v.Status == gate.Fail && d.State != Halted) {
			d.State, d.Earlier, d.Verdict = Proving, m.Name, v
			if v.Status == gate.Fail {
				d.State = Halted
			}
		}
	}
}

func splitBatches(waves []Members, sizes map[string]int) (all []Members) {
	for _, m := range waves {
		size := sizes[m.Name]
		if size == 0 || len(m.Folders) <= size {
			all = append(all, m)
			continue
		}
		n := 0
		for part := range slices.Chunk(m.Folders, size) {
			n++
			all = append(all, Members{fmt.Sprintf("%s/%d", m.Name, n), part})
		}
	}
	return all
}

// FindDecision returns a decision about an advance or a wave of it; nil for none.
func FindDecision(all []*model.WaveDecision, action, advance, name string) *model.WaveDecision {
	i := slices.IndexFunc(all, func(d *model.WaveDecision) bool {
		return d.Action == action && d.Advance == advance && (d.Wave == name || d.Wave == BaseName(name))
	})
	if i < 0 {
		return nil
	}
	return all[i]
}

// CountRetries returns how often people had the workflows of an advance run again.
func CountRetries(all []*model.WaveDecision, advance string) (n int) {
	for _, d := range all {
		if d.Action == model.RetryWorkflows && d.Advance == advance {
			n++
		}
	}
	return n
}

// BaseName returns the name of the wave that a batch is a part of, or the name itself.
func BaseName(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}

func changedFolders(head, target Folders) map[string]bool {
	changed := map[string]bool{}
	for name, id := range target {
		if now, ok := head[name]; !ok || now != id {
			changed[name] = true
		}
	}
	for name := range head {
		if _, ok := target[name]; !ok {
			changed[name] = true
		}
	}
	return changed
}

func restrictWaves(waves []Members, changed map[string]bool) []Members {
	var all []Members
	for _, m := range waves {
		m.Folders = slices.DeleteFunc(slices.Clone(m.Folders), func(folder string) bool { return !changed[folder] })
		if len(m.Folders) > 0 {
			all = append(all, m)
		}
	}
	return completeWaves(all, changed)
}

func addRemoved(f Facts) []Members {
	waves := slices.Clone(f.Waves)
	isMember := func(folder string) bool {
		return slices.ContainsFunc(f.Waves, func(m Members) bool { return slices.Contains(m.Folders, folder) })
	}
	for i, m := range waves {
		changes := func(folder string) bool {
			id, ok := f.Target[folder]
			return ok && id != f.Head[folder]
		}
		if !slices.ContainsFunc(m.Folders, changes) {
			continue
		}
		waves[i].Folders = slices.Clone(m.Folders)
		for folder := range f.Head {
			if _, ok := f.Target[folder]; !ok && !isMember(folder) {
				waves[i].Folders = append(waves[i].Folders, folder)
			}
		}
		slices.Sort(waves[i].Folders)
		break
	}
	return waves
}

// completeWaves adds changed folders without a wave to the rest: edited ones, and those of removed
// cluster types.
func completeWaves(waves []Members, changed map[string]bool) []Members {
	missing := maps.Clone(changed)
	for _, m := range waves {
		for _, folder := range m.Folders {
			delete(missing, folder)
		}
	}
	if len(missing) == 0 {
		return waves
	}
	rest := Members{Name: model.RestWave, Folders: slices.Sorted(maps.Keys(missing))}
	if n := len(waves) - 1; n >= 0 && waves[n].Name == model.RestWave {
		rest.Folders = slices.Sorted(slices.Values(slices.Concat(waves[n].Folders, rest.Folders)))
		waves = waves[:n]
	}
	return append(slices.Clip(slices.Clone(waves)), rest)
}

// NewRecord returns the record after the next wave; nil after the last one. begin is the head of the
// output branch.
func (d Decision) NewRecord(old *Advance, environment, target, begin string) *Advance {
	if d.IsLast {
		return nil
	}
	a := &Advance{ID: NewID(environment, target), Begin: begin, Waves: d.Waves, Wave: d.Waves[d.Next].Name}
	if old != nil {
		// If Next was merged before, people have edited the output branch.
		a.Begin, a.Wave = old.Begin, d.Waves[max(d.Next, old.reached()-1)].Name
	}
	return a
}

// Mix returns the output after the next wave. Dot folders change with the last one.
func (d Decision) Mix(head, target tree.Tree, owned func(folder string) bool) tree.Tree {
	if d.State == Offers && d.IsLast {
		return target
	}
	fresh := map[string]bool{}
	if d.State == Offers {
		for _, folder := range d.Waves[d.Next].Folders {
			fresh[folder] = true
		}
	}
	var entries []tree.Entry
	for old, wanted := range tree.Zip(head, target) {
		switch name := cmp.Or(old.Name, wanted.Name); {
		case strings.HasPrefix(name, "."):
		case fresh[name] && wanted.Name != "":
			entries = append(entries, wanted)
		case !fresh[name] && old.IsDir() && (owned(name) || wanted.Name != ""):
			entries = append(entries, old)
		}
	}
	return tree.FromEntries(entries)
}
