package clusterfiles

import (
	"fmt"
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfobject"
)

// SummarizePlans returns all that tofu-controller plans: stacks, then manifests.
func SummarizePlans(output tree.Tree) ([]stackfiles.Summary, error) {
	all, err := stackfiles.Summarize(output)
	if err != nil {
		return nil, err
	}
	parts, err := SummarizeParts(output)
	return append(all, parts...), err
}

// SummarizeParts returns the parts that tofu-controller runs. Each manifest is
// summarized as the stack clusters/NAMESPACE-MANIFEST, as in PlanApprovals.
func SummarizeParts(output tree.Tree) ([]stackfiles.Summary, error) {
	var all []stackfiles.Summary
	for _, manifest := range output.Sub(path.Join(Folder, clusters.Tofu)).Entries() {
		s, err := SummarizeManifest(manifest.Name, manifest.Tree())
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// SummarizeManifest returns the parts of one manifest in files; none for other
// executors than tofu-controller.
func SummarizeManifest(project string, files tree.Tree) (stackfiles.Summary, error) {
	s := stackfiles.Summary{Stack: path.Join(Folder, project), Components: []stackfiles.ComponentSummary{}}
	after := findPartOrder(files)
	for _, e := range files.Sub(objectsFolder).Entries() {
		if _, ok := e.Tree().Lookup(stackfiles.WaitFile); ok { // already destroyed
			continue
		}
		var terraform *kubeobject.Object[tfobject.Spec]
		var source *kubeobject.Object[tfobject.GitRepositorySpec]
		err := decodeInto(e.Tree(), terraformFile, &terraform)
		if err == nil {
			err = decodeInto(e.Tree(), sourceFile, &source)
		}
		if err != nil {
			return s, fmt.Errorf("read the part %s of %s: %w", e.Name, s.Stack, err)
		}
		s.Namespace = terraform.Metadata.Namespace
		one := stackfiles.SummarizeTerraform(e.Name, terraform, source)
		one.Stays = !terraform.Spec.DestroyOnDeletion
		one.After = append(one.After, after[e.Name]...)
		s.Components = append(s.Components, one)
	}
	return s, nil
}

func findPartOrder(files tree.Tree) map[string][]string {
	parts := map[string]string{} // by Kustomization
	for k := range readKustomizations(files) {
		if path.Base(path.Dir(k.Spec.Path)) == objectsFolder && k.Spec.KubeConfig == nil {
			parts[k.Metadata.Name] = path.Base(k.Spec.Path)
		}
	}
	after := map[string][]string{}
	for k := range readKustomizations(files) {
		part := parts[k.Metadata.Name]
		for _, d := range k.Spec.DependsOn {
			if before := parts[d.Name]; part != "" && before != "" {
				after[part] = append(after[part], before)
			}
		}
		slices.Sort(after[part])
	}
	return after
}

// RenderedManifest is a manifest in an output.
type RenderedManifest struct {
	State provision.State
	// Edited is set if the lock was edited or deleted; all else is then unknown.
	Edited error
	// Carriers carry the manifest out. Parts are its Terraform objects.
	Carriers []Carrier
	Parts    stackfiles.Summary
}

// findCarriers returns what to wait for: the carrier, and detachments. Executors with
// an order of their own wait for detachments alone.
func (b *previousManifest) findCarriers() ([]Carrier, error) {
	carrier, err := b.findCarrier()
	if err != nil {
		return nil, err
	}
	var all []Carrier
	for _, a := range b.findAttachments() {
		if meta := a.kustomization.Metadata; a.detached {
			all = append(all, Carrier{Manifest: carrier.Manifest, Namespace: meta.Namespace, Kustomizations: []string{meta.Name}})
		}
	}
	if len(carrier.Kustomizations) > 0 && (len(all) == 0 || executors[b.state.Executor].phased) {
		all = append(all, carrier)
	}
	return all, nil
}

// ReadRendered returns the manifests of an output by path; one with an edited lock has
// the path of its folder.
func ReadRendered(output tree.Tree) (map[string]RenderedManifest, error) {
	all := map[string]RenderedManifest{}
	for folder, files := range listManifests(output) {
		state, err := readLock(files)
		if err != nil {
			all[folder] = RenderedManifest{Edited: err}
			continue
		}
		if state.Name == "" {
			continue
		}
		before := &previousManifest{folder: folder, files: files, state: state}
		one := RenderedManifest{State: state}
		one.Carriers, err = before.findCarriers()
		if err == nil && state.Executor == clusters.Tofu {
			one.Parts, err = SummarizeManifest(path.Base(folder), files)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", folder, err)
		}
		all[state.Path()] = one
	}
	return all, nil
}
