package clusterfiles

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

// Carrier is the carrier of a manifest: it is done once the clusters report its
// Kustomizations as ready at a commit with the same folders.
type Carrier struct {
	Manifest string // "namespace/name"
	// Namespace and Kustomizations name Flux objects on the management cluster.
	Namespace      string
	Kustomizations []string
	Folders        []string
}

// Previous is the output that clusters have, and their progress.
type Previous struct {
	Tree tree.Tree
	// Intact is the last unedited output; zero if it is Tree or unknown.
	Intact Intact
	// TemplateHash returns the hash of a template revision, or "" if unknown. It may be
	// nil.
	TemplateHash func(url, revision string) string
	// IsCarriedOut reports whether clusters applied a manifest as in Tree.
	IsCarriedOut func(Carrier) bool

	edited map[string]string // edits of folders that were restored from Intact
}

// FollowPrevious adds to the rendered output what must outlive a change: credentials
// and kubeconfigs for destruction, manifests with deleted files, pools in use, and
// plans. It returns what it waits for, and reports what must not be merged; see
// [CheckPrevious]. Applied to its own output, it returns the same.
func FollowPrevious(m *model.Model, rendered tree.Tree, previous Previous) (tree.Tree, []Carrier, problem.List) {
	problems := previous.restore(m)
	before, more := readManifests(m, previous)
	problems = slices.Concat(problems, more, previous.check(m))
	if problems.Stops() {
		return rendered, nil, problems
	}
	f := &follower{previous: previous, renderer: newRenderer(m)}
	manifests, leaving := f.resolveAll(before)
	f.manifests = manifests
	written := map[string]bool{}
	for _, manifest := range manifests {
		written[manifest.Path()] = true
		if b := before[manifest.Path()]; b != nil && b.state.Executor == manifest.Executor {
			f.follow(manifest, b)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if !written[name] {
			f.keepDeleted(before[name])
		}
	}
	f.awaitLeaving(leaving, before)
	output := rendered
	if len(f.waiting) > 0 || len(f.renderer.follow.states) > 0 || len(f.renderer.follow.held) > 0 {
		output = withEntry(rendered, tree.Dir(Folder, f.renderer.renderManifests(manifests).Sub(Folder)))
	}
	problems = append(problems, f.problems...)
	if f.renderer.problems.Stops() { // warnings were reported before
		problems = append(problems, f.renderer.problems...)
	}
	if problems.Stops() {
		return rendered, f.waiting, problems
	}
	if output.Sub(Folder).IsEmpty() && HasClusters(previous.Tree) {
		output = withEntry(output, tree.Dir(Folder, f.renderer.renderNone()))
	}
	output, err := f.addPlans(output, manifests, before)
	if err != nil {
		problems.Addf(problem.Pos{Layer: m.Environment}, "Environment/"+m.Environment, "", "the plan of clusters cannot be written: %v", err)
	}
	return output, f.waiting, problems
}

type previousManifest struct {
	folder   string
	files    tree.Tree
	state    provision.State
	restored bool // somebody edited it
}

func readManifests(m *model.Model, previous Previous) (map[string]*previousManifest, problem.List) {
	all := map[string]*previousManifest{}
	var problems problem.List
	for folder, files := range listManifests(previous.Tree) {
		state, err := readLock(files)
		if err != nil || state.Name == "" {
			continue
		}
		if other := all[state.Path()]; other != nil {
			problems.Addf(problem.Pos{Layer: m.Environment}, "Environment/"+m.Environment, "remove the folder that Fairlead did not write",
				"%s and %s of the output are both of the manifest %s", other.folder, folder, state.Path())
		}
		previous.completeState(&state, m, files)
		all[state.Path()] = &previousManifest{folder, files, state, previous.edited[folder] != ""}
	}
	return all, problems
}

type follower struct {
	previous  Previous
	renderer  *renderer
	manifests []*clusters.Manifest // all rendered manifests
	waiting   []Carrier
	problems  problem.List
}

// follow keeps what a written manifest still needs from the previous output.
func (f *follower) follow(m *clusters.Manifest, before *previousManifest) {
	if executors[m.Executor].phased {
		f.enterStage(m, before)
		return
	}
	if f.detachLeaving(m, before) {
		return
	}
	rendered := f.renderer.renderAlone(m, nil)
	kept := f.findKept(m, before, rendered)
	for _, u := range m.Units { // a kubeconfig that is no longer copied still exists
		delete(kept.kubeconfigs, u.Name+".yaml")
	}
	if kept.isEmpty() {
		return
	}
	carrier, err := before.findCarrier()
	if err == nil && before.asksFor(carrier, rendered) && f.previous.IsCarriedOut(carrier) {
		return
	}
	state := provision.NewState(m.InputManifest, &f.renderer.model.Clusters)
	if err == nil {
		state.Rollout, err = provision.NewRemoval(&state, kept.clusters(), kept.files())
	}
	if err != nil {
		f.reportUnread(before, err)
		return
	}
	f.renderer.follow.kept[m.Path()], f.renderer.follow.states[m.Path()] = kept, state
	f.wait(carrier, "what is left is removed by another change after that", describeRemoval(kept))
}

func (b *previousManifest) asksFor(c Carrier, rendered tree.Tree) bool {
	return !slices.ContainsFunc(c.Folders, func(folder string) bool {
		folder = strings.TrimPrefix(folder, b.folder+"/")
		return rendered.Sub(folder).ID() != b.files.Sub(folder).ID()
	})
}

func describeRemoval(kept kept) string {
	leaving := kept.clusters()
	switch len(leaving) {
	case 0:
		return "its credentials " + text.Join(slices.Sorted(maps.Keys(kept.credentials)), " and ") + " stay"
	case 1:
		return "cluster " + leaving[0] + " is destroyed; its kubeconfig and the credentials stay"
	}
	return "clusters " + text.Join(leaving, " and ") + " are destroyed; their kubeconfigs and the credentials stay"
}

func (f *follower) enterStage(m *clusters.Manifest, before *previousManifest) {
	desired := provision.NewState(m.InputManifest, &f.renderer.model.Clusters)
	carrier, err := before.findCarrier()
	if err != nil {
		f.reportUnread(before, err)
		return
	}
	f.renderer.follow.before[m.Path()], f.renderer.follow.detaching[m.Path()] = before, before.findLeavingAttachments(m)
	detaching := before.findDetaching(m)
	isDone := func() bool { return f.previous.IsCarriedOut(carrier) && f.areCarriedOut(detaching) }
	current := before.state.WithoutRemoval()
	stage, err := provision.NextStage(&current, &desired, isDone)
	var leaving []*leavingPart
	if err == nil {
		leaving, err = f.keepLeaving(m, before, &stage.State, isDone)
	}
	if err != nil {
		f.reportUnread(before, err)
		return
	}
	f.renderer.follow.states[m.Path()] = stage.State
	switch {
	case stage.Waits:
		f.awaitDetached(m, before)
		f.wait(carrier, "what comes next may remove what is in use", "the next phase waits")
	case len(leaving) > 0:
		f.wait(carrier, "what is left is removed by another change after that", describeLeaving(leaving))
	case stage.Phase != "":
		f.waiting = append(f.waiting, carrier)
	}
}

// keepDeleted holds a manifest with a deleted file until its clusters are gone.
func (f *follower) keepDeleted(before *previousManifest) {
	carrier, err := before.findCarrier()
	if err != nil {
		f.reportUnread(before, err)
		return
	}
	if f.previous.IsCarriedOut(carrier) {
		return
	}
	f.renderer.follow.held = append(f.renderer.follow.held, before)
	f.wait(carrier, "restore the file to keep it", "its file was deleted; its objects stay")
}

func (f *follower) wait(c Carrier, hint, what string) {
	f.waiting = append(f.waiting, c)
	objects := make([]string, len(c.Kustomizations))
	for i, name := range c.Kustomizations {
		objects[i] = "Kustomization/" + c.Namespace + "/" + name
	}
	environment := f.renderer.model.Environment
	f.problems.Warnf(problem.Pos{Layer: environment}, "Environment/"+environment, hint,
		"manifest %s: %s until the management cluster reports %s as ready", c.Manifest, what, text.Join(objects, " and "))
}

func (f *follower) reportUnread(before *previousManifest, err error) {
	environment := f.renderer.model.Environment
	f.problems.Addf(problem.Pos{Layer: environment}, "Environment/"+environment, "restore the folder from the last commit of the output branch that Fairlead made",
		"%s of the output: %v", before.folder, err)
}

func (r *renderer) renderAlone(m *clusters.Manifest, state *provision.State) tree.Tree {
	alone := newRenderer(r.model)
	if state != nil {
		alone.follow.states[m.Path()], alone.follow.before = *state, r.follow.before
	}
	alone.renderManifest(m)
	return alone.builder.Tree().Sub(FolderOf(m))
}

// findCarrier returns the Kustomizations of the manifest, without credentials,
// kubeconfigs and cluster types.
func (b *previousManifest) findCarrier() (Carrier, error) {
	c := Carrier{Manifest: b.state.Path()}
	for k := range readKustomizations(b.files) {
		_, below, ours := strings.Cut(k.Spec.Path, b.folder+"/")
		if k.Spec.KubeConfig != nil || !ours || below == credentialsFolder || below == kubeconfigsFolder {
			continue
		}
		c.Namespace = k.Metadata.Namespace
		c.Kustomizations, c.Folders = append(c.Kustomizations, k.Metadata.Name), append(c.Folders, path.Join(b.folder, below))
	}
	hasParts := !executors[b.state.Executor].phased || !b.files.Sub(objectsFolder).IsEmpty()
	if len(c.Kustomizations) == 0 && hasParts {
		return c, fmt.Errorf("%s has no Kustomization that applies the manifest", fluxFile)
	}
	return c, nil
}

func (b *previousManifest) findValues(cluster string) map[string]string {
	for k := range readKustomizations(b.files) {
		if k.Metadata.Name == attachmentName(path.Base(b.folder), cluster) && k.Spec.PostBuild != nil {
			return k.Spec.PostBuild.Substitute
		}
	}
	return nil
}

func readKustomizations(files tree.Tree) iter.Seq[kubeobject.Object[kustomizationSpec]] {
	return func(yield func(kubeobject.Object[kustomizationSpec]) bool) {
		flux, _ := files.Lookup(fluxFile)
		decoder := yaml.NewDecoder(bytes.NewReader(flux.Data))
		for {
			var k kubeobject.Object[kustomizationSpec]
			if decoder.Decode(&k) != nil || k.Kind == "Kustomization" && !yield(k) {
				return
			}
		}
	}
}
