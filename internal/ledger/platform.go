package ledger

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
)

// PlatformNamespaces are those in which tools keep what the platform team has set up, and tenants
// nothing.
var PlatformNamespaces = []string{"flux-system", "argocd", "openshift-gitops", "fleet-local"}

// forgottenAfter is how long an object may say nothing, while others of its cluster do, before another
// one may be the platform object: events do not say that an object was removed.
const forgottenAfter = 24 * time.Hour

// FindRevisions returns the revisions that clusters without an agent report, each once.
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

// PlaceClusters decides to which environment each cluster without an agent belongs, and which of its
// objects pulls the output of that: one that reports a revision which is an output. origins has the
// environments that a revision is an output of. What a cluster says of itself decides only between
// environments that have the same output, and its cluster type. PlaceClusters returns a receipt
// for each cluster that has another place than before.
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

// isPlacedByEvents reports whether events say where a cluster belongs: an agent knows better, and under
// the name of a cluster without a key any may have reported.
func (c *Cluster) isPlacedByEvents(now time.Time) bool {
	return !c.Unproven && (c.Boot == "" || c.Platform == "" && !c.hasAgent(now))
}

// hasAgent reports whether an agent on the cluster has been in touch lately.
func (c *Cluster) hasAgent(now time.Time) bool {
	return c.Boot != "" && now.Sub(c.AgentSeen) <= c.patience()
}

// platformCandidate is an object that may pull the output of an environment.
type platformCandidate struct {
	name        string
	environment string
	isClaimed   bool // the cluster says that it belongs to that environment
	isTrusted   bool // no tenant can have made the object
	isForgotten bool
}

// compare orders candidates, the best one first.
func (c platformCandidate) compare(other platformCandidate) int {
	return cmp.Or(list.CompareBools(other.isForgotten, c.isForgotten), list.CompareBools(c.isTrusted, other.isTrusted), list.CompareBools(c.isClaimed, other.isClaimed),
		cmp.Compare(c.name, other.name), cmp.Compare(c.environment, other.environment))
}

// findPlace returns where a cluster belongs, its platform object, and other objects that apply the output. It notes an
// environment that the cluster is excluded from. An object that
// has been one of them continues to be one, whatever it reports, unless a better one reports an output.
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
	if !best.isClaimed && slices.ContainsFunc(all, isOther) { // of several environments, and none of them is claimed
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

// IsPlatform reports whether an object is where tenants have none.
func (o Object) IsPlatform() bool {
	parts := strings.Split(o.Name, "/")
	return len(parts) == 3 && slices.Contains(PlatformNamespaces, parts[1])
}
