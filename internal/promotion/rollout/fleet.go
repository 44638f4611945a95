package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/ledger"
)

// Standing is how one expected cluster stands to the output.
type Standing struct {
	Cluster     string // "" for one that was never in touch, and is not listed by name
	ClusterType string
	Group       string            // "" for none
	Labels      map[string]string // of the cluster, or else of its type
	Class       ledger.Class
	Object      string // that decides, of a failure
	Message     string // of a failure
	// LastSeen is when the cluster was last in touch, and SilentAt when it counts as silent unless
	// it is again; zero for one that never was.
	LastSeen, SilentAt time.Time
}

// Fleet is how the clusters of an environment stand to its output.
type Fleet struct {
	// Unknown is why it is not known how they stand, a clause; "" if it is.
	Unknown string
	// Since is when the ledger began to listen: what clusters said while it did not may be missing.
	Since time.Time
	// Began is when the first cluster of all was in touch; zero if it is known from elsewhere how many
	// clusters there are. Of a ledger that began lately, not all clusters may be known.
	Began     time.Time
	Standings []Standing
}

// FleetRule is when an output counts as rolled out to a fleet.
type FleetRule struct {
	Rule
	// By is what clusters are grouped by: ByGroup, ByClusterType, or a label after ByLabel; "" for one
	// group.
	By string
	// Percents are those of single groups, and of DefaultGroup; Rule.ReadyPercent is of all others.
	Percents map[string]int
	// FailurePercent is the share of all clusters that may fail; negative for what the groups
	// leave.
	FailurePercent int
}

// What clusters are grouped by, and the name that stands for groups without a percentage.
const (
	ByGroup       = "group"
	ByWave        = "wave" // the earlier name of ByGroup
	ByClusterType = "clusterType"
	ByLabel       = "label:"
	DefaultGroup  = "default"
)

// groupOf returns the name of the group of a cluster.
func (r FleetRule) groupOf(s Standing) string {
	if key, ok := strings.CutPrefix(r.By, ByLabel); ok {
		return s.Labels[key]
	}
	switch r.By {
	case ByGroup, ByWave:
		return s.Group
	case ByClusterType:
		return s.ClusterType
	}
	return ""
}

// percentOf returns the share of a group that must be ready.
func (r FleetRule) percentOf(group string) int {
	for _, name := range []string{group, DefaultGroup} {
		if percent, ok := r.Percents[name]; ok {
			return percent
		}
	}
	if r.ReadyPercent <= 0 || r.ReadyPercent > 100 {
		return 100
	}
	return r.ReadyPercent
}

// newFor is for how long after its first contact not all clusters may be known to a ledger: those that
// report by events do so every ten minutes.
const newFor = 15 * time.Minute

// leastPatience is how long the ledger must have listened before a rollout may have taken too long.
const leastPatience = 5 * time.Minute

// SummarizeFleet returns how far an output has been rolled out that was merged at a time: every group
// has to be. The timeout does not begin while merged is zero, and nothing has taken too long before the
// ledger has listened for as long as a report counts.
func SummarizeFleet(f Fleet, rule FleetRule, merged, now time.Time) Summary {
	if f.Unknown != "" {
		return Summary{Phase: Progressing, Reason: f.Unknown}
	}
	groups := rule.splitGroups(f.Standings, now)
	s := Summary{Phase: Ready, Sources: len(f.Standings)}
	failed := 0
	for _, g := range groups {
		s.Ready += len(g.classes[ledger.ClassReady])
		failed += len(g.classes[ledger.ClassFailed])
	}
	s.Failed = failed
	var first *group // the one that decides
	for i := range groups {
		g := &groups[i]
		g.judge()
		if first == nil || phaseWeight(g.phase) > phaseWeight(first.phase) {
			first = g
		}
	}
	s.Phase, s.Reason, s.ValidUntil = first.phase, first.reason(rule), first.validUntil
	if first.phase == Ready {
		for _, g := range groups {
			s.ValidUntil = earlierTime(s.ValidUntil, g.validUntil)
		}
		if len(groups) > 1 {
			s.Reason = fmt.Sprintf("%s of %s clusters ready, and enough in each of %d groups", thousands(s.Ready), thousands(s.Sources), len(groups))
		}
	}
	if rule.FailurePercent >= 0 && failed*100 > rule.FailurePercent*max(s.Sources, 1) {
		all := newGroup("", f.Standings, rule, now)
		s.Phase, s.ValidUntil = Failed, time.Time{}
		s.Reason = fmt.Sprintf("%s of %s failed, and %d%% may: %s", thousands(failed), countClusters(s.Sources), rule.FailurePercent, all.namesOf(ledger.ClassFailed))
	}
	if s.Phase == Progressing && rule.Timeout > 0 && !merged.IsZero() {
		end := merged.Add(rule.Timeout)
		if heard := f.Since.Add(max(rule.StaleAfter, leastPatience)); heard.After(end) {
			end = heard
		}
		s.ValidUntil = earlierTime(s.ValidUntil, end)
		if !now.Before(end) {
			s.Phase, s.Reason, s.ValidUntil = Failed, fmt.Sprintf("not rolled out within %s: %s", text.FormatDuration(rule.Timeout), s.Reason), time.Time{}
		}
	}
	return f.waitForOthers(s, now)
}

