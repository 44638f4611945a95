// Package rollout summarizes the rollout progress of a commit from reports of clusters.
//
// What the package keeps true: a report on another commit says nothing about this one. A stale
// report does not count. The order of reports does not matter.
package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// Phase is a reconciler's progress with its observed revision.
type Phase string

// The phases of a rollout.
const (
	Progressing Phase = "progressing"
	Ready       Phase = "ready"
	Failed      Phase = "failed"
	Suspended   Phase = "suspended"
	Waiting     Phase = "waiting" // for approval of a plan
	Drifted     Phase = "drifted"
)

// Report is the last report of one reconciler.
type Report struct {
	// Source names the cluster, or the uid of an object if the cluster is unknown.
	Source string `json:"source"`
	// Anonymous means that Source only distinguishes clusters, such as the uid of a Provider of
	// Flux.
	Anonymous bool `json:"anonymous,omitempty"`
	// Object is the reconciled object, as "Kustomization/flux-system/apps".
	Object string `json:"object"`
	Phase  Phase  `json:"phase"`
	// ClusterType is "" if it is not reported.
	ClusterType string `json:"-"`
	// Current means that the observed revision has the wanted commit.
	Current bool `json:"current"`
	// Waits means that it continues after approval of a plan.
	Waits   bool      `json:"-"`
	Message string    `json:"message,omitempty"`
	Time    time.Time `json:"when,omitzero"`
}

// Rule is when a commit is rolled out. The zero Rule requires one source, all ready, without
// maximum age and timeout.
type Rule struct {
	// MinClusters is the minimum number of reporting clusters; 0 means one.
	MinClusters int
	// ReadyPercent is the share of clusters that must be ready; 0 means 100.
	ReadyPercent int
	// StaleAfter is the maximum age of a report; 0 means unlimited.
	StaleAfter time.Duration
	// Timeout limits the rollout after the merge; 0 means unlimited.
	Timeout time.Duration
}

// Summary is the rollout progress of a commit over all reports.
type Summary struct {
	Phase  Phase  `json:"phase"`
	Reason string `json:"reason"`
	// ValidUntil is when the phase may change without a new report, because reports become stale or
	// the timeout ends; zero if it cannot.
	ValidUntil time.Time `json:"until,omitzero"`

	Sources int `json:"sources"` // that have reported
	Ready   int `json:"ready"`   // on this commit
	Failed  int `json:"failed"`
	Stale   int `json:"stale"`
	Behind  int `json:"behind"` // on another commit
	Waiting int `json:"-"`      // for approval of plans

	BehindSources []string `json:"late,omitempty"`
}

type source struct {
	name          string
	anonymous     bool
	phase         Phase
	behind, stale bool
	waits         bool
	worstReport   Report
	validUntil    time.Time // of phase; zero for unlimited
}

// Summarize returns the rollout progress of a commit. The timeout starts at merged, if set.
func Summarize(reports []Report, rule Rule, merged, now time.Time) Summary {
	var s Summary
	var ready, failed []source
	for _, one := range groupBySource(dropDoubles(reports), rule, now) {
		s.Sources++
		switch {
		case one.phase == Failed:
			failed = append(failed, one)
		case one.stale:
			s.Stale++
		case one.waits:
			s.Waiting++
		case one.behind:
			s.Behind++
			s.BehindSources = append(s.BehindSources, one.displayName())
		case one.phase == Ready:
			ready = append(ready, one)
		}
	}
	s.Ready, s.Failed = len(ready), len(failed)
	wanted := max(rule.MinClusters, 1)
	clusters := max(s.Sources, wanted)
	percent := rule.ReadyPercent
	if percent <= 0 || percent > 100 {
		percent = 100
	}
	need := (clusters*percent + 99) / 100
	tolerated := clusters - need
	limited := rule.Timeout > 0 && !merged.IsZero()
	switch {
	case s.Failed > tolerated:
		s.Phase, s.Reason = Failed, describeFailure(failed, reports)
		s.ValidUntil = nthExpiry(failed, s.Failed-tolerated)
	case s.Ready >= need:
		s.Phase, s.Reason = Ready, formatReadyCount(s, wanted)
		s.ValidUntil = nthExpiry(ready, s.Ready-need+1)
	case limited && !now.Before(merged.Add(rule.Timeout)):
		s.Phase, s.Reason = Failed, fmt.Sprintf("not rolled out within %s: %s", text.FormatDuration(rule.Timeout), describeProgress(s, wanted))
	default:
		s.Phase, s.Reason = Progressing, describeProgress(s, wanted)
		if limited {
			s.ValidUntil = merged.Add(rule.Timeout)
		}
	}
	return s
}

