package clusterfiles

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

// sealedPrefix begins the names of files that SOPS encrypted.
const sealedPrefix = "secret-"

// kept is what the previous output has of a manifest, and that stays though it is not written any more,
// by the names of the files in their folders.
type kept struct {
	credentials, kubeconfigs map[string]tree.Entry
}

// findKept returns what the previous output has of a manifest and the rendered one has not.
func (f *follower) findKept(m *clusters.Manifest, before *previousManifest, rendered tree.Tree) kept {
	return kept{f.findKeptCredentials(m, before, rendered), missingFrom(rendered.Sub(kubeconfigsFolder), before.files.Sub(kubeconfigsFolder))}
}

// findKeptCredentials returns the files of credentials that the previous output has of a manifest and the rendered
// one has not. A file is not kept if one of its Secrets comes from elsewhere now: both would write the Secret,
// and the file has the old values. The Secrets themselves stay on the management cluster in any case.
func (f *follower) findKeptCredentials(m *clusters.Manifest, before *previousManifest, rendered tree.Tree) map[string]tree.Entry {
	missing := missingFrom(rendered.Sub(credentialsFolder), before.files.Sub(credentialsFolder))
	if len(missing) == 0 {
		return missing
	}
	for _, c := range model.ReadCredentials(tree.FromEntries(slices.Collect(maps.Values(missing)))) {
		if !f.isProvided(m, c.Path()) {
			continue
		}
		delete(missing, c.Pos.File)
		if c.IsExternal() {
			f.reportLeft(m, c)
		}
	}
	return missing
}

// isProvided reports whether a Secret is rendered from what is written for a manifest, or for another one, or
// is on the management cluster anyway.
func (f *follower) isProvided(m *clusters.Manifest, secret string) bool {
	isWritten := slices.ContainsFunc(f.renderer.model.Clusters.Credentials, func(c *model.Credential) bool { return c.Path() == secret })
	return slices.ContainsFunc(append(slices.Clone(f.manifests), m), func(m *clusters.Manifest) bool {
		_, named := f.renderer.findReferences(m)
		return isWritten && named[secret] || m.HasExistingSecret(secret)
	})
}

// reportLeft reports an ExternalSecret of the previous output that stays on the management cluster beside what
// provides its Secret now: Flux removes no credentials.
func (f *follower) reportLeft(m *clusters.Manifest, c *model.Credential) {
	environment := f.renderer.model.Environment
	f.problems.Warnf(problem.Pos{Layer: environment}, "Environment/"+environment,
		fmt.Sprintf("unless it is applied from elsewhere now, delete it after the merge: kubectl delete externalsecret %s --namespace %s --cascade=orphan", c.Name, c.Namespace),
		"manifest %s: the ExternalSecret %s/%s stays on the management cluster, and goes on writing the Secret %s", m.Path(), c.Namespace, c.Name, c.Path())
}

// missingFrom returns the files of a folder that another one has not.
func missingFrom(now, before tree.Tree) map[string]tree.Entry {
	missing := map[string]tree.Entry{}
	for _, e := range before.Entries() {
		_, there := now.Lookup(e.Name)
		if !there && !e.IsDir() && e.Name != kubeobject.KustomizationFile {
			missing[e.Name] = e
		}
	}
	return missing
}

func (k kept) isEmpty() bool { return len(k.credentials)+len(k.kubeconfigs) == 0 }

// clusters returns the clusters whose kubeconfigs are kept.
func (k kept) clusters() []string {
	var names []string
	for _, file := range slices.Sorted(maps.Keys(k.kubeconfigs)) {
		names = append(names, strings.TrimSuffix(file, ".yaml"))
	}
	return names
}

// files returns the paths of all files that are kept.
func (k kept) files() []string {
	var files []string
	for _, file := range slices.Sorted(maps.Keys(k.credentials)) {
		files = append(files, path.Join(credentialsFolder, file))
	}
	for _, file := range slices.Sorted(maps.Keys(k.kubeconfigs)) {
		files = append(files, path.Join(kubeconfigsFolder, file))
	}
	return files
}

// addKept adds the files to a folder of the output, and returns their names.
func (r *renderer) addKept(folder string, files map[string]tree.Entry) []string {
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		r.reportUnrendered(name, r.builder.AddEntry(path.Join(folder, name), files[name]))
	}
	return names
}
