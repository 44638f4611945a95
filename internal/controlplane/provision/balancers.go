package provision

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

func (u *unit) replaceDNS() (Step, bool) {
	for _, b := range u.balancers {
		if b.now == nil || b.want == nil || equalDNS(b.now.dns, b.want.dns) {
			continue
		}
		step := u.newStep(ReplaceDNS, Subject{LoadBalancer: b.name}, diffDNS(b.now.dns, b.want.dns)...)
		step.Reversible = u.endpoint.LoadBalancer != b.name
		b.now.dns = b.want.dns
		return step, true
	}
	return Step{}, false
}

// keepHostname makes an unset hostname keep its current value, as Claudie does.
func keepHostname(now, want *balancing) {
	if now != nil && want != nil && want.dns.Hostname == "" {
		want.dns.Hostname = now.dns.Hostname
	}
}

func equalDNS(a, b claudie.DNS) bool {
	return a.Zone == b.Zone && a.Provider == b.Provider && a.Hostname == b.Hostname && slices.Equal(a.AlternativeNames, b.AlternativeNames)
}

func diffDNS(was, is claudie.DNS) []Change {
	var all []Change
	for _, c := range []Change{
		{"dns.dnsZone", was.Zone, is.Zone}, {"dns.provider", was.Provider, is.Provider}, {"dns.hostname", was.Hostname, is.Hostname},
		{"dns.alternativeNames", strings.Join(was.AlternativeNames, ", "), strings.Join(is.AlternativeNames, ", ")},
	} {
		if c.Old != c.New {
			all = append(all, c)
		}
	}
	return all
}

func (u *unit) joinBalancer() (Step, bool) {
	for _, b := range u.balancers {
		if b.now != nil || b.want == nil {
			continue
		}
		step := u.newStep(JoinLB, Subject{LoadBalancer: b.name}, Change{"loadBalancers", "", b.name})
		b.now = &balancing{b.want.dns, slices.Clone(b.want.roles)}
		for _, s := range b.slots {
			s.now = s.want
			s.refresh()
		}
		return step, true
	}
	return Step{}, false
}

// deleteBalancer keeps a load balancer until the API endpoint has left it.
func (u *unit) deleteBalancer() (Step, bool) {
	for _, b := range u.balancers {
		if b.want != nil || b.now == nil || u.endpoint.LoadBalancer == b.name {
			continue
		}
		step := u.newStep(DeleteLB, Subject{LoadBalancer: b.name}, Change{"loadBalancers", b.name, ""})
		b.now = nil
		for _, s := range b.slots {
			s.now, s.old = nil, nil
			s.refresh()
		}
		return step, true
	}
	return Step{}, false
}

func (u *unit) addRole() (Step, bool) {
	for _, b := range u.balancers {
		if b.now == nil || b.want == nil {
			continue
		}
		for i := range b.want.roles {
			role := b.want.roles[i]
			if b.now.findRole(role.Name) != nil {
				continue
			}
			b.now.roles = append(b.now.roles, role)
			return u.newStep(AddRole, Subject{LoadBalancer: b.name, Role: role.Name}, Change{"roles", "", role.Name}, Change{"port", "", describePort(&role)}), true
		}
	}
	return Step{}, false
}

func describePort(r *claudie.Role) string {
	return fmt.Sprintf("%d/%s to %d of %s", r.Port, r.Protocol, r.TargetPort, strings.Join(r.TargetPools, ", "))
}

func (u *unit) deleteRole() (Step, bool) {
	for _, b := range u.balancers {
		if b.now == nil || b.want == nil {
			continue
		}
		for i := range b.now.roles {
			role := b.now.roles[i]
			if b.want.findRole(role.Name) != nil || u.needsRole(b, &role) {
				continue
			}
			b.now.roles = slices.Delete(slices.Clone(b.now.roles), i, i+1)
			return u.newStep(DeleteRole, Subject{LoadBalancer: b.name, Role: role.Name}, Change{"roles", role.Name, ""}, Change{"port", describePort(&role), ""}), true
		}
	}
	return Step{}, false
}

func (u *unit) needsRole(b *balancer, role *claudie.Role) bool {
	if u.endpoint.LoadBalancer != b.name || !isAPIRole(*role) {
		return false
	}
	return !slices.ContainsFunc(b.now.roles, func(r claudie.Role) bool { return isAPIRole(r) && r.Name != role.Name })
}

func (u *unit) changeRole(change func(*balancer, *claudie.Role, *claudie.Role) (Step, bool)) (Step, bool) {
	for _, b := range u.balancers {
		if b.now == nil || b.want == nil {
			continue
		}
		for i := range b.now.roles {
			want := b.want.findRole(b.now.roles[i].Name)
			if want == nil {
				continue
			}
			if step, ok := change(b, &b.now.roles[i], want); ok {
				return step, true
			}
		}
	}
	return Step{}, false
}

func (u *unit) retargetRole() (Step, bool) {
	return u.changeRole(func(b *balancer, now, want *claudie.Role) (Step, bool) {
		if slices.Equal(now.TargetPools, want.TargetPools) {
			return Step{}, false
		}
		reason := Change{"targetPools", strings.Join(now.TargetPools, ", "), strings.Join(want.TargetPools, ", ")}
		now.TargetPools = want.TargetPools
		return u.newStep(RetargetLB, Subject{LoadBalancer: b.name, Role: now.Name}, reason), true
	})
}

// changeRoleInternals changes what only the load balancer and its targets notice.
func (u *unit) changeRoleInternals() (Step, bool) {
	return u.changeRole(func(b *balancer, now, want *claudie.Role) (Step, bool) {
		if equalInternals(now, want) || !isAPIRole(*want) && u.needsRole(b, now) {
			return Step{}, false
		}
		var reason []Change
		for _, c := range []Change{
			{"targetPort", strconv.Itoa(now.TargetPort), strconv.Itoa(want.TargetPort)},
			{"settings.proxyProtocol", strconv.FormatBool(now.Settings.ProxyProtocol), strconv.FormatBool(want.Settings.ProxyProtocol)},
			{"settings.stickySessions", strconv.FormatBool(now.Settings.StickySessions), strconv.FormatBool(want.Settings.StickySessions)},
		} {
			if c.Old != c.New {
				reason = append(reason, c)
			}
		}
		now.TargetPort, now.Settings = want.TargetPort, want.Settings
		return u.newStep(ChangeRoleInternal, Subject{LoadBalancer: b.name, Role: now.Name}, reason...), true
	})
}

func equalInternals(a, b *claudie.Role) bool {
	return a.TargetPort == b.TargetPort && *a.Settings == *b.Settings
}

func (u *unit) changeRoleExternals() (Step, bool) {
	return u.changeRole(func(b *balancer, now, want *claudie.Role) (Step, bool) {
		if equalExternals(now, want) || !isAPIRole(*want) && u.needsRole(b, now) {
			return Step{}, false
		}
		var reason []Change
		if now.Port != want.Port {
			reason = append(reason, Change{"port", strconv.Itoa(now.Port), strconv.Itoa(want.Port)})
		}
		if now.Protocol != want.Protocol {
			reason = append(reason, Change{"protocol", now.Protocol, want.Protocol})
		}
		now.Port, now.Protocol = want.Port, want.Protocol
		return u.newStep(ChangeRoleExternal, Subject{LoadBalancer: b.name, Role: now.Name}, reason...), true
	})
}

func equalExternals(a, b *claudie.Role) bool { return a.Port == b.Port && a.Protocol == b.Protocol }