// dropDoubles drops successes of anonymous sources if a named cluster reports the same: a cluster
// with commit statuses and an agent or events counts once. A source matches a cluster that reports
// an object of the same name on this commit. Each cluster matches at most one source.
func dropDoubles(reports []Report) []Report {
	if !slices.ContainsFunc(reports, func(r Report) bool { return r.Anonymous }) {
		return reports
	}
	objectOf := func(r Report) string { return strings.ToLower(kindAndName(r.Object)) }
	named, anonymous := map[string]map[string]bool{}, map[string][]Report{}
	for _, r := range reports {
		object := objectOf(r)
		switch {
		case r.Anonymous:
			anonymous[r.Source] = append(anonymous[r.Source], r)
		case r.Current:
			if named[object] == nil {
				named[object] = map[string]bool{}
			}
			named[object][r.Source] = true
		}
	}
	doubles, taken := map[string]bool{}, map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(anonymous)) {
		all := anonymous[name]
		isDouble := !slices.ContainsFunc(all, func(r Report) bool {
			return !r.Current || r.Phase != Ready || len(named[objectOf(r)]) <= taken[objectOf(r)]
		})
		if !isDouble {
			continue
		}
		doubles[name] = true
		for _, r := range all {
			taken[objectOf(r)]++
		}
	}
	return slices.DeleteFunc(slices.Clone(reports), func(r Report) bool { return r.Anonymous && doubles[r.Source] })
}

// describeFailure prefers a source that names its cluster, and otherwise completes an anonymous one
// from a cluster's report of the same object.
func describeFailure(failed []source, reports []Report) string {
	if i := slices.IndexFunc(failed, func(s source) bool { return !s.anonymous }); i >= 0 {
		return failed[i].failureText()
	}
	one := failed[0]
	if told, ok := findReporter(one.worstReport, reports); ok {
		one.name, one.anonymous, one.worstReport.Object = told.Source, false, told.Object
		if told.Phase == Failed && told.Message != "" {
			one.worstReport.Message = told.Message
		}
	}
	return one.failureText()
}

// findReporter returns the report of the only cluster that reported an anonymous failure's object
// on this commit. It returns false if the cluster reported it as ready, or another anonymous source
// has an object of that name.
func findReporter(failure Report, reports []Report) (found Report, ok bool) {
	for _, r := range reports {
		switch {
		case !r.Current || !strings.EqualFold(kindAndName(failure.Object), kindAndName(r.Object)):
			continue
		case r.Anonymous && r.Source != failure.Source, !r.Anonymous && ok && r.Source != found.Source:
			return Report{}, false
		case !r.Anonymous && (!ok || r.Time.After(found.Time)):
			found, ok = r, true
		}
	}
	return found, ok && found.Phase != Ready
}

// kindAndName drops namespace and uid: statuses have "kustomization/apps", events
// "Kustomization/flux-system/apps".
func kindAndName(object string) string {
	object, _, _ = strings.Cut(object, "@")
	kind, rest, _ := strings.Cut(object, "/")
	return kind + "/" + rest[strings.LastIndexByte(rest, '/')+1:]
}

func (s *source) failureText() string {
	object, _, _ := strings.Cut(s.worstReport.Object, "@")
	object, message := ReduceHealth(cmp.Or(object, s.displayName()), text.OneLine(s.worstReport.Message))
	failure := object + " failed"
	if !s.anonymous && s.name != "" && s.name != object {
		failure += " on " + s.name
	}
	if message != "" {
		failure += ": " + text.Shorten(message, 200)
	}
	return failure
}

// How Flux tells of a failed health check, with the objects that are not ready, their status of kstatus and a message.
var (
	healthCheck  = regexp.MustCompile(`^health check failed after \S+: (failed early due to stalled resources|timeout waiting for): \[(.*?)\]?$`)
	objectStatus = regexp.MustCompile(`(?:^|, )[A-Z]\w*/\S+/(\S+) status: '([^']*)'(?:: )?`)
	missingRef   = regexp.MustCompile(`^couldn't find remote ref "?refs/(head|tag)s/([^"]+)"?$`)
)

