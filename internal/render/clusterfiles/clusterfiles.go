// Package clusterfiles renders the clusters that an environment provisions: the objects that a
// management cluster with Flux and Claudie makes them with.
//
// The files of a manifest are in clusters/<executor>/<namespace>-<name>. For Claudie, in flux.yaml are the Flux
// Kustomizations of what is beside it, each after the one before: credentials, the manifest, the
// kubeconfigs of its clusters under fixed names, and the cluster types of the clusters. In lock.yaml is
// what the clusters are, for the plan of the next change; in plan.yaml is the plan that led to it, once the
// previous output is known.
//
// What the package keeps true:
//   - Credentials are applied, and ready, before the manifest: Claudie's admission refuses it otherwise.
//   - What SOPS encrypted is passed on byte for byte.
//   - No object of a manifest is ever replaced by force: for Claudie that is to destroy the clusters. A
//     manifest that is no longer rendered stays on the management cluster unless it is decommissioned.
package clusterfiles

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// Folder is the folder of clusters in the output. No cluster type of an environment that provisions
// clusters can have this name.
const Folder = "clusters"

const (
	fluxFile = "flux.yaml"

	credentialsFolder = "10-credentials"
	manifestFolder    = "20-inputmanifest"
	manifestFile      = "input-manifest.yaml"
	kubeconfigsFolder = "30-kubeconfigs"
)

// Render returns the files of all manifests of a model: none if there are no manifests, or if a problem
// stops the environment.
func Render(m *model.Model) (tree.Tree, problem.List) {
	manifests, problems := clusters.Resolve(m)
	if len(manifests) == 0 {
		return tree.Tree{}, problems
	}
	r := newRenderer(m)
	r.problems = problems
	for _, c := range m.ClusterTypes {
		if c.Name == Folder {
			r.problems.Addf(c.Pos, c.Subject(), "give the cluster type another name", "the folder %s is that of the clusters which the environment provisions", c.Name)
		}
	}
	files := r.renderManifests(manifests)
	if !r.problems.Stops() {
		r.checkObjectNames(manifests, files)
	}
	if r.problems.Stops() {
		return tree.Tree{}, r.problems
	}
	return files, r.problems
}

// renderer collects the files of the manifests of one model.
type renderer struct {
	model    *model.Model
	source   model.StackSource
	builder  tree.Builder
	problems problem.List
	follow   following
	taken    map[string]string // the names of objects of Cluster API, with what has them
}

// following is what the previous output has to do with the manifests, by their paths; nothing if they are
// rendered as they are written.
type following struct {
	states  map[string]provision.State
	kept    map[string]kept
	leaving map[string][]*leavingPart
	before  map[string]*previousManifest // of those that are carried out in phases
	// detaching are the attachments of clusters that go from manifests that are carried out in phases.
	detaching map[string][]attachment
	held      []*previousManifest // that stay as they are: of files that were deleted, or until clusters are detached
}

func newRenderer(m *model.Model) *renderer {
	return &renderer{model: m, source: stack.FindClusterSource(m), follow: following{
		states: map[string]provision.State{}, kept: map[string]kept{}, leaving: map[string][]*leavingPart{}, before: map[string]*previousManifest{}, detaching: map[string][]attachment{},
	}}
}

// renderManifests returns the files of manifests, and of those that are held.
func (r *renderer) renderManifests(manifests []*clusters.Manifest) tree.Tree {
	var listed []string
	isHeld := func(m *clusters.Manifest) bool {
		return slices.ContainsFunc(r.follow.held, func(h *previousManifest) bool { return h.folder == FolderOf(m) })
	}
	for _, manifest := range manifests {
		r.checkManifest(manifest)
		if r.problems.Stops() || executors[manifest.Executor].render == nil {
			continue
		}
		if !isHeld(manifest) {
			r.renderManifest(manifest)
		}
		listed = append(listed, path.Join(manifest.Executor, manifest.Project(), fluxFile))
	}
	for _, held := range r.follow.held {
		for file, e := range held.files.Walk() {
			r.reportUnrendered(file, r.builder.AddEntry(path.Join(held.folder, file), e))
		}
		if file := strings.TrimPrefix(path.Join(held.folder, fluxFile), Folder+"/"); !slices.Contains(listed, file) {
			listed = append(listed, file)
		}
	}
	if len(listed) > 0 {
		r.addKustomization(Folder, listed)
	}
	return r.builder.Tree()
}

