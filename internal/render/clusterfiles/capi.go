package clusterfiles

import (
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

const clustersFolder = "20-clusters"

// capiCluster is a cluster of Cluster API: one control pool, machines in one cloud.
type capiCluster struct {
	*clusters.Unit
	manifest *clusters.Manifest
	provider *claudie.Provider
	cloud    *infrastructure
	settings capiSettings
	control  *claudie.DynamicPool
	compute  []*claudie.DynamicPool
}

func newCAPICluster(m *clusters.Manifest, u *clusters.Unit) *capiCluster {
	c := &capiCluster{Unit: u, manifest: m, control: m.Spec.FindDynamicPool(u.Pools.Control[0])}
	for _, name := range u.Pools.Compute {
		c.compute = append(c.compute, m.Spec.FindDynamicPool(name))
	}
	c.provider = m.Spec.FindProvider(c.control.ProviderSpec.Name)
	c.cloud = infrastructures[c.provider.Type]
	c.settings, _ = readCAPISettings(m)
	return c
}

func (r *renderer) renderCAPI(folder string, m *clusters.Manifest) {
	var before []*kubeobject.Object[kustomizationSpec]
	var all []any
	if given := r.renderCredentials(path.Join(folder, credentialsFolder), m); given.any {
		before = append(before, r.newKustomization(stepName(m, credentialsFolder), path.Join(folder, credentialsFolder)))
		all = append(all, before[0])
		if given.sealed {
			before[0].Spec.Decryption = &decryption{Provider: "sops", SecretRef: kubeobject.Reference{Name: decryptionSecret}}
		}
	}
	r.renderCAPIClusters(path.Join(folder, clustersFolder), m)
	all = append(all, r.newCAPIKustomization(folder, m, before))
	for _, u := range m.Units {
		if u.Binding != nil {
			all = append(all, r.prepare(r.newCAPIAttachment(m, u), m, u)...)
		}
	}
	r.addObjects(path.Join(folder, fluxFile), all)
}

// configMap is applied for a manifest without clusters, since kustomize refuses an
// empty folder.
type configMap struct {
	APIVersion string              `yaml:"apiVersion"`
	Kind       string              `yaml:"kind"`
	Metadata   kubeobject.Metadata `yaml:"metadata"`
	Data       map[string]string   `yaml:"data"`
}

func newNoneMap(m *clusters.Manifest, namespace string) configMap {
	return configMap{APIVersion: "v1", Kind: "ConfigMap", Data: map[string]string{"clusters": "none"},
		Metadata: kubeobject.Metadata{Name: stepName(m, "none"), Namespace: namespace}}
}

func (r *renderer) renderCAPIClusters(folder string, m *clusters.Manifest) {
	var files []string
	for _, u := range m.Units {
		c := newCAPICluster(m, u)
		if c.cloud.newIdentity != nil {
			file := "identity-" + c.provider.Name + ".yaml"
			if !slices.Contains(files, file) {
				files = append(files, file)
				r.addObject(path.Join(folder, file), c.cloud.newIdentity(c))
			}
		}
		file := clusterFile(u.Name)
		files = append(files, file)
		r.addObjects(path.Join(folder, file), c.newObjects())
	}
	if len(files) == 0 {
		files = append(files, "none.yaml")
		r.addObject(path.Join(folder, files[0]), newNoneMap(m, m.Namespace))
	}
	r.addKustomization(folder, files)
}

// newCAPIKustomization keeps clusters if it is deleted, unless the manifest is
// decommissioned.
func (r *renderer) newCAPIKustomization(folder string, m *clusters.Manifest, before []*kubeobject.Object[kustomizationSpec]) *kubeobject.Object[kustomizationSpec] {
	k := r.newKustomization(stepName(m, clustersFolder), path.Join(folder, clustersFolder), before...)
	k.Spec.Timeout, k.Spec.Prune, k.Spec.DeletionPolicy = createTimeout, true, "Orphan"
	if m.Decommissioned {
		k.Spec.DeletionPolicy = "WaitForTermination"
	}
	k.Spec.HealthChecks = []kubeobject.HealthExpr{capiHealth}
	return k
}

// capiHealth defines a ready cluster, since Cluster API has no condition Ready.
var capiHealth = kubeobject.HealthExpr{
	APIVersion: capiCoreGroup + "/" + capiVersion, Kind: "Cluster",
	Failed:     "has(status.phase) && status.phase == 'Failed'",
	InProgress: "!has(status.observedGeneration) || status.observedGeneration != metadata.generation || !has(status.conditions)",
	Current: "status.conditions.exists(c, c.type == 'Available' && c.status == 'True') && " +
		"!status.conditions.exists(c, c.type in ['RollingOut', 'Deleting'] && c.status == 'True')",
}

// newCAPIAttachment depends on the kubeconfig Secret only: the cluster becomes
// available with the network that the attached folder brings.
func (r *renderer) newCAPIAttachment(m *clusters.Manifest, u *clusters.Unit) *kubeobject.Object[kustomizationSpec] {
	k := r.newAttachment(m, u)
	k.Metadata.Namespace = m.Namespace
	k.Spec.KubeConfig.SecretRef.Name = u.Name + "-kubeconfig"
	if m.Namespace != r.source.Namespace {
		k.Spec.SourceRef.Namespace = r.source.Namespace
	}
	if m.Decommissioned {
		k.Spec.DeletionPolicy = "Orphan" // it disappears with the cluster
	}
	return k
}
