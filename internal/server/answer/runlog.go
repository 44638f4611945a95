package answer

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// RunsKept is for how long the page of a stack says what clusters have reported of its runs, and maxRuns how much of it.
const (
	RunsKept = 30 * 24 * time.Hour
	maxRuns  = 20
)

// The states of plans that are none of components: planned is one that a cluster has sent, of which the ledger says no more.
const planned, applied, replaced = "planned", "applied", "replaced"

// RunEntry is one thing that is known of the runs of a stack: what a cluster has reported of a component for a time, or
// a plan that it has sent.
type RunEntry struct {
	Component string    `json:"component"`
	Cluster   string    `json:"cluster"`
	State     State     `json:"state"`
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until,omitzero"` // zero while it lasts
	Message   string    `json:"message,omitempty"`
	// Plan is what the cluster has sent meanwhile, and is still kept; nil for nothing.
	Plan *RunPart `json:"plan,omitempty"`
}

// StackSpan is what a cluster has reported of the object that a component is made of, for a time.
type StackSpan struct {
	Cluster string
	ledger.Span
}

func componentObject(k stackview.Known, c stackfiles.ComponentSummary) string {
	kind := "Terraform"
	if c.Plan == "" {
		kind = "HelmRelease"
	}
	return kind + "/" + k.Namespace + "/" + c.Object
}

// ListReported returns the objects that the components of a stack are made of, in all environments, on the clusters that
// report them.
func (s Source) ListReported(name string) map[StackObject][]ledger.Object {
	all := map[StackObject][]ledger.Object{}
	s.visitStacks(func(k stackview.Known) {
		for _, c := range k.Components {
			object := StackObject{k.Environment, k.Namespace, c.Object}
			for _, r := range s.StackReports[object] {
				of := ledger.Object{Cluster: r.Cluster, Name: componentObject(k, c)}
				if k.Summary.Stack == name && r.Object == of.Name && !slices.Contains(all[object], of) {
					all[object] = append(all[object], of)
				}
			}
		}
	})
	return all
}

type statedSpan struct {
	StackSpan
	word string
}

// listSpans returns what clusters have reported of a component, with its status meanwhile. The object of one
// that is to be destroyed stays ready until that begins, and is ready behind it: its cluster has it destroyed once the
// component as a whole is, and not since the object is ready.
func (s Source) listSpans(k stackview.Known, c stackfiles.ComponentSummary) (all []statedSpan) {
	object := StackObject{k.Environment, k.Namespace, c.Object}
	stays := c
	stays.Action = stackfiles.Apply
	for _, span := range s.StackSpans[object] {
		one := statedSpan{span, stackview.ReadPhase(span.Phase.String(), span.Message, span.Plan)}
		if !span.Until.IsZero() {
			all = append(all, one)
			continue
		}
		ofCluster := slices.DeleteFunc(slices.Clone(s.StackReports[object]), func(r stackview.Report) bool { return r.Cluster != span.Cluster })
		now := stackview.Report{Cluster: span.Cluster, Object: componentObject(k, c), Phase: span.Phase.String(), Revision: span.Revision, Message: span.Message, Plan: span.Plan}
		one.word = stackview.FindStatus(stays, []stackview.Report{now}).Status
		gone := stackview.FindStatus(c, ofCluster)
		switch {
		case gone.Status != stackview.Destroyed || one.word != stackview.Ready:
		case gone.Since.After(span.Since):
			before := one
			before.Until, one.Since = gone.Since, gone.Since
			all = append(all, before)
			fallthrough
		default:
			one.word = stackview.Destroyed
		}
		all = append(all, one)
	}
	return all
}

func (s Source) listRuns(k stackview.Known) (all []RunEntry) {
	for _, c := range k.Components {
		current, past := s.findPlans(k, c)
		plans := append(current, past...)
		for _, span := range s.listSpans(k, c) {
			word := span.word
			e := RunEntry{Component: c.Name, Cluster: span.Cluster, State: State{statusTones[word], word}, Since: span.Since, Until: span.Until, Message: CleanText(cmp.Or(span.Plan.ID, span.Message))}
			for i, p := range plans {
				isDuring := !p.When.Before(span.Since) && (span.Until.IsZero() || p.When.Before(span.Until))
				if word == stackview.Waits && p.Cluster == span.Cluster && isDuring && span.Plan.ID == p.Plan {
					part := newRunPart(p)
					e.Plan, plans = &part, slices.Delete(plans, i, i+1)
					break
				}
			}
			all = append(all, e)
		}
		for _, p := range plans {
			part := newRunPart(p)
			all = append(all, RunEntry{Component: c.Name, Cluster: p.Cluster, State: State{Unknown, planned}, Since: p.When, Plan: &part})
		}
	}
	slices.SortStableFunc(all, func(a, b RunEntry) int { return b.Since.Compare(a.Since) })
	return all[:min(len(all), maxRuns)]
}

