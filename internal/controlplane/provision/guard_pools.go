package provision

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

type immutable struct {
	name   string
	path   []any
	textOf func(*claudie.DynamicPool) string
}

var immutables = []immutable{
	{"the provider", []any{"providerSpec", "name"}, func(p *claudie.DynamicPool) string { return p.ProviderSpec.Name }},
	{"the region", []any{"providerSpec", "region"}, func(p *claudie.DynamicPool) string { return p.ProviderSpec.Region }},
	{"the zone", []any{"providerSpec", "zone"}, func(p *claudie.DynamicPool) string { return p.ProviderSpec.Zone }},
	{"the external network", []any{"providerSpec", "externalNetworkName"}, func(p *claudie.DynamicPool) string { return p.ProviderSpec.ExternalNetworkName }},
	{"the server type", []any{"serverType"}, func(p *claudie.DynamicPool) string { return p.ServerType }},
	{"the image", []any{"image"}, func(p *claudie.DynamicPool) string { return p.Image }},
	{"the size of the disk", []any{"storageDiskSize"}, func(p *claudie.DynamicPool) string { return strconv.Itoa(p.DiskSize()) }},
	{"the number of CPUs", []any{"machineSpec", "cpuCount"}, func(p *claudie.DynamicPool) string { return strconv.Itoa(machineOf(p).CPUCount) }},
	{"the memory", []any{"machineSpec", "memory"}, func(p *claudie.DynamicPool) string { return strconv.Itoa(machineOf(p).Memory) }},
	{"the number of GPUs", []any{"machineSpec", "nvidiaGpuCount"}, func(p *claudie.DynamicPool) string { return strconv.Itoa(p.MachineSpec.GPUs()) }},
	{"the type of the GPUs", []any{"machineSpec", "nvidiaGpuType"}, func(p *claudie.DynamicPool) string { return machineOf(p).NvidiaGPUType }},
	{"spot", []any{"spot"}, func(p *claudie.DynamicPool) string { return strconv.FormatBool(p.Spot) }},
}

func machineOf(p *claudie.DynamicPool) claudie.MachineSpec {
	if p.MachineSpec == nil {
		return claudie.MachineSpec{}
	}
	return *p.MachineSpec
}

func (g *editCheck) checkPools() {
	for i := range g.Desired.Spec.NodePools.Dynamic {
		is := &g.Desired.Spec.NodePools.Dynamic[i]
		if g.now.static[is.Name] != nil {
			g.addf([]any{"nodePools", "dynamic", i}, g.renameHint(is.Name), "pool %s cannot become dynamic", is.Name)
		}
		was := g.now.dynamic[is.Name]
		if was == nil {
			continue
		}
		for _, f := range immutables {
			if a, b := f.textOf(was), f.textOf(is); a != b {
				g.addf(append([]any{"nodePools", "dynamic", i}, f.path...), g.renameHint(is.Name), "pool %s: %s cannot change (%s → %s)", is.Name, f.name, cmp.Or(a, "none"), cmp.Or(b, "none"))
			}
		}
	}
	for i := range g.Desired.Spec.NodePools.Static {
		if name := g.Desired.Spec.NodePools.Static[i].Name; g.now.dynamic[name] != nil {
			g.addf([]any{"nodePools", "static", i}, g.renameHint(name), "pool %s cannot become static", name)
		}
	}
}

func (g *editCheck) renameHint(pool string) string {
	return fmt.Sprintf("rename the pool: write it as %s with the new value, name that in place of %s, and remove %s, in one commit: nodes are added before others are removed",
		g.findFreeName(pool), pool, pool)
}

// maxPoolName is Claudie's limit.
const maxPoolName = 14

func (g *editCheck) findFreeName(pool string) string {
	base, number := pool, 2
	if i := strings.LastIndex(pool, "-v"); i > 0 {
		if n, err := strconv.Atoi(pool[i+2:]); err == nil && n > 0 {
			base, number = pool[:i], n+1
		}
	}
	for ; ; number++ {
		suffix := "-v" + strconv.Itoa(number)
		name := strings.TrimRight(base[:min(len(base), maxPoolName-len(suffix))], "-") + suffix
		if !g.hasPool(name) {
			return name
		}
	}
}

func (g *editCheck) hasPool(name string) bool {
	for _, x := range []*stateIndex{g.now, g.want} {
		if x.dynamic[name] != nil || x.static[name] != nil {
			return true
		}
	}
	return false
}

type machine struct{ owner, role, pool string }

// checkMachines reports static machines that move: nodes are added before others are
// removed, so a machine would have two uses.
func (g *editCheck) checkMachines() {
	before := findMachines(g.now)
	for _, ref := range g.want.poolReferences() {
		p := g.want.static[ref.pool]
		if p == nil {
			continue
		}
		for j := range p.Nodes {
			address := p.Nodes[j].Endpoint
			was, known := before[address]
			is := machine{ref.owner, ref.role, ref.pool}
			if !known || was == is {
				continue
			}
			g.addf([]any{"nodePools", "static", g.findStatic(ref.pool), "nodes", j}, "two commits: remove the machine from where it is, and add it after that is done",
				"machine %s moves from %s to %s", address, was, is)
		}
	}
}

// String names the place in a sentence.
func (m machine) String() string {
	if m.role == Balancing {
		return fmt.Sprintf("pool %s of %s", m.pool, m.owner)
	}
	return fmt.Sprintf("%s pool %s of %s", m.role, m.pool, m.owner)
}

func findMachines(x *stateIndex) map[string]machine {
	all := map[string]machine{}
	for _, ref := range x.poolReferences() {
		if p := x.static[ref.pool]; p != nil {
			for _, n := range p.Nodes {
				all[n.Endpoint] = machine{ref.owner, ref.role, ref.pool}
			}
		}
	}
	return all
}

func (g *editCheck) findStatic(pool string) int {
	return slices.IndexFunc(g.Desired.Spec.NodePools.Static, func(p claudie.StaticPool) bool { return p.Name == pool })
}
