package clusterfiles

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
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
func findKept(before *previousManifest, rendered tree.Tree) kept {
	return kept{missingFrom(rendered.Sub(credentialsFolder), before.files.Sub(credentialsFolder)), missingFrom(rendered.Sub(kubeconfigsFolder), before.files.Sub(kubeconfigsFolder))}
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
