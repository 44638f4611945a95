package gate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

type rolloutSpec struct {
	Clusters int           `yaml:"clusters"`
	Percent  int           `yaml:"percent"`
	Stale    time.Duration `yaml:"stale"`
	Timeout  time.Duration `yaml:"timeout"`
	Contexts []string      `yaml:"contexts"`
	Of       string        `yaml:"of"`
	Objects  string        `yaml:"objects"`
	Groups   groupsSpec    `yaml:"groups"`
	Failures failuresSpec  `yaml:"failures"`
}

type groupsSpec struct {
	By      string         `yaml:"by"`
	Percent map[string]int `yaml:"percent"`
}

type failuresSpec struct {
	Percent *int `yaml:"percent"`
}

// fluxContexts are the contexts of Flux's notification-controller: kind, object name, and the start
// of the Provider's uid, which distinguishes clusters.
var fluxContexts = []string{"kustomization/*", "helmrelease/*"}

// contextPatterns makes regular expressions of quoted patterns. The names of cluster types have no dots there.
var contextPatterns = strings.NewReplacer(`\*`, ".*", `\{clusterType\}`, "(?P<clusterType>[a-z0-9-]+)", `\{cluster\}`, "[a-z0-9.-]+")

type rolloutGate struct {
	gateName
	rule           rollout.Rule
	contexts       []*regexp.Regexp
	customContexts bool
	namesTypes     bool // all contexts have {clusterType}
	// fleet is the rule for expected clusters; nil to judge reporting ones.
	fleet      *rollout.FleetRule
	allObjects bool // count, not only platform objects
}

func newRolloutGate(spec model.GateSpec) (Gate, problem.List) {
	s := rolloutSpec{Clusters: 1, Percent: 100}
	problems := spec.Decode(&s)
	if s.Percent < 1 || s.Percent > 100 {
		problems = append(problems, spec.Problem("remove it to require all of them", "percent is %d, and should be from 1 to 100", s.Percent))
	}
	if s.Clusters < 1 {
		problems = append(problems, spec.Problem("remove it to require one; remove the gate if no cluster reports", "clusters is 0"))
	}
	g := rolloutGate{customContexts: s.Contexts != nil, gateName: gateNameOf(spec), rule: rollout.Rule{MinClusters: s.Clusters, ReadyPercent: s.Percent, StaleAfter: s.Stale, Timeout: s.Timeout}}
	problems = append(problems, g.applyFleet(spec, s)...)
	if g.fleet != nil {
		return g, problems
	}
	if !g.customContexts {
		s.Contexts = fluxContexts
	}
	g.namesTypes = g.customContexts
	for _, pattern := range s.Contexts {
		g.namesTypes = g.namesTypes && strings.Count(pattern, "{clusterType}") == 1
		re, err := regexp.Compile("(?s)^" + contextPatterns.Replace(regexp.QuoteMeta(pattern)) + "$")
		if err != nil || pattern == "" {
			problems = append(problems, spec.Problem("write it as kustomization/* or e2e; * matches any text", "%q is not a pattern of contexts", pattern))
			continue
		}
		g.contexts = append(g.contexts, re)
	}
	return g, problems
}

func (g rolloutGate) Needs(f Facts) []Need {
	if g.fleet != nil {
		return []Need{{Key: g.fleetKey(f), Kind: Fleet, AllObjects: g.allObjects}}
	}
	needs := []Need{{Key: "clusters " + f.Environment, Kind: Clusters}}
	switch {
	case f.Wave != "" && g.namesTypes:
		needs = append(needs, Need{Key: "statuses of wave " + f.Wave + " of " + f.Environment, Kind: WaveStatuses})
	case len(g.contexts) > 0:
		needs = append(needs, outputNeed(f))
	}
	return needs
}

func (g rolloutGate) Evaluate(f Facts) Verdict {
	if f.HasFormer {
		return g.wait("clusters get what has changed once that is merged")
	}
	if f.MergedAt.IsZero() || f.OutputCommit == "" {
		return g.wait("clusters get the commit once its output is merged")
	}
	s := g.summarize(f)
	lost := f.ReportsLost
	if lost.Reason != "" && lost.Until.IsZero() {
		return g.wait("it is not known what clusters reported before: %s. Of the others: %s", lost.Reason, s.Reason)
	}
	if lost.Reason != "" {
		return g.wait("reports of clusters were lost: %s; without them it does not decide before %s. Of the others: %s",
			lost.Reason, formatTime(lost.Until.UTC()), s.Reason).withNamedTime(lost.Until.UTC(), f.Now)
	}
	reason := s.Reason + g.describeUncounted(f)
	switch s.Phase {
	case rollout.Ready:
		return g.pass("%s", reason).withValidUntil(s.ValidUntil, f.Now)
	case rollout.Failed:
		return g.fail("%s", reason).withValidUntil(s.ValidUntil, f.Now)
	}
	for _, need := range g.Needs(f) {
		reason += f.unansweredReason(need.Key)
	}
	return g.wait("%s", reason).withValidUntil(s.ValidUntil, f.Now)
}

const maxUncounted = 3