// waitForOthers returns a summary that is not ready while the ledger may not know all clusters yet.
func (f Fleet) waitForOthers(s Summary, now time.Time) Summary {
	end := f.Began.Add(newFor)
	if s.Phase != Ready || f.Began.IsZero() || !now.Before(end) {
		return s
	}
	s.Phase, s.ValidUntil = Progressing, end
	s.Reason += fmt.Sprintf("; the ledger is new, and other clusters are waited for until %s", end.UTC().Format("15:04 UTC"))
	return s
}

// phaseWeight orders phases by how much they decide.
func phaseWeight(p Phase) int { return slices.Index([]Phase{Ready, Progressing, Failed}, p) }

func earlierTime(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// group has the clusters that must reach one percentage together.
type group struct {
	name          string
	size, percent int
	classes       map[ledger.Class][]Standing
	phase         Phase
	validUntil    time.Time // of phase, when it is Ready
}

// splitGroups returns the groups of clusters, by name. There is always one.
func (r FleetRule) splitGroups(all []Standing, now time.Time) []group {
	byName := map[string][]Standing{}
	for _, s := range all {
		byName[r.groupOf(s)] = append(byName[r.groupOf(s)], s)
	}
	if len(byName) == 0 {
		byName[""] = nil
	}
	var groups []group
	for name, standings := range byName {
		groups = append(groups, newGroup(name, standings, r, now))
	}
	slices.SortFunc(groups, func(a, b group) int { return cmp.Compare(a.name, b.name) })
	return groups
}

func newGroup(name string, standings []Standing, r FleetRule, now time.Time) group {
	g := group{name: name, size: max(len(standings), 1), percent: r.percentOf(name), classes: map[ledger.Class][]Standing{}}
	if r.By == "" {
		g.size = max(g.size, r.MinClusters)
	}
	for _, s := range standings {
		if r.StaleAfter > 0 && !s.LastSeen.IsZero() && s.Class > ledger.ClassSilent {
			end := s.LastSeen.Add(r.StaleAfter)
			if s.SilentAt.IsZero() || end.Before(s.SilentAt) {
				s.SilentAt = end
			}
			if !now.Before(end) {
				s.Class = ledger.ClassSilent
			}
		}
		g.classes[s.Class] = append(g.classes[s.Class], s)
	}
	return g
}

// JudgeShare returns the phase of so many clusters, of which a percentage must be ready.
func JudgeShare(clusters, ready, failed, percent int) Phase {
	need := countNeeded(clusters, percent)
	switch {
	case failed > clusters-need:
		return Failed
	case ready >= need:
		return Ready
	}
	return Progressing
}

// countNeeded returns how many clusters a percentage of them is, rounded up.
func countNeeded(clusters, percent int) int { return (clusters*percent + 99) / 100 }

// judge sets the phase of a group.
func (g *group) judge() {
	ready := g.classes[ledger.ClassReady]
	g.phase = JudgeShare(g.size, len(ready), len(g.classes[ledger.ClassFailed]), g.percent)
	if g.phase == Ready {
		ends := slices.SortedFunc(slices.Values(ready), func(a, b Standing) int { return a.SilentAt.Compare(b.SilentAt) })
		g.validUntil = ends[len(ready)-countNeeded(g.size, g.percent)].SilentAt
	}
}

// classWords are what people call the classes of clusters that are not ready, in the order in which
// they are listed.
var classWords = []struct {
	class ledger.Class
	word  string
}{
	{ledger.ClassProgressing, "in progress"}, {ledger.ClassBehind, "behind"}, {ledger.ClassSilent, "silent"}, {ledger.ClassUnheard, "unheard"},
	{ledger.ClassUnproven, "unproven"}, {ledger.ClassUnknown, "on an unknown revision"}, {ledger.ClassContested, "contested"}, {ledger.ClassFailed, "failed"},
}

// reason says how many clusters of a group are ready, and what the others are.
func (g *group) reason(r FleetRule) string {
	ready := len(g.classes[ledger.ClassReady])
	what := fmt.Sprintf("%s of %s ready", thousands(ready), countClusters(g.size))
	if r.By != "" {
		what = fmt.Sprintf("%s: %s", cmp.Or(g.name, "without a name"), what)
	}
	if ready == g.size {
		return what
	}
	share := strconv.FormatFloat(float64(ready*1000/g.size)/10, 'f', -1, 64) // rounded down: less than all is not 100%
	what += fmt.Sprintf(" (%s%%, wants %d%%)", share, g.percent)
	var parts []string
	missing := g.size
	for _, standings := range g.classes {
		missing -= len(standings)
	}
	if missing > 0 {
		parts = append(parts, thousands(missing)+" not known")
	}
	for _, c := range classWords {
		if n := len(g.classes[c.class]); n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s (%s)", thousands(n), c.word, g.namesOf(c.class)))
		}
	}
	return what + ": " + strings.Join(parts, ", ")
}

// namesOf names the clusters of a class, few of many, with the message of the first that failed.
func (g *group) namesOf(class ledger.Class) string {
	var names []string
	for _, s := range g.classes[class] {
		name := cmp.Or(s.Cluster, "of "+cmp.Or(s.ClusterType, "no type"))
		if class == ledger.ClassFailed && len(names) == 0 && s.Message != "" {
			name += ": " + text.Shorten(text.OneLine(s.Message), 200)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > maxNamed {
		return strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %s more", thousands(len(names)-maxNamed))
	}
	return strings.Join(names, ", ")
}

// countClusters returns a number of clusters, for people.
func countClusters(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return thousands(n) + " clusters"
}

// thousands writes a number that is not negative with commas: 9,412.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
