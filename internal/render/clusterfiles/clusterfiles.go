// Package clusterfiles renders the clusters that an environment provisions: the objects
// that a management cluster with Flux and Claudie makes them with.
//
// A manifest is in clusters/<executor>/<namespace>-<name>. For Claudie, flux.yaml has
// Flux Kustomizations that apply, in order, credentials, the manifest, kubeconfigs
// under fixed names, and cluster types. lock.yaml has the state of the clusters for the
// next plan, and plan.yaml the plan to this state.
//
// Credentials are ready before the manifest, since Claudie's admission requires them.
// SOPS files stay byte for byte. Objects of a manifest are never replaced by force,
// because that makes Claudie destroy the clusters. A manifest that is no longer
// rendered stays on the management cluster unless it is decommissioned.
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

// Folder is the folder of clusters in the output, and no name for a cluster type then.
const Folder = "clusters"

const (
	fluxFile = "flux.yaml"

	credentialsFolder = "10-credentials"
	manifestFolder    = "20-inputmanifest"
	manifestFile      = "input-manifest.yaml"
	kubeconfigsFolder = "30-kubeconfigs"
)

// Render returns the files of all manifests; none if a problem stops the environment.
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

type renderer struct {
	model    *model.Model
	source   model.StackSource
	builder  tree.Builder
	problems problem.List
	follow   following
	taken    map[string]string // names of Cluster API objects and their owners
}

// following is what the previous output adds, by path of the manifest; empty if
// manifests are rendered as written.
type following struct {
	states  map[string]provision.State
	kept    map[string]kept
	leaving map[string][]*leavingPart
	before  map[string]*previousManifest // of manifests with phases
	// detaching are attachments of removed clusters, of manifests with phases.
	detaching map[string][]attachment
	held      []*previousManifest // unchanged manifests: with deleted files, or until clusters are detached
}

func newRenderer(m *model.Model) *renderer {
	return &renderer{model: m, source: stack.FindClusterSource(m), follow: following{
		states: map[string]provision.State{}, kept: map[string]kept{}, leaving: map[string][]*leavingPart{}, before: map[string]*previousManifest{}, detaching: map[string][]attachment{},
	}}
}

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

// forceAnnotation makes Flux recreate an object that cannot be changed.
const (
	fluxGroup       = "kustomize.toolkit.fluxcd.io"
	forceAnnotation = fluxGroup + "/force"
	pruneAnnotation = fluxGroup + "/prune"
	pruneDisabled   = "disabled"
)

func (r *renderer) checkManifest(m *clusters.Manifest) {
	if check := executors[m.Executor].check; check != nil { // an unknown executor was reported
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

// executor renders manifests for a program that makes clusters. check may be nil.
type executor struct {
	check func(*renderer, *clusters.Manifest)
	// render adds the objects and fluxFile. renderer.findState has the state to render.
	render func(r *renderer, folder string, m *clusters.Manifest)
	// phased executors have no order of their own and get one phase at a time: see
	// [provision.NextStage].
	phased bool
}

var executors = map[string]executor{
	clusters.Claudie: {render: (*renderer).renderClaudie},
	clusters.CAPI:    {check: (*renderer).checkCAPI, render: (*renderer).renderCAPI},
	clusters.Tofu:    {check: (*renderer).checkTofu, render: (*renderer).renderTofu, phased: true},
}

// FolderOf returns the folder of a manifest in the output.
func FolderOf(m *clusters.Manifest) string { return path.Join(Folder, m.Executor, m.Project()) }

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

// bindAsIn binds clusters to the cluster types of the state: during a rollout,
// attachment may be pending and detachment may not have happened.
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

func (r *renderer) renderClaudie(folder string, m *clusters.Manifest) {
	given := r.renderCredentials(path.Join(folder, credentialsFolder), m)
	r.addObject(path.Join(folder, manifestFolder, manifestFile), newInputManifest(m))
	r.addKustomization(path.Join(folder, manifestFolder), []string{manifestFile})
	r.renderKubeconfigs(path.Join(folder, kubeconfigsFolder), m)
	r.addObjects(path.Join(folder, fluxFile), r.newKustomizations(folder, m, given))
}

// findState returns the state to render. Unless it follows from the previous output,
// endpoints are those of a new cluster: it depends on the written manifest only.
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

// credentials reports whether credentials exist, and whether SOPS encrypted any.
type credentials struct{ any, sealed bool }

// renderCredentials adds what must precede the manifest: Secrets and references to
// templates.
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

// findReferences returns the used template references, and all Secrets as
// "namespace/name".
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

// CredentialFile returns the name of a Secret's file in the folder of credentials.
func CredentialFile(c *model.Credential) string {
	return strings.ToLower(c.Kind) + "-" + c.Namespace + "-" + c.Name + ".yaml"
}

// IsCredentialFolder reports whether a manifest's folder is for credentials.
func IsCredentialFolder(name string) bool { return name == credentialsFolder }

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

// newInputManifest lets Flux remove the manifest only if it is decommissioned, and a
// part only if it lost its cluster.
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

func withoutOwn(annotations map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range annotations {
		if !strings.HasPrefix(key, model.OwnGroup+"/") {
			kept[key] = value
		}
	}
	return kept
}

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

func (r *renderer) addObject(file string, o any) { r.addObjects(file, []any{o}) }

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

func (r *renderer) addKustomization(folder string, resources []string) {
	r.addObject(path.Join(folder, kubeobject.KustomizationFile), kubeobject.NewKustomization(resources))
}

// KubeconfigName returns the name of the Secret with a cluster's kubeconfig, in its key
// value. The Secret is in the namespace of the output's GitRepository.
func KubeconfigName(m *clusters.Manifest, cluster string) string {
	return stack.ShortenName(fmt.Sprintf("%s-%s-kubeconfig", m.Project(), cluster), maxName)
}
