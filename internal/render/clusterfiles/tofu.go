package clusterfiles

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/render/clustermodule"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfobject"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// The folders of parts: objects that run a root module, the root module, and the seal
// of its Kustomization; see [stackfiles.NewSeal].
const (
	objectsFolder = "objects"
	modulesFolder = "modules"
	sealsFolder   = "seals"
)

const (
	sourceFile    = "gitrepository.yaml"
	terraformFile = "terraform.yaml"
)

const (
	manifestLabel = model.OwnGroup + "/input-manifest"
	clusterLabel  = model.OwnGroup + "/cluster"
)

const driftInterval = 30 * time.Minute

func (r *renderer) checkTofu(m *clusters.Manifest) {
	_, problems := clustermodule.Find(r.model, m)
	r.problems = append(r.problems, problems...)
	const hint = "tofu-controller reads Secrets beside its own objects: put them into one namespace"
	for i, p := range m.Spec.Providers {
		if p.SecretRef.Namespace != m.Namespace && p.SecretRef.Name != "" {
			r.problems.Addf(m.PositionOf("providers", i, "secretRef", "namespace"), m.Subject(), hint, "provider %s: its Secret is in the namespace %s, and the manifest in %s", p.Name, p.SecretRef.Namespace, m.Namespace)
		}
	}
	for i, p := range m.Spec.NodePools.Static {
		for j, n := range p.Nodes {
			if n.SecretRef.Namespace != m.Namespace && n.SecretRef.Name != "" {
				r.problems.Addf(m.PositionOf("nodePools", "static", i, "nodes", j, "secretRef", "namespace"), m.Subject(), hint, "pool %s: the Secret of %s is in the namespace %s, and the manifest in %s", p.Name, n.Endpoint, n.SecretRef.Namespace, m.Namespace)
			}
		}
	}
}

// renderTofu adds a Flux Kustomization for each part, after those of its dependencies.
func (r *renderer) renderTofu(folder string, m *clusters.Manifest) {
	modules, problems := clustermodule.Find(r.model, m)
	if problems.Stops() { // checkTofu reported them
		return
	}
	t := &tofuRenderer{renderer: r, folder: folder, manifest: m, modules: modules, approvals: map[string]*model.PlanApproval{}, kustomizations: map[*clustermodule.Part]*fluxKustomization{}}
	addProblem := func(hint, format string, args ...any) { r.problems.Addf(m.Pos, m.Subject(), hint, format, args...) }
	t.branch, t.webhook = stack.ResolveModules(r.model, addProblem), stack.ResolvePlanWebhook(r.model, addProblem)
	given := r.renderCredentials(path.Join(folder, credentialsFolder), m)
	if given.any {
		t.credentials = append(t.credentials, r.newCredentialsKustomization(folder, m, given))
		t.flux = append(t.flux, t.credentials[0])
	}
	state, err := r.findState(m)
	r.reportUnrendered(m.Subject(), err)
	all := clustermodule.NewClusters(r.model, m, modules, &state, func(cluster string) string { return KubeconfigName(m, cluster) })
	leaving := r.follow.leaving[m.Path()]
	known := partNames(all, leaving)
	t.matchApprovals(known)
	t.checkRequests(known)
	for _, c := range all {
		for _, p := range c.Parts {
			t.addPart(c, p)
		}
	}
	for _, p := range leaving {
		t.addLeaving(p)
	}
	for _, c := range all {
		if c.Binding != nil {
			t.flux = append(t.flux, r.prepare(t.newTofuAttachment(c), m, c.Unit)...)
		}
	}
	for _, a := range r.follow.detaching[m.Path()] {
		if u := m.FindUnit(a.cluster); u != nil && u.Binding == nil {
			t.flux = append(t.flux, r.addDetached(folder, a))
		}
	}
	if len(t.flux) == 0 {
		t.flux = append(t.flux, newNoneMap(m, r.source.Namespace))
	}
	r.addObjects(path.Join(folder, fluxFile), t.flux)
}

type fluxKustomization = kubeobject.Object[kustomizationSpec]

type tofuRenderer struct {
	*renderer
	folder         string
	manifest       *clusters.Manifest
	modules        *model.ClusterModules
	branch         model.StackModules
	webhook        string                         // called before a plan is applied; may be ""
	approvals      map[string]*model.PlanApproval // by part
	credentials    []*fluxKustomization           // at most one
	kustomizations map[*clustermodule.Part]*fluxKustomization
	flux           []any
}

