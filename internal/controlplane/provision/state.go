package provision

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// DefaultExecutor is used for manifests that name no executor.
const DefaultExecutor = "claudie"

// NewState returns the state that a manifest asks for. It has no Endpoints; the plan
// computes these.
func NewState(m *model.InputManifest, all *model.Clusters) State {
	s := State{Namespace: m.Namespace, Name: m.Name, Executor: cmp.Or(m.Annotations[model.ExecutorAnnotation], DefaultExecutor), Spec: m.Spec}
	for i := range m.Spec.Providers {
		p := &m.Spec.Providers[i]
		if s.Templates == nil {
			s.Templates = map[string]string{}
		}
		s.Templates[p.Name] = describeTemplates(p, all)
	}
	s.Secrets = findSecrets(m, all.Credentials)
	if m.Whole != nil {
		s.SplitFrom = m.Whole.Name
	}
	for _, b := range all.Bindings {
		if !m.IsNamedBy(b.Spec.InputManifest) {
			continue
		}
		for _, c := range b.Spec.Clusters {
			ofAnother := m.Whole != nil && m.Spec.FindCluster(c.Name) == nil
			if ofAnother || !m.IsAttachable(c) {
				continue
			}
			if s.ClusterTypes == nil {
				s.ClusterTypes = map[string]string{}
			}
			s.ClusterTypes[c.Name] = c.ClusterType
		}
	}
	return s
}

// ListOwned returns names that only one environment may have: manifest, machines, DNS
// names and reporting clusters.
func (s *State) ListOwned() []string {
	all := []string{s.Path()}
	for _, u := range s.Spec.ListUnique() {
		all = append(all, u.Name)
	}
	for name := range s.ClusterTypes {
		all = append(all, model.ReporterName(name))
	}
	return all
}

// NewStates returns the states that a model's manifests ask for, in the order of the
// model.
func NewStates(m *model.Model) []State {
	var all []State
	for _, manifest := range m.Clusters.Manifests {
		all = append(all, NewState(manifest, &m.Clusters))
	}
	return all
}

// CheckModel reports changes of states by a model that must not be merged.
func CheckModel(current []State, m *model.Model) problem.List {
	var problems problem.List
	for _, e := range NewEdits(current, m) {
		problems = append(problems, CheckEdit(e)...)
		if e.awaitsReports() && m.Stacks.ManagementCluster() == "" {
			problems.Warnf(e.PositionOf(), e.subject(), "name the cluster that makes the clusters, as it reports, in spec.managementCluster of a StackSettings",
				"it waits for reports of the management cluster, and none is named, so that no report counts")
		}
	}
	return append(problems, checkTaken(current, m)...)
}

// NewEdits returns existing manifests in the order of current, then new ones.
func NewEdits(current []State, m *model.Model) []Edit {
	m = WithEmptyParts(current, m)
	written := map[string]*model.InputManifest{}
	for _, manifest := range m.Clusters.Manifests {
		written[manifest.Path()] = manifest
	}
	var all []Edit
	for i := range current {
		path := current[i].Path()
		all = append(all, newEdit(&current[i], written[path], m))
		delete(written, path)
	}
	for _, manifest := range m.Clusters.Manifests {
		if written[manifest.Path()] != nil {
			all = append(all, newEdit(&State{}, manifest, m))
		}
	}
	removing := map[string]bool{}
	for i := range all {
		removing[all[i].wholePath()] = removing[all[i].wholePath()] || all[i].isLeaving()
	}
	for i := range all {
		all[i].RemovesBeside = all[i].Desired.SplitFrom != "" && removing[all[i].wholePath()]
	}
	return all
}

func (e *Edit) wholePath() string { return e.Desired.Namespace + "/" + e.Desired.SplitFrom }

func (e *Edit) isLeaving() bool {
	return e.Desired.SplitFrom != "" && len(e.Desired.Spec.Kubernetes.Clusters) == 0
}

// WithEmptyParts adds an empty manifest for each part that lost its cluster, so that
// the cluster is destroyed before the part is removed.
func WithEmptyParts(current []State, m *model.Model) *model.Model {
	if len(m.Clusters.Split) == 0 {
		return m
	}
	extended := *m
	extended.Clusters.Manifests = slices.Clone(m.Clusters.Manifests)
	for i := range current {
		s := &current[i]
		whole := findManifest(m.Clusters.Split, s.Namespace+"/"+s.SplitFrom)
		if whole == nil || findManifest(extended.Clusters.Manifests, s.Path()) != nil {
			continue
		}
		cluster, isPart := strings.CutPrefix(s.Name, whole.PartName(""))
		if isPart {
			extended.Clusters.Manifests = append(extended.Clusters.Manifests, whole.NewEmptyPart(cluster, s.Spec.Providers))
		}
	}
	return &extended
}

func findManifest(all []*model.InputManifest, path string) *model.InputManifest {
	i := slices.IndexFunc(all, func(m *model.InputManifest) bool { return m.Path() == path })
	if i < 0 {
		return nil
	}
	return all[i]
}

// findRegrouped returns the manifest that has the clusters after splitting was switched
// on or off; else nil.
func findRegrouped(current *State, m *model.Model) *model.InputManifest {
	if current.SplitFrom == "" {
		return findManifest(m.Clusters.Split, current.Path())
	}
	return findManifest(m.Clusters.Manifests, current.Namespace+"/"+current.SplitFrom)
}

func newEdit(current *State, written *model.InputManifest, m *model.Model) Edit {
	if written == nil {
		e := Edit{Current: current, Desired: &State{}, Regrouped: findRegrouped(current, m), PositionOf: func(...any) problem.Pos { return problem.Pos{Layer: m.Environment} }}
		if e.Regrouped != nil {
			e.PositionOf = positionsIn(e.Regrouped)
		}
		return e
	}
	desired := NewState(written, &m.Clusters)
	return Edit{Current: current, Desired: &desired, Annotations: written.Annotations, PositionOf: positionsIn(written), Unused: written.UnusedProviders}
}

func positionsIn(m *model.InputManifest) func(path ...any) problem.Pos {
	return func(path ...any) problem.Pos {
		if len(path) == 0 {
			return m.Pos
		}
		return m.PositionOf(path...)
	}
}
