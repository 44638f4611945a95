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
	AssignedUnverified  // it failed at the output, which nothing says to be because of the assignment
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
	types   map[string]*assignedType
	targets map[assignedKey]*assignedTarget
	// refs are what targets ask for in the outputs that clusters run, and in the newest.
	refs   map[string]map[assignedKey]string
	newest string
	// Merged is when the newest output was merged.
	Merged time.Time
}

type assignedKey struct{ clusterType, target string }

// assignedType is how the clusters of a type stand to their output.
type assignedType struct {
	counts  Counts
	outputs map[string]int // how many clusters run each revision
	why     assignedReasons
}

// assignedTarget is what objects of a target on the clusters of a type have said.
type assignedTarget struct {
	change   Counts // of the counts of the type, by what the objects say instead
	versions []AssignedVersion
	why      assignedReasons
}

// AssignedReason is why an assignment has failed on a cluster, or is not verified there.
type AssignedReason struct{ Cluster, Message string }

// assignedReasons are those of the first cluster of each class by name.
type assignedReasons map[int]AssignedReason

func (all *assignedReasons) add(class int, r AssignedReason) {
	if *all == nil {
		*all = assignedReasons{}
	}
	if known, ok := (*all)[class]; !ok || r.Cluster < known.Cluster {
		(*all)[class] = r
	}
}

// Find returns how the clusters of a type stand to a deployment target that they are assigned, and the
// versions that they run: those that their objects name, or else what the outputs that they run ask for,
// with no name where those do not have the target. A cluster whose objects say nothing stands to it as it
// does to its output.
func (r *AssignedRuns) Find(clusterType, target string) (counts Counts, versions []AssignedVersion) {
	of, key := r.types[clusterType], assignedKey{clusterType, target}
	if of != nil {
		counts = of.counts
	}
	said := r.targets[key]
	if said != nil {
		for i, n := range said.change {
			counts[i] += n
		}
		versions = said.versions
	}
	if len(versions) > 0 || of == nil || r.refs[r.newest][key] == "" {
		return counts, versions
	}
	for revision, n := range of.outputs {
		if refs := r.refs[revision]; refs != nil {
			versions = countVersion(versions, refs[key], n)
		}
	}
	sortVersions(versions)
	return counts, versions
}

// FindReason returns why an assignment is in the state of a class, on the first cluster of that; zero if
// nothing says it.
func (r *AssignedRuns) FindReason(clusterType, target string, class int) (why AssignedReason) {
	if said := r.targets[assignedKey{clusterType, target}]; said != nil {
		why = said.why[class]
	}
	if of := r.types[clusterType]; why.Cluster == "" && of != nil {
		why = of.why[class]
	}
	return why
}

// assignedMemory is what is kept between questions about assignments. The zero value is ready.
type assignedMemory struct {
	mu       sync.Mutex
	wanted   map[string]wantedTargets             // by environment
	refs     map[[2]string]map[assignedKey]string // by environment and output
	versions map[[2]string]string                 // by object and revision; those that have a name
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
	c := assignedCount{runs: &AssignedRuns{types: map[string]*assignedType{}, targets: map[assignedKey]*assignedTarget{}, newest: found.wants.Newest.Revision, Merged: found.wants.Newest.Merged}, clusters: map[string]countedCluster{}, revisions: map[assignedRevision]int{}}
	for _, s := range found.all {
		c.addCluster(s, targets, explainSituation(s, found))
	}
	c.runs.refs, err = v.findRefs(ctx, environment, c.runs)
	if err != nil {
		return nil, err
	}
	of, last := map[string]assignedSaid{}, (*ledger.Cluster)(nil) // by target, of one cluster
	v.Ledger.VisitObjects(environment, func(cluster *ledger.Cluster, object string, s ledger.State, _ time.Time) {
		if cluster != last {
			c.addObjects(last, of)
			clear(of)
			last = cluster
		}
		target := targets.targets[assignedKey{cluster.Group.ClusterType, object}]
		if target != "" {
			of[target] = of[target].add(object, s)
		}
	})
	c.addObjects(last, of)
	for _, s := range found.all {
		if s.Cluster != nil && !c.clusters[s.Cluster.Name()].seen { // none of its objects is of an assignment
			c.addObjects(s.Cluster, nil)
		}
	}
	return c.runs, v.nameVersions(ctx, c)
}

// assignedCount counts how clusters stand to assignments.
type assignedCount struct {
	runs      *AssignedRuns
	clusters  map[string]countedCluster // by name
	revisions map[assignedRevision]int
}

