package provision

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// DefaultExecutor carries out manifests that name no executor.
const DefaultExecutor = "claudie"

// NewState returns the state that a manifest of a control plane asks for. The endpoints are those of
// the plan that leads to it.
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
			ofAnother := m.Whole != nil && m.Spec.FindCluster(c.Name) == nil // part
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

// ListOwned returns the names of what no other environment can have too: of the manifest, its machines and DNS
// names, and of the clusters that report.
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

// NewStates returns the states that all manifests of a model ask for, in the order of the model.
func NewStates(m *model.Model) []State {
	var all []State
	for _, manifest := range m.Clusters.Manifests {
		all = append(all, NewState(manifest, &m.Clusters))
	}
	return all
}

// CheckModel reports what of the changes from some states to those that a model asks for must not be
// merged as it is.
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

// NewEdits returns the changes from some states to those that a model asks for: of the states in their
// order, and behind them of the manifests that are new.
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
	removing := map[string]bool{} // the split manifests of which a part goes
	for i := range all {
		removing[all[i].wholePath()] = removing[all[i].wholePath()] || all[i].isLeaving()
	}
	for i := range all {
		all[i].RemovesBeside = all[i].Desired.SplitFrom != "" && removing[all[i].wholePath()]
	}
	return all
}

// wholePath returns the path of the split manifest that the edited one is a part of.
func (e *Edit) wholePath() string { return e.Desired.Namespace + "/" + e.Desired.SplitFrom }

// isLeaving reports whether the manifest is a part whose cluster is not written any more.
func (e *Edit) isLeaving() bool {
	return e.Desired.SplitFrom != "" && len(e.Desired.Spec.Kubernetes.Clusters) == 0
}

// WithEmptyParts returns the model with a manifest without a cluster for each part of a split manifest that
// there is and whose cluster is not written any more: the cluster is destroyed, and then the part goes.
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

// findRegrouped returns the manifest that has the clusters of a state now, in another grouping: one that is
// split and was not, or the reverse; nil if there is none.
func findRegrouped(current *State, m *model.Model) *model.InputManifest {
	if current.SplitFrom == "" {
		return findManifest(m.Clusters.Split, current.Path())
	}
	return findManifest(m.Clusters.Manifests, current.Namespace+"/"+current.SplitFrom)
}

// newEdit returns the change of a manifest; nil for one that is not written any more.
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

// positionsIn returns what finds the positions of fields in a manifest.
func positionsIn(m *model.InputManifest) func(path ...any) problem.Pos {
	return func(path ...any) problem.Pos {
		if len(path) == 0 {
			return m.Pos
		}
		return m.PositionOf(path...)
	}
}