// forceAnnotation has Flux delete and make an object again that cannot be changed.
const (
	fluxGroup       = "kustomize.toolkit.fluxcd.io"
	forceAnnotation = fluxGroup + "/force"
	pruneAnnotation = fluxGroup + "/prune"
	pruneDisabled   = "disabled"
)

// checkManifest reports what a manifest asks for and cannot be rendered.
func (r *renderer) checkManifest(m *clusters.Manifest) {
	if check := executors[m.Executor].check; check != nil { // that there is no such executor was reported
		check(r, m)
	}
	for _, key := range []string{fluxGroup + "/reconcile", fluxGroup + "/ssa"} {
		if _, there := m.Annotations[key]; there {
			r.problems.Addf(m.Pos, m.Subject(), "remove it", "the annotation %s would have Flux leave the manifest as it is, and report it as applied", key)
		}
	}
	if _, forced := m.Annotations[forceAnnotation]; forced {
		r.problems.Addf(m.Pos, m.Subject(), "remove it", "the annotation %s would have Flux replace the manifest where it cannot be changed: its clusters would be destroyed", forceAnnotation)
	}
}

// executor renders the manifests that one of the programs that make clusters carries out.
type executor struct {
	// check reports what the executor cannot do; nil if it takes what Claudie takes.
	check func(*renderer, *clusters.Manifest)
	// render adds the files of a manifest to a folder: its objects, and fluxFile. What is rendered now of
	// the manifest is in renderer.findState.
	render func(r *renderer, folder string, m *clusters.Manifest)
	// phased is set if the executor carries out what it is given in no order of its own, so that it is
	// given one phase after the other: see [provision.NextStage].
	phased bool
}

// executors are those that there are, by the name that the annotation has.
var executors = map[string]executor{
	clusters.Claudie: {render: (*renderer).renderClaudie},
	clusters.CAPI:    {check: (*renderer).checkCAPI, render: (*renderer).renderCAPI},
	clusters.Tofu:    {check: (*renderer).checkTofu, render: (*renderer).renderTofu, phased: true},
}

// FolderOf returns the folder of a manifest in the output.
func FolderOf(m *clusters.Manifest) string { return path.Join(Folder, m.Executor, m.Project()) }

// renderManifest adds the files of a manifest, with the lock that all executors have.
func (r *renderer) renderManifest(m *clusters.Manifest) {
	folder := FolderOf(m)
	state, err := r.findState(m)
	var lock []byte
	if err == nil {
		executors[m.Executor].render(r, folder, r.bindAsIn(m.WithSpec(state.Spec), &state))
		lock, err = provision.EncodeLock(&state)
	}
	if err == nil {
		err = r.builder.Add(path.Join(folder, provision.LockFile), lock)
	}
	r.reportUnrendered(m.Subject(), err)
}

// bindAsIn gives the clusters of a manifest the cluster types that they have in a state of it: in a phase,
// one that is to be attached may not be so yet, and one that is removed is attached until it is detached.
func (r *renderer) bindAsIn(m *clusters.Manifest, state *provision.State) *clusters.Manifest {
	for _, u := range m.Units {
		clusterType := state.ClusterTypes[u.Name]
		switch before := r.follow.before[m.Path()]; {
		case u.Binding != nil && u.Binding.ClusterType == clusterType:
		case clusterType == "":
			u.Binding = nil
		default:
			u.Binding = &model.BoundCluster{Name: u.Name, ClusterType: clusterType}
			if before != nil {
				u.Binding.Values = before.findValues(u.Name)
			}
		}
	}
	return m
}

