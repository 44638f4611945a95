package clusterfiles

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// infrastructure is how Cluster API makes machines in one cloud.
type infrastructure struct {
	apiVersion                string
	clusterKind, templateKind string
	// newCluster and newMachine return the specs of what the machines of a cluster share, and of a
	// machine.
	newCluster func(*capiCluster) fields
	newMachine func(c *capiCluster, p *claudie.DynamicPool, compute bool) fields
	// newIdentity returns the object by which clusters use the Secret of their provider; nil if the
	// object of a cluster names the Secret.
	newIdentity func(*capiCluster) any
	// failureDomain returns where the machines of a compute pool are; "" for anywhere.
	failureDomain func(*claudie.DynamicPool) string
	// nodeName and providerID are those of a node, in the terms of cloud-init; "" if the machine knows
	// them.
	nodeName, providerID string
	// network returns the networks that the regions of a cluster must have in common.
	network func(region string) string

	// secretNamespace is that of the Secret of a provider; "" for the namespace of the manifest, and
	// anyNamespace for any.
	secretNamespace string
	// secretKeys are those that the Secret needs beside Claudie's.
	secretKeys []string
	// needsProject, spot, disks and gpus are what the machines need, or can have.
	needsProject, spot, disks, gpus bool
	// needsExternalNetwork has all pools name the network by which the cluster is reached.
	needsExternalNetwork bool
	// zonedControl is true if the zone of control nodes can be chosen.
	zonedControl bool
}

const anyNamespace = "*"

// infrastructures are those that are rendered, by the type of the provider.
var infrastructures = map[string]*infrastructure{
	"aws": {
		apiVersion: capiInfrastructureGroup + "/v1beta2", clusterKind: "AWSCluster", templateKind: "AWSMachineTemplate",
		newCluster: newAWSCluster, newMachine: newAWSMachine, newIdentity: newAWSIdentity,
		failureDomain: zoneOf, nodeName: "{{ ds.meta_data.local_hostname }}", network: sameRegion,
		secretNamespace: "capa-system", secretKeys: []string{"AccessKeyID", "SecretAccessKey"},
		spot: true, disks: true, gpus: true,
	},
	"gcp": {
		apiVersion: capiInfrastructureGroup + "/v1beta1", clusterKind: "GCPCluster", templateKind: "GCPMachineTemplate",
		newCluster: newGCPCluster, newMachine: newGCPMachine,
		failureDomain: zoneOf, nodeName: `{{ ds.meta_data.local_hostname.split(".")[0] }}`, network: sameRegion,
		secretNamespace: anyNamespace, needsProject: true, spot: true, disks: true, gpus: true,
	},
	"hetzner": {
		apiVersion: capiInfrastructureGroup + "/v1beta1", clusterKind: "HetznerCluster", templateKind: "HCloudMachineTemplate",
		newCluster: newHetznerCluster, newMachine: newHetznerMachine,
		failureDomain: func(p *claudie.DynamicPool) string { return p.ProviderSpec.Region }, network: hetznerZone,
	},
	"openstack": {
		apiVersion: capiInfrastructureGroup + "/v1beta1", clusterKind: "OpenStackCluster", templateKind: "OpenStackMachineTemplate",
		newCluster: newOpenStackCluster, newMachine: newOpenStackMachine,
		failureDomain: zoneOf, nodeName: "{{ local_hostname }}", providerID: "openstack:///{{ instance_id }}", network: sameRegion,
		secretKeys: []string{"clouds.yaml"}, disks: true, gpus: true, needsExternalNetwork: true, zonedControl: true,
	},
}

func zoneOf(p *claudie.DynamicPool) string { return p.ProviderSpec.Zone }

func sameRegion(region string) string { return region }

func newAWSCluster(c *capiCluster) fields {
	return fields{
		"region":                   c.control.ProviderSpec.Region,
		"sshKeyName":               "",
		"identityRef":              fields{"kind": "AWSClusterStaticIdentity", "name": c.identityName()},
		"controlPlaneLoadBalancer": fields{"loadBalancerType": "nlb", "healthCheckProtocol": "HTTPS"},
		"network":                  fields{"vpc": fields{"cidrBlock": c.Network}},
	}
}

// identityName returns the name of the identity of the provider: identities are in no namespace.
func (c *capiCluster) identityName() string {
	return stack.SafeName(c.manifest.Project() + "-" + c.provider.Name)
}

func newAWSIdentity(c *capiCluster) any {
	o := c.newObject(c.cloud.apiVersion, "AWSClusterStaticIdentity", c.identityName(), fields{
		"secretRef": c.provider.SecretRef.Name, "allowedNamespaces": fields{"list": []string{c.manifest.Namespace}},
	})
	o.Metadata.Namespace, o.Metadata.Labels = "", nil
	return o
}

