package provision

import (
	"cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
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
		s.Templates[p.Name] = describeTemplates(p, all.Templates)
	}
	for _, b := range all.Bindings {
		ref := b.Spec.InputManifest
		if ref.Name != m.Name || cmp.Or(ref.Namespace, b.Namespace) != m.Namespace {
			continue
		}
		for _, c := range b.Spec.Clusters {
			if s.ClusterTypes == nil {
				s.ClusterTypes = map[string]string{}
			}
			s.ClusterTypes[c.Name] = c.ClusterType
		}
	}
	return s
}

// describeTemplates returns which templates the machines of a provider are made from: a repository and a
// commit, or the name of a reference that is not in the control plane.
func describeTemplates(p *claudie.Provider, all []*model.TemplateGitReference) string {
	if t := p.Templates; t != nil {
		return t.Repository + "/" + t.Path + "@" + t.Tag
	}
	ref := p.TemplatesName()
	for _, t := range all {
		if t.Name == ref.Name && t.Namespace == ref.Namespace {
			return t.Spec.Endpoint.URL + "/" + t.Spec.Paths.Terraformer + "@" + t.Spec.Commit
		}
	}
	return describeRef(ref)
}
