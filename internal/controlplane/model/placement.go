package model

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/ocm"
)

// DecidedByOCM is the decider of choices that follow a Placement of Open Cluster Management.
const DecidedByOCM = "ocm"

// ClusterTypeLabel on a ManagedCluster names its cluster type; without it, the type has the name of the cluster.
const ClusterTypeLabel = OwnGroup + "/cluster-type"

// What PlacementDecisions are known by: their label names the Placement.
const (
	PlacementGroup        = ocm.Group
	PlacementDecisionKind = "PlacementDecision"
	PlacementLabel        = PlacementGroup + "/placement"
	GroupNameLabel        = PlacementGroup + "/decision-group-name"
	GroupIndexLabel       = PlacementGroup + "/decision-group-index"

	pageInfix = "-decision-"
)

// Partial is what becomes of a cluster type of which only some clusters are decided.
type Partial string

// The ways to treat such types; the zero value is a problem.
const (
	PartialAny  Partial = "any"
	PartialNone Partial = "none"
)

// placementPage is a PlacementDecision: some of the clusters that a Placement has selected.
type placementPage struct {
	Object
	namespace string
	clusters  []string
}

type managedCluster struct {
	Object
	clusterType string
}

// placementObjects are the objects of Open Cluster Management in the folder of decisions. hub has those that a Placement is
// decided from.
type placementObjects struct {
	pages    []*placementPage
	clusters []*managedCluster
	hub      ocm.Objects
}

func (p *placementObjects) add(o *placementObjects) {
	p.pages, p.clusters = append(p.pages, o.pages...), append(p.clusters, o.clusters...)
	p.hub.Append(&o.hub)
}

// readPlacementObject reads an object of Open Cluster Management, and reports whether it is one. Fields that do not
// matter here are left to those who wrote it.
func (r *reader) readPlacementObject(n *yaml.Node, h header, d *decoder) bool {
	group, _, _ := strings.Cut(h.apiVersion, "/")
	if group != PlacementGroup || h.kind != PlacementDecisionKind && !ocm.Knows(h.kind) {
		return false
	}
	if h.kind != PlacementDecisionKind {
		if err := addHubObject(&r.out.placements.hub, n, h.kind); err != nil {
			d.addProblem(n, "write it as the API server has it", "the %s cannot be read: %v", h.kind, err)
			return true
		}
		if h.kind != "ManagedCluster" {
			return true
		}
	}
	var s struct {
		Metadata struct {
			Name, Namespace string
			Labels          map[string]string
		}
		Status struct {
			Decisions []struct {
				ClusterName string `yaml:"clusterName"`
			}
		}
	}
	if err := ExpandNode(n).Decode(&s); err != nil {
		d.addProblem(n, "write it as the API server has it", "the %s cannot be read: %v", h.kind, err)
		return true
	}
	o := Object{Kind: h.kind, Name: s.Metadata.Name, Labels: s.Metadata.Labels, Pos: d.positionOf(n)}
	if h.kind == "ManagedCluster" {
		r.out.placements.clusters = append(r.out.placements.clusters, &managedCluster{o, cmp.Or(o.Labels[ClusterTypeLabel], o.Name)})
		return true
	}
	page := &placementPage{Object: o, namespace: s.Metadata.Namespace}
	for _, decision := range s.Status.Decisions {
		page.clusters = append(page.clusters, decision.ClusterName)
	}
	r.out.placements.pages = append(r.out.placements.pages, page)
	return true
}

func addHubObject(hub *ocm.Objects, n *yaml.Node, kind string) error {
	var value any
	if err := ExpandNode(n).Decode(&value); err != nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return hub.Add(kind, text)
}

