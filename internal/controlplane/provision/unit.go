package provision

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

// unit is a model of one cluster and its load balancers. Units change independently.
type unit struct {
	name string
	// limit is more steps than the unit can need.
	limit     int
	slots     []*slot
	balancers []*balancer
	tally     tally
	endpoint  endpoint
	wanted    Endpoint
	// wantedNode serves the API if no load balancer does.
	wantedNode Endpoint
	chosen     bool // the phase sets the wanted endpoint
	open       bool // port 6443 of the control nodes
	wantedOpen bool
	version    versions
	proxy      proxies
	patches    []patch
	patched    Disruption
	types      versions
	steps      []Step
	leaves     []string // steps without dependants
	ids        map[string]int
}

type versions struct{ now, want string }

type endpoint struct {
	Endpoint
	old bool
}

type slot struct {
	subject   Subject
	static    bool
	now, want *machines
	old       *machines // to be removed after now has replaced them
	next      action
	tally     *tally
}

// machines are those of one pool in one role. The unknown size of an autoscaled pool
// counts as its minimum.
type machines struct {
	templates string
	count     int
	addresses []string // of static machines
	scaler    *claudie.Autoscaler
}

// action is the next action on the machines of a slot.
type action int

const (
	settle action = iota
	addPool
	growPool
	shrinkPool
	removePool
	scalePool
	rollPool
	actions
)

// tally counts slots by next action: dynamic, then static.
type tally [actions][2]int

type balancer struct {
	name      string
	now, want *balancing // nil if it does not exist
	slots     []*slot
	tally     tally
}

type balancing struct {
	dns   claudie.DNS
	roles []claudie.Role
}

func (b *balancing) findRole(name string) *claudie.Role {
	if b == nil {
		return nil
	}
	for i := range b.roles {
		if b.roles[i].Name == name {
			return &b.roles[i]
		}
	}
	return nil
}

func (b *balancing) servesAPI() bool { return b != nil && slices.ContainsFunc(b.roles, isAPIRole) }

// isAPIRole requires the port too, since a role that is edited in place may meet only
// one condition.
func isAPIRole(r claudie.Role) bool { return r.IsAPI() && r.Port == claudie.APIPort }

func newUnit(now, want *stateIndex, name string) *unit {
	was, is := now.clusters[name], want.clusters[name]
	u := &unit{name: name, ids: map[string]int{}, version: versions{was.Version, is.Version}, types: versions{now.ClusterTypes[name], want.ClusterTypes[name]}}
	u.slots = append(u.slots, newSlots(now, want, Subject{PoolRole: Control}, was.Pools.Control, is.Pools.Control, &u.tally)...)
	u.slots = append(u.slots, newSlots(now, want, Subject{PoolRole: Compute}, was.Pools.Compute, is.Pools.Compute, &u.tally)...)
	u.balancers = newBalancers(now, want, name)
	u.limit = 32 + 8*len(u.slots)
	for _, b := range u.balancers {
		u.limit += 8 * (1 + len(b.slots))
		for _, side := range []*balancing{b.now, b.want} {
			if side != nil {
				u.limit += 4 * len(side.roles)
			}
		}
	}
	current := findEndpoint(now, was)
	u.endpoint = endpoint{Endpoint: current}
	u.wantedNode = chooseNode(current, want, is)
	if e, stays := u.findStayingNode(); current.LoadBalancer != "" && stays {
		u.wantedNode = e
	}
	u.wanted = want.findAPIBalancer(name)
	if u.wanted.LoadBalancer == "" {
		u.wanted = u.wantedNode
	}
	if e, phased := want.Endpoints[name]; want.Rollout != nil && want.Rollout.From != nil && phased {
		u.wanted, u.chosen = e, true
		if e.LoadBalancer == "" {
			u.wantedNode = e
		}
	}
	u.open = current.LoadBalancer == "" || now.isHeldOpen(name)
	u.wantedOpen = u.wanted.LoadBalancer == "" || want.isHeldOpen(name)
	u.proxy = proxies{newProxy(now, was), newProxy(want, is)}
	u.findPatches(now, want)
	return u
}

func (s *State) isHeldOpen(cluster string) bool {
	return s.Rollout != nil && slices.Contains(s.Rollout.Open, cluster)
}

