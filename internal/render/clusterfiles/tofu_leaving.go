package clusterfiles

import (
	"fmt"
	"path"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfobject"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// leavingPart is a removed part. tofu-controller destroys it after its dependants,
// which needs its root module and variables. Later changes remove the Terraform object,
// and then its source, which tofu-controller needs to delete the object.
type leavingPart struct {
	name          string
	terraform     *kubeobject.Object[tfobject.Spec] // nil if already destroyed
	source        *kubeobject.Object[tfobject.GitRepositorySpec]
	module        tree.Tree
	kustomization string
	after         []kubeobject.Reference // Kustomizations to wait for
}

// keepLeaving keeps removed parts until clusters report them as destroyed, and records
// them in state.
func (f *follower) keepLeaving(m *clusters.Manifest, before *previousManifest, state *provision.State, isDone func() bool) ([]*leavingPart, error) {
	rendered := f.renderer.renderAlone(m, state)
	credentials := kept{credentials: f.findKeptCredentials(m.WithSpec(state.Spec), before, rendered)}
	leaving, err := before.findLeaving(rendered)
	if err != nil {
		return nil, err
	}
	leaving = slices.DeleteFunc(leaving, func(p *leavingPart) bool { return p.terraform == nil && isDone() })
	if len(leaving) == 0 {
		return nil, nil
	}
	var names, dropped []string
	for _, p := range leaving {
		dropped = append(dropped, provision.ObjectsFolder+p.name)
		if name := p.source.Metadata.Labels[clusterLabel]; state.Spec.FindCluster(name) == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	*state, err = state.WithRemoval(names, append(credentials.files(), dropped...))
	reverseOrder(leaving, before, rendered)
	leaving = sortByOrder(leaving)
	for _, p := range leaving {
		if p.isDestroyed() && isDone() {
			p.terraform = nil
		}
	}
	f.renderer.follow.leaving[m.Path()], f.renderer.follow.kept[m.Path()] = leaving, credentials
	return leaving, err
}

func (b *previousManifest) findLeaving(rendered tree.Tree) ([]*leavingPart, error) {
	kustomizations := map[string]fluxKustomization{} // by folder
	for k := range readKustomizations(b.files) {
		kustomizations[path.Base(k.Spec.Path)] = k
	}
	var leaving []*leavingPart
	for _, e := range b.files.Sub(objectsFolder).Entries() {
		if _, stays := rendered.Sub(objectsFolder).Lookup(e.Name); stays || !e.IsDir() {
			continue
		}
		k, applied := kustomizations[e.Name]
		p := &leavingPart{name: e.Name, module: b.files.Sub(path.Join(modulesFolder, e.Name)), kustomization: k.Metadata.Name, after: k.Spec.DependsOn}
		err := decodeInto(e.Tree(), sourceFile, &p.source)
		if _, ok := e.Tree().Lookup(stackfiles.WaitFile); err == nil && !ok {
			err = decodeInto(e.Tree(), terraformFile, &p.terraform)
		}
		if err == nil && (!applied || p.module.IsEmpty() || p.source.Spec.Ref == nil || len(p.source.Spec.Ref.Commit) < 10) {
			err = fmt.Errorf("%s/%s has no root module, or nothing applies it", objectsFolder, e.Name)
		}
		if err != nil {
			return nil, err
		}
		leaving = append(leaving, p)
	}
	return leaving, nil
}

func (p *leavingPart) isDestroyed() bool { return p.terraform == nil || p.terraform.Spec.Destroy }

func decodeInto[S any](folder tree.Tree, file string, into **kubeobject.Object[S]) error {
	e, there := folder.Lookup(file)
	*into = &kubeobject.Object[S]{}
	if !there {
		return fmt.Errorf("there is no %s", file)
	}
	if err := yaml.Unmarshal(e.Data, *into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// reverseOrder destroys each part after its dependants, unless its destruction is
// already ordered.
func reverseOrder(leaving []*leavingPart, before *previousManifest, rendered tree.Tree) {
	there := list.Convert(leaving, func(p *leavingPart) string { return p.kustomization })
	for k := range readKustomizations(rendered) {
		there = append(there, k.Metadata.Name)
	}
	isGone := func(r kubeobject.Reference) bool { return !slices.Contains(there, r.Name) }
	for _, p := range leaving {
		if p.isDestroyed() {
			p.after = slices.DeleteFunc(p.after, isGone)
			continue
		}
		p.after = nil
		for k := range readKustomizations(before.files) {
			ref := kubeobject.Reference{Name: k.Metadata.Name}
			if slices.ContainsFunc(k.Spec.DependsOn, func(d kubeobject.Reference) bool { return d.Name == p.kustomization }) && !isGone(ref) {
				p.after = append(p.after, ref)
			}
		}
	}
}

func sortByOrder(leaving []*leavingPart) []*leavingPart {
	var sorted []*leavingPart
	for rest := leaving; len(rest) > 0; {
		waits := func(p *leavingPart) bool {
			return slices.ContainsFunc(rest, func(o *leavingPart) bool {
				return slices.ContainsFunc(p.after, func(r kubeobject.Reference) bool { return r.Name == o.kustomization })
			})
		}
		var waiting []*leavingPart
		for _, p := range rest {
			if waits(p) {
				waiting = append(waiting, p)
			} else {
				sorted = append(sorted, p)
			}
		}
		if len(waiting) == len(rest) { // a cycle made by hand: Flux reports it
			return append(sorted, rest...)
		}
		rest = waiting
	}
	return sorted
}

// addLeaving adds the destroying objects; after destruction, a Job that waits for the
// removal of the Terraform object.
func (t *tofuRenderer) addLeaving(p *leavingPart) {
	module := path.Join(t.folder, modulesFolder, p.name)
	t.reportUnrendered(module, t.builder.AddEntry(module, tree.Dir("", p.module)))
	source := *p.source
	source.Metadata.Annotations = nil
	k := t.newKustomization(p.kustomization, path.Join(t.folder, objectsFolder, p.name))
	k.Spec.DependsOn = p.after
	objects := map[string]any{}
	if p.terraform == nil {
		objects = stackfiles.TerraformWait(t.model, source.Metadata, p.name)
	} else {
		k.Spec.HealthChecks = []kubeobject.HealthExpr{tfobject.Health(source.Spec.Ref.Commit)}
		objects[terraformFile] = t.newDestruction(p, module)
	}
	objects[sourceFile] = &source
	t.addSealed(k, p.name, objects)
}

func (t *tofuRenderer) newDestruction(p *leavingPart, module string) *kubeobject.Object[tfobject.Spec] {
	commit := p.source.Spec.Ref.Commit
	o := *p.terraform
	o.Metadata.Annotations = map[string]string{}
	if p.terraform.Metadata.Annotations[tfobject.UnversionedAnnotation] != "" {
		o.Metadata.Annotations[tfobject.UnversionedAnnotation] = "true"
	}
	o.Spec.Destroy, o.Spec.DestroyOnDeletion, o.Spec.ApprovePlan = true, false, ""
	t.comparePlans(&o.Spec)
	inputs, err := tfobject.DigestInputs(commit, &o)
	t.reportUnrendered(module, err)
	o.Metadata.Annotations[tfobject.InputsAnnotation] = inputs
	plan := tfobject.Plan{
		Component: p.name, Auto: t.modules.Spec.AutoApprove, Versioned: o.Metadata.Annotations[tfobject.UnversionedAnnotation] == "",
		ID: tfplan.PlanID(p.source.Spec.Ref.Branch, commit), Inputs: inputs,
	}
	plan.SetApproval(&o, t.approvals[p.name], &t.problems)
	return &o
}

func describeLeaving(leaving []*leavingPart) string {
	names := list.Convert(leaving, func(p *leavingPart) string { return p.name })
	if !slices.ContainsFunc(leaving, func(p *leavingPart) bool { return p.terraform != nil }) {
		return "the Terraform objects of " + text.Join(names, " and ") + " are removed; their sources stay"
	}
	if len(names) == 1 {
		return "what " + names[0] + " made is destroyed; its objects stay"
	}
	return "what " + text.Join(names, " and ") + " made is destroyed; their objects stay"
}
