package fleetview

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// How a cluster stands to one of its assignments: an index of [Counts].
const (
	AssignedReady       = iota
	AssignedProgressing // at work on it
	AssignedBehind      // it has another output, or has not applied this one
	AssignedUnknown     // it has not reported, or not lately
	AssignedFailed
	assignedClasses
)

// Counts is how many clusters stand so to an assignment.
type Counts [assignedClasses]int

// AssignedVersion is a version of a deployment target, and how many clusters run it.
type AssignedVersion struct {
	Name     string
	Clusters int
}

// AssignedRuns is how the clusters of an environment stand to what their types are assigned.
type AssignedRuns struct {
	types   map[string]*Counts // of clusters, by type
	targets map[assignedKey]*assignedTarget
	// Merged is when the newest output was merged.
	Merged time.Time
}

type assignedKey struct{ clusterType, target string }

// assignedTarget is what objects of a target on the clusters of a type have said.
type assignedTarget struct {
	change   Counts // of the counts of the type, by what the objects say instead
	versions []AssignedVersion
}

// Find returns how the clusters of a type stand to a deployment target that they are assigned, and the
// versions that they run, as far as they say it. A cluster whose objects say nothing stands to it as it
// does to its output.
func (r *AssignedRuns) Find(clusterType, target string) (counts Counts, versions []AssignedVersion) {
	if of := r.types[clusterType]; of != nil {
		counts = *of
	}
	said := r.targets[assignedKey{clusterType, target}]
	if said == nil {
		return counts, nil
	}
	for i, n := range said.change {
		counts[i] += n
	}
	return counts, said.versions
}

// assignedMemory is what is kept between questions about assignments. The zero value is ready.
type assignedMemory struct {
	mu       sync.Mutex
	wanted   map[string]wantedTargets // by environment
	versions map[[2]string]string     // by object and revision; those that have a name
}

// wantedTargets are the targets that objects are of, by an output.
type wantedTargets struct {
	output  string
	targets map[assignedKey]string // by cluster type and object
}

// maxKeptVersions bounds the names of versions that are kept.
const maxKeptVersions = 50_000

// FindAssigned returns how the clusters of an environment stand to what their types are assigned.
func (v *View) FindAssigned(ctx context.Context, environment string) (*AssignedRuns, error) {
	found, err := v.findSituations(ctx, environment)
	if err != nil {
		return nil, err
	}
	targets, err := v.findWantedTargets(ctx, environment, found.wants.Newest.Revision)
	if err != nil {
		return nil, err
	}
	c := assignedCount{runs: &AssignedRuns{types: map[string]*Counts{}, targets: map[assignedKey]*assignedTarget{}, Merged: found.wants.Newest.Merged}, classes: map[string]int{}, revisions: map[assignedRevision]int{}}
	for _, s := range found.all {
		c.addCluster(s)
	}
	of, last := map[string]assignedSaid{}, (*ledger.Cluster)(nil) // by target, of one cluster
	v.Ledger.VisitObjects(environment, func(cluster *ledger.Cluster, object string, s ledger.State) {
		if cluster != last {
			c.addObjects(last, of)
			clear(of)
			last = cluster
		}
		target := targets[assignedKey{cluster.Group.ClusterType, object}]
		if target != "" {
			of[target] = of[target].add(object, s)
		}
	})
	c.addObjects(last, of)
	return c.runs, v.nameVersions(ctx, c)
}

// assignedCount counts how clusters stand to assignments.
type assignedCount struct {
	runs      *AssignedRuns
	classes   map[string]int // of clusters, by name
	revisions map[assignedRevision]int
}

// assignedRevision is a revision of an object of an assignment.
type assignedRevision struct {
	assignedKey
	object, revision, app string
}

// assignedSaid is what the objects of a target on a cluster say.
type assignedSaid struct {
	class                 int
	object, revision, app string
}

func (a assignedSaid) add(object string, s ledger.State) assignedSaid {
	class := AssignedProgressing
	switch s.Phase {
	case ledger.Ready:
		class = AssignedReady
	case ledger.Failed:
		class = AssignedFailed
	default:
	}
	if a.object == "" || class > a.class {
		a.class = class
	}
	if a.revision == "" {
		a.object, a.revision, a.app = object, s.Revision, s.App
	}
	return a
}

