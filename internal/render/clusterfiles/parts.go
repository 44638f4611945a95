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

// SummarizePlans returns all of an output that tofu-controller makes plans of: its stacks, and behind them
// the manifests that it carries out.
func SummarizePlans(output tree.Tree) ([]stackfiles.Summary, error) {
	all, err := stackfiles.Summarize(output)
	if err != nil {
		return nil, err
	}
	parts, err := SummarizeParts(output)
	return append(all, parts...), err
}

// SummarizeParts returns the parts of the manifests of an output that tofu-controller carries out. Each
// manifest is summarized as the stack that a PlanApproval names: clusters/NAMESPACE-MANIFEST.
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

// SummarizeManifest returns the parts of one manifest, whose folder in the output has these files: those
// that tofu-controller carries out, and none for another executor.
func SummarizeManifest(project string, files tree.Tree) (stackfiles.Summary, error) {
	s := stackfiles.Summary{Stack: path.Join(Folder, project), Components: []stackfiles.ComponentSummary{}}
	after := findPartOrder(files)
	for _, e := range files.Sub(objectsFolder).Entries() {
		if _, ok := e.Tree().Lookup(stackfiles.WaitFile); ok { // what it made is destroyed
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

// findPartOrder returns for each part the parts that must be ready before it, sorted.
func findPartOrder(files tree.Tree) map[string][]string {
	parts := map[string]string{} // by the names of their Kustomizations
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

// RenderedManifest is a manifest as an output has it.
type RenderedManifest struct {
	State provision.State
	// Edited is why nothing else of it is known: somebody edited or deleted its lock.
	Edited error
	// Carriers are what carries the manifest out, and Parts are the Terraform objects among that; none if
	// tofu-controller does not carry it out.
	Carriers []Carrier
	Parts    stackfiles.Summary
}

// findCarriers returns all that a manifest waits for: what carries it out, and what is detached from clusters.
// Where the executor orders all else, the latter is waited for alone.
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

// ReadRendered returns the manifests of an output by their paths. One whose lock somebody edited is there by
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
