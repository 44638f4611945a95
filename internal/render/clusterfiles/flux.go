package clusterfiles

import (
	"maps"
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

const (
	// maxName bounds the names of Kustomizations: they become the values of labels.
	maxName = kubename.MaxLabel
	// createTimeout is how long Claudie may take: clusters are made in 20 to 40 minutes.
	createTimeout = "90m"
	// decryptionSecret is the Secret with the key of SOPS, as the guide to secrets names it.
	decryptionSecret = "sops-age"
)

// newKustomizations returns the Flux Kustomizations of a manifest in their order.
func (r *renderer) newKustomizations(folder string, m *clusters.Manifest, given credentials) []any {
	var all []any
	var before []*kubeobject.Object[kustomizationSpec]
	if given.any {
		before = append(before, r.newCredentialsKustomization(folder, m, given))
		all = append(all, before[0])
	}
	manifest := r.newKustomization(stepName(m, "20-inputmanifest"), path.Join(folder, manifestFolder), before...)
	manifest.Spec.Timeout, manifest.Spec.Prune, manifest.Spec.DeletionPolicy = createTimeout, true, "WaitForTermination"
	manifest.Spec.HealthChecks = []kubeobject.HealthExpr{newHealth()}
	all = append(all, manifest)
	leaving := len(r.follow.kept[m.Path()].kubeconfigs)
	copied := func(u *clusters.Unit) bool { return isCopied(m, u) }
	if !slices.ContainsFunc(m.Units, copied) && leaving == 0 {
		return append(all, r.newClaudieAttachments(m, manifest)...)
	}
	kubeconfigs := r.newKustomization(stepName(m, "30-kubeconfigs"), path.Join(folder, kubeconfigsFolder), manifest)
	kubeconfigs.Spec.Prune, kubeconfigs.Spec.Wait = true, leaving == 0 // Claudie removes what they are copies of
	all = append(all, kubeconfigs)
	return append(all, r.newClaudieAttachments(m, manifest)...)
}

// isCopied reports whether the kubeconfig of a cluster is copied to a Secret with a name that is known.
func isCopied(m *clusters.Manifest, u *clusters.Unit) bool {
	return m.Alias() != model.AliasRecordedID && (u.Binding == nil || u.Binding.ClusterID == "")
}

// newClaudieAttachments returns the Kustomizations that apply the folders of their cluster types to the
// clusters of a manifest. That of a cluster whose id is known is beside the Secret that Claudie wrote.
func (r *renderer) newClaudieAttachments(m *clusters.Manifest, manifest *fluxKustomization) []any {
	var all []any
	for _, u := range m.Units {
		if u.Binding == nil || !m.IsAttachable(*u.Binding) {
			continue
		}
		k := r.newAttachment(m, u, manifest)
		if !isCopied(m, u) {
			moveKustomization(k, claudie.DefaultNamespace)
			k.Spec.KubeConfig.SecretRef = keyReference{Name: u.Binding.ClusterID + "-kubeconfig", Key: "kubeconfig"}
		}
		all = append(all, r.prepare(k, m, u)...)
	}
	return all
}

// prepare returns the Kustomization that attaches a cluster, behind the one of what has to be on the cluster
// before. That stays on the cluster as long as the cluster does: it may be what removes the rest.
func (r *renderer) prepare(attachment *fluxKustomization, m *clusters.Manifest, u *clusters.Unit) []any {
	if u.Binding.Prepare == "" {
		return []any{attachment}
	}
	first := *attachment
	first.Metadata.Name = stepName(m, "35-"+u.Name)
	first.Spec.Path, first.Spec.PostBuild = stack.OutputFolder(r.model)+u.Binding.Prepare, nil
	first.Spec.Wait, first.Spec.DeletionPolicy = true, "Orphan"
	attachment.Spec.DependsOn = []kubeobject.Reference{{Name: first.Metadata.Name}}
	return []any{&first, attachment}
}

// moveKustomization puts a Kustomization into another namespace than that of what it names.
func moveKustomization(k *fluxKustomization, namespace string) {
	if k.Metadata.Namespace == namespace {
		return
	}
	k.Spec.SourceRef.Namespace = k.Metadata.Namespace
	for i := range k.Spec.DependsOn {
		k.Spec.DependsOn[i].Namespace = k.Metadata.Namespace
	}
	k.Metadata.Namespace = namespace
}

// newCredentialsKustomization returns the Kustomization of the credentials of a manifest.
func (r *renderer) newCredentialsKustomization(folder string, m *clusters.Manifest, given credentials) *kubeobject.Object[kustomizationSpec] {
	k := r.newKustomization(stepName(m, "10-credentials"), path.Join(folder, credentialsFolder))
	if given.sealed {
		k.Spec.Decryption = &decryption{Provider: "sops", SecretRef: kubeobject.Reference{Name: decryptionSecret}}
	}
	return k
}

// stepName returns the name of a Kustomization of a manifest.
func stepName(m *clusters.Manifest, step string) string {
	return stack.ShortenName("im-"+m.Project()+"-"+step, maxName)
}

// newKustomization returns a Kustomization that applies a folder after others.
func (r *renderer) newKustomization(name, folder string, after ...*kubeobject.Object[kustomizationSpec]) *kubeobject.Object[kustomizationSpec] {
	k := &kubeobject.Object[kustomizationSpec]{
		APIVersion: kubeobject.FluxKustomization, Kind: "Kustomization", Metadata: kubeobject.Metadata{Name: name, Namespace: r.source.Namespace},
		Spec: kustomizationSpec{
			Interval: "10m", RetryInterval: "1m", Timeout: "10m", Path: stack.OutputFolder(r.model) + folder, Wait: true,
			SourceRef: kubeobject.Reference{Kind: "GitRepository", Name: r.source.Name},
		},
	}
	for _, a := range after {
		k.Spec.DependsOn = append(k.Spec.DependsOn, kubeobject.Reference{Name: a.Metadata.Name})
	}
	return k
}

// newHealth returns when a manifest counts as carried out: when its clusters, and no others, are done.
// Claudie has no conditions; what it is at work on, or could not do, is in texts. Before it looks at a
// manifest it shows what was before, so that clusters are compared with those of the spec.
func newHealth() kubeobject.HealthExpr {
	const (
		written  = "has(spec.kubernetes) && has(spec.kubernetes.clusters)"
		onlyOurs = "(!has(status.clusters) || status.clusters.all(c, status.clusters[c].state == 'DONE' && " + written + " && spec.kubernetes.clusters.exists(k, k.name == c)))"
		allOurs  = "(!(" + written + ") || spec.kubernetes.clusters.all(k, has(status.clusters) && k.name in status.clusters))"
	)
	return kubeobject.HealthExpr{
		APIVersion: claudie.APIVersion, Kind: claudie.InputManifestKind,
		Failed: "has(status.state) && (status.state == 'ERROR' || status.state.startsWith('WATCHING_FOR_CHANGES (') || " +
			"(has(status.clusters) && status.clusters.exists(c, status.clusters[c].state == 'ERROR')))",
		InProgress: "!has(status.state) || status.state in ['IN_PROGRESS', 'SCHEDULED_FOR_DELETION']",
		Current:    "status.state in ['DONE', 'WATCHING_FOR_CHANGES'] && " + onlyOurs + " && " + allOurs,
	}
}

// newAttachment returns the Kustomization that applies the folder of its cluster type to a new cluster.
// It waits for the Secret with the kubeconfig by trying again.
func (r *renderer) newAttachment(m *clusters.Manifest, u *clusters.Unit, after ...*kubeobject.Object[kustomizationSpec]) *kubeobject.Object[kustomizationSpec] {
	k := r.newKustomization(attachmentName(m.Project(), u.Name), u.Binding.ClusterType, after...)
	k.Spec.Prune, k.Spec.Wait = true, false
	k.Spec.KubeConfig = &kubeConfig{SecretRef: keyReference{Name: KubeconfigName(m, u.Name)}}
	if len(u.Binding.Values) > 0 {
		substitute := map[string]string{"CLUSTER_NAME": u.Name}
		maps.Copy(substitute, u.Binding.Values)
		k.Spec.PostBuild = &postBuild{Substitute: substitute}
	}
	return k
}
