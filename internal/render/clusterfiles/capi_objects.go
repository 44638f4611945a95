package clusterfiles

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

// The groups and version of Cluster API. References between objects have a group and no
// version.
const (
	capiCoreGroup           = "cluster.x-k8s.io"
	capiControlPlaneGroup   = "controlplane." + capiCoreGroup
	capiBootstrapGroup      = "bootstrap." + capiCoreGroup
	capiInfrastructureGroup = "infrastructure." + capiCoreGroup
	capiVersion             = "v1beta2"

	capiClusterLabel    = capiCoreGroup + "/cluster-name"
	capiDeploymentLabel = capiCoreGroup + "/deployment-name"
	autoscalerMin       = capiCoreGroup + "/cluster-api-autoscaler-node-group-min-size"
	autoscalerMax       = capiCoreGroup + "/cluster-api-autoscaler-node-group-max-size"

	configTemplateKind = "KubeadmConfigTemplate"
)

// The networks of pods and services are those of Claudie's clusters.
const (
	podNetwork     = "10.244.0.0/16"
	serviceNetwork = "10.96.0.0/12"
)

type fields = map[string]any

func (c *capiCluster) newObjects() []any {
	network := fields{
		"pods":     fields{"cidrBlocks": []string{podNetwork}},
		"services": fields{"cidrBlocks": []string{serviceNetwork}},
	}
	cluster := c.newObject(capiCoreGroup+"/"+capiVersion, "Cluster", c.Name, fields{
		"clusterNetwork":    network,
		"controlPlaneRef":   newRef(capiControlPlaneGroup, "KubeadmControlPlane", c.controlPlaneName()),
		"infrastructureRef": newRef(capiInfrastructureGroup, c.cloud.clusterKind, c.Name),
	})
	if c.manifest.Decommissioned {
		cluster.Metadata.Annotations = nil
	}
	all := []any{cluster, c.newObject(c.cloud.apiVersion, c.cloud.clusterKind, c.Name, c.cloud.newCluster(c))}
	machines := c.newMachineTemplate(c.Name+"-control", c.control, false)
	all = append(all, c.newControlPlane(machines.Metadata.Name), machines)
	for _, p := range c.compute {
		machines, config := c.newMachineTemplate(c.Name+"-"+p.Name, p, true), c.newConfigTemplate(p)
		all = append(all, c.newDeployment(p, machines.Metadata.Name, config.Metadata.Name))
		for _, template := range []kubeobject.Object[fields]{machines, config} {
			if !slices.ContainsFunc(all, func(o any) bool { return isNamed(o, template) }) {
				all = append(all, template)
			}
		}
	}
	return all
}

// isNamed reports whether o is the same template: equal names mean equal content.
func isNamed(o any, template kubeobject.Object[fields]) bool {
	other, ok := o.(kubeobject.Object[fields])
	return ok && other.Kind == template.Kind && other.Metadata.Name == template.Metadata.Name
}

// newObject disables pruning by Flux, since the owning Cluster deletes the object.
// Deleting infrastructure before the Cluster would leave machines behind.
func (c *capiCluster) newObject(apiVersion, kind, name string, spec fields) kubeobject.Object[fields] {
	return kubeobject.Object[fields]{APIVersion: apiVersion, Kind: kind, Spec: spec, Metadata: kubeobject.Metadata{
		Name: name, Namespace: c.manifest.Namespace,
		Labels:      map[string]string{capiClusterLabel: c.Name},
		Annotations: map[string]string{pruneAnnotation: "disabled"},
	}}
}

// newTemplate has a hash in the name, since templates never change. Another template
// replaces the machines.
func (c *capiCluster) newTemplate(apiVersion, kind, name string, spec fields) kubeobject.Object[fields] {
	content, _ := json.Marshal([]any{apiVersion, spec}) // maps of texts, numbers and lists always encode
	sum := sha256.Sum256(content)
	return c.newObject(apiVersion, kind, name+"-"+hex.EncodeToString(sum[:4]), fields{"template": fields{"spec": spec}})
}

func (c *capiCluster) newMachineTemplate(name string, p *claudie.DynamicPool, compute bool) kubeobject.Object[fields] {
	return c.newTemplate(c.cloud.apiVersion, c.cloud.templateKind, name, c.cloud.newMachine(c, p, compute))
}

func (c *capiCluster) newConfigTemplate(p *claudie.DynamicPool) kubeobject.Object[fields] {
	return c.newTemplate(capiBootstrapGroup+"/"+capiVersion, configTemplateKind, c.Name+"-"+p.Name, fields{
		"joinConfiguration": fields{"nodeRegistration": c.newRegistration(p, "compute", newTaints(p))},
	})
}

func newRef(group, kind, name string) fields {
	return fields{"apiGroup": group, "kind": kind, "name": name}
}

func (c *capiCluster) controlPlaneName() string { return c.Name + "-control-plane" }

func (c *capiCluster) kubernetesVersion() string { return "v" + strings.TrimPrefix(c.Version, "v") }

