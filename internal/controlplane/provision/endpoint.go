package provision

import "slices"

// moveEndpoint only moves the API endpoint to a load balancer that already serves the
// API.
func (u *unit) moveEndpoint() (Step, bool) {
	from, to := u.endpoint.LoadBalancer, u.wanted.LoadBalancer
	switch {
	case u.wantedOpen && !u.open && (from != to || u.chosen):
		u.open = true
		return u.newStep(Open6443, Subject{}, Change{"apiEndpoint", u.endpoint.String(), u.findDetached().String()}), true
	case from == to:
		return Step{}, false
	case to == "":
		return u.moveEndpointTo(MoveAPIEndpoint, u.findDetached()), true
	}
	b := u.findBalancer(to)
	if b == nil || !b.now.servesAPI() || from != "" && (b.lacksRole() || u.findBalancer(from).lacksRole()) {
		return Step{}, false
	}
	return u.moveEndpointTo(MoveAPIEndpoint, u.wanted), true
}

func (u *unit) moveEndpointTo(kind Kind, to Endpoint) Step {
	subject := Subject{LoadBalancer: to.LoadBalancer, New: u.endpoint.old && to.Pool == u.endpoint.Pool}
	if to.Pool != "" {
		subject.PoolRole, subject.Pool = Control, to.Pool
	}
	step := u.newStep(kind, subject, Change{"apiEndpoint", u.endpoint.String(), to.String()})
	u.endpoint = endpoint{Endpoint: to}
	return step
}

// String names the endpoint in a sentence.
func (e endpoint) String() string {
	if e.old {
		return e.Endpoint.String() + " (replaced machines)"
	}
	return e.Endpoint.String()
}

// findDetached returns the control node that gets the endpoint without a load balancer,
// preferably one that stays.
func (u *unit) findDetached() Endpoint {
	if u.hasNode(u.wantedNode) {
		return u.wantedNode
	}
	for _, s := range u.slots {
		if s.subject.PoolRole == Control && s.now != nil {
			return s.newNodeEndpoint(s.now.addresses)
		}
	}
	return Endpoint{}
}

func (u *unit) findStayingNode() (Endpoint, bool) {
	for _, s := range u.slots {
		if s.subject.PoolRole != Control || s.now == nil || s.want == nil {
			continue
		}
		staying := slices.DeleteFunc(slices.Clone(s.now.addresses), func(address string) bool { return !slices.Contains(s.want.addresses, address) })
		if !s.static || len(staying) > 0 {
			return s.newNodeEndpoint(staying), true
		}
	}
	return Endpoint{}, false
}

func (s *slot) newNodeEndpoint(addresses []string) Endpoint {
	e := Endpoint{Pool: s.subject.Pool}
	if len(addresses) > 0 {
		e.Node = addresses[0]
	}
	return e
}

func (u *unit) hasNode(e Endpoint) bool {
	s := u.findControl(e.Pool)
	return s != nil && s.now != nil && (e.Node == "" || slices.Contains(s.now.addresses, e.Node))
}

func (u *unit) findControl(pool string) *slot {
	for _, s := range u.slots {
		if s.subject.PoolRole == Control && s.subject.Pool == pool {
			return s
		}
	}
	return nil
}

// transferEndpoint moves the endpoint away from a node that will be removed, once the
// other node exists.
func (u *unit) transferEndpoint() (Step, bool) {
	moves := u.isEndpointLeaving() || u.chosen && u.endpoint.Endpoint != u.wantedNode
	if u.endpoint.LoadBalancer != "" || !moves || !u.hasNode(u.wantedNode) {
		return Step{}, false
	}
	return u.moveEndpointTo(TransferAPINode, u.wantedNode), true
}

func (u *unit) isEndpointLeaving() bool {
	s := u.findControl(u.endpoint.Pool)
	return u.endpoint.old || s == nil || s.want == nil || u.endpoint.Node != "" && !slices.Contains(s.want.addresses, u.endpoint.Node)
}

func (u *unit) closePort() (Step, bool) {
	if u.endpoint.LoadBalancer == "" || u.wantedOpen || !u.open {
		return Step{}, false
	}
	u.open = false
	return u.newStep(Close6443, Subject{}, Change{"apiEndpoint", "control nodes", u.endpoint.String()}), true
}

func (u *unit) findBalancer(name string) *balancer {
	i := slices.IndexFunc(u.balancers, func(b *balancer) bool { return b.name == name })
	if i < 0 {
		return nil
	}
	return u.balancers[i]
}

func (b *balancer) lacksRole() bool {
	if b == nil || b.want == nil || b.now == nil {
		return false
	}
	for i := range b.want.roles {
		if b.now.findRole(b.want.roles[i].Name) == nil {
			return true
		}
	}
	return false
}