func newSlots(now, want *stateIndex, subject Subject, was, is []string, t *tally) []*slot {
	present := make(map[string]bool, len(was))
	for _, name := range was {
		present[name] = true
	}
	all := make([]*slot, 0, len(is))
	add := func(name string, isNow, isWanted bool) {
		s := &slot{subject: subject, tally: t}
		s.subject.Pool = name
		if isNow {
			s.now, s.static = now.newMachines(name)
		}
		if isWanted {
			s.want, s.static = want.newMachines(name)
		}
		if isNow && isWanted && equalTemplates(s.now.templates, s.want.templates) {
			s.want.templates = s.now.templates
		}
		if isNow && isWanted && s.want.scaler != nil {
			s.want.count = min(max(s.now.count, s.want.scaler.Min), s.want.scaler.Max)
		}
		s.next = s.findAction()
		s.count(1)
		all = append(all, s)
	}
	wanted := make(map[string]bool, len(is))
	for _, name := range is {
		add(name, present[name], true)
		wanted[name] = true
	}
	for _, name := range was {
		if !wanted[name] {
			add(name, true, false)
		}
	}
	return all
}

func (x *stateIndex) newMachines(pool string) (*machines, bool) {
	if p := x.static[pool]; p != nil {
		m := &machines{count: len(p.Nodes)}
		for _, n := range p.Nodes {
			m.addresses = append(m.addresses, n.Endpoint)
		}
		slices.Sort(m.addresses)
		return m, true
	}
	p := x.dynamic[pool]
	if p == nil {
		return &machines{}, false
	}
	fewest, _ := p.CountNodes()
	return &machines{templates: x.findTemplates(p.ProviderSpec.Name), count: fewest, scaler: p.Autoscaler}, false
}

func (x *stateIndex) findTemplates(provider string) string {
	if !x.isOfClaudie() {
		return ""
	}
	return x.Templates[provider]
}

func newBalancers(now, want *stateIndex, cluster string) []*balancer {
	var all []*balancer
	byName := map[string]*balancer{}
	find := func(name string) *balancer {
		if byName[name] == nil {
			byName[name] = &balancer{name: name}
			all = append(all, byName[name])
		}
		return byName[name]
	}
	pools := map[string][2][]string{}
	for _, lb := range want.balancers[cluster] {
		find(lb.Name).want = want.newBalancing(lb)
		pools[lb.Name] = [2][]string{nil, lb.Pools}
	}
	for _, lb := range now.balancers[cluster] {
		find(lb.Name).now = now.newBalancing(lb)
		pools[lb.Name] = [2][]string{lb.Pools, pools[lb.Name][1]}
	}
	for _, b := range all {
		if want.isOfClaudie() {
			keepHostname(b.now, b.want)
		}
		b.slots = newSlots(now, want, Subject{PoolRole: Balancing, LoadBalancer: b.name}, pools[b.name][0], pools[b.name][1], &b.tally)
	}
	return all
}

func (x *stateIndex) newBalancing(lb *claudie.LoadBalancer) *balancing {
	b := &balancing{dns: lb.DNS}
	b.dns.AlternativeNames = slices.Sorted(slices.Values(lb.DNS.AlternativeNames))
	for _, name := range lb.Roles {
		if r := x.roles[name]; r != nil && b.findRole(name) == nil {
			role := *r
			role.TargetPools = slices.Sorted(slices.Values(r.TargetPools))
			settings := r.EffectiveSettings()
			role.Settings = &settings
			b.roles = append(b.roles, role)
		}
	}
	return b
}

// findEndpoint returns the API endpoint in the lock, or without one that of a new
// cluster.
func findEndpoint(x *stateIndex, c *claudie.Cluster) Endpoint {
	if e, known := x.Endpoints[c.Name]; known {
		return e
	}
	return chooseEndpoint(x, c)
}

func chooseEndpoint(x *stateIndex, c *claudie.Cluster) Endpoint {
	if e := x.findAPIBalancer(c.Name); e.LoadBalancer != "" {
		return e
	}
	return chooseNode(Endpoint{}, x, c)
}

func (x *stateIndex) findAPIBalancer(cluster string) Endpoint {
	for _, lb := range x.balancers[cluster] {
		if x.newBalancing(lb).servesAPI() {
			return Endpoint{LoadBalancer: lb.Name}
		}
	}
	return Endpoint{}
}

func chooseNode(current Endpoint, x *stateIndex, c *claudie.Cluster) Endpoint {
	if current.LoadBalancer == "" && slices.Contains(c.Pools.Control, current.Pool) && x.hasNode(current) {
		return current
	}
	if len(c.Pools.Control) == 0 {
		return Endpoint{}
	}
	return x.newNodeEndpoint(c.Pools.Control[0])
}

