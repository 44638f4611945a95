package provision

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

// NewPlan returns the steps between two states. It fails for changes that [CheckEdit]
// refuses, and for bugs in this package.
func NewPlan(current, desired *State) (Plan, error) {
	now, want := newStateIndex(current), newStateIndex(desired)
	plan := Plan{Endpoints: map[string]Endpoint{}}
	all := [][]Step{planRotations(now, want)}
	last := map[string]string{}
	for i := range desired.Spec.Kubernetes.Clusters {
		c := &desired.Spec.Kubernetes.Clusters[i]
		if want.clusters[c.Name] != c {
			continue
		}
		if now.clusters[c.Name] == nil {
			u := newUnitToCreate(want, c)
			all = append(all, u.carryOut(now, want))
			plan.Endpoints[c.Name] = u.endpoint.Endpoint
			continue
		}
		u := newUnit(now, want, c.Name)
		err := u.findImpossible(now, want)
		if err == nil {
			err = u.simulate()
		}
		if err != nil {
			return Plan{}, err
		}
		all = append(all, u.carryOut(now, want))
		plan.Endpoints[c.Name] = u.endpoint.Endpoint
	}
	for i := range current.Spec.Kubernetes.Clusters {
		if c := &current.Spec.Kubernetes.Clusters[i]; want.clusters[c.Name] == nil && now.clusters[c.Name] == c {
			all = append(all, planRemoval(now, c, want.isLeaving(c.Name)))
		}
	}
	for _, steps := range all {
		for i := range steps {
			if s := &steps[i]; s.Cluster != "" && s.Phase == Contract {
				last[s.Cluster] = s.ID
			}
		}
	}
	plan.Steps = slices.Concat(append(all, planDrops(now, want, last), planRest(now, want))...)
	executor := findExecutor(current, desired)
	for i := range plan.Steps {
		plan.Steps[i].Executor = executor
	}
	return plan, nil
}

func newUnitToCreate(x *stateIndex, c *claudie.Cluster) *unit {
	u := &unit{name: c.Name, ids: map[string]int{}, endpoint: endpoint{Endpoint: chooseEndpoint(x, c)}}
	networks := map[Subject]string{}
	createPool := func(subject Subject) string {
		step := u.newStep(CreatePool, subject)
		if p := x.dynamic[subject.Pool]; p != nil {
			network := Subject{Provider: p.ProviderSpec.Name, Region: p.ProviderSpec.Region}
			if x.Executor == tofuExecutor { // each load balancer has its own networks
				network.LoadBalancer = subject.LoadBalancer
			}
			if networks[network] == "" {
				create := u.newStep(CreateNetwork, network, Change{"network", "", c.Network})
				networks[network] = create.ID
				u.steps = append(u.steps, create)
			}
			step.After = []string{networks[network]}
		}
		machines, _ := x.newMachines(subject.Pool)
		step.Reason = []Change{{"nodes", "", machines.describeSize()}}
		u.steps = append(u.steps, step)
		return step.ID
	}
	var before []string
	for _, pool := range c.Pools.Control {
		before = append(before, createPool(Subject{PoolRole: Control, Pool: pool}))
	}
	for _, pool := range c.Pools.Compute {
		before = append(before, createPool(Subject{PoolRole: Compute, Pool: pool}))
	}
	for _, lb := range x.balancers[c.Name] {
		var pools []string
		for _, pool := range lb.Pools {
			pools = append(pools, createPool(Subject{PoolRole: Balancing, LoadBalancer: lb.Name, Pool: pool}))
		}
		subject := Subject{LoadBalancer: lb.Name}
		create := u.newStep(CreateLB, subject, Change{"loadBalancers", "", lb.Name})
		create.After = pools
		dns := u.newStep(CreateDNS, subject, Change{"dns.dnsZone", "", lb.DNS.Zone})
		dns.After = []string{create.ID}
		u.steps = append(u.steps, create, dns)
		before = append(before, dns.ID)
	}
	bootstrap := u.newStep(Bootstrap, Subject{}, Change{"version", "", c.Version})
	bootstrap.After = before
	publish := u.newStep(PublishKubeconfig, Subject{}, Change{"apiEndpoint", "", u.endpoint.String()})
	publish.After = []string{bootstrap.ID}
	u.steps = append(u.steps, bootstrap, publish)
	if t := x.ClusterTypes[c.Name]; t != "" {
		attach := u.newStep(AttachClusterType, Subject{}, Change{"clusterType", "", t})
		attach.After = []string{publish.ID}
		u.steps = append(u.steps, attach)
	}
	return u
}

func (s *State) isLeaving(cluster string) bool {
	return s.Rollout != nil && slices.Contains(s.Rollout.Leaving, cluster)
}