// placePolicies replaces the policies that follow a Placement by ones that pick the cluster types that it has decided
// on.
func (m *Model) placePolicies(all *placementObjects, problems *problem.List) {
	decided, failed := m.evaluatePlacements(all)
	for i, p := range m.Policies {
		if p.Choice == nil || p.Choice.Decider.Placement == "" {
			continue
		}
		placed, choice := *p, *p.Choice
		var groups []ocm.DecisionGroup
		if p.Choice.Decider.Evaluated {
			choice.Names = m.evaluatedTypes(p, all, decided, failed, problems)
			groups = divideEvaluated(p, all, decided[p.Choice.Decider.Placement], problems)
		} else {
			pages := pagesOf(p.Choice.Decider.Placement, all.pages)
			choice.Decider.Pages = list.Convert(pages, func(page *placementPage) problem.Pos { return page.Pos })
			choice.Names = m.placedTypes(p, pages, all.clusters, problems)
			groups = groupPages(pages)
		}
		if choice.Groups == nil && len(groups) > 0 {
			choice.Groups = &Groups{Decided: groupTypes(p, groups, all.clusters, problems)}
		}
		choice.Pick = max(len(choice.Names), 1) // none is too few, and not on purpose
		placed.Choice, m.Policies[i] = &choice, &placed
	}
}

func (m *Model) evaluatedTypes(p *Policy, all *placementObjects, decided ocm.Decisions, failed map[string]error, problems *problem.List) []string {
	key := p.Choice.Decider.Placement
	placement := all.findPlacement(key)
	if placement == nil {
		problems.Addf(p.Choice.Pos, p.Subject(), "commit it there, with its ManagedClusters, ManagedClusterSets and bindings", "the Placement %s is not in %s", key, DecisionFolder)
		return []string{}
	}
	if err := failed[key]; err != nil {
		hint := ""
		if misconfigured, ok := errors.AsType[*ocm.MisconfiguredError](err); ok {
			hint = misconfigured.Hint
		}
		problems.Addf(p.Choice.Pos, p.Subject(), hint, "the Placement %s is not decided: %v", key, err)
		return []string{}
	}
	if len(decided[key]) == 0 {
		problems.Warnf(p.Choice.Pos, p.Subject(), "", "the Placement %s selects no cluster: %s", key, map[ocm.Empty]string{
			ocm.NoBinding:  "no ManagedClusterSet that is in " + DecisionFolder + " is bound to its namespace by a ManagedClusterSetBinding",
			ocm.NoSet:      "none of its clusterSets is bound to its namespace",
			ocm.NoClusters: "no ManagedCluster is in its sets",
			ocm.NoMatch:    "no ManagedCluster of its sets matches its predicates",
			ocm.NoRoom:     "taints that it does not tolerate, or its numberOfClusters, leave none",
		}[all.hub.FindEmpty(placement)])
	}
	if placement.Spec.SpreadPolicy != nil {
		problems.Warnf(p.Choice.Pos, p.Subject(), "write spread in the choice of a policy that Fairlead decides", "the Placement %s has a spreadPolicy, on which Open Cluster Management does not act", key)
	}
	return m.typesOf(p, setOf(decided[key]), all.clusters, problems)
}

// divideEvaluated returns the decision groups of a Placement that is decided here; nil if it has none.
func divideEvaluated(p *Policy, all *placementObjects, selected []string, problems *problem.List) []ocm.DecisionGroup {
	placement := all.findPlacement(p.Choice.Decider.Placement)
	if placement == nil { // it was reported
		return nil
	}
	groups, err := all.hub.Divide(placement, selected)
	if misconfigured, ok := errors.AsType[*ocm.MisconfiguredError](err); ok {
		problems.Addf(p.Choice.Pos, p.Subject(), misconfigured.Hint, "the Placement %s is not divided into groups: %v", placement.Key(), err)
	}
	return groups
}

func (p *placementObjects) findPlacement(key string) *ocm.Placement {
	i := slices.IndexFunc(p.hub.Placements, func(o *ocm.Placement) bool { return o.Key() == key })
	if i < 0 {
		return nil
	}
	return p.hub.Placements[i]
}