func (t *tofuRenderer) addPart(c *clustermodule.Cluster, p *clustermodule.Part) {
	files, fixed, problems := clustermodule.Generate(t.model, t.manifest, t.modules, p)
	t.problems = append(t.problems, problems...)
	module := path.Join(t.folder, modulesFolder, p.Name)
	pin, err := tfobject.NewPin(module, files)
	if err == nil {
		err = t.builder.AddEntry(module, tree.Dir("", files))
	}
	t.reportUnrendered(module, err)
	commit := pin.ID().String()
	meta := kubeobject.Metadata{Name: p.Name, Namespace: t.manifest.Namespace, Labels: map[string]string{manifestLabel: t.manifest.Name, clusterLabel: c.Name}}
	terraform := &kubeobject.Object[tfobject.Spec]{APIVersion: tfobject.API, Kind: "Terraform", Metadata: meta, Spec: t.newTofuSpec(c, p, module)}
	terraform.Metadata.Annotations = map[string]string{}
	if !fixed {
		terraform.Metadata.Annotations[tfobject.UnversionedAnnotation] = "true"
	}
	inputs, err := tfobject.DigestInputs(commit, terraform)
	t.reportUnrendered(module, err)
	terraform.Metadata.Annotations[tfobject.InputsAnnotation] = inputs
	plan := tfobject.Plan{Component: p.Name, Auto: t.modules.Spec.AutoApprove, Versioned: fixed, ID: tfplan.PlanID(t.branch.Branch, commit), Inputs: inputs}
	plan.SetApproval(terraform, t.approvals[p.Name], &t.problems)
	terraform.Metadata.Annotations[pruneAnnotation] = pruneDisabled // not an input of the plan
	meta.Annotations = keepUnpruned()

	after := slices.Clone(t.credentials)
	for _, before := range p.After {
		after = append(after, t.kustomizations[before])
	}
	k := t.newKustomization(stepName(t.manifest, p.Name), path.Join(t.folder, objectsFolder, p.Name), after...)
	k.Metadata.Annotations = keepUnpruned()
	k.Spec.HealthChecks = []kubeobject.HealthExpr{tfobject.Health(commit)}
	t.addSealed(k, p.Name, map[string]any{sourceFile: tfobject.NewSource(meta, t.branch, commit), terraformFile: terraform})
	t.kustomizations[p] = k
}

// addSealed adds a Kustomization with its objects. A Kustomization with the same name
// from before cannot apply them.
func (t *tofuRenderer) addSealed(k *fluxKustomization, part string, objects map[string]any) {
	k.Spec.Timeout, k.Spec.Prune = tfobject.RunTimeout, true
	objects[kubeobject.KustomizationFile] = kubeobject.NewKustomization(slices.Sorted(maps.Keys(objects)))
	files, err := stackfiles.EncodeFiles(objects)
	t.reportUnrendered(part, err)
	seal, err := stackfiles.NewSeal(&k.Spec, files)
	t.reportUnrendered(part, err)
	seals := path.Join(sealsFolder, seal.Name)
	k.Spec.Components = []string{"../../" + seals}
	t.reportUnrendered(part, t.builder.AddEntry(path.Join(t.folder, objectsFolder, part), tree.Dir("", files)))
	t.reportUnrendered(part, t.builder.AddEntry(path.Join(t.folder, seals), seal))
	t.flux = append(t.flux, k)
}

// keepUnpruned makes Flux keep the object, in case its Kustomization is recreated in
// another namespace or deleted by hand. Parts that are destroyed on purpose do without.
func keepUnpruned() map[string]string { return map[string]string{pruneAnnotation: pruneDisabled} }

// newTofuSpec destroys with the object only if plans need no approval, since
// tofu-controller would not ask. Removed parts are destroyed first: see [leavingPart].
func (t *tofuRenderer) newTofuSpec(c *clustermodule.Cluster, p *clustermodule.Part, module string) tfobject.Spec {
	spec := tfobject.Spec{
		Interval: text.FormatDuration(driftInterval), RetryInterval: "1m", DestroyOnDeletion: t.modules.Spec.AutoApprove, Path: "./" + module,
		SourceRef:          kubeobject.Reference{Kind: "GitRepository", Name: p.Name},
		ServiceAccountName: t.modules.Spec.ServiceAccount,
	}
	t.comparePlans(&spec)
	for _, secret := range p.Secrets() {
		spec.VarsFrom = append(spec.VarsFrom, tfobject.VarsFrom{Kind: "Secret", Name: secret.Name, Keys: secret.Keys})
	}
	if len(p.Outputs) > 0 {
		spec.Outputs = &tfobject.OutputsSecret{Name: p.OutputsSecret, Outputs: p.Outputs}
	}
	if p == c.Bootstrap {
		spec.Outputs.Labels = map[string]string{"reconcile.fluxcd.io/watch": "Enabled"}
	}
	return spec
}

