package explain

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

const manifestKind = "InputManifest"

// Manifest explains a manifest of clusters: executor, clusters, pools and steps.
type Manifest struct {
	Manifest Object            `json:"manifest" yaml:"manifest"` // the name is "namespace/name"
	Executor string            `json:"executor" yaml:"executor"`
	Clusters []ManifestCluster `json:"clusters" yaml:"clusters"`
	Pools    []Object          `json:"pools" yaml:"pools"`
	Steps    []StepReference   `json:"steps,omitempty" yaml:"steps,omitempty"`

	fromNothing bool // the plan makes all clusters
}

// ManifestCluster is a cluster of a manifest with its position.
type ManifestCluster struct {
	Name    string      `json:"name" yaml:"name"`
	Version string      `json:"version" yaml:"version"`
	Control []string    `json:"control" yaml:"control"` // pools
	Compute []string    `json:"compute" yaml:"compute"` // pools
	At      problem.Pos `json:"at" yaml:"at"`
}

func manifestNames(m *model.Model) []string {
	names := list.Convert(m.Clusters.Manifests, func(m *model.InputManifest) string { return m.Path() })
	slices.Sort(names)
	return slices.Compact(names)
}

func findManifest(m *model.Model, name string) string {
	var found []string
	for _, one := range m.Clusters.Manifests {
		if one.Name == name {
			found = append(found, one.Path())
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return name
}

func (q *explainer) explainManifest(name string) *Manifest {
	i := slices.IndexFunc(q.model.Clusters.Manifests, func(m *model.InputManifest) bool { return m.Path() == name })
	m := q.model.Clusters.Manifests[i]
	out := &Manifest{
		Manifest: Object{manifestKind, name, m.Pos}, Executor: cmp.Or(m.Annotations[model.ExecutorAnnotation], clusters.Claudie),
		Clusters: []ManifestCluster{}, Pools: []Object{}, fromNothing: len(q.findClusters()) == 0,
	}
	for i, c := range m.Spec.Kubernetes.Clusters {
		out.Clusters = append(out.Clusters, ManifestCluster{c.Name, c.Version, c.Pools.Control, c.Pools.Compute, m.PositionOf("kubernetes", "clusters", i)})
	}
	pool := func(name, list string, i int) Object {
		return Object{poolKind, m.Path() + "/" + name, m.PositionOf("nodePools", list, i)}
	}
	for i, p := range m.Spec.NodePools.Dynamic {
		out.Pools = append(out.Pools, pool(p.Name, "dynamic", i))
	}
	for i, p := range m.Spec.NodePools.Static {
		out.Pools = append(out.Pools, pool(p.Name, "static", i))
	}
	for _, p := range q.planClusters() {
		if p.manifest == m.Path() {
			for k, s := range p.steps {
				out.Steps = append(out.Steps, newStepReference(k, s))
			}
		}
	}
	return out
}

func (o *Manifest) writePage(p *page, env string) {
	p.writeTitle("%s in environment %s: %s", o.Manifest.subject(), env, text.Count(len(o.Clusters), "cluster"))
	p.writeTable(1, [][]any{{"written at", o.Manifest.At}, {"carried out by", o.Executor}})
	p.writeSection("clusters")
	p.writeRows(1, list.Convert(o.Clusters, func(c ManifestCluster) []any {
		return []any{c.Name, c.Version, "control " + text.Join(c.Control, ", "), "compute " + cmp.Or(text.Join(c.Compute, ", "), "none"), c.At}
	}))
	p.writeSection("pools")
	p.writeRows(1, list.Convert(o.Pools, func(pool Object) []any { return []any{pool.subject(), pool.At} }))
	title := "steps of the plan"
	if o.fromNothing {
		title = "steps of the plan that makes all clusters from nothing"
	}
	writeSteps(p, title, o.Steps)
}