// RunOutcome is what became of a plan, as far as it is known.
type RunOutcome struct {
	State  State  `json:"state"`
	Reason string `json:"reason"` // one sentence
	// Since is since when it is so; zero if that is not known.
	Since time.Time `json:"since,omitzero"`
	// Newer is the plan that took its place; nil if none did that is kept.
	Newer *RunPart `json:"newer,omitempty"`
	// Ready is when its cluster first reported the component ready behind it, and before the newer one; zero if it did not,
	// or State says so.
	Ready time.Time `json:"ready,omitzero"`
	// Approved is who approved it; nil if the history does not say so.
	Approved *RunApproval `json:"approved,omitempty"`
}

// RunApproval is a commit that approved a plan.
type RunApproval struct {
	Who    string    `json:"who"`
	When   time.Time `json:"when"`
	Commit string    `json:"commit"`
}

// findReady returns when the cluster of a plan reported its component ready behind it, and before a newer plan; zero if
// that is not known.
func (s Source) findReady(k stackview.Known, c StackComponent, p stackview.ReportedPlan, newer *stackview.ReportedPlan) time.Time {
	for _, span := range s.StackSpans[StackObject{k.Environment, k.Namespace, c.Object}] {
		if span.Cluster == p.Cluster && span.Phase == ledger.Ready && span.Since.After(p.When) && (newer == nil || span.Since.Before(newer.When)) {
			return span.Since
		}
	}
	return time.Time{}
}

func approvesDigest(c StackComponent, digest string) bool {
	return c.Approval != "" && (c.Digest == "" || c.Digest == digest)
}

// findOutcome returns what became of a plan of a component; newer is the one that took its place.
func findOutcome(c StackComponent, p stackview.ReportedPlan, isCurrent bool, newer *stackview.ReportedPlan) RunOutcome {
	reported := stackview.Status{}
	if c.Reported != nil && c.Reported.Cluster == p.Cluster {
		reported = *c.Reported
	}
	isApproved := approvesDigest(c, p.Digest)
	says := func(word, reason string) RunOutcome {
		return RunOutcome{State: State{statusTones[word], word}, Reason: reason, Since: reported.Since}
	}
	switch {
	case newer != nil:
		part := newRunPart(*newer)
		return RunOutcome{State: State{Stopped, replaced}, Reason: "a newer plan of " + c.Name + " took its place", Newer: &part}
	case !isCurrent:
		return RunOutcome{State: State{Stopped, replaced}, Reason: "the output has another root module or other inputs of " + c.Name + " since"}
	case c.Approval != "" && !isApproved:
		return RunOutcome{State: State{Stopped, "not approved"}, Reason: "another plan is approved, with the digest " + c.Digest}
	}
	switch done := reported.Status; done {
	case stackview.Ready, stackview.Destroyed:
		if !isApproved {
			return says(done, p.Cluster+" reports "+c.Name+" "+done+", and the output approves no plan of it")
		}
		return RunOutcome{State: State{Good, applied}, Reason: p.Cluster + " reports " + c.Name + " " + done, Since: reported.Since}
	case stackview.Waits:
		if isApproved {
			return RunOutcome{State: State{Busy, "approved"}, Reason: p.Cluster + " has not applied it yet"}
		}
		return says(done, "it waits until a person approves it")
	case stackview.Drifted:
		if isApproved {
			return RunOutcome{State: State{Good, applied}, Reason: fmt.Sprintf("%s has applied it, and reports of %s since: %s", p.Cluster, c.Name, reported.Message), Since: reported.Since}
		}
		return says(done, fmt.Sprintf("%s reports of %s: %s", p.Cluster, c.Name, reported.Message))
	case stackview.Failed, stackview.Differs:
		return says(done, fmt.Sprintf("%s reports of %s: %s", p.Cluster, c.Name, reported.Message))
	}
	if isApproved {
		return RunOutcome{State: State{Busy, "approved"}, Reason: p.Cluster + " has not reported yet that it is applied"}
	}
	return RunOutcome{State: State{Unknown, planned}, Reason: p.Cluster + " has not reported yet what becomes of it"}
}