func (x *stateIndex) newNodeEndpoint(pool string) Endpoint {
	e := Endpoint{Pool: pool}
	if p := x.static[pool]; p != nil && len(p.Nodes) > 0 {
		e.Node = p.Nodes[0].Endpoint
	}
	return e
}

func (x *stateIndex) hasNode(e Endpoint) bool {
	p := x.static[e.Pool]
	if p == nil {
		return e.Node == ""
	}
	return slices.ContainsFunc(p.Nodes, func(n claudie.StaticNode) bool { return n.Endpoint == e.Node })
}

type proxy struct {
	used    bool
	noProxy string
}

type proxies struct{ now, want proxy }

// newProxy returns the effective proxy. Without a mode, Claudie uses it if any node is
// on Hetzner. Claudie ignores changes of the address.
func newProxy(x *stateIndex, c *claudie.Cluster) proxy {
	mode := ""
	p := proxy{}
	if c.InstallationProxy != nil {
		mode, p.noProxy = c.InstallationProxy.Mode, c.InstallationProxy.NoProxy
	}
	switch mode {
	case "on":
		p.used = true
	case "off":
	default:
		p.used = x.isOfClaudie() && (slices.ContainsFunc(c.Pools.Control, x.isOnHetzner) || slices.ContainsFunc(c.Pools.Compute, x.isOnHetzner))
	}
	if !p.used {
		return proxy{}
	}
	return p
}

func (x *stateIndex) isOnHetzner(pool string) bool {
	p := x.dynamic[pool]
	return p != nil && x.providers[p.ProviderSpec.Name] != nil && x.providers[p.ProviderSpec.Name].Type == "hetzner"
}

func (s *slot) count(n int) {
	kind := 0
	if s.static {
		kind = 1
	}
	s.tally[s.next][kind] += n
}

func (s *slot) refresh() {
	s.count(-1)
	s.next = s.findAction()
	s.count(1)
}

// findAction adds nodes before it removes others; new templates come last.
func (s *slot) findAction() action {
	switch {
	case s.now == nil && s.want == nil:
		return settle
	case s.now == nil:
		return addPool
	case s.old != nil, s.want == nil:
		return removePool
	case s.isFixed():
		return scalePool
	case s.want.count > s.now.count && !s.static, s.static && len(missingFrom(s.now.addresses, s.want.addresses)) > 0:
		return growPool
	case s.want.count < s.now.count && !s.static, s.static && len(missingFrom(s.want.addresses, s.now.addresses)) > 0:
		return shrinkPool
	case (s.now.scaler == nil) != (s.want.scaler == nil), s.now.scaler != nil && *s.now.scaler != *s.want.scaler:
		return scalePool
	case s.now.templates != s.want.templates:
		return rollPool
	}
	return settle
}

// isFixed reports whether an autoscaled pool becomes fixed within its bounds, which
// changes an unknown number of nodes.
func (s *slot) isFixed() bool {
	return s.now.scaler != nil && s.want.scaler == nil && !s.static && s.now.scaler.Min <= s.want.count && s.want.count <= s.now.scaler.Max
}

func missingFrom(some, all []string) []string {
	var missing []string
	for _, one := range all {
		if _, found := slices.BinarySearch(some, one); !found {
			missing = append(missing, one)
		}
	}
	return missing
}

func equalTaints(a, b []claudie.Taint) bool {
	if len(a) < 2 || len(a) != len(b) {
		return slices.Equal(a, b)
	}
	order := func(x, y claudie.Taint) int {
		return cmp.Or(cmp.Compare(x.Key, y.Key), cmp.Compare(x.Effect, y.Effect), cmp.Compare(x.Value, y.Value))
	}
	return slices.Equal(slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order))
}

type nodeMarks struct {
	labels, annotations map[string]string
	taints              []claudie.Taint
}

func (x *stateIndex) findMarks(pool string) nodeMarks {
	if p := x.static[pool]; p != nil {
		return nodeMarks{p.Labels, p.Annotations, p.Taints}
	}
	if p := x.dynamic[pool]; p != nil {
		return nodeMarks{p.Labels, p.Annotations, p.Taints}
	}
	return nodeMarks{}
}

func (m nodeMarks) equals(o nodeMarks) bool {
	return maps.Equal(m.labels, o.labels) && maps.Equal(m.annotations, o.annotations) && equalTaints(m.taints, o.taints)
}