// groupPages returns the decision groups that the labels of PlacementDecisions tell of, in order; nil if all are in the one
// group without a name that every Placement has.
func groupPages(pages []*placementPage) []ocm.DecisionGroup {
	var groups []ocm.DecisionGroup
	last := ""
	for i, page := range pages {
		index := page.Labels[GroupIndexLabel]
		if i == 0 || index != last {
			groups, last = append(groups, ocm.DecisionGroup{Name: page.Labels[GroupNameLabel]}), index
		}
		group := &groups[len(groups)-1]
		group.Clusters = append(group.Clusters, page.clusters...)
	}
	if len(groups) == 1 && groups[0].Name == "" {
		return nil
	}
	return groups
}

// groupTypes returns groups of cluster types for groups of clusters. A cluster type with clusters in several named groups is a
// problem: it gets what is new at once.
func groupTypes(p *Policy, groups []ocm.DecisionGroup, clusters []*managedCluster, problems *problem.List) []DecidedGroup {
	typeOf := map[string]string{}
	for _, c := range clusters {
		typeOf[c.Name] = c.clusterType
	}
	groupOf, all := map[string]string{}, []DecidedGroup{}
	for _, g := range groups {
		var types []string
		for _, cluster := range g.Clusters {
			name := cmp.Or(typeOf[cluster], cluster)
			other, known := groupOf[name]
			switch {
			case !known:
				groupOf[name] = g.Name
				types = append(types, name)
			case other != g.Name:
				problems.Addf(p.Choice.Pos, p.Subject(), "split the cluster type, or let one group select all of its clusters",
					"the Placement %s has clusters of %s in the groups %q and %q: a cluster type is in one", p.Choice.Decider.Placement, name, other, g.Name)
			}
		}
		slices.Sort(types)
		all = append(all, DecidedGroup{g.Name, types})
	}
	return all
}

// maxPlacementRounds is how often Placements are decided before it is said that cluster types do not settle.
const maxPlacementRounds = 10

// evaluatePlacements decides for the Placements in Git if a policy asks for it. It starts from the clusters of the cluster
// types that are decided, and ends when those are the ones that it finds: deciding again then changes nothing.
func (m *Model) evaluatePlacements(all *placementObjects) (ocm.Decisions, map[string]error) {
	following := map[string][]*Policy{}
	for _, p := range m.Policies {
		if p.Choice != nil && p.Choice.Decider.Evaluated {
			following[p.Choice.Decider.Placement] = append(following[p.Choice.Decider.Placement], p)
		}
	}
	if len(following) == 0 {
		return nil, nil
	}
	before := ocm.Decisions{}
	for _, page := range all.pages {
		key := page.namespace + "/" + page.Labels[PlacementLabel]
		before[key] = append(before[key], page.clusters...)
	}
	for key, policies := range following {
		types := map[string]bool{}
		for _, p := range policies {
			for _, names := range m.DecisionOf(p).Units {
				for _, name := range names {
					types[name] = true
				}
			}
		}
		before[key] = all.clustersOf(types)
	}
	scheduler := all.hub.NewScheduler()
	for range maxPlacementRounds {
		decided, failed := scheduler.Decide(before)
		settled := true
		for key, policies := range following {
			types := map[string]bool{}
			for _, p := range policies {
				for _, name := range m.typesOf(p, setOf(decided[key]), all.clusters, &problem.List{}) {
					types[name] = true
				}
			}
			clusters := all.clustersOf(types)
			settled = settled && slices.Equal(clusters, before[key])
			before[key] = clusters
		}
		if settled {
			return decided, failed
		}
	}
	failed := map[string]error{}
	for key := range following {
		failed[key] = &ocm.MisconfiguredError{Reason: "its cluster types do not settle", Hint: "give Steady more weight"}
	}
	return nil, failed
}

