package provision

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Edit is a change of one manifest.
type Edit struct {
	Current, Desired *State
	Annotations      map[string]string // of the written manifest
	// PositionOf returns the position of a field of the spec, by keys (string) and
	// indexes (int), or of the manifest.
	PositionOf func(path ...any) problem.Pos
	// Unused are written providers that are not rendered.
	Unused []string
	// Regrouped is the manifest that has the clusters after splitting is switched on or
	// off; else nil.
	Regrouped *model.InputManifest
	// RemovesBeside is set if another part of the same split manifest loses its
	// cluster.
	RemovesBeside bool
}

func (e *Edit) accepts(consequence string) bool { return Accepts(e.Annotations, consequence) }

// Accepts reports whether the annotations of a manifest accept a consequence by name.
func Accepts(annotations map[string]string, consequence string) bool {
	return slices.Contains(splitWords(annotations[model.AcceptAnnotation]), consequence)
}

type editCheck struct {
	Edit
	now, want *stateIndex
	problems  problem.List
}

// CheckEdit reports what must not be merged: what Claudie refuses, what destroys more
// than was accepted, and what needs two steps.
func CheckEdit(e Edit) problem.List {
	if e.Current.Name == "" {
		return nil
	}
	g := &editCheck{Edit: e, now: newStateIndex(e.Current), want: newStateIndex(e.Desired)}
	removed := g.checkRemovals()
	if e.Desired.Name == "" {
		return g.problems
	}
	g.checkExecutor()
	g.checkProviders()
	g.checkPools()
	for i := range e.Desired.Spec.Kubernetes.Clusters {
		is := &e.Desired.Spec.Kubernetes.Clusters[i]
		if was := g.now.clusters[is.Name]; was != nil {
			g.checkCluster(i, was, is)
		}
	}
	g.checkMachines()
	g.checkNames()
	g.checkRoles()
	if g.isDecommissioning() && !removed && !e.RemovesBeside && e.Current.Rollout == nil && e.Desired.Executor != capiExecutor && len(e.Desired.Spec.Kubernetes.Clusters) > 0 {
		g.problems.Warnf(g.PositionOf(), g.subject(), "remove the annotation: with it, the next cluster that is removed is destroyed without a question",
			"%s is set, and no cluster is removed", model.DecommissionAnnotation)
	}
	return g.problems
}

func (e *Edit) subject() string {
	return claudie.InputManifestKind + "/" + cmp.Or(e.Current.SplitFrom, e.Current.Name)
}

// awaitsReports reports whether a pull request waits for reports of the management
// cluster.
func (e *Edit) awaitsReports() bool {
	switch clusters := e.Current.Spec.Kubernetes.Clusters; {
	case e.Current.Name == "":
		return false
	case e.Current.Rollout != nil, e.Desired.Name == "" && len(clusters) == 0:
		return true
	default:
		return e.isDecommissioning() && slices.ContainsFunc(clusters, func(c claudie.Cluster) bool { return e.Desired.Spec.FindCluster(c.Name) == nil })
	}
}

func (g *editCheck) addf(path []any, hint, format string, args ...any) {
	g.problems.Addf(g.PositionOf(path...), g.subject(), hint, format, args...)
}

func (e *Edit) isDecommissioning() bool {
	return e.Annotations[model.DecommissionAnnotation] == "true"
}

// HintAccept returns a hint that explains how to accept a consequence.
func HintAccept(consequence string) string {
	return fmt.Sprintf("annotate the manifest with %s: %s", model.AcceptAnnotation, consequence)
}

func (g *editCheck) checkRemovals() bool {
	removed := false
	for i := range g.Current.Spec.Kubernetes.Clusters {
		name := g.Current.Spec.Kubernetes.Clusters[i].Name
		if g.want.clusters[name] != nil {
			continue
		}
		removed = true
		switch {
		case g.Regrouped != nil:
			g.reportRegrouped(name)
		case g.Desired.Name == "":
			g.addf(nil, fmt.Sprintf("bring the manifest back without its clusters and with the annotation %s: \"true\", and remove it after they are gone; in another environment they are made anew", model.DecommissionAnnotation),
				"the manifest is removed, and cluster %s would be destroyed", name)
		case !g.isDecommissioning():
			hint := fmt.Sprintf("annotate the manifest with %s: \"true\" if it is to go", model.DecommissionAnnotation)
			if successor := g.findSuccessor(name); successor != "" {
				hint = fmt.Sprintf("a cluster cannot be renamed: %s would be a new one; keep the name, or add %s, move what runs on %s, and then %s", successor, successor, name, hint)
			}
			g.addf([]any{"kubernetes", "clusters"}, hint, "cluster %s is removed, and would be destroyed", name)
		}
	}
	return removed
}