// describeUncounted names clusters that do not count. A gate of expected clusters counts those
// without output.
func (g rolloutGate) describeUncounted(f Facts) (said string) {
	if g.fleet == nil && len(f.Uncounted) > 0 {
		said = fmt.Sprintf("; not counted: %s, at no output of %s", joinSome(f.Uncounted), f.Environment)
	}
	if len(f.Untyped) > 0 {
		said += fmt.Sprintf("; not counted: %s, which could be in any wave: add clusterType to the eventMetadata of their Alerts", joinSome(f.Untyped))
	}
	if len(f.Away) > 0 {
		said += fmt.Sprintf("; not counted: %s, silent since before the merge", joinSome(f.Away))
	}
	if len(f.Excluded) > 0 {
		said += fmt.Sprintf("; not counted: %s, excluded by a ClusterList or ClusterKey", joinSome(f.Excluded))
	}
	return said
}

func joinSome(names []string) string {
	more := len(names) - maxUncounted
	if more <= 0 {
		return text.Join(names, " and ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxUncounted], ", "), more)
}

// countClusters returns the number of clusters that reported this or the previous output, and
// whether the gate waits for them.
func (g rolloutGate) countClusters(f Facts) (clusters int, asked bool) {
	if f.MergedAt.IsZero() || f.OutputCommit == "" {
		return 0, false
	}
	return g.summarize(f).Sources, true
}

func (g rolloutGate) summarize(f Facts) rollout.Summary {
	if g.fleet == nil {
		return rollout.Summarize(g.collectReports(f), g.rule, f.MergedAt, f.Now)
	}
	fleet, known := f.Fleets[g.fleetKey(f)]
	if !known {
		fleet.Unknown = "it is not known how the clusters stand"
	}
	return rollout.SummarizeFleet(fleet, *g.fleet, f.MergedAt, f.Now)
}

func (g rolloutGate) Forecast(f Facts, from time.Time) Forecast {
	return forecastVerdict(g.Evaluate(f), from, "the clusters to report it as ready")
}

func (g rolloutGate) collectReports(f Facts) []rollout.Report {
	all := slices.Clone(f.Reports)
	if f.Wave != "" {
		return append(all, collectStatuses(f.WaveStatuses, f.PreviousStatuses, func(s CommitStatus) bool { return g.countsInWave(s, f) })...)
	}
	return append(all, collectStatuses(f.OutputStatuses, f.PreviousStatuses, func(s CommitStatus) bool { return g.countsStatus(s, f) })...)
}

func collectStatuses(said, previous []CommitStatus, counts func(CommitStatus) bool) (all []rollout.Report) {
	for _, s := range said {
		if counts(s) {
			all = append(all, reportFromStatus(s))
		}
	}
	for _, s := range previous {
		told := slices.ContainsFunc(said, func(now CommitStatus) bool { return now.Context == s.Context })
		if counts(s) && !told {
			late := reportFromStatus(s)
			late.Current = false
			all = append(all, late)
		}
	}
	return all
}

func (g rolloutGate) countsInWave(s CommitStatus, f Facts) bool {
	return g.namesTypes && slices.ContainsFunc(g.contexts, func(re *regexp.Regexp) bool {
		found := re.FindStringSubmatch(s.Context)
		return found != nil && slices.Contains(f.WaveTypes, found[re.SubexpIndex("clusterType")])
	})
}

func (g rolloutGate) countsStatus(s CommitStatus, f Facts) bool {
	if !slices.ContainsFunc(g.contexts, func(re *regexp.Regexp) bool { return re.MatchString(s.Context) }) {
		return false
	}
	return len(f.OtherEnvironments) == 0 || g.customContexts || namesEnvironment(s.Context, f)
}

// namesEnvironment reports whether a context contains the environment's name as whole words, and
// not within another name: prod is not prod-eu.
func namesEnvironment(context string, f Facts) bool {
	if !hasWords(context, f.Environment) {
		return false
	}
	return !slices.ContainsFunc(f.OtherEnvironments, func(other string) bool {
		return len(other) > len(f.Environment) && hasWords(other, f.Environment) && hasWords(context, other)
	})
}

func hasWords(in, words string) bool {
	separate := strings.NewReplacer("/", " ", "-", " ", "_", " ", ".", " ")
	return strings.Contains(" "+separate.Replace(in)+" ", " "+separate.Replace(words)+" ")
}

var uidPrefix = regexp.MustCompile(`^[0-9a-f]{8}$`)

func reportFromStatus(s CommitStatus) rollout.Report {
	r := rollout.Report{Source: s.Context, Object: s.Context, Current: true, Phase: rollout.Progressing, Message: s.Description, Time: s.Time}
	parts := strings.Split(s.Context, "/")
	last := parts[len(parts)-1]
	switch {
	case slices.Contains(parts, ""):
	case len(parts) == 3: // Flux's format: the last part is from the Provider's uid
		r.Source, r.Object, r.Anonymous = last, parts[0]+"/"+parts[1], true
	case len(parts) > 3 && uidPrefix.MatchString(last): // format of a Provider's commitStatusExpr
		r.Object, r.Anonymous = strings.TrimSuffix(s.Context, "/"+last), true
	}
	switch s.Outcome {
	case "success":
		r.Phase = rollout.Ready
	case "failure":
		r.Phase = rollout.Failed
	}
	return r
}
