package clusterfiles

import (
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

// outputsStore is the SecretStore for Claudie's namespace.
const outputsStore = "claudie-outputs"

// renderKubeconfigs copies kubeconfigs, since Claudie's Secrets have random names.
func (r *renderer) renderKubeconfigs(folder string, m *clusters.Manifest) {
	var files []string
	for _, u := range m.Units {
		if !isCopied(m, u) {
			continue
		}
		file := u.Name + ".yaml"
		files = append(files, file)
		if m.Alias() == model.AliasKyverno {
			r.addObject(path.Join(folder, file), r.newKubeconfigPolicy(m, u))
		} else {
			r.addObject(path.Join(folder, file), r.newKubeconfigSecret(m, u))
		}
	}
	files = append(files, r.addKept(folder, r.follow.kept[m.Path()].kubeconfigs)...)
	if len(files) > 0 {
		r.addKustomization(folder, files)
	}
}

// FindRecopied returns the clusters with another kind of kubeconfig copy. The old
// copy's Secret is deleted with it, until the new one exists. The trees are the
// manifest's folder.
func FindRecopied(clusters []string, old, new tree.Tree) []string {
	copier := func(files tree.Tree, cluster string) string {
		e, _ := files.Lookup(path.Join(kubeconfigsFolder, cluster+".yaml"))
		api, _, _ := strings.Cut(string(e.Data), "\n")
		return api
	}
	var all []string
	for _, c := range clusters {
		if was, is := copier(old, c), copier(new, c); was != "" && is != "" && was != is {
			all = append(all, c)
		}
	}
	return all
}

func kubeconfigLabels(m *clusters.Manifest, u *clusters.Unit) map[string]string {
	return map[string]string{"claudie.io/cluster": u.Name, "claudie.io/project": m.Project(), "claudie.io/output": "kubeconfig"}
}

// watchedLabels make Flux react to changes of a kubeconfig.
var watchedLabels = map[string]string{"reconcile.fluxcd.io/watch": "Enabled"}

func (r *renderer) newKubeconfigSecret(m *clusters.Manifest, u *clusters.Unit) kubeobject.Object[externalSecretSpec] {
	name := KubeconfigName(m, u.Name)
	return kubeobject.Object[externalSecretSpec]{
		APIVersion: externalSecretAPI, Kind: "ExternalSecret", Metadata: kubeobject.Metadata{Name: name, Namespace: r.source.Namespace},
		Spec: externalSecretSpec{
			RefreshInterval: "1m", StoreRef: kubeobject.Reference{Kind: "SecretStore", Name: outputsStore},
			Target: secretTarget{Name: name, Template: secretTemplate{
				Metadata: templateMetadata{Labels: watchedLabels},
				Data:     map[string]string{"value": "{{ range $k, $v := . }}{{ ($v | fromJson).kubeconfig }}{{ end }}"},
			}},
			DataFrom: []dataFrom{{Find: find{Tags: kubeconfigLabels(m, u)}}},
		},
	}
}

// newKubeconfigPolicy has a name that covers the whole rule, since Kyverno rejects a
// changed match in an existing rule.
func (r *renderer) newKubeconfigPolicy(m *clusters.Manifest, u *clusters.Unit) kubeobject.Object[policySpec] {
	secret := KubeconfigName(m, u.Name)
	name := stack.ShortenName(r.source.Namespace+"-"+secret, maxName)
	return kubeobject.Object[policySpec]{
		APIVersion: kyvernoAPI, Kind: "ClusterPolicy", Metadata: kubeobject.Metadata{Name: name},
		Spec: policySpec{Rules: []policyRule{{
			Name: "copy-kubeconfig",
			Match: policyMatch{Any: []matchedResources{{Resources: resourceFilter{
				Kinds: []string{"v1/Secret"}, Namespaces: []string{claudie.DefaultNamespace}, Selector: labelSelector{kubeconfigLabels(m, u)},
			}}}},
			Generate: generatedObject{
				GenerateExisting: true, Synchronize: true,
				APIVersion: "v1", Kind: "Secret", Name: secret, Namespace: r.source.Namespace,
				Data: generatedSecret{Metadata: templateMetadata{Labels: watchedLabels}, Type: "Opaque", Data: map[string]string{"value": "{{ request.object.data.kubeconfig }}"}},
			},
		}}},
	}
}
