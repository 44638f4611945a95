package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

type stepPlaces struct {
	model    *model.Model
	manifest *model.InputManifest
	step     provision.Step
}

func newStepPlaces(m *model.Model, manifest string, s provision.Step) (stepPlaces, bool) {
	i := slices.IndexFunc(m.Clusters.Manifests, func(o *model.InputManifest) bool { return o.Path() == manifest })
	if i < 0 {
		return stepPlaces{}, false
	}
	return stepPlaces{m, m.Clusters.Manifests[i], s}, true
}

// findSubject returns the position of the step's subject; for a removed one, of its
// cluster or manifest.
func (p stepPlaces) findSubject() problem.Pos {
	for _, at := range p.entities() {
		return p.manifest.PositionOf(at...)
	}
	return p.manifest.Pos
}

// findReason returns the position of a reason's field, or of what should have it.
func (p stepPlaces) findReason(c provision.Change) problem.Pos {
	if c.Field == "clusterType" {
		if pos, bound := p.findBinding(); bound {
			return pos
		}
	}
	for _, at := range p.entities() {
		for _, field := range p.fieldsOf(c.Field) {
			if path := append(slices.Clone(at), field...); p.manifest.IsWritten(path...) {
				return p.manifest.PositionOf(p.withItem(path, cmp.Or(c.New, c.Old))...)
			}
		}
	}
	return p.findSubject()
}

func (p stepPlaces) entities() [][]any {
	s, spec := p.step.Subject, &p.manifest.Spec
	var all [][]any
	add := func(i int, path ...any) {
		if i >= 0 {
			all = append(all, append(path, i))
		}
	}
	add(slices.IndexFunc(spec.LoadBalancers.Roles, func(r claudie.Role) bool { return r.Name == s.Role && s.Role != "" }), "loadBalancers", "roles")
	add(slices.IndexFunc(spec.NodePools.Dynamic, func(o claudie.DynamicPool) bool { return o.Name == s.Pool && s.Pool != "" }), "nodePools", "dynamic")
	add(slices.IndexFunc(spec.NodePools.Static, func(o claudie.StaticPool) bool { return o.Name == s.Pool && s.Pool != "" }), "nodePools", "static")
	add(slices.IndexFunc(spec.LoadBalancers.Clusters, func(lb claudie.LoadBalancer) bool { return lb.Name == s.LoadBalancer && s.LoadBalancer != "" }), "loadBalancers", "clusters")
	add(slices.IndexFunc(spec.Providers, func(o claudie.Provider) bool { return o.Name == s.Provider && s.Provider != "" }), "providers")
	add(slices.IndexFunc(spec.Kubernetes.Clusters, func(c claudie.Cluster) bool { return c.Name == p.step.Cluster }), "kubernetes", "clusters")
	return all
}

func (p stepPlaces) fieldsOf(field string) [][]any {
	field = strings.TrimPrefix(field, p.step.Subject.Pool+".")
	switch field {
	case "nodes":
		return [][]any{{"count"}, {"autoscaler"}, {"nodes"}}
	case "proxy", "noProxy":
		return [][]any{{"installationProxy"}}
	}
	key, rest, nested := strings.Cut(field, ".")
	if !nested {
		return [][]any{{key}}
	}
	return [][]any{{key, rest}, {key}} // label keys may have dots
}

func (p stepPlaces) withItem(path []any, name string) []any {
	for i := 0; ; i++ {
		item := append(slices.Clone(path), i)
		text, written := p.manifest.TextOf(item...)
		switch {
		case !written:
			return path
		case text == name:
			return item
		}
	}
}

func (p stepPlaces) findBinding() (problem.Pos, bool) {
	for _, b := range p.model.Clusters.Bindings {
		ref := b.Spec.InputManifest
		if ref.Name != p.manifest.Name || cmp.Or(ref.Namespace, p.manifest.Namespace) != p.manifest.Namespace {
			continue
		}
		if i := slices.IndexFunc(b.Spec.Clusters, func(c model.BoundCluster) bool { return c.Name == p.step.Cluster }); i >= 0 {
			return b.PositionOf("clusters", i, "clusterType"), true
		}
	}
	return problem.Pos{}, false
}
