package clusterfiles

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

type infrastructure struct {
	apiVersion                string
	clusterKind, templateKind string
	newCluster                func(*capiCluster) fields
	newMachine                func(c *capiCluster, p *claudie.DynamicPool, compute bool) fields
	// newIdentity returns the object that refers to the provider's Secret; nil if the
	// cluster object does.
	newIdentity func(*capiCluster) any
	// failureDomain returns the zone of a compute pool; "" for any.
	failureDomain func(*claudie.DynamicPool) string
	// nodeName and providerID are cloud-init terms; "" if the machine knows them.
	nodeName, providerID string
	// network returns the network that a cluster's regions must share.
	network func(region string) string

	// secretNamespace is the namespace of a provider's Secret, "" for the manifest's,
	// or anyNamespace.
	secretNamespace                 string
	secretKeys                      []string
	needsProject, spot, disks, gpus bool
	// needsExternalNetwork requires pools to name the network of the cluster's
	// endpoint.
	needsExternalNetwork bool
	// zonedControl means that control nodes can have a zone.
	zonedControl bool
}

const anyNamespace = "*"

// infrastructures are the rendered clouds by type of provider.
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

// writtenDisk returns the size of the additional disk of compute nodes; 0 for none.
// Claudie's storage always has one, Cluster API only a written one.
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

func renderedClouds() []string {
	var all []string
	for name := range infrastructures {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