func (g *editCheck) reportRegrouped(cluster string) {
	if g.Current.SplitFrom == "" {
		g.addf(nil, "remove the annotation: only a manifest that was never rendered can be split", "%s is set, and the clusters were rendered in one manifest: cluster %s would be destroyed, and made anew",
			model.SplitAnnotation, cluster)
		return
	}
	g.addf(nil, fmt.Sprintf("annotate the manifest with %s: \"true\" again", model.SplitAnnotation), "%s is not set any more, and each cluster was rendered in a manifest of its own: cluster %s would be destroyed, and made anew",
		model.SplitAnnotation, cluster)
}

func (g *editCheck) findSuccessor(gone string) string {
	pools := g.now.clusters[gone].Pools.Control
	for i := range g.Desired.Spec.Kubernetes.Clusters {
		c := &g.Desired.Spec.Kubernetes.Clusters[i]
		if g.now.clusters[c.Name] == nil && slices.Equal(c.Pools.Control, pools) {
			return c.Name
		}
	}
	return ""
}

// checkExecutor reports another executor while clusters remain: only their own executor
// can destroy them.
func (g *editCheck) checkExecutor() {
	if g.Current.Executor == g.Desired.Executor || len(g.Current.Spec.Kubernetes.Clusters) == 0 && g.Current.Rollout == nil {
		return
	}
	g.addf(nil, fmt.Sprintf("keep %s: %s until its clusters are decommissioned and gone; or write the new clusters in a manifest of another name", model.ExecutorAnnotation, g.Current.Executor),
		"the executor changes from %s to %s, which cannot destroy what %s made", g.Current.Executor, g.Desired.Executor, g.Current.Executor)
}

// checkProviders reports providers that are removed or change type while machines or
// DNS records need them.
func (g *editCheck) checkProviders() {
	users := findProviderUsers(g.now)
	for i := range g.Current.Spec.Providers {
		was := &g.Current.Spec.Providers[i]
		user := users[was.Name]
		if user.name == "" {
			continue
		}
		is := g.want.providers[was.Name]
		switch {
		case is == nil && !slices.Contains(g.Unused, was.Name):
			g.addf([]any{"providers"}, fmt.Sprintf("two commits: keep %s until the change that removes what it made is done, then remove it with its Secret", was.Name),
				"provider %s is removed while %s is made with it: its credentials are needed to remove that", was.Name, user.name)
		case is != nil && is.Type == was.Type && user.isPool && g.want.isOfClaudie() && !equalTemplates(g.now.Templates[was.Name], g.want.Templates[was.Name]):
			g.problems.Warnf(g.PositionOf("providers", g.findProvider(is.Name)), g.subject(), "", "the templates of provider %s change: every node that is made with it is replaced", was.Name)
		case is != nil && is.Type != was.Type:
			g.addf([]any{"providers", g.findProvider(is.Name), "providerType"}, "add a provider with another name, and pools that use it",
				"provider %s changes from %s to %s while %s is made with it", was.Name, was.Type, is.Type, user.name)
		}
	}
}

func (g *editCheck) findProvider(name string) int {
	return slices.IndexFunc(g.Desired.Spec.Providers, func(p claudie.Provider) bool { return p.Name == name })
}

type providerUser struct {
	name   string // "pool blue of cluster east"
	isPool bool
}

func findProviderUsers(x *stateIndex) map[string]providerUser {
	users := map[string]providerUser{}
	use := func(provider string, user providerUser) {
		if users[provider].name == "" {
			users[provider] = user
		}
	}
	for _, ref := range x.poolReferences() {
		if p := x.dynamic[ref.pool]; p != nil {
			use(p.ProviderSpec.Name, providerUser{fmt.Sprintf("pool %s of %s", ref.pool, ref.owner), true})
		}
	}
	for i := range x.Spec.LoadBalancers.Clusters {
		lb := &x.Spec.LoadBalancers.Clusters[i]
		use(lb.DNS.Provider, providerUser{name: "the DNS name of load balancer " + lb.Name})
	}
	return users
}

