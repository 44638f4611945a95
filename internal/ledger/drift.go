package ledger

import (
	"strings"
	"unique"
)

// The kinds of drift.
const (
	DriftMissing  = "missing"
	DriftUnwanted = "unwanted" // present, and no longer wanted
	DriftModified = "modified" // changed on the cluster
)

// WantedObject is an object that clusters of a type should have, or had to have once.
type WantedObject struct {
	ClusterType, Name string
	Target            string
	Dropped           bool
}

// Drift is an object that differs from what is wanted.
type Drift struct {
	Cluster, ClusterType string
	Kind                 string
	Object               string
	Target               string // "" if modified
	Message              string
}

// FindDrift returns an environment's drift by cluster. Only an agent knows what is missing; objects
// that were never wanted belong to others.
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
	has := map[unique.Handle[string]]bool{}
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

// findModification reads Rancher Fleet's modifications; the other tools revert them.
func (known *record) findModification() (message string, modified bool) {
	name := known.name.Value()
	if !strings.HasPrefix(name, "BundleDeployment/") && !strings.HasPrefix(name, "GitRepo/") {
		return "", false
	}
	state := known.state()
	return state.Message, state.Phase == Failed && strings.Contains(strings.ToLower(state.Message), "modified")
}
