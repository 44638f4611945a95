package answer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
)

// maxListed is how many clusters, or objects of one, are listed.
const maxListed = 100

// Cluster is the answer of /api/v1/clusters/{cluster}: where it belongs, how it stands, and what it reports.
type Cluster struct {
	Name        string `json:"name"`
	Ledger      bool   `json:"ledger"`
	LedgerFails bool   `json:"ledgerFails,omitempty"`
	// Standings is how it stands in the environment that it belongs to, and in those that it has lately left.
	Standings []ClusterStanding `json:"standings"`
	// Objects are what its objects have reported, those that failed first, and MoreObjects counts those that
	// are not listed.
	Objects     []fleetview.ClusterObject `json:"objects,omitempty"`
	MoreObjects int                       `json:"moreObjects,omitempty"`
	// Assignments counts what its type is assigned.
	Assignments int `json:"assignments"`
	// Provisioned is how environments make it.
	Provisioned []ProvisionedCluster `json:"provisioned,omitempty"`
}

// ClusterStanding is a cluster, and how it stands to what is wanted of it.
type ClusterStanding struct {
	fleetview.Cluster
	State State `json:"state"`
	// Commit is the commit of the base whose output it runs; nil if that is not known.
	Commit *Commit `json:"commit,omitempty"`
	// AttemptedCommit is that whose output it is at work on.
	AttemptedCommit *Commit `json:"attemptedCommit,omitempty"`
	// HasType reports whether its type has a page: clusters of stacks name a folder that is none.
	HasType bool `json:"hasType,omitempty"`
}

// ProvisionedCluster is a cluster that an environment makes, and the manifest that says so.
type ProvisionedCluster struct {
	Name        string `json:"name"`
	Environment string `json:"environment"`
	// Manifest is the InputManifest, as "namespace/name", and Place "layer/file:line".
	Manifest string `json:"manifest"`
	Place    string `json:"place"`
	URL      string `json:"url,omitempty"`
	Executor string `json:"executor"`
	// ClusterType is the one that it is bound to; "" if it is bound to none.
	ClusterType   string            `json:"clusterType,omitempty"`
	Version       string            `json:"version"`
	Control       []ProvisionedPool `json:"control"`
	Compute       []ProvisionedPool `json:"compute"`
	LoadBalancers []string          `json:"loadBalancers,omitempty"`
}

// ProvisionedPool is a pool of nodes.
type ProvisionedPool struct {
	Name string `json:"name"`
	// Fewest and Most are how many nodes it has: the same without an autoscaler.
	Fewest   int    `json:"fewest"`
	Most     int    `json:"most"`
	Provider string `json:"provider,omitempty"` // with the region; "" for a static pool
}

// Cluster returns what is known of a cluster, and whether there is one of that name.
func (s Source) Cluster(name string) (Cluster, bool) {
	answer := Cluster{Name: name, Ledger: s.Ledger, LedgerFails: s.LedgerFails, Standings: []ClusterStanding{}}
	answer.Standings = append(answer.Standings, s.listStandings(func(c fleetview.Cluster) bool { return c.Name == name })...)
	answer.Provisioned = s.listProvisioned(func(c ProvisionedCluster) bool { return c.Name == name })
	if len(answer.Standings)+len(answer.Provisioned) == 0 {
		return answer, false
	}
	answer.Objects, answer.MoreObjects = s.Objects[:min(len(s.Objects), maxListed)], max(0, len(s.Objects)-maxListed)
	for _, c := range answer.Standings {
		if c.Standing != fleetview.Moved {
			s.visitAssignments(AssignmentFilter{Environment: c.Environment, ClusterType: c.Type}, func(*assignment) { answer.Assignments++ })
		}
	}
	return answer, true
}

// standingStates are the states of clusters by the word of the ledger; others are unknown.
var standingStates = map[string]Tone{"ready": Good, "progressing": Busy, "behind": Waiting, "failed": Bad, "contested": Bad}

func (s Source) listStandings(selects func(fleetview.Cluster) bool) (all []ClusterStanding) {
	types := s.ClusterTypeNames()
	for _, c := range s.Reported {
		if selects(c) {
			_, hasType := slices.BinarySearch(types, c.Type)
			state := State{cmp.Or(standingStates[c.Standing], Unknown), c.Standing}
			if c.Word != "" {
				state = State{statusTones[c.Word], c.Word}
			}
			c.Message = CleanText(c.Message)
			all = append(all, ClusterStanding{c, state, s.findBase(c), s.findAttemptedBase(c), hasType})
		}
	}
	slices.SortStableFunc(all, func(a, b ClusterStanding) int {
		return cmp.Or(CompareUrgency(b.State.Tone, a.State.Tone), strings.Compare(a.Name, b.Name))
	})
	return all
}

