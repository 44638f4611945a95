package ledger

import (
	"slices"
	"time"
)

// Output is a commit of an environment's output branch.
type Output struct {
	Revision string
	Merged   time.Time
	// Folders has tree ids by cluster type.
	Folders map[string]string
	// Abandoned has cluster types whose folder is unknown since the branch was rewritten; nil
	// otherwise.
	Abandoned map[string]bool
}

// Outputs has an environment's outputs by merge, including those of rewritten branches, which
// clusters may still report.
type Outputs struct {
	all   []Output
	index map[string]int
}

// Add appends the newest output.
func (o *Outputs) Add(output Output) {
	if o.index == nil {
		o.index = map[string]int{}
	}
	o.index[output.Revision] = len(o.all)
	o.all = append(o.all, output)
}

// Newest returns the last merged output, and false if there is none.
func (o *Outputs) Newest() (Output, bool) {
	if len(o.all) == 0 {
		return Output{}, false
	}
	return o.all[len(o.all)-1], true
}

// Find returns the output of a reported revision, and false for a foreign one.
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

// Holds reports whether two outputs have the same folder of a cluster type.
func (o Output) Holds(other Output, clusterType string) bool {
	return o.Folders[clusterType] == other.Folders[clusterType]
}

func (o *Outputs) isArrival(has, wanted Output, clusterType string) bool {
	for i := o.index[wanted.Revision]; i < o.index[has.Revision]; i++ {
		if !o.all[i].Holds(wanted, clusterType) {
			return false // wanted was replaced in between
		}
	}
	return has.Holds(wanted, clusterType)
}

// FindRolledBack returns the outputs that an output reverts: those since the newest equal one.
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