func planRest(now, want *stateIndex) []Step {
	if now.Rollout == nil || want.Rollout != nil && len(want.Rollout.Dropped) > 0 {
		return nil
	}
	var steps []Step
	for _, cluster := range now.Rollout.Leaving {
		if want.clusters[cluster] == nil {
			steps = append(steps, newStep(DropKubeconfig, cluster, Subject{}))
		}
	}
	secrets, objects := newStep(DropCredentials, "", Subject{}), newStep(DropObjects, "", Subject{})
	for _, file := range now.Rollout.Dropped {
		if name, isSecret := strings.CutPrefix(file, credentialsFolder); isSecret {
			secrets.Reason = append(secrets.Reason, Change{"secretRef", strings.TrimSuffix(name, ".yaml"), ""})
		}
		if name, isObject := strings.CutPrefix(file, ObjectsFolder); isObject {
			objects.Reason = append(objects.Reason, Change{"objects", name, ""})
		}
	}
	if len(objects.Reason) > 0 {
		steps = append(steps, objects)
	}
	if len(secrets.Reason) > 0 {
		secrets.ID += "/kept"
		steps = append(steps, secrets)
	}
	return steps
}

// Path prefixes of kept credentials and of objects that are being destroyed.
const (
	credentialsFolder = "10-credentials/"
	ObjectsFolder     = "objects/"
)

func planRemoval(x *stateIndex, c *claudie.Cluster, leaves bool) []Step {
	var steps []Step
	add := func(kind Kind, reason ...Change) {
		step := newStep(kind, c.Name, Subject{}, reason...)
		if len(steps) > 0 {
			step.After = []string{steps[len(steps)-1].ID}
		}
		steps = append(steps, step)
	}
	if t := x.ClusterTypes[c.Name]; t != "" && x.Executor != capiExecutor { // with Cluster API, workloads disappear with the cluster
		add(DetachClusterType, Change{"clusterType", t, ""})
	}
	add(DestroyCluster, Change{"clusters", c.Name, ""})
	if !leaves {
		add(DropKubeconfig)
	}
	return steps
}

func planRotations(now, want *stateIndex) []Step {
	var steps []Step
	for i := range want.Spec.Providers {
		is := &want.Spec.Providers[i]
		was := now.providers[is.Name]
		if was == nil {
			continue
		}
		if c, changes := diffSecret("secretRef", was.SecretRef, is.SecretRef, now, want); changes {
			steps = append(steps, newStep(RotateCredentials, "", Subject{Provider: is.Name}, c))
		}
	}
	for i := range want.Spec.NodePools.Static {
		is := &want.Spec.NodePools.Static[i]
		was := now.static[is.Name]
		if was == nil {
			continue
		}
		if reason := diffAccess(was, is, now, want); len(reason) > 0 {
			steps = append(steps, newStep(RotateCredentials, "", Subject{PoolRole: "static", Pool: is.Name}, reason...))
		}
	}
	return steps
}

func diffAccess(was, is *claudie.StaticPool, now, want *stateIndex) []Change {
	var all []Change
	if a, b := was.Port(), is.Port(); a != b {
		all = append(all, Change{"sshPort", strconv.Itoa(a), strconv.Itoa(b)})
	}
	for i := range is.Nodes {
		n := &is.Nodes[i]
		j := slices.IndexFunc(was.Nodes, func(o claudie.StaticNode) bool { return o.Endpoint == n.Endpoint })
		if j < 0 {
			continue
		}
		o := &was.Nodes[j]
		if c, changes := diffSecret(n.Endpoint+".secretRef", o.SecretRef, n.SecretRef, now, want); changes {
			all = append(all, c)
		}
		if a, b := o.User(), n.User(); a != b {
			all = append(all, Change{n.Endpoint + ".username", a, b})
		}
	}
	return all
}

func describeRef(r claudie.Reference) string { return r.Namespace + "/" + r.Name }

// planDrops drops unused providers and credentials after all other removal.
func planDrops(now, want *stateIndex, last map[string]string) []Step {
	after := slices.Sorted(maps.Values(last))
	var steps []Step
	kept := map[claudie.Reference]bool{}
	for i := range want.Spec.Providers {
		kept[want.Spec.Providers[i].SecretRef] = true
	}
	for i := range now.Spec.Providers {
		p := &now.Spec.Providers[i]
		if want.providers[p.Name] != nil {
			continue
		}
		drop := newStep(DropProvider, "", Subject{Provider: p.Name}, Change{"providers", p.Name, ""})
		drop.After = after
		steps = append(steps, drop)
		if kept[p.SecretRef] || now.Secrets[describeRef(p.SecretRef)] == ExistingSecret || want.Rollout != nil && len(want.Rollout.Dropped) > 0 {
			continue
		}
		secret := newStep(DropCredentials, "", Subject{Provider: p.Name}, Change{"secretRef", describeRef(p.SecretRef), ""})
		secret.After = []string{drop.ID}
		steps = append(steps, secret)
	}
	return steps
}