// ReduceHealth reduces an object's message of a failed health check to what failed and why: "shop" and `branch "main" does
// not exist`. How long the check took differs each time. Other messages stay as they are.
func ReduceHealth(object, message string) (failed, why string) {
	found := healthCheck.FindStringSubmatch(message)
	if found == nil {
		return object, message
	}
	all := objectStatus.FindAllStringSubmatchIndex(found[2], 2)
	if len(all) == 0 || all[0][0] != 0 {
		return object, found[1] + " " + found[2]
	}
	part := func(i int) string { return found[2][all[0][i]:all[0][i+1]] }
	why = found[2][all[0][1]:]
	if len(all) > 1 {
		why = found[2][all[0][1]:all[1][0]]
	}
	failed = part(2)
	if others := len(objectStatus.FindAllString(found[2], -1)) - 1; others > 0 {
		failed += fmt.Sprintf(" and %d more", others)
	}
	ref := missingRef.FindStringSubmatch(why)
	switch {
	case ref != nil:
		why = fmt.Sprintf("%s %q does not exist", map[string]string{"head": "branch", "tag": "tag"}[ref[1]], ref[2])
	case why == "":
		why = "its status is " + part(4)
	}
	if found[1] == "timeout waiting for" {
		why = "timeout, " + why
	}
	return failed, why
}

func (s *source) displayName() string {
	if s.anonymous || s.name == "" {
		return "a cluster"
	}
	return s.name
}

func nthExpiry(sources []source, n int) time.Time {
	slices.SortFunc(sources, func(a, b source) int { return a.validUntil.Compare(b.validUntil) })
	return sources[n-1].validUntil
}

const maxNamed = 3

func describeProgress(s Summary, wanted int) string {
	if s.Sources == 0 {
		return "no cluster has reported"
	}
	behind := "on another commit"
	if s.Behind <= maxNamed {
		behind += " (" + strings.Join(s.BehindSources, ", ") + ")"
	}
	waits := "waits for approval"
	if s.Waiting > 1 {
		waits = "wait for approval"
	}
	parts := []string{formatReadyCount(s, wanted)}
	for _, part := range []struct {
		n    int
		what string
	}{
		{s.Waiting, waits}, {s.Sources - s.Ready - s.Failed - s.Stale - s.Behind - s.Waiting, "in progress"}, {s.Behind, behind}, {s.Failed, "failed"},
		{s.Stale, "no recent report"}, {wanted - s.Sources, "no report yet"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return strings.Join(parts, ", ")
}

func formatReadyCount(s Summary, wanted int) string {
	return fmt.Sprintf("%d of %s ready", s.Ready, text.Count(max(s.Sources, wanted), "cluster"))
}

// groupBySource combines the reports of a source: a failed object fails it, and one that is not
// ready keeps it from being ready.
func groupBySource(reports []Report, rule Rule, now time.Time) []source {
	// The last report of an object counts; at equal times one on this commit, then the worst. Times
	// are in seconds, and reconcilers often change revisions within one.
	sorted := slices.SortedFunc(slices.Values(reports), func(a, b Report) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Object, b.Object), a.Time.Compare(b.Time),
			cmp.Compare(reportSeverity(a), reportSeverity(b)), cmp.Compare(a.Message, b.Message))
	})
	var all []source
	for i, r := range sorted {
		if i+1 < len(sorted) && sorted[i+1].Source == r.Source && sorted[i+1].Object == r.Object {
			continue
		}
		if len(all) == 0 || all[len(all)-1].name != r.Source {
			all = append(all, source{name: r.Source, anonymous: r.Anonymous, phase: Ready})
		}
		all[len(all)-1].addReport(r, rule, now)
	}
	return all
}

func reportSeverity(r Report) int {
	switch {
	case !r.Current:
		return 0
	case r.Phase == Ready:
		return 1
	case r.Phase == Failed:
		return 3
	default: // unknown is not success
		return 2
	}
}

func (s *source) addReport(r Report, rule Rule, now time.Time) {
	var end time.Time
	if rule.StaleAfter > 0 {
		end = r.Time.Add(rule.StaleAfter)
	}
	s.waits = s.waits || r.Waits && r.Current
	switch bad := reportSeverity(r); {
	case !end.IsZero() && !now.Before(end):
		s.stale = true
	case bad == 0:
		s.behind = true
	case bad == 3 && s.phase != Failed:
		s.phase, s.worstReport, s.validUntil = Failed, r, end
	case bad == 3 && end.After(s.validUntil):
		s.validUntil = end
	case bad == 2 && s.phase == Ready:
		s.phase, s.worstReport = Progressing, r
	case bad == 1 && s.phase == Ready && (s.validUntil.IsZero() || end.Before(s.validUntil)):
		s.validUntil = end
	}
}
