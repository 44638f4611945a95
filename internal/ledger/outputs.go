package ledger

import (
	"slices"
	"time"
)

// Output is a commit of an environment's output branch.
type Output struct {
	Revision string // the commit
	Merged   time.Time
	// Folders are the ids of the trees of the cluster types. Types without a folder are missing.
	Folders map[string]string
	// Abandoned are the cluster types whose folder no output of the branch has had, since the branch was
	// rewritten: what it holds is known no longer. It is nil for an output of the branch as it is.
	Abandoned map[string]bool
}

// Outputs are the outputs of one environment, in the order in which they were merged. Outputs of a
// branch that was rewritten stay: clusters may still report them.
type Outputs struct {
	all   []Output
	index map[string]int // by Revision
}

// Add adds the newest output.
func (o *Outputs) Add(output Output) {
	if o.index == nil {
		o.index = map[string]int{}
	}
	o.index[output.Revision] = len(o.all)
	o.all = append(o.all, output)
}

// Newest returns the output that was merged last, and false if there is none.
func (o *Outputs) Newest() (Output, bool) {
	if len(o.all) == 0 {
		return Output{}, false
	}
	return o.all[len(o.all)-1], true
}

// Find returns the output that a report names, and false if it is none of the environment's.
func (o *Outputs) Find(revision string) (Output, bool) {
	i, ok := o.index[revision]
	if !ok {
		i, ok = o.index[ParseRevision(revision).Commit]
	}
	if !ok {
		return Output{}, false
	}
	return o.all[i], true
}

// Holds reports whether one output holds in the folder of a cluster type what another one does.
func (o Output) Holds(other Output, clusterType string) bool {
	return o.Folders[clusterType] == other.Folders[clusterType]
}

// isArrival reports whether a cluster of a type has got an output when it has got another one.
func (o *Outputs) isArrival(has, wanted Output, clusterType string) bool {
	for i := o.index[wanted.Revision]; i < o.index[has.Revision]; i++ {
		if !o.all[i].Holds(wanted, clusterType) {
			return false // what was wanted had been given up before
		}
	}
	return has.Holds(wanted, clusterType)
}

// FindRolledBack returns the outputs that an output takes back: those since the newest older one
// whose folders are all the same. It returns none if there is no such older one, or nothing in
// between.
func (o *Outputs) FindRolledBack(revision string) []Output {
	at, ok := o.index[revision]
	for i := at - 1; ok && i >= 0; i-- {
		if sameFolders(o.all[i].Folders, o.all[at].Folders) {
			return slices.Clone(o.all[i+1 : at])
		}
	}
	return nil
}

func sameFolders(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, id := range a {
		if b[name] != id {
			return false
		}
	}
	return true
}
