// Package rollout summarizes how far a commit has been rolled out, from what clusters report.
//
// What the package keeps true: a report on another commit says nothing about this one, however
// ready it was; a report that is too old does not count; and the summary does not depend on the
// order of reports.
package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// Phase is how far a reconciler has got with the revision that it observed.
type Phase string

// The phases of a rollout.
const (
	Progressing Phase = "progressing"
	Ready       Phase = "ready"
	Failed      Phase = "failed"
	Suspended   Phase = "suspended"
	Waiting     Phase = "waiting" // for a person to approve a plan
	Drifted     Phase = "drifted"
)

// Report is the last report of one reconciler.
type Report struct {
	// Source names the cluster, or the uid of an object where the cluster is not known.
	Source string `json:"source"`
	// Anonymous reports that Source only tells clusters apart and means nothing to people, such as
	// the uid of a Provider of Flux.
	Anonymous bool `json:"anonymous,omitempty"`
	// Object is the reconciled object, as "Kustomization/flux-system/apps".
	Object string `json:"object"`
	Phase  Phase  `json:"phase"`
	// Current reports that the observed revision holds the wanted commit. An older report says
	// nothing about it.
	Current bool `json:"current"`
	// Waits reports that it goes on once a person has approved a plan.
	Waits   bool      `json:"-"`
	Message string    `json:"message,omitempty"`
	Time    time.Time `json:"when,omitzero"`
}

// Rule is when a commit counts as rolled out. The zero Rule wants one source, all sources ready,
// and has neither a limit of age nor a timeout.
type Rule struct {
	// MinClusters is how many clusters must have reported; 0 means one.
	MinClusters int
	// ReadyPercent is the share of reporting clusters that must be ready, 1 to 100; 0 means 100.
	ReadyPercent int
	// StaleAfter is the age from which a report no longer counts; 0 means never.
	StaleAfter time.Duration
	// Timeout is how long the rollout may take after the merge; 0 means no limit.
	Timeout time.Duration
}

// Summary is how far a commit has been rolled out, over all reports.
type Summary struct {
	Phase  Phase  `json:"phase"`
	Reason string `json:"reason"` // one sentence
	// ValidUntil is when the phase may change without a new report, because reports become stale or
	// the timeout ends; zero if it cannot.
	ValidUntil time.Time `json:"until,omitzero"`

	Sources int `json:"sources"` // that have reported at all
	Ready   int `json:"ready"`   // on this commit
	Failed  int `json:"failed"`
	Stale   int `json:"stale"`
	Behind  int `json:"behind"` // that last reported another commit
	Waiting int `json:"-"`      // whose plans wait for approval

	// BehindSources names the sources that are counted in Behind.
	BehindSources []string `json:"late,omitempty"`
}

// source combines all reports of one source.
type source struct {
	name          string
	anonymous     bool  // the name means nothing to people
	phase         Phase // of the commit, by the reports that are believed
	behind, stale bool
	waits         bool
	worstReport   Report    // the one that decides
	validUntil    time.Time // of phase: when it is stale; zero for never
}

// Summarize returns how far a commit has been rolled out that was merged at a time. The timeout
// does not begin while merged is zero.
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
	need := (clusters*percent + 99) / 100 // rounded up
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

// dropDoubles returns reports without those of success from anonymous sources whose clusters report the same by name: a cluster
// that writes commit statuses and has an agent, or sends events, counts once. A source is taken for a cluster that reports
// an object of the same name on the same commit, and no two sources are taken for one.
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

// describeFailure returns the reason of a failed rollout. It prefers a source that names its
// cluster over one that is known from a commit status only, and completes the latter from a
// cluster's report of the same object.
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

// findReporter returns the report of the cluster that an anonymous failure belongs to: the only
// cluster that reported the object on this commit. It finds none if that cluster reported the
// object as ready, or if another anonymous source is about an object of the same name.
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

// kindAndName returns an object without its namespace and its uid: "kustomization/apps" of a commit
// status is "Kustomization/flux-system/apps" of an event, but for the case.
func kindAndName(object string) string {
	object, _, _ = strings.Cut(object, "@")
	kind, rest, _ := strings.Cut(object, "/")
	return kind + "/" + rest[strings.LastIndexByte(rest, '/')+1:]
}

// failureText describes the failure of a source in one line.
func (s *source) failureText() string {
	object, _, _ := strings.Cut(s.worstReport.Object, "@") // the uid that tells objects of unnamed clusters apart
	failure := cmp.Or(object, s.displayName()) + " failed"
	if !s.anonymous && s.name != "" && s.name != object {
		failure += " on " + s.name
	}
	if s.worstReport.Message != "" {
		failure += ": " + text.Shorten(text.OneLine(s.worstReport.Message), 200)
	}
	return failure
}

// displayName returns what people call a source.
func (s *source) displayName() string {
	if s.anonymous || s.name == "" {
		return "a cluster"
	}
	return s.name
}

// nthExpiry returns when the n-th of the sources becomes stale; zero for never.
func nthExpiry(sources []source, n int) time.Time {
	slices.SortFunc(sources, func(a, b source) int { return a.validUntil.Compare(b.validUntil) })
	return sources[n-1].validUntil
}

// maxNamed is how many clusters are named that the rollout waits for.
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

// groupBySource combines the reports of each source: one failed object fails it, and one that is
// not ready keeps it from being ready.
func groupBySource(reports []Report, rule Rule, now time.Time) []source {
	// The last report of an object counts: the latest, and at the same time the one about this
	// commit, and the worst. Reconcilers report times in seconds, and often go from one revision to
	// the next within one.
	sorted := slices.SortedFunc(slices.Values(reports), func(a, b Report) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Object, b.Object), a.Time.Compare(b.Time),
			cmp.Compare(reportSeverity(a), reportSeverity(b)), cmp.Compare(a.Message, b.Message))
	})
	var all []source
	for i, r := range sorted {
		if i+1 < len(sorted) && sorted[i+1].Source == r.Source && sorted[i+1].Object == r.Object {
			continue // a later one of the same object follows
		}
		if len(all) == 0 || all[len(all)-1].name != r.Source {
			all = append(all, source{name: r.Source, anonymous: r.Anonymous, phase: Ready})
		}
		all[len(all)-1].addReport(r, rule, now)
	}
	return all
}

// reportSeverity orders reports by what they mean for the commit.
func reportSeverity(r Report) int {
	switch {
	case !r.Current:
		return 0
	case r.Phase == Ready:
		return 1
	case r.Phase == Failed:
		return 3
	default: // what is not known is no success
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
