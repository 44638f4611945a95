package ledger

import (
	"strings"
	"unique"
)

// The kinds of drift.
const (
	DriftMissing  = "missing"  // it is wanted, and not there
	DriftUnwanted = "unwanted" // it is there, and was wanted once
	DriftModified = "modified" // it was changed on the cluster
)

// WantedObject is an object that the clusters of a type should have, or once should have had.
type WantedObject struct {
	ClusterType, Name string
	Target            string // the deployment target that it is of, or was
	Dropped           bool   // it was wanted once, and no longer is
}

// Drift is an object of a cluster that is not as wanted.
type Drift struct {
	Cluster, ClusterType string
	Kind                 string // one of the kinds
	Object               string
	Target               string // of the wanted object; "" if it was modified
	Message              string // of the tool that found it modified
}

// FindDrift returns what differs on the clusters of an environment from what is wanted, cluster by
// cluster. Only an agent knows what is missing; objects that were never wanted are other people's.
func (l *Ledger) FindDrift(environment string, wanted []WantedObject) []Drift {
	type typeObject struct {
		WantedObject
		handle unique.Handle[string]
	}
	byType := map[string][]typeObject{}
	for _, w := range wanted {
		byType[w.ClusterType] = append(byType[w.ClusterType], typeObject{w, unique.Make(w.Name)})
	}
	var all []Drift
	has := map[unique.Handle[string]]bool{} // the objects of one cluster
	for _, c := range l.roster.clusters {
		if c.Group.Environment != environment {
			continue
		}
		clear(has)
		for _, known := range l.book.clusters[c.ID] {
			has[known.name] = true
			if message, modified := known.findModification(); modified {
				all = append(all, Drift{Cluster: c.Name(), ClusterType: c.Group.ClusterType, Kind: DriftModified, Object: known.name.Value(), Message: message})
			}
		}
		for _, w := range byType[c.Group.ClusterType] {
			drift := Drift{Cluster: c.Name(), ClusterType: c.Group.ClusterType, Object: w.Name, Target: w.Target}
			switch {
			case w.Dropped && has[w.handle]:
				drift.Kind = DriftUnwanted
			case !w.Dropped && !has[w.handle] && c.Boot != "":
				drift.Kind = DriftMissing
			default:
				continue
			}
			all = append(all, drift)
		}
	}
	return all
}

// findModification returns what Rancher Fleet says was changed on the cluster, and whether it says so: the
// other tools change it back.
func (known *record) findModification() (message string, modified bool) {
	name := known.name.Value()
	if !strings.HasPrefix(name, "BundleDeployment/") && !strings.HasPrefix(name, "GitRepo/") {
		return "", false
	}
	state := known.state()
	return state.Message, state.Phase == Failed && strings.Contains(strings.ToLower(state.Message), "modified")
}