// renderClaudie adds the objects that Claudie carries a manifest out by.
func (r *renderer) renderClaudie(folder string, m *clusters.Manifest) {
	given := r.renderCredentials(path.Join(folder, credentialsFolder), m)
	r.addObject(path.Join(folder, manifestFolder, manifestFile), newInputManifest(m))
	r.addKustomization(path.Join(folder, manifestFolder), []string{manifestFile})
	r.renderKubeconfigs(path.Join(folder, kubeconfigsFolder), m)
	r.addObjects(path.Join(folder, fluxFile), r.newKustomizations(folder, m, given))
}

// findState returns the state of a manifest that is rendered now. Unless it follows from the previous
// output, the endpoints of its API servers are those that it would be made with: it is a function of what
// is written, and of nothing before it.
func (r *renderer) findState(m *clusters.Manifest) (provision.State, error) {
	state, follows := r.follow.states[m.Path()]
	if !follows {
		state = provision.NewState(m.InputManifest, &r.model.Clusters)
	}
	if state.Endpoints != nil {
		return state, nil
	}
	bare := state
	bare.Rollout = nil
	plan, err := provision.NewPlan(&provision.State{}, &bare)
	state.Endpoints = plan.Endpoints
	return state, err
}

// credentials is whether anything comes before a manifest, and whether SOPS encrypted any of it.
type credentials struct{ any, sealed bool }

// renderCredentials adds what must be on the management cluster before the manifest: the Secrets that it
// names, and its references to templates.
func (r *renderer) renderCredentials(folder string, m *clusters.Manifest) (c credentials) {
	var files []string
	templates, refs := r.findReferences(m)
	written := map[problem.Pos]bool{} // files
	for _, secret := range r.model.Clusters.Credentials {
		file := problem.Pos{Layer: secret.Pos.Layer, File: secret.Pos.File}
		if !refs[secret.Path()] || !secret.IsExternal() && written[file] {
			continue
		}
		name := CredentialFile(secret)
		files = append(files, name)
		if secret.IsExternal() {
			r.addObject(path.Join(folder, name), secret.Node)
			continue
		}
		c.sealed, written[file] = true, true
		r.reportUnrendered(secret.Subject(), r.builder.Add(path.Join(folder, name), secret.Text))
	}
	for _, p := range slices.Sorted(maps.Keys(templates)) {
		t := templates[p]
		name := "templates-" + t.Namespace + "-" + t.Name + ".yaml"
		files = append(files, name)
		r.addObject(path.Join(folder, name), claudieObject{
			APIVersion: claudie.APIVersion, Kind: t.Kind,
			Metadata: kubeobject.Metadata{Name: t.Name, Namespace: t.Namespace, Labels: t.Labels, Annotations: withoutOwn(t.Annotations)}, Spec: withoutNulls(t.Node),
		})
	}
	for _, name := range r.addKept(folder, r.follow.kept[m.Path()].credentials) {
		files = append(files, name)
		c.sealed = c.sealed || strings.HasPrefix(name, sealedPrefix)
	}
	c.any = len(files) > 0
	if c.any {
		r.addKustomization(folder, files)
	}
	return c
}

// findReferences returns the references to templates that a manifest uses, and the Secrets that they and the
// manifest name, as "namespace/name".
func (r *renderer) findReferences(m *clusters.Manifest) (templates map[string]*model.TemplateGitReference, secrets map[string]bool) {
	templates, secrets = map[string]*model.TemplateGitReference{}, secretsOf(&m.Spec)
	for _, t := range r.model.Clusters.Templates {
		if m.Executor == clusters.Claudie && usesTemplates(&m.Spec, t.Path()) {
			templates[t.Path()] = t
			if t.Spec.Auth != nil {
				secrets[t.Spec.Auth.SecretRef.Namespace+"/"+t.Spec.Auth.SecretRef.Name] = true
			}
		}
	}
	return templates, secrets
}