func newAWSMachine(_ *capiCluster, p *claudie.DynamicPool, compute bool) fields {
	profile := "control-plane"
	if compute {
		profile = "nodes"
	}
	machine := fields{
		"instanceType": p.ServerType, "ami": fields{"id": p.Image}, "sshKeyName": "",
		"iamInstanceProfile": profile + ".cluster-api-provider-aws.sigs.k8s.io",
	}
	if p.Spot {
		machine["spotMarketOptions"] = fields{}
	}
	if size := writtenDisk(p, compute); size > 0 {
		machine["nonRootVolumes"] = []fields{{"deviceName": "/dev/sdf", "size": size, "type": "gp3"}}
	}
	return machine
}

// writtenDisk returns the size of the disk that the compute nodes of a pool have beside their root; 0 for
// none. Unlike Claudie, whose storage needs one, it is made only if it is written.
func writtenDisk(p *claudie.DynamicPool, compute bool) int {
	if !compute || p.StorageDiskSize == nil {
		return 0
	}
	return *p.StorageDiskSize
}

func newGCPCluster(c *capiCluster) fields {
	region := c.control.ProviderSpec.Region
	return fields{
		"project":        c.project(),
		"region":         region,
		"credentialsRef": fields{"name": c.provider.SecretRef.Name, "namespace": c.provider.SecretRef.Namespace},
		"network": fields{
			"name": c.Name, "autoCreateSubnetworks": false,
			"subnets": []fields{{"name": c.nodeSubnet(), "region": region, "cidrBlock": c.Network}},
		},
	}
}

func (c *capiCluster) nodeSubnet() string { return c.Name + "-nodes" }

func (c *capiCluster) project() string { return c.settings[c.provider.Name+"."+projectSetting] }

func newGCPMachine(c *capiCluster, p *claudie.DynamicPool, compute bool) fields {
	image := p.Image
	if !strings.Contains(image, "/") {
		image = "projects/" + c.project() + "/global/images/" + image
	}
	machine := fields{"instanceType": p.ServerType, "image": image, "subnet": c.nodeSubnet()}
	if p.Spot {
		machine["provisioningModel"] = "Spot"
	}
	if n := p.MachineSpec.GPUs(); n > 0 {
		kind := fmt.Sprintf("projects/%s/zones/%s/acceleratorTypes/%s", c.project(), p.ProviderSpec.Zone, p.MachineSpec.NvidiaGPUType)
		machine["guestAccelerators"] = []fields{{"type": kind, "count": n}}
		machine["onHostMaintenance"] = "Terminate"
	}
	if size := writtenDisk(p, compute); size > 0 {
		machine["additionalDisks"] = []fields{{"deviceType": "pd-ssd", "size": size}}
	}
	return machine
}

// hetznerZones are the networks of Hetzner's regions.
var hetznerZones = map[string]string{
	"fsn1": "eu-central", "nbg1": "eu-central", "hel1": "eu-central", "ash": "us-east", "hil": "us-west", "sin": "ap-southeast",
}

func hetznerZone(region string) string { return hetznerZones[region] }

func newHetznerCluster(c *capiCluster) fields {
	region := c.control.ProviderSpec.Region
	return fields{
		"controlPlaneRegions":      []string{region},
		"controlPlaneLoadBalancer": fields{"region": region},
		"hcloudNetwork": fields{
			"enabled": true, "cidrBlock": c.Network, "subnetCidrBlock": c.Network, "networkZone": hetznerZone(region),
		},
		"sshKeys":          fields{"hcloud": []fields{}},
		"hetznerSecretRef": fields{"name": c.provider.SecretRef.Name, "key": fields{"hcloudToken": "credentials"}},
	}
}

func newHetznerMachine(_ *capiCluster, p *claudie.DynamicPool, _ bool) fields {
	return fields{"type": p.ServerType, "imageName": p.Image}
}

// openStackCloud is the cloud of clouds.yaml that clusters are made in.
const openStackCloud = "openstack"

func newOpenStackCluster(c *capiCluster) fields {
	cluster := fields{
		"identityRef":           fields{"name": c.provider.SecretRef.Name, "cloudName": openStackCloud},
		"externalNetwork":       fields{"filter": fields{"name": c.control.ProviderSpec.ExternalNetworkName}},
		"apiServerLoadBalancer": fields{"enabled": true},
		"managedSecurityGroups": fields{"allowAllInClusterTraffic": true},
		"managedSubnets":        []fields{{"cidr": c.Network}},
	}
	if zone := c.control.ProviderSpec.Zone; zone != "" {
		cluster["controlPlaneAvailabilityZones"] = []string{zone}
	}
	return cluster
}

func newOpenStackMachine(_ *capiCluster, p *claudie.DynamicPool, compute bool) fields {
	machine := fields{"flavor": p.ServerType, "image": fields{"filter": fields{"name": p.Image}}}
	if size := writtenDisk(p, compute); size > 0 {
		machine["additionalBlockDevices"] = []fields{{"name": "storage", "sizeGiB": size, "storage": fields{"type": "Volume"}}}
	}
	return machine
}

// renderedClouds returns the types of providers that are rendered, sorted.
func renderedClouds() []string {
	var all []string
	for name := range infrastructures {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
