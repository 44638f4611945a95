package ledger

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
)

// PlatformNamespaces are reserved for the platform team: tenants have no objects there.
var PlatformNamespaces = []string{"flux-system", "argocd", "openshift-gitops", "fleet-local"}

// forgottenAfter is how long the platform object may be silent before another can replace it:
// events do not report removals.
const forgottenAfter = 24 * time.Hour

// FindRevisions returns the distinct revisions from clusters without an agent.
func (l *Ledger) FindRevisions(now time.Time) []string {
	found := map[string]bool{}
	for _, c := range l.roster.clusters {
		if !c.isPlacedByEvents(now) {
			continue
		}
		for _, name := range l.book.names(c.ID) {
			s, _ := l.book.Find(Object{c.ID, name})
			found[s.Revision], found[s.Target()] = true, true
		}
	}
	delete(found, "")
	return slices.Sorted(maps.Keys(found))
}

// PlaceClusters places clusters without an agent by the object that reports an output's revision,
// and returns receipts of moved ones. origins maps revisions to environments. A cluster's claim
// decides its type, and between environments with the same output.
func (l *Ledger) PlaceClusters(origins map[string][]string, now time.Time) (changed []Receipt) {
	for _, c := range l.roster.clusters {
		if !c.isPlacedByEvents(now) {
			continue
		}
		group, platform, others := l.findPlace(c, origins)
		if group != c.Group || platform != c.Platform || !slices.Equal(others, c.Others) {
			before, receipt := *c, Receipt{Cluster: c.ID}
			c.Group, c.Platform, c.Others = group, platform, others
			l.noteMove(before, c, now, &receipt)
			changed = append(changed, receipt)
		}
	}
	return changed
}

// isPlacedByEvents reports whether events place a cluster. An agent knows better, and anyone may
// report under a name without a key.
func (c *Cluster) isPlacedByEvents(now time.Time) bool {
	return !c.Unproven && (c.Boot == "" || c.Platform == "" && !c.hasAgent(now))
}

func (c *Cluster) hasAgent(now time.Time) bool {
	return c.Boot != "" && now.Sub(c.AgentSeen) <= c.patience()
}

type platformCandidate struct {
	name        string
	environment string
	isClaimed   bool // the cluster claims that environment
	isTrusted   bool // no tenant can create it
	isForgotten bool
}

func (c platformCandidate) compare(other platformCandidate) int {
	return cmp.Or(list.CompareBools(other.isForgotten, c.isForgotten), list.CompareBools(c.isTrusted, other.isTrusted), list.CompareBools(c.isClaimed, other.isClaimed),
		cmp.Compare(c.name, other.name), cmp.Compare(c.environment, other.environment))
}

// findPlace returns a cluster's place, platform object and other appliers, and notes an excluding
// environment. The previous platform object stays, unless a better one reports an output.
func (l *Ledger) findPlace(c *Cluster, origins map[string][]string) (Group, string, []Applier) {
	claim := c.Claim
	if claim == (Group{}) {
		claim = c.Group
	}
	var all []platformCandidate
	said := map[string]time.Time{}
	newest := time.Time{}
	for _, name := range l.book.names(c.ID) {
		s, _ := l.book.Find(Object{c.ID, name})
		said[name] = s.Said
		if s.Said.After(newest) {
			newest = s.Said
		}
		environments := origins[s.Target()]
		if len(environments) == 0 {
			environments = origins[s.Revision]
		}
		if len(environments) == 0 && c.Applies(name) {
			environments = []string{c.Group.Environment}
		}
		for _, environment := range environments {
			if l.roster.membership.Excludes(c.Name(), environment) {
				c.Excluded = environment
				continue
			}
			all = append(all, platformCandidate{name: name, environment: environment, isClaimed: environment == claim.Environment, isTrusted: Object{Name: name}.IsPlatform()})
		}
	}
	if len(all) == 0 {
		return claim, "", nil
	}
	for i := range all {
		all[i].isForgotten = newest.Sub(said[all[i].name]) > forgottenAfter
	}
	best := slices.MinFunc(all, platformCandidate.compare)
	isOther := func(other platformCandidate) bool {
		return other.name == best.name && other.environment != best.environment
	}
	if !best.isClaimed && slices.ContainsFunc(all, isOther) { // ambiguous without a claim
		return claim, "", nil
	}
	var others []Applier
	for _, other := range all {
		if other.name != best.name && other.environment == best.environment && other.isTrusted && !other.isForgotten {
			others = append(others, Applier{Object: other.name})
		}
	}
	return Group{best.environment, claim.ClusterType}, best.name, others
}

// IsPlatform reports whether an object is in a platform namespace.
func (o Object) IsPlatform() bool {
	parts := strings.Split(o.Name, "/")
	return len(parts) == 3 && slices.Contains(PlatformNamespaces, parts[1])
}