// CredentialFile returns the name of the file that provides a Secret, in the folder of credentials.
func CredentialFile(c *model.Credential) string {
	return strings.ToLower(c.Kind) + "-" + c.Namespace + "-" + c.Name + ".yaml"
}

// IsCredentialFolder reports whether a folder of a manifest is that of its credentials.
func IsCredentialFolder(name string) bool { return name == credentialsFolder }

// secretsOf returns the Secrets that a manifest names, as "namespace/name".
func secretsOf(spec *claudie.Spec) map[string]bool {
	refs := map[string]bool{}
	for _, p := range spec.Providers {
		refs[p.SecretRef.Namespace+"/"+p.SecretRef.Name] = true
	}
	for _, p := range spec.NodePools.Static {
		for _, n := range p.Nodes {
			refs[n.SecretRef.Namespace+"/"+n.SecretRef.Name] = true
		}
	}
	return refs
}

func usesTemplates(spec *claudie.Spec, name string) bool {
	return slices.ContainsFunc(spec.Providers, func(p claudie.Provider) bool {
		ref := p.TemplatesName()
		return ref.Namespace+"/"+ref.Name == name
	})
}

// newInputManifest returns the manifest as it is applied. Flux removes it only if it is decommissioned; the
// part of a split one only if its cluster is.
func newInputManifest(m *clusters.Manifest) claudieObject {
	annotations := withoutOwn(m.Annotations)
	mayGo := m.Decommissioned
	if m.Whole != nil {
		mayGo = len(m.Units) == 0
	}
	if !mayGo {
		annotations[pruneAnnotation] = pruneDisabled
	}
	return claudieObject{
		APIVersion: claudie.APIVersion, Kind: claudie.InputManifestKind,
		Metadata: kubeobject.Metadata{Name: m.Name, Namespace: m.Namespace, Labels: m.Labels, Annotations: annotations}, Spec: withoutNulls(m.Node),
	}
}

// withoutOwn returns annotations without those that are for Fairlead.
func withoutOwn(annotations map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range annotations {
		if !strings.HasPrefix(key, model.OwnGroup+"/") {
			kept[key] = value
		}
	}
	return kept
}

// withoutNulls returns a node without the pairs whose value is null.
func withoutNulls(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	for i := 0; i < len(n.Content); i++ {
		if n.Kind == yaml.MappingNode {
			i++
			if yamldoc.IsNull(n.Content[i]) {
				continue
			}
			c.Content = append(c.Content, n.Content[i-1])
		}
		c.Content = append(c.Content, withoutNulls(n.Content[i]))
	}
	return &c
}

// addObject adds a file with one object.
func (r *renderer) addObject(file string, o any) { r.addObjects(file, []any{o}) }

// addObjects adds a file with objects.
func (r *renderer) addObjects(file string, objects []any) {
	text, err := yamldoc.Encode(objects...)
	if err == nil {
		err = r.builder.Add(file, text)
	}
	r.reportUnrendered(file, err)
}

func (r *renderer) reportUnrendered(what string, err error) {
	if err != nil {
		r.problems.Addf(problem.Pos{Layer: r.model.Environment}, "Environment/"+r.model.Environment, "", "%s cannot be rendered: %v", what, err)
	}
}

// addKustomization adds the file that lists what Flux applies in a folder.
func (r *renderer) addKustomization(folder string, resources []string) {
	r.addObject(path.Join(folder, kubeobject.KustomizationFile), kubeobject.NewKustomization(resources))
}

// KubeconfigName returns the name of the Secret with the kubeconfig of a cluster, under the key value. It
// is in the namespace of the GitRepository by which the management cluster reads the output.
func KubeconfigName(m *clusters.Manifest, cluster string) string {
	return stack.ShortenName(fmt.Sprintf("%s-%s-kubeconfig", m.Project(), cluster), maxName)
}