// countedCluster is how a cluster stands to its output.
type countedCluster struct {
	class  int
	why    string          // it is not ready; "" if it is
	failed map[string]bool // the targets that its failure names
	seen   bool            // what its objects say was counted
}

// assignedRevision is a revision of an object of an assignment.
type assignedRevision struct {
	assignedKey
	object, revision, app string
}

// assignedSaid is what the objects of a target on a cluster say.
type assignedSaid struct {
	class                 int
	why                   string // of a failure
	object, revision, app string
}

func (a assignedSaid) add(object string, s ledger.State) assignedSaid {
	class := AssignedProgressing
	switch s.Phase {
	case ledger.Ready:
		class = AssignedReady
	case ledger.Failed, ledger.Drifted:
		class = AssignedFailed
	default:
	}
	if class == AssignedFailed && a.why == "" {
		a.why = object + " failed: " + s.Message
	}
	if a.object == "" || class > a.class {
		a.class = class
	}
	if a.revision == "" {
		a.object, a.revision, a.app = object, s.Revision, s.App
	}
	return a
}

// addCluster counts how a cluster stands to its output, and why it is not ready.
func (c *assignedCount) addCluster(s ledger.Situation, targets wantedTargets, why string) {
	known := countedCluster{class: AssignedUnknown, why: why}
	switch s.Class {
	case ledger.ClassReady:
		known.class = AssignedReady
	case ledger.ClassProgressing:
		known.class = AssignedProgressing
	case ledger.ClassBehind:
		known.class = AssignedBehind
	case ledger.ClassFailed:
		known.class, known.failed = AssignedFailed, targets.findNamed(s.Type, s.Message)
		if len(known.failed) > 0 { // of the others it is not known
			known.class = AssignedUnverified
		}
	default:
	}
	of := c.runs.types[s.Type]
	if of == nil {
		of = &assignedType{outputs: map[string]int{}}
		c.runs.types[s.Type] = of
	}
	of.counts[known.class]++
	if s.Cluster == nil {
		return
	}
	if output := ledger.ParseRevision(s.Platform.Revision).Commit; output != "" {
		of.outputs[output]++
	}
	if why != "" {
		of.why.add(known.class, AssignedReason{s.Cluster.Name(), why})
	}
	c.clusters[s.Cluster.Name()] = known
}

// addObjects counts what the objects of a cluster say, if the cluster can be believed, and the targets that
// its failure names.
func (c *assignedCount) addObjects(cluster *ledger.Cluster, of map[string]assignedSaid) {
	if cluster == nil {
		return
	}
	known, expected := c.clusters[cluster.Name()]
	if expected {
		known.seen = true
		c.clusters[cluster.Name()] = known
	}
	if !expected || known.class == AssignedUnknown {
		return
	}
	if of == nil {
		of = map[string]assignedSaid{}
	}
	for target := range known.failed {
		said := of[target]
		said.class, said.why = AssignedFailed, cmp.Or(said.why, known.why)
		of[target] = said
	}
	for target, said := range of {
		key := assignedKey{cluster.Group.ClusterType, target}
		one := c.runs.targets[key]
		if one == nil {
			one = &assignedTarget{}
			c.runs.targets[key] = one
		}
		now := said.class
		if now == AssignedReady {
			now = max(now, readyClass(known.class))
		}
		one.change[known.class]--
		one.change[now]++
		if why := cmp.Or(said.why, known.why); why != "" && now != AssignedReady {
			one.why.add(now, AssignedReason{cluster.Name(), why})
		}
		c.revisions[assignedRevision{key, said.object, said.revision, said.app}]++
	}
}

// readyClass returns the class of an assignment whose objects are ready on a cluster of a class: they may be
// ready with what the cluster had before.
func readyClass(cluster int) int {
	switch cluster {
	case AssignedBehind:
		return AssignedBehind
	case AssignedUnverified, AssignedFailed:
		return AssignedUnverified
	}
	return AssignedReady
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
			one, known := c.runs.targets[r.assignedKey], cmp.Or(name, shortRevision(r.revision), r.app)
			if known != "" {
				one.versions = countVersion(one.versions, known, n)
			}
		}
		return nil
	})
	for _, one := range c.runs.targets {
		sortVersions(one.versions)
	}
	return err
}

// sortVersions sorts versions by how many clusters run them, the most frequent first.
func sortVersions(all []AssignedVersion) {
	slices.SortFunc(all, func(a, b AssignedVersion) int {
		return cmp.Or(cmp.Compare(b.Clusters, a.Clusters), strings.Compare(a.Name, b.Name))
	})
}

func countVersion(all []AssignedVersion, name string, clusters int) []AssignedVersion {
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