func (c *capiCluster) newControlPlane(template string) kubeobject.Object[fields] {
	taints := append([]fields{{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}}, newTaints(c.control)...)
	registration := c.newRegistration(c.control, "control", taints)
	machines := fields{"spec": fields{"infrastructureRef": newRef(capiInfrastructureGroup, c.cloud.templateKind, template)}}
	if meta := newNodeMetadata(c.control); len(meta) > 0 {
		machines["metadata"] = meta
	}
	return c.newObject(capiControlPlaneGroup+"/"+capiVersion, "KubeadmControlPlane", c.controlPlaneName(), fields{
		"replicas": c.control.Count, "version": c.kubernetesVersion(), "machineTemplate": machines,
		"kubeadmConfigSpec": fields{
			"clusterConfiguration": fields{"controllerManager": fields{"extraArgs": []fields{newArg("cloud-provider", "external")}}},
			"initConfiguration":    fields{"nodeRegistration": registration},
			"joinConfiguration":    fields{"nodeRegistration": registration},
		},
	})
}

// newDeployment omits the number of nodes if an autoscaler sets it. Flux deletes
// deployments of removed pools.
func (c *capiCluster) newDeployment(p *claudie.DynamicPool, machines, config string) kubeobject.Object[fields] {
	name := c.Name + "-" + p.Name
	selected := map[string]string{capiClusterLabel: c.Name, capiDeploymentLabel: name}
	spec := fields{
		"clusterName": c.Name, "version": c.kubernetesVersion(),
		"bootstrap":         fields{"configRef": newRef(capiBootstrapGroup, configTemplateKind, config)},
		"infrastructureRef": newRef(capiInfrastructureGroup, c.cloud.templateKind, machines),
	}
	if domain := c.cloud.failureDomain(p); domain != "" {
		spec["failureDomain"] = domain
	}
	meta := newNodeMetadata(p)
	labels, _ := meta["labels"].(map[string]string)
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, selected)
	meta["labels"] = labels
	deployment := fields{"clusterName": c.Name, "selector": fields{"matchLabels": selected}, "template": fields{"metadata": meta, "spec": spec}}
	annotations := map[string]string(nil)
	if a := p.Autoscaler; a != nil {
		annotations = map[string]string{autoscalerMin: strconv.Itoa(a.Min), autoscalerMax: strconv.Itoa(a.Max)}
	} else {
		deployment["replicas"] = p.Count
	}
	o := c.newObject(capiCoreGroup+"/"+capiVersion, "MachineDeployment", name, deployment)
	o.Metadata.Annotations = annotations
	return o
}

func newArg(name, value string) fields { return fields{"name": name, "value": value} }

func (c *capiCluster) newRegistration(p *claudie.DynamicPool, role string, taints []fields) fields {
	var labels []string
	all := c.newNodeLabels(p, role)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		labels = append(labels, key+"="+all[key])
	}
	args := []fields{newArg("cloud-provider", "external"), newArg("node-labels", strings.Join(labels, ","))}
	if c.cloud.providerID != "" {
		args = append(args, newArg("provider-id", c.cloud.providerID))
	}
	registration := fields{"kubeletExtraArgs": args}
	if c.cloud.nodeName != "" {
		registration["name"] = c.cloud.nodeName
	}
	if len(taints) > 0 {
		registration["taints"] = taints
	}
	return registration
}

// newNodeLabels returns Claudie's node labels and those of the pool. The cloud's
// controller manager sets the cloud labels.
func (c *capiCluster) newNodeLabels(p *claudie.DynamicPool, role string) map[string]string {
	labels := map[string]string{
		"claudie.io/nodepool": p.Name, "claudie.io/provider": c.provider.Type,
		"claudie.io/provider-instance": c.provider.Name, "claudie.io/node-type": role,
	}
	if p.Spot {
		labels[spotKey] = "true"
	}
	for key, value := range p.Labels {
		if !isSyncedLabel(key) {
			labels[key] = value
		}
	}
	return labels
}

// spotKey is a label and a taint.
const spotKey = "claudie.io/spot"

func newTaints(p *claudie.DynamicPool) []fields {
	var all []fields
	for _, t := range p.Taints {
		taint := fields{"key": t.Key, "effect": t.Effect}
		if t.Value != "" {
			taint["value"] = t.Value
		}
		all = append(all, taint)
	}
	if p.Spot {
		all = append(all, fields{"key": spotKey, "value": "true", "effect": "NoSchedule"})
	}
	return all
}

// newNodeMetadata returns what Cluster API sets without replacing nodes: annotations,
// and labels that kubelets must not set.
func newNodeMetadata(p *claudie.DynamicPool) fields {
	meta, labels := fields{}, map[string]string{}
	for key, value := range p.Labels {
		if isSyncedLabel(key) {
			labels[key] = value
		}
	}
	if len(labels) > 0 {
		meta["labels"] = labels
	}
	if len(p.Annotations) > 0 {
		meta["annotations"] = p.Annotations
	}
	return meta
}
