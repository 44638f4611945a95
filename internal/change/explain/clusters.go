package explain

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

// Kinds of queries about clusters that are not kinds of objects.
const (
	poolKind = "NodePool"
	stepKind = "Step"
)

// Pool explains a node pool of a manifest: its fields, users and steps.
type Pool struct {
	Pool     Object          `json:"pool" yaml:"pool"` // the name is "namespace/manifest/pool"
	Manifest Object          `json:"manifest" yaml:"manifest"`
	Executor string          `json:"executor" yaml:"executor"`
	Static   bool            `json:"static" yaml:"static"`
	Cloud    string          `json:"cloud,omitempty" yaml:"cloud,omitempty"` // type of the provider
	Fewest   int             `json:"fewestNodes" yaml:"fewestNodes"`         // per use
	Most     int             `json:"mostNodes" yaml:"mostNodes"`
	Fields   []PoolField     `json:"fields" yaml:"fields"`
	Uses     []PoolUse       `json:"uses,omitempty" yaml:"uses,omitempty"`
	Steps    []StepReference `json:"steps,omitempty" yaml:"steps,omitempty"`

	fromNothing bool // the plan makes all clusters
}

// PoolField is a field of a pool and its position.
type PoolField struct {
	Name  string      `json:"name" yaml:"name"`
	Value string      `json:"value" yaml:"value"`
	At    problem.Pos `json:"at" yaml:"at"`
	// Fixed is true if another value needs a pool with another name.
	Fixed bool `json:"fixed,omitempty" yaml:"fixed,omitempty"`
}

// PoolUse is a list of pools with the pool, or a role that forwards to it.
type PoolUse struct {
	What string      `json:"what" yaml:"what"`
	At   problem.Pos `json:"at" yaml:"at"`
}

// Step explains a step of a manifest's plan.
type Step struct {
	Manifest       string `json:"manifest" yaml:"manifest"`
	Number         int    `json:"number" yaml:"number"`
	Steps          int    `json:"steps" yaml:"steps"`
	Sentence       string `json:"sentence" yaml:"sentence"`
	Place          string `json:"place" yaml:"place"`
	provision.Step `yaml:",inline"`
	// At is the position of the step's subject, and ReasonsAt of its reasons; unset if
	// the manifest's file was deleted.
	At        problem.Pos     `json:"at,omitzero" yaml:"at,omitempty"`
	ReasonsAt []problem.Pos   `json:"reasonsAt,omitempty" yaml:"reasonsAt,omitempty"`
	WaitsFor  []StepReference `json:"waitsFor,omitempty" yaml:"waitsFor,omitempty"`
	Blocks    []StepReference `json:"blocks,omitempty" yaml:"blocks,omitempty"`
	// Refused has the reasons why the change must not be merged.
	Refused []string `json:"refused,omitempty" yaml:"refused,omitempty"`
}

// StepReference names a step.
type StepReference struct {
	ID       string `json:"id" yaml:"id"`
	Number   int    `json:"number" yaml:"number"`
	Sentence string `json:"sentence" yaml:"sentence"`
}