// addCluster counts how a cluster stands to its output.
func (c *assignedCount) addCluster(s ledger.Situation) {
	class := AssignedUnknown
	switch s.Class {
	case ledger.ClassReady:
		class = AssignedReady
	case ledger.ClassProgressing:
		class = AssignedProgressing
	case ledger.ClassBehind, ledger.ClassFailed: // what failed at an output has not applied all of it
		class = AssignedBehind
	default:
	}
	of := c.runs.types[s.Type]
	if of == nil {
		of = &Counts{}
		c.runs.types[s.Type] = of
	}
	of[class]++
	if s.Cluster != nil {
		c.classes[s.Cluster.Name()] = class
	}
}

// addObjects counts what the objects of a cluster say, if the cluster can be believed.
func (c *assignedCount) addObjects(cluster *ledger.Cluster, of map[string]assignedSaid) {
	if cluster == nil {
		return
	}
	class, expected := c.classes[cluster.Name()]
	if !expected || class == AssignedUnknown {
		return
	}
	for target, said := range of {
		key := assignedKey{cluster.Group.ClusterType, target}
		one := c.runs.targets[key]
		if one == nil {
			one = &assignedTarget{}
			c.runs.targets[key] = one
		}
		now := said.class
		if now == AssignedReady && class == AssignedBehind { // ready with what it had before
			now = AssignedBehind
		}
		one.change[class]--
		one.change[now]++
		c.revisions[assignedRevision{key, said.object, said.revision, said.app}]++
	}
}

// findWantedTargets returns which target each object is of, by an output of an environment.
func (v *View) findWantedTargets(ctx context.Context, environment, output string) (map[assignedKey]string, error) {
	v.memory.mu.Lock()
	kept := v.memory.wanted[environment]
	v.memory.mu.Unlock()
	if kept.targets != nil && kept.output == output {
		return kept.targets, nil
	}
	kept = wantedTargets{output, map[assignedKey]string{}}
	err := v.Ask(ctx, func(s *ledgerdb.Store) error {
		wanted, err := s.FindWantedObjects(ctx, environment)
		for _, w := range wanted {
			if !w.Dropped {
				kept.targets[assignedKey{w.ClusterType, w.Name}] = w.Target
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	v.memory.mu.Lock()
	defer v.memory.mu.Unlock()
	if v.memory.wanted == nil {
		v.memory.wanted = map[string]wantedTargets{}
	}
	v.memory.wanted[environment] = kept
	return kept.targets, nil
}

// nameVersions adds the versions that clusters run to the assignments, the most frequent first.
func (v *View) nameVersions(ctx context.Context, c assignedCount) error {
	v.memory.mu.Lock()
	defer v.memory.mu.Unlock()
	if v.memory.versions == nil || len(v.memory.versions) > maxKeptVersions {
		v.memory.versions = map[[2]string]string{}
	}
	err := v.Ask(ctx, func(s *ledgerdb.Store) error {
		names := versionNames{s, map[[2]string]string{}}
		for r, n := range c.revisions {
			key := [2]string{r.object, r.revision}
			name, named := v.memory.versions[key]
			if !named {
				var err error
				name, err = names.find(ctx, r.object, r.revision)
				if err != nil {
					return err
				}
				if name != "" {
					v.memory.versions[key] = name
				}
			}
			one := c.runs.targets[r.assignedKey]
			one.versions = addVersion(one.versions, cmp.Or(name, shortRevision(r.revision), r.app), n)
		}
		return nil
	})
	for _, one := range c.runs.targets {
		slices.SortFunc(one.versions, func(a, b AssignedVersion) int {
			return cmp.Or(cmp.Compare(b.Clusters, a.Clusters), strings.Compare(a.Name, b.Name))
		})
	}
	return err
}

func addVersion(all []AssignedVersion, name string, clusters int) []AssignedVersion {
	if name == "" {
		return all
	}
	for i := range all {
		if all[i].Name == name {
			all[i].Clusters += clusters
			return all
		}
	}
	return append(all, AssignedVersion{name, clusters})
}

// shortRevision returns a revision as people read it: the beginning of a commit, or a version.
func shortRevision(revision string) string {
	parsed := ledger.ParseRevision(revision)
	return cmp.Or(text.ShortCommit(parsed.Commit), parsed.Version)
}
