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

// Standing is the state of an expected cluster.
type Standing struct {
	Cluster     string // "" for an unlisted one that never reported
	ClusterType string
	Group       string
	Labels      map[string]string // of the cluster, or else of its type
	Class       ledger.Class
	Object      string
	Message     string
	// LastSeen is the last contact; SilentAt is when the cluster becomes silent without another.
	// Both are zero before the first.
	LastSeen, SilentAt time.Time
}

// Fleet is the state of an environment's clusters.
type Fleet struct {
	// Unknown is why the state is unknown, a clause; "" if known.
	Unknown string
	// Since is when the ledger started; earlier reports may be missing.
	Since time.Time
	// Began is the first contact of any cluster; zero if the number of clusters is known otherwise.
	// A recent ledger may not know all clusters.
	Began     time.Time
	Standings []Standing
}

// FleetRule is when an output is rolled out to a fleet.
type FleetRule struct {
	Rule
	// By is ByGroup, ByClusterType, or ByLabel with a label; "" for one group.
	By string
	// Percents are for groups and DefaultGroup; the default is Rule.ReadyPercent.
	Percents map[string]int
	// FailurePercent is the share of all clusters that may fail; if negative, the groups decide.
	FailurePercent int
}

// The values of By, and the default for Percents.
const (
	ByGroup       = "group"
	ByWave        = "wave" // old name of ByGroup
	ByClusterType = "clusterType"
	ByLabel       = "label:"
	DefaultGroup  = "default"
)

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

// newFor is how long a new ledger may not know all clusters: those that report by events do so
// every ten minutes.
const newFor = 15 * time.Minute

// leastPatience is the minimum time that the ledger must have run before a rollout times out.
const leastPatience = 5 * time.Minute

// SummarizeFleet returns the rollout progress of an output: every group must reach its share. The
// timeout starts at merged, if set, but a rollout does not time out before the ledger has run for
// as long as a report counts.
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
	var first *group
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

// waitForOthers is not ready while the ledger may not know all clusters.
func (f Fleet) waitForOthers(s Summary, now time.Time) Summary {
	end := f.Began.Add(newFor)
	if s.Phase != Ready || f.Began.IsZero() || !now.Before(end) {
		return s
	}
	s.Phase, s.ValidUntil = Progressing, end
	s.Reason += fmt.Sprintf("; the ledger is new, and other clusters are waited for until %s", end.UTC().Format("15:04 UTC"))
	return s
}

func phaseWeight(p Phase) int { return slices.Index([]Phase{Ready, Progressing, Failed}, p) }

func earlierTime(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

type group struct {
	name          string
	size, percent int
	classes       map[ledger.Class][]Standing
	phase         Phase
	validUntil    time.Time
}

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

// JudgeShare returns the phase of clusters if percent of them must be ready.
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

func countNeeded(clusters, percent int) int { return (clusters*percent + 99) / 100 }

func (g *group) judge() {
	ready := g.classes[ledger.ClassReady]
	g.phase = JudgeShare(g.size, len(ready), len(g.classes[ledger.ClassFailed]), g.percent)
	if g.phase == Ready {
		ends := slices.SortedFunc(slices.Values(ready), func(a, b Standing) int { return a.SilentAt.Compare(b.SilentAt) })
		g.validUntil = ends[len(ready)-countNeeded(g.size, g.percent)].SilentAt
	}
}

var classWords = []struct {
	class ledger.Class
	word  string
}{
	{ledger.ClassProgressing, "in progress"}, {ledger.ClassBehind, "behind"}, {ledger.ClassSilent, "silent"}, {ledger.ClassUnheard, "unheard"},
	{ledger.ClassUnproven, "unproven"}, {ledger.ClassUnknown, "on an unknown revision"}, {ledger.ClassContested, "contested"}, {ledger.ClassFailed, "failed"},
}

func (g *group) reason(r FleetRule) string {
	ready := len(g.classes[ledger.ClassReady])
	what := fmt.Sprintf("%s of %s ready", thousands(ready), countClusters(g.size))
	if r.By != "" {
		what = fmt.Sprintf("%s: %s", cmp.Or(g.name, "without a name"), what)
	}
	if ready == g.size {
		return what
	}
	share := strconv.FormatFloat(float64(ready*1000/g.size)/10, 'f', -1, 64) // rounded down: 100% means all
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

func countClusters(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return thousands(n) + " clusters"
}

func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