// comparePlans calls the webhook before a plan that needs approval is applied.
func (t *tofuRenderer) comparePlans(spec *tfobject.Spec) {
	spec.StoreReadablePlan, spec.Webhooks = "human", nil
	if t.webhook != "" && !t.modules.Spec.AutoApprove {
		spec.StoreReadablePlan, spec.Webhooks = "json", tfobject.NewPlanWebhooks(t.webhook)
	}
}

// newTofuAttachment is next to the kubeconfig Secret, since Flux only reads its own
// namespace.
func (t *tofuRenderer) newTofuAttachment(c *clustermodule.Cluster) *fluxKustomization {
	k := t.newAttachment(t.manifest, c.Unit, t.kustomizations[c.Bootstrap])
	moveKustomization(k, t.manifest.Namespace)
	return k
}

func partNames(all []*clustermodule.Cluster, leaving []*leavingPart) map[string]bool {
	known := map[string]bool{}
	for _, p := range leaving {
		if p.terraform != nil { // else no plans remain
			known[p.name] = true
		}
	}
	for _, c := range all {
		for _, p := range c.Parts {
			known[p.Name] = true
		}
	}
	return known
}

func (t *tofuRenderer) checkRequests(known map[string]bool) {
	first := map[string]*model.PlanRequest{}
	for _, q := range t.model.Stacks.Requests {
		switch other := first[q.Component]; {
		case q.Stack != t.manifest.PlanStack():
		case !known[q.Component]:
			hint := problem.DidYouMean(q.Component, slices.Sorted(maps.Keys(known)))
			t.problems.Warnf(q.Pos, q.Subject(), cmp.Or(hint, "remove it"), "there is no component %s of %s to plan again", q.Component, t.manifest.Subject())
		case other != nil:
			t.problems.Addf(q.Pos, q.Subject(), "remove one of them", "there is another PlanRequest of the component %s, %s, at %s", q.Component, other.Name, other.Pos)
		default:
			first[q.Component] = q
		}
	}
}

// matchApprovals reports approvals of unknown parts, which would approve them when they
// return.
func (t *tofuRenderer) matchApprovals(known map[string]bool) {
	for _, a := range t.model.Stacks.Approvals {
		if a.Stack != t.manifest.PlanStack() {
			continue
		}
		switch other := t.approvals[a.Component]; {
		case !known[a.Component]:
			t.reportUnknownApproval(a, problem.DidYouMean(a.Component, slices.Sorted(maps.Keys(known))))
		case other != nil:
			t.problems.Addf(a.Pos, a.Subject(), "remove one of them", "there is another PlanApproval of the component %s, %s, at %s", a.Component, other.Name, other.Pos)
		default:
			t.approvals[a.Component] = a
		}
	}
}

// reportUnknownApproval only warns without the previous output, since the part may be
// under destruction.
func (t *tofuRenderer) reportUnknownApproval(a *model.PlanApproval, hint string) {
	const format = "the plan is of the component %s of %s, which is not in this environment"
	if t.follow.before[t.manifest.Path()] == nil {
		t.problems.Warnf(a.Pos, a.Subject(), cmp.Or(hint, "remove it, unless the plan is to destroy it"), format, a.Component, t.manifest.Subject())
		return
	}
	t.problems.Addf(a.Pos, a.Subject(), cmp.Or(hint, "remove it"), format, a.Component, t.manifest.Subject())
}

// FindModules returns the modules that stacks and clusters are pinned to; nil for none.
func FindModules(m *model.Model, rendered tree.Tree) (*stackfiles.Modules, error) {
	all, err := stackfiles.FindModules(m, rendered)
	if err != nil {
		return nil, err
	}
	for folder, files := range listManifests(rendered) {
		for _, e := range files.Sub(modulesFolder).Entries() {
			if all == nil {
				branch := stack.ResolveModules(m, func(string, string, ...any) {}) // rendering reports its problems
				all = &stackfiles.Modules{Branch: branch.Branch}
			}
			pin, err := tfobject.NewPin(path.Join(folder, modulesFolder, e.Name), e.Tree())
			if err != nil {
				return nil, err
			}
			all.Pins = append(all.Pins, pin)
		}
	}
	if all != nil {
		slices.SortFunc(all.Pins, func(a, b tfobject.Pin) int { return strings.Compare(a.Folder, b.Folder) })
	}
	return all, nil
}
