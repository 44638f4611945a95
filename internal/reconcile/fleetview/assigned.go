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

// Status of a cluster against an assignment: an index of [Counts].
const (
	AssignedReady = iota
	AssignedProgressing
	AssignedBehind     // it has another output, or has not applied this one
	AssignedUnverified // the output failed, and nothing blames the assignment
	AssignedUnknown    // no recent report
	AssignedFailed
	assignedClasses
)

// Counts has the number of clusters by status.
type Counts [assignedClasses]int

// AssignedVersion counts the clusters that run a version of a target.
type AssignedVersion struct {
	Name     string
	Clusters int
}

// AssignedRuns has the status of an environment's clusters against their assignments.
type AssignedRuns struct {
	types   map[string]*assignedType
	targets map[assignedKey]*assignedTarget
	// refs has the references of targets, for the outputs that clusters run and the newest.
	refs   map[string]map[assignedKey]string
	newest string
	Merged time.Time
}

type assignedKey struct{ clusterType, target string }

type assignedType struct {
	counts  Counts
	outputs map[string]int // clusters by revision
	why     assignedReasons
}

type assignedTarget struct {
	change   Counts // corrections of the type's counts
	versions []AssignedVersion
	why      assignedReasons
}

// AssignedReason is why an assignment failed, or is unverified, on a cluster.
type AssignedReason struct{ Cluster, Message string }

// assignedReasons has the first cluster by name for each class.
type assignedReasons map[int]AssignedReason

func (all *assignedReasons) add(class int, r AssignedReason) {
	if *all == nil {
		*all = assignedReasons{}
	}
	if known, ok := (*all)[class]; !ok || r.Cluster < known.Cluster {
		(*all)[class] = r
	}
}

// Find returns the counts of a target by status on a type's clusters, and the versions they run:
// from their objects, or else their outputs. A cluster without reports about the target counts by
// its output.
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

// FindReason returns the reason for a class from its first cluster; zero if unknown.
func (r *AssignedRuns) FindReason(clusterType, target string, class int) (why AssignedReason) {
	if said := r.targets[assignedKey{clusterType, target}]; said != nil {
		why = said.why[class]
	}
	if of := r.types[clusterType]; why.Cluster == "" && of != nil {
		why = of.why[class]
	}
	return why
}

// assignedMemory caches data between queries. The zero value is ready.
type assignedMemory struct {
	mu       sync.Mutex
	wanted   map[string]wantedTargets
	refs     map[[2]string]map[assignedKey]string // by environment and output
	versions map[[2]string]string                 // names by object and revision
}

const maxKeptVersions = 50_000

// FindAssigned returns the status of an environment's clusters against their assignments.
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
	of, last := map[string]assignedSaid{}, (*ledger.Cluster)(nil) // by target, for one cluster
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
		if s.Cluster != nil && !c.clusters[s.Cluster.Name()].seen { // no object belongs to an assignment
			c.addObjects(s.Cluster, nil)
		}
	}
	return c.runs, v.nameVersions(ctx, c)
}

type assignedCount struct {
	runs      *AssignedRuns
	clusters  map[string]countedCluster // by name
	revisions map[assignedRevision]int
}

type countedCluster struct {
	class  int
	why    string          // "" if ready
	failed map[string]bool // targets named in its failure
	seen   bool            // its objects were counted
}

type assignedRevision struct {
	assignedKey
	object, revision, app string
}

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
		if len(known.failed) > 0 { // the others may be fine
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

// readyClass corrects AssignedReady: objects may be ready with an earlier output.
func readyClass(cluster int) int {
	switch cluster {
	case AssignedBehind:
		return AssignedBehind
	case AssignedUnverified, AssignedFailed:
		return AssignedUnverified
	}
	return AssignedReady
}

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

func shortRevision(revision string) string {
	parsed := ledger.ParseRevision(revision)
	return cmp.Or(text.ShortCommit(parsed.Commit), parsed.Version)
}