func poolNames(m *model.Model) []string {
	var names []string
	for _, manifest := range m.Clusters.Manifests {
		for _, pool := range manifest.Spec.NodePools.Dynamic {
			names = append(names, manifest.Path()+"/"+pool.Name)
		}
		for _, pool := range manifest.Spec.NodePools.Static {
			names = append(names, manifest.Path()+"/"+pool.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (q *explainer) explainPool(name string) *Pool {
	manifestPath, pool := path.Split(name)
	manifestPath = strings.TrimSuffix(manifestPath, "/")
	i := slices.IndexFunc(q.model.Clusters.Manifests, func(m *model.InputManifest) bool { return m.Path() == manifestPath })
	m := q.model.Clusters.Manifests[i]
	out := &Pool{fromNothing: len(q.findClusters()) == 0, Manifest: objectOf(m), Executor: cmp.Or(m.Annotations[model.ExecutorAnnotation], clusters.Claudie)}
	out.Fewest, out.Most = m.Spec.CountNodes(pool)
	at := []any{"nodePools", "dynamic", slices.IndexFunc(m.Spec.NodePools.Dynamic, func(p claudie.DynamicPool) bool { return p.Name == pool })}
	if p := m.Spec.FindDynamicPool(pool); p != nil {
		if provider := m.Spec.FindProvider(p.ProviderSpec.Name); provider != nil {
			out.Cloud = provider.Type
		}
	} else {
		out.Static = true
		at = []any{"nodePools", "static", slices.IndexFunc(m.Spec.NodePools.Static, func(p claudie.StaticPool) bool { return p.Name == pool })}
	}
	out.Pool = Object{poolKind, name, m.PositionOf(at...)}
	out.Fields = poolFields(m, at)
	out.Uses = poolUses(m, pool)
	for _, p := range q.planClusters() {
		if p.manifest != m.Path() {
			continue
		}
		for k, s := range p.steps {
			if s.Subject.Pool == pool || slices.ContainsFunc(s.Reason, func(c provision.Change) bool { return strings.HasPrefix(c.Field, pool+".") }) {
				out.Steps = append(out.Steps, newStepReference(k, s))
			}
		}
	}
	return out
}

// fixedFields need a pool with another name to change.
var fixedFields = []string{"providerSpec", "serverType", "image", "storageDiskSize", "machineSpec", "spot"}

// poolPaths are fields with a single value.
var poolPaths = [][]string{
	{"providerSpec", "name"}, {"providerSpec", "region"}, {"providerSpec", "zone"}, {"providerSpec", "externalNetworkName"},
	{"count"}, {"autoscaler", "min"}, {"autoscaler", "max"}, {"serverType"}, {"image"}, {"storageDiskSize"},
	{"machineSpec", "cpuCount"}, {"machineSpec", "memory"}, {"machineSpec", "nvidiaGpuCount"}, {"machineSpec", "nvidiaGpuType"}, {"spot"}, {"sshPort"},
}

// poolFields returns written fields; of lists and mappings only the position.
func poolFields(m *model.InputManifest, at []any) []PoolField {
	var all []PoolField
	for _, keys := range append(poolPaths, []string{"nodes"}, []string{"labels"}, []string{"annotations"}, []string{"taints"}) {
		field := at[:len(at):len(at)]
		for _, key := range keys {
			field = append(field, key)
		}
		if value, written := m.TextOf(field...); written {
			all = append(all, PoolField{strings.Join(keys, "."), value, m.PositionOf(field...), slices.Contains(fixedFields, keys[0])})
		}
	}
	return all
}

func poolUses(m *model.InputManifest, pool string) []PoolUse {
	var all []PoolUse
	add := func(names []string, what string, at ...any) {
		if k := slices.Index(names, pool); k >= 0 {
			all = append(all, PoolUse{what, m.PositionOf(append(at, k)...)})
		}
	}
	for i, c := range m.Spec.Kubernetes.Clusters {
		add(c.Pools.Control, "control nodes of cluster "+c.Name, "kubernetes", "clusters", i, "pools", "control")
		add(c.Pools.Compute, "compute nodes of cluster "+c.Name, "kubernetes", "clusters", i, "pools", "compute")
	}
	for i, lb := range m.Spec.LoadBalancers.Clusters {
		add(lb.Pools, "load balancer "+lb.Name, "loadBalancers", "clusters", i, "pools")
	}
	for i, r := range m.Spec.LoadBalancers.Roles {
		add(r.TargetPools, "target of role "+r.Name, "loadBalancers", "roles", i, "targetPools")
	}
	return all
}

type manifestPlan struct {
	manifest string
	steps    []provision.Step
	refused  []string
}

func (q *explainer) planClusters() []manifestPlan {
	if q.plans != nil {
		return q.plans
	}
	q.plans = []manifestPlan{}
	beside := provision.NewStates(q.model)
	for _, e := range provision.NewEdits(q.findClusters(), q.model) {
		p, err := provision.NewPlan(e.Current, e.Desired)
		if err != nil { // the change reports the mistake
			continue
		}
		plan := manifestPlan{manifest: cmp.Or(e.Desired.Path(), e.Current.Path()), steps: provision.WithoutShared(p.Steps, beside)}
		for _, wrong := range provision.CheckEdit(e) {
			if !wrong.Warning {
				plan.refused = append(plan.refused, wrong.Summary)
			}
		}
		q.plans = append(q.plans, plan)
	}
	return q.plans
}

// describeLeaving improves err for removed pools and clusters: it names their steps, or
// what shows them.
func (q *explainer) describeLeaving(query string, err error) error {
	name, isPool := strings.CutPrefix(query, poolKind+"/")
	isWritten := func(m *model.InputManifest) bool { return m.Spec.FindCluster(query) != nil }
	isThere := func(s provision.State) bool { return s.Spec.FindCluster(query) != nil }
	switch {
	case !isPool && !slices.ContainsFunc(q.model.Clusters.Manifests, isWritten) && slices.ContainsFunc(q.findClusters(), isThere):
		return queryErrorf("fairlead cluster show "+query+" shows it", "%s is a cluster that is not written any more in environment %s, and that its output has", query, q.model.Environment)
	case !isPool:
		return err
	}
	var ids []string
	for _, p := range q.planClusters() {
		for _, s := range p.steps {
			if p.manifest+"/"+s.Subject.Pool == name || q.destroysPool(p.manifest, s, name) {
				ids = append(ids, s.ID)
			}
		}
	}
	if len(ids) == 0 {
		return err
	}
	return queryErrorf("ask for a step, as "+path.Join(stepKind, ids[0]), "NodePool %q is not written any more in environment %s; the plan has these steps about it: %s", name, q.model.Environment, strings.Join(ids, ", "))
}

func (q *explainer) destroysPool(manifest string, step provision.Step, pool string) bool {
	return step.Kind == provision.DestroyCluster && slices.ContainsFunc(q.findClusters(), func(s provision.State) bool {
		c := s.Spec.FindCluster(step.Cluster)
		return c != nil && s.Path() == manifest && slices.ContainsFunc(slices.Concat(c.Pools.Control, c.Pools.Compute), func(name string) bool { return manifest+"/"+name == pool })
	})
}

func newStepReference(i int, s provision.Step) StepReference {
	return StepReference{s.ID, i + 1, s.Sentence()}
}

func (q *explainer) explainStep(id string) (*Step, error) {
	var ids []string
	var found []*Step
	for _, p := range q.planClusters() {
		for i, s := range p.steps {
			if s.ID == id || path.Join(p.manifest, s.ID) == id {
				found = append(found, newStepAnswer(q.model, p, i))
			}
			ids = append(ids, s.ID)
		}
	}
	if len(found) > 1 {
		return nil, queryErrorf("name one as "+path.Join(stepKind, found[0].Manifest, id), "the plans of %s and %s have a step %s", found[0].Manifest, found[1].Manifest, id)
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if len(ids) == 0 {
		return nil, queryErrorf("name what the plan begins with, as fairlead cluster plan does", "no cluster of environment %s changes", q.model.Environment)
	}
	return nil, queryErrorf(cmp.Or(problem.DidYouMean(id, ids), "fairlead cluster plan --output name lists them"), "the plan for the clusters of environment %s has no step %s", q.model.Environment, strconv.Quote(id))
}

func newStepAnswer(m *model.Model, p manifestPlan, i int) *Step {
	s := p.steps[i]
	out := &Step{Manifest: p.manifest, Number: i + 1, Steps: len(p.steps), Sentence: s.Sentence(), Place: s.Place(), Step: s, Refused: p.refused}
	if places, written := newStepPlaces(m, p.manifest, s); written {
		out.At = places.findSubject()
		out.ReasonsAt = list.Convert(s.Reason, places.findReason)
	}
	for k, other := range p.steps {
		if slices.Contains(s.After, other.ID) {
			out.WaitsFor = append(out.WaitsFor, newStepReference(k, other))
		}
		if slices.Contains(other.After, s.ID) {
			out.Blocks = append(out.Blocks, newStepReference(k, other))
		}
	}
	return out
}

func (o *Pool) writePage(p *page, env string) {
	nodes := fmt.Sprint(o.Fewest)
	if o.Most != o.Fewest {
		nodes = fmt.Sprintf("%d to %d", o.Fewest, o.Most)
	}
	kind := "machines in " + cmp.Or(o.Cloud, "a cloud")
	if o.Static {
		kind = "machines that exist"
	}
	p.writeTitle("%s in environment %s: %s nodes for each use, %s", o.Pool.subject(), env, nodes, kind)
	p.writeTable(1, [][]any{{"written at", o.Pool.At}, {"manifest", o.Manifest.subject()}, {"carried out by", o.Executor}})
	p.writeSection("fields")
	p.writeRows(1, list.Convert(o.Fields, func(f PoolField) []any {
		note := ""
		if f.Fixed {
			note = "another value needs a pool with another name"
		}
		return []any{f.Name, f.Value, f.At, note}
	}))
	p.writeSection("used by")
	p.writeRows(1, list.Convert(o.Uses, func(u PoolUse) []any { return []any{u.What, u.At} }))
	title := "steps of the plan about it"
	if o.fromNothing {
		title = "steps about it of the plan that makes all clusters from nothing"
	}
	writeSteps(p, title, o.Steps)
}

func writeSteps(p *page, title string, steps []StepReference) {
	if len(steps) == 0 {
		return
	}
	p.writeSection("%s", title)
	p.writeRows(1, list.Convert(steps, func(s StepReference) []any {
		return []any{fmt.Sprintf("%d.", s.Number), s.Sentence, s.ID}
	}))
}

func (o *Step) writePage(p *page, env string) {
	p.writeTitle("step %d of %d for the clusters of %s in environment %s: %s", o.Number, o.Steps, o.Manifest, env, o.Sentence)
	reversible := "yes"
	if !o.Reversible {
		reversible = "no: it can only be tried again"
	}
	rows := [][]any{{"id", o.ID}, {"phase", string(o.Phase)}, {"disruption", string(o.Disruption)}, {"reversible", reversible}, {"comes here because", o.Place}}
	if o.Cluster != "" {
		rows = append([][]any{{"cluster", o.Cluster}}, rows...)
	}
	if o.At != (problem.Pos{}) {
		rows = append([][]any{{"written at", o.At}}, rows...)
	}
	p.writeTable(1, rows)
	if len(o.Reason) > 0 {
		p.writeSection("is there because of")
		var reasons [][]any
		for i, c := range o.Reason {
			row := []any{c.String()}
			if i < len(o.ReasonsAt) {
				row = append(row, o.ReasonsAt[i])
			}
			reasons = append(reasons, row)
		}
		p.writeRows(1, reasons)
	}
	writeSteps(p, "waits for", o.WaitsFor)
	writeSteps(p, "is waited for by", o.Blocks)
	if len(o.Refused) > 0 {
		p.writeSection("the change must not be merged as it is")
		p.writeRows(1, list.Convert(o.Refused, func(s string) []any { return []any{s} }))
	}
}