type poolReference struct{ pool, role, owner, cluster string }

func (x *stateIndex) poolReferences() []poolReference {
	var all []poolReference
	for i := range x.Spec.Kubernetes.Clusters {
		c := &x.Spec.Kubernetes.Clusters[i]
		for _, pool := range c.Pools.Control {
			all = append(all, poolReference{pool, Control, "cluster " + c.Name, c.Name})
		}
		for _, pool := range c.Pools.Compute {
			all = append(all, poolReference{pool, Compute, "cluster " + c.Name, c.Name})
		}
	}
	for i := range x.Spec.LoadBalancers.Clusters {
		lb := &x.Spec.LoadBalancers.Clusters[i]
		for _, pool := range lb.Pools {
			all = append(all, poolReference{pool, Balancing, "load balancer " + lb.Name, lb.TargetedK8s})
		}
	}
	return all
}

func (g *editCheck) checkCluster(i int, was, is *claudie.Cluster) {
	path := func(keys ...any) []any { return append([]any{"kubernetes", "clusters", i}, keys...) }
	if was.Network != is.Network {
		g.addf(path("network"), "keep it; for another network, add a cluster with another name, and move what runs on this one",
			"cluster %s: the network cannot change (%s → %s)", is.Name, was.Network, is.Network)
	}
	if reason, hint := checkUpgrade(was.Version, is.Version); reason != "" {
		g.addf(path("version"), hint, "cluster %s: %s (%s → %s)", is.Name, reason, was.Version, is.Version)
	}
	g.checkControlPlane(path("pools", "control"), is)
	if proxyEndpoint(was) != proxyEndpoint(is) && newProxy(g.now, was) == newProxy(g.want, is) {
		g.problems.Warnf(g.PositionOf(path("installationProxy", "endpoint")...), g.subject(), "", "cluster %s: Claudie ignores another address of the installation proxy while nothing else of the proxy changes", is.Name)
	}
}

func proxyEndpoint(c *claudie.Cluster) string {
	if c.InstallationProxy == nil || c.InstallationProxy.Endpoint == "" {
		return "http://proxy.claudie.io:8880"
	}
	return c.InstallationProxy.Endpoint
}

// checkRoles reports roles that start or stop serving the API: roles change after nodes
// are removed, maybe their target nodes.
func (g *editCheck) checkRoles() {
	for i := range g.Desired.Spec.LoadBalancers.Roles {
		is := &g.Desired.Spec.LoadBalancers.Roles[i]
		was := g.now.roles[is.Name]
		if was == nil || isAPIRole(*was) == isAPIRole(*is) {
			continue
		}
		verb := "cease to forward"
		if isAPIRole(*is) {
			verb = "begin to forward"
		}
		g.addf([]any{"loadBalancers", "roles", i, "targetPort"}, fmt.Sprintf("write a role with another name, and name that in place of %s: it is added before the other one is deleted", is.Name),
			"role %s cannot %s to the API server", is.Name, verb)
	}
}

func checkUpgrade(was, is string) (reason, hint string) {
	old, isOld := parseVersion(was)
	new, isNew := parseVersion(is)
	switch {
	case !isOld || !isNew:
		return "", ""
	case isOlder(is, was):
		return "Kubernetes cannot be downgraded", "keep " + was + "; a cluster of an older version is a new one"
	case new[0] != old[0] || new[1] > old[1]+1:
		return "Kubernetes is upgraded one minor version at a time", fmt.Sprintf("two commits: %d.%d first, and the next one after it is done", old[0], old[1]+1)
	}
	return "", ""
}

func isOlder(version, other string) bool {
	a, isVersion := parseVersion(version)
	b, isOther := parseVersion(other)
	return isVersion && isOther && slices.Compare(a, b) < 0
}

func parseVersion(text string) ([]int, bool) {
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "v"), "-")
	text, _, _ = strings.Cut(text, "+")
	var numbers []int
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, len(numbers) >= 2
}
