package clusterfiles

import (
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

// detachedFolder has a folder for each removed cluster, which replaces its cluster type
// so that Flux removes all else.
const detachedFolder = "40-detached"

// attachment is a previous Kustomization that applies something to a cluster.
type attachment struct {
	cluster       string
	kustomization fluxKustomization
	detached      bool // applies nothing any more
}

func (b *previousManifest) findAttachments() []attachment {
	var all []attachment
	for k := range readKustomizations(b.files) {
		i := slices.IndexFunc(b.state.Spec.Kubernetes.Clusters, func(c claudie.Cluster) bool {
			return k.Metadata.Name == attachmentName(path.Base(b.folder), c.Name)
		})
		if i < 0 || k.Spec.KubeConfig == nil {
			continue
		}
		name := b.state.Spec.Kubernetes.Clusters[i].Name
		all = append(all, attachment{name, k, strings.HasSuffix(k.Spec.Path, "/"+b.detachedFolder(name))})
	}
	return all
}

func (b *previousManifest) findLeavingAttachments(m *clusters.Manifest) []attachment {
	return slices.DeleteFunc(b.findAttachments(), func(a attachment) bool { return m.Spec.FindCluster(a.cluster) != nil })
}

func (b *previousManifest) detachedFolder(cluster string) string {
	return path.Join(b.folder, detachedFolder, cluster)
}

// findDetaching returns the pending detachments, without those that the manifest does
// not wait for.
func (b *previousManifest) findDetaching(m *clusters.Manifest) []Carrier {
	var all []Carrier
	for _, a := range b.findLeavingAttachments(m) {
		if a.detached && !provision.Accepts(m.Annotations, path.Join("destroy-workloads", a.cluster)) {
			all = append(all, Carrier{b.state.Path(), a.kustomization.Metadata.Namespace, []string{a.kustomization.Metadata.Name}, []string{b.detachedFolder(a.cluster)}})
		}
	}
	return all
}

// detachLeaving holds a manifest while removed clusters are detached: workloads are
// removed before the cluster. It reports whether to wait.
func (f *follower) detachLeaving(m *clusters.Manifest, before *previousManifest) bool {
	leaving := before.findLeavingAttachments(m)
	isAttached := func(a attachment) bool { return !a.detached }
	if !slices.ContainsFunc(leaving, isAttached) && f.areCarriedOut(before.findDetaching(m)) {
		return false
	}
	desired := provision.NewState(m.InputManifest, &f.renderer.model.Clusters)
	names := list.Convert(leaving, func(a attachment) string { return a.cluster })
	state, err := before.state.Detach(names, &desired)
	if err != nil {
		f.reportUnread(before, err)
		return true
	}
	held := &previousManifest{folder: before.folder, state: state, files: f.renderer.detach(before, &state, leaving)}
	f.renderer.follow.held = append(f.renderer.follow.held, held)
	f.awaitDetached(m, held)
	return true
}

func (f *follower) areCarriedOut(all []Carrier) bool {
	return !slices.ContainsFunc(all, func(c Carrier) bool { return !f.previous.IsCarriedOut(c) })
}

func (f *follower) awaitDetached(m *clusters.Manifest, held *previousManifest) {
	for _, c := range held.findDetaching(m) {
		cluster := path.Base(c.Folders[0])
		f.wait(c, "if the cluster does not answer any more, "+provision.HintAccept(path.Join("destroy-workloads", cluster)),
			"cluster "+cluster+" is detached from its cluster type; it is not destroyed")
	}
}

func (r *renderer) detach(before *previousManifest, state *provision.State, leaving []attachment) tree.Tree {
	alone := newRenderer(r.model)
	isChanged := func(file string) bool {
		return file == fluxFile || file == provision.LockFile || strings.HasPrefix(file, detachedFolder+"/")
	}
	for file, e := range before.files.Walk() {
		if !isChanged(file) {
			alone.reportUnrendered(file, alone.builder.AddEntry(path.Join(before.folder, file), e))
		}
	}
	var flux []any
	for k := range readKustomizations(before.files) {
		i := slices.IndexFunc(leaving, func(a attachment) bool { return a.kustomization.Metadata.Name == k.Metadata.Name })
		if i < 0 {
			flux = append(flux, &k)
		} else {
			flux = append(flux, alone.addDetached(before.folder, leaving[i]))
		}
	}
	alone.addObjects(path.Join(before.folder, fluxFile), flux)
	lock, err := provision.EncodeLock(state)
	if err == nil {
		err = alone.builder.Add(path.Join(before.folder, provision.LockFile), lock)
	}
	alone.reportUnrendered(state.Path(), err)
	r.problems = append(r.problems, alone.problems...)
	return alone.builder.Tree().Sub(before.folder)
}

// addDetached adds the replacement of a cluster type; kustomize refuses an empty
// folder. Its Kustomization orphans its objects, since the cluster may be destroyed
// first.
func (r *renderer) addDetached(manifest string, a attachment) *fluxKustomization {
	folder := path.Join(manifest, detachedFolder, a.cluster)
	r.addObject(path.Join(folder, "detached.yaml"), configMap{APIVersion: "v1", Kind: "ConfigMap", Data: map[string]string{"clusterType": "none"},
		Metadata: kubeobject.Metadata{Name: a.kustomization.Metadata.Name, Namespace: "default"}})
	r.addKustomization(folder, []string{"detached.yaml"})
	k := a.kustomization
	k.Spec.Path = stack.OutputFolder(r.model) + folder
	k.Spec.DependsOn, k.Spec.PostBuild, k.Spec.Wait, k.Spec.DeletionPolicy = nil, nil, true, "Orphan"
	return &k
}