// findBase returns the commit of the base that what a cluster runs was rendered from: that of the newest output of
// its environment, if the cluster has all of it. Such a one may report an older revision, which has the same for it.
func (s Source) findBase(c fleetview.Cluster) *Commit {
	newest := s.findOutput(c.Environment)
	if newest.Output != "" && (c.HasNewest || strings.HasSuffix(c.Revision, newest.Output)) {
		return s.describeCommit(s.findOutputBase(newest))
	}
	return s.describeCommit(c.Base)
}

func (s Source) findAttemptedBase(c fleetview.Cluster) *Commit {
	newest := s.findOutput(c.Environment)
	if newest.Output != "" && strings.HasSuffix(c.Attempted, newest.Output) {
		return s.describeCommit(s.findOutputBase(newest))
	}
	return s.describeCommit(c.AttemptedBase)
}

// findOutput returns how clusters stand to the newest output of an environment; zero if that is not known.
func (s Source) findOutput(environment string) fleetview.Standing {
	i := slices.IndexFunc(s.Clusters, func(o fleetview.Overview) bool { return o.Environment == environment })
	if i < 0 {
		return fleetview.Standing{}
	}
	return s.Clusters[i].Standing
}

// findOutputBase returns the commit of the base that an environment has with its newest output. That is newer than what
// the output was rendered from if it changed nothing of it.
func (s Source) findOutputBase(o fleetview.Standing) string {
	stage, promoted := s.Snapshot.Chain.FindStage(o.Environment)
	report, _ := s.Snapshot.FindEnvironment(o.Environment)
	if promoted && stage.Merged && report.Output.Head == o.Output {
		return stage.Commit
	}
	return o.Base
}

func (s Source) listProvisioned(selects func(ProvisionedCluster) bool) (all []ProvisionedCluster) {
	for _, environment := range s.Names() {
		plan := s.Snapshot.Plans[environment]
		if plan == nil {
			continue
		}
		for _, m := range plan.Model().Clusters.Manifests {
			for _, c := range m.Spec.Kubernetes.Clusters {
				one := s.describeProvisioned(environment, plan.Model(), m, c)
				if selects(one) {
					all = append(all, one)
				}
			}
		}
	}
	return all
}

func (s Source) describeProvisioned(environment string, of *model.Model, m *model.InputManifest, c claudie.Cluster) ProvisionedCluster {
	one := ProvisionedCluster{
		Name: c.Name, Environment: environment, Manifest: m.Path(), Place: m.Pos.String(), URL: s.findPlacePage(environment, m.Pos), Executor: cmp.Or(m.Annotations[model.ExecutorAnnotation], clusters.Claudie),
		Version: c.Version, Control: describePools(&m.Spec, c.Pools.Control), Compute: describePools(&m.Spec, c.Pools.Compute),
	}
	for _, b := range of.Clusters.Bindings {
		if !m.IsNamedBy(b.Spec.InputManifest) {
			continue
		}
		for _, bound := range b.Spec.Clusters {
			if bound.Name == c.Name {
				one.ClusterType = bound.ClusterType
			}
		}
	}
	for _, lb := range m.Spec.LoadBalancers.Clusters {
		if lb.TargetedK8s == c.Name {
			one.LoadBalancers = append(one.LoadBalancers, lb.Name)
		}
	}
	return one
}

func describePools(spec *claudie.Spec, names []string) []ProvisionedPool {
	pools := []ProvisionedPool{}
	for _, name := range names {
		for _, p := range spec.NodePools.Dynamic {
			if p.Name != name {
				continue
			}
			one := ProvisionedPool{Name: name, Fewest: p.Count, Most: p.Count, Provider: strings.Trim(p.ProviderSpec.Name+" "+p.ProviderSpec.Region, " ")}
			if p.Autoscaler != nil {
				one.Fewest, one.Most = p.Autoscaler.Min, p.Autoscaler.Max
			}
			pools = append(pools, one)
		}
		for _, p := range spec.NodePools.Static {
			if p.Name == name {
				pools = append(pools, ProvisionedPool{Name: name, Fewest: len(p.Nodes), Most: len(p.Nodes)})
			}
		}
	}
	return pools
}

// ClusterNames returns the names of all clusters, each once.
func (s Source) ClusterNames() []string {
	names := slices.Clone(s.ReportedNames)
	for _, c := range s.listProvisioned(func(ProvisionedCluster) bool { return true }) {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
