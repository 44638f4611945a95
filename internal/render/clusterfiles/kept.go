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

// sealedPrefix begins file names of SOPS files.
const sealedPrefix = "secret-"

// kept has previous files that stay, by name.
type kept struct {
	credentials, kubeconfigs map[string]tree.Entry
}

func (f *follower) findKept(m *clusters.Manifest, before *previousManifest, rendered tree.Tree) kept {
	return kept{f.findKeptCredentials(m, before, rendered), missingFrom(rendered.Sub(kubeconfigsFolder), before.files.Sub(kubeconfigsFolder))}
}

// findKeptCredentials omits files with a Secret that has another source now: both would
// write it, and the file is outdated. The Secret itself stays on the management
// cluster.
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

// isProvided reports whether some manifest renders the Secret, or the management
// cluster has it.
func (f *follower) isProvided(m *clusters.Manifest, secret string) bool {
	isWritten := slices.ContainsFunc(f.renderer.model.Clusters.Credentials, func(c *model.Credential) bool { return c.Path() == secret })
	return slices.ContainsFunc(append(slices.Clone(f.manifests), m), func(m *clusters.Manifest) bool {
		_, named := f.renderer.findReferences(m)
		return isWritten && named[secret] || m.HasExistingSecret(secret)
	})
}

// reportLeft warns of an ExternalSecret that stays next to its replacement, since Flux
// removes no credentials.
func (f *follower) reportLeft(m *clusters.Manifest, c *model.Credential) {
	environment := f.renderer.model.Environment
	f.problems.Warnf(problem.Pos{Layer: environment}, "Environment/"+environment,
		fmt.Sprintf("unless it is applied from elsewhere now, delete it after the merge: kubectl delete externalsecret %s --namespace %s --cascade=orphan", c.Name, c.Namespace),
		"manifest %s: the ExternalSecret %s/%s stays on the management cluster, and goes on writing the Secret %s", m.Path(), c.Namespace, c.Name, c.Path())
}

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

func (k kept) clusters() []string {
	var names []string
	for _, file := range slices.Sorted(maps.Keys(k.kubeconfigs)) {
		names = append(names, strings.TrimSuffix(file, ".yaml"))
	}
	return names
}

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

func (r *renderer) addKept(folder string, files map[string]tree.Entry) []string {
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		r.reportUnrendered(name, r.builder.AddEntry(path.Join(folder, name), files[name]))
	}
	return names
}