func (p *placementObjects) clustersOf(types map[string]bool) []string {
	var names []string
	for _, c := range p.clusters {
		if types[c.clusterType] {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

func (m *Model) placedTypes(p *Policy, pages []*placementPage, clusters []*managedCluster, problems *problem.List) []string {
	decider, pos := p.Choice.Decider, p.Choice.Pos
	if len(pages) == 0 {
		problems.Addf(pos, p.Subject(), "commit its PlacementDecisions there", "no PlacementDecision of the Placement %s is in %s", decider.Placement, DecisionFolder)
		return []string{}
	}
	var decided []string
	for i, page := range pages {
		if number := page.number(); number != i+1 {
			problems.Addf(page.Pos, page.Subject(), "commit all of its PlacementDecisions", "page %d of the Placement %s is missing, or there twice", min(i+1, number), decider.Placement)
			return []string{}
		}
		decided = append(decided, page.clusters...)
	}
	return m.typesOf(p, setOf(decided), clusters, problems)
}

func (m *Model) typesOf(p *Policy, decided map[string]bool, clusters []*managedCluster, problems *problem.List) []string {
	decider, pos := p.Choice.Decider, p.Choice.Pos
	missing, types, known := map[string][]string{}, map[string]bool{}, map[string]bool{}
	for _, c := range clusters {
		clusterType := m.FolderOf(c.Name, c.clusterType)
		known[c.Name] = true
		if decided[c.Name] {
			types[clusterType] = true
		} else {
			missing[clusterType] = append(missing[clusterType], c.Name)
		}
	}
	for name := range decided {
		if !known[name] {
			types[name] = true
		}
	}
	placed := []string{}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		absent := missing[name]
		slices.Sort(absent)
		switch {
		case m.ClusterType(name) == nil:
			problems.Warnf(pos, p.Subject(), "label the ManagedCluster with "+ClusterTypeLabel, "the Placement %s has decided on %s, which is not a cluster type", decider.Placement, name)
		case !p.ClusterTypes.Matches(m.ClusterType(name).Labels):
			problems.Warnf(pos, p.Subject(), "let its clusterTypeSelector select it", "the Placement %s has decided on %s, which the policy does not select", decider.Placement, name)
		case absent != nil && decider.Partial == PartialNone:
		case absent != nil && decider.Partial == "":
			problems.Addf(pos, p.Subject(), "split the cluster type, or write partial: any or partial: none",
				"the Placement %s has decided on some clusters of %s, and not on %s: a cluster type is all or nothing", decider.Placement, name, nameSome(absent))
		default:
			placed = append(placed, name)
		}
	}
	return placed
}

func nameSome(names []string) string {
	const some = 5
	if len(names) > some {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:some], ", "), len(names)-some)
	}
	return strings.Join(names, ", ")
}

func pagesOf(placement string, all []*placementPage) []*placementPage {
	var pages []*placementPage
	for _, page := range all {
		if page.namespace+"/"+page.Labels[PlacementLabel] == placement {
			pages = append(pages, page)
		}
	}
	slices.SortStableFunc(pages, func(a, b *placementPage) int { return cmp.Compare(a.number(), b.number()) })
	return pages
}

func (p *placementPage) number() int {
	number, err := strconv.Atoi(p.Name[strings.LastIndex(p.Name, "-")+1:])
	if err != nil || !strings.Contains(p.Name, pageInfix) {
		return 0
	}
	return number
}

func (a annotationText) readPlacement(s *choiceSpec, d *Decider) {
	namespace, name, found := strings.Cut(s.Placement, "/")
	if err := cmp.Or(kubename.Check(namespace), kubename.Check(name)); !found || err != nil {
		a.addAt("placement", "write placement: NAMESPACE/NAME", "%s.placement names no Placement", a.path)
	}
	d.Evaluated = a.oneOf("evaluate", s.Evaluate, "decisions", "here") == "here"
	d.Placement = s.Placement
	if s.Partial != "" {
		d.Partial = Partial(a.oneOf("partial", s.Partial, string(PartialAny), string(PartialNone)))
	}
	if s.Pick.Kind != 0 || len(s.Spread) > 0 || len(s.Prefer) > 0 {
		a.addAt("by", "remove pick, spread and prefer, or write them in the Placement", "a Placement decides how many cluster types there are, and which")
	}
}
