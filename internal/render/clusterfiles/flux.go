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
	// maxName applies since names become label values.
	maxName = kubename.MaxLabel
	// createTimeout is generous: Claudie needs 20 to 40 minutes.
	createTimeout = "90m"
	// decryptionSecret has the SOPS key; the guide to secrets uses the name.
	decryptionSecret = "sops-age"
)

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
	kubeconfigs.Spec.Prune, kubeconfigs.Spec.Wait = true, leaving == 0 // Claudie removes the originals
	all = append(all, kubeconfigs)
	return append(all, r.newClaudieAttachments(m, manifest)...)
}

// isCopied reports whether the kubeconfig is copied to a Secret with a predictable
// name.
func isCopied(m *clusters.Manifest, u *clusters.Unit) bool {
	return m.Alias() != model.AliasRecordedID && (u.Binding == nil || u.Binding.ClusterID == "")
}

// newClaudieAttachments puts the Kustomization of a cluster with a known id next to
// Claudie's Secret.
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

// prepare adds a Kustomization before the attachment. Its objects stay as long as the
// cluster, since they may be what removes the rest.
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

func (r *renderer) newCredentialsKustomization(folder string, m *clusters.Manifest, given credentials) *kubeobject.Object[kustomizationSpec] {
	k := r.newKustomization(stepName(m, "10-credentials"), path.Join(folder, credentialsFolder))
	if given.sealed {
		k.Spec.Decryption = &decryption{Provider: "sops", SecretRef: kubeobject.Reference{Name: decryptionSecret}}
	}
	return k
}

func stepName(m *clusters.Manifest, step string) string {
	return stack.ShortenName("im-"+m.Project()+"-"+step, maxName)
}

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

// newHealth defines a finished manifest: its clusters, and no others, are done. Claudie
// reports work and errors in texts. Until it reads a manifest it reports the old state,
// so clusters are compared with the spec.
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
