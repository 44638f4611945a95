package answer

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// RunPart is what a stack says of a plan that a cluster has sent.
type RunPart struct {
	ID string `json:"id"`
	tfplan.Counts
	Cluster string    `json:"cluster"` // that has sent it, with its key
	When    time.Time `json:"when"`    // it was received first
}

// StackRun is the answer of /api/v1/stacks/{team}/{stack}/runs/{run}.
type StackRun struct {
	RunPart
	Environment string         `json:"environment"`
	Stack       string         `json:"stack"` // "team/environment"
	Component   StackComponent `json:"component"`
	Namespace   string         `json:"namespace"`
	// Output is the commit of the output branch that has the component so; "" if none has any more, or that is not
	// known.
	Output string `json:"output,omitempty"`
	// Plan is the id that tofu-controller has given to the plan, Inputs the digest of what it was made from, and Digest
	// its own.
	Plan   string `json:"plan"`
	Inputs string `json:"inputs"`
	Digest string `json:"digest"`
	// Outcome is what became of it.
	Outcome RunOutcome `json:"outcome"`
	// Text is the plan for people, deletions first. Cut reports that there is more of it.
	Text string `json:"text"`
	Cut  bool   `json:"cut,omitempty"`
}

// MayBeApproved reports whether a commit at a time that approves a plan of this id approved this one. The output says that
// of the plan that it has; the one of before was approved after it was sent, and before another one was.
func (r StackRun) MayBeApproved(when time.Time) bool {
	if r.Output != "" {
		return r.Component.Approval == r.Plan && approvesDigest(r.Component, r.Digest)
	}
	newer := r.Outcome.Newer
	return !when.Before(r.When.Truncate(time.Second)) && (newer == nil || when.Before(newer.When)) // commits have whole seconds
}

// SetApproval sets who approved the plan. One of before was applied if its cluster reported its component ready behind that.
func (r *StackRun) SetApproval(by RunApproval) {
	r.Outcome.Approved = &by
	if ready := r.Outcome.Ready; r.Outcome.State.Word == replaced && !ready.IsZero() && !ready.Before(by.When) {
		r.Outcome.State = State{Good, applied}
	}
}

// ApproveCommand returns the command that approves the plan, "" if nothing does now.
func (r StackRun) ApproveCommand() string {
	if !r.Component.MayApprove {
		return ""
	}
	command := fmt.Sprintf("fairlead approve-plan %s %s/%s --inputs %s", r.Environment, r.Stack, r.Component.Name, r.Inputs)
	if r.Component.Compared {
		command += " --digest " + r.Digest
	}
	return command
}

// PlanPath returns the path of the page of a plan, from the root of the site.
func PlanPath(environment, stack, id string) string {
	team, name, _ := strings.Cut(stack, "/")
	return "stacks/" + url.PathEscape(team) + "/" + url.PathEscape(name) + "/runs/" + url.PathEscape(id) + "?" + url.Values{"env": {environment}}.Encode()
}

// findPlans returns the plans of a component that the clusters have sent which report it, the newest first: those of
// what the output has, and those of before. What another cluster sends is no plan of the component, whichever key it has.
func (s Source) findPlans(k stackview.Known, c stackfiles.ComponentSummary) (current, past []stackview.ReportedPlan) {
	for _, r := range s.StackReports[StackObject{k.Environment, k.Namespace, c.Object}] {
		if !strings.HasPrefix(r.Object, "Terraform/") {
			continue
		}
		key := stackview.PlanKey{Cluster: r.Cluster, Namespace: k.Namespace, Object: c.Object}
		if p, sent := s.Snapshot.ReportedPlans[key]; sent && p.IsOf(k, c) {
			current = append(current, p)
		} else if sent && k.Merged {
			past = append(past, p)
		}
		for _, p := range slices.Backward(s.Snapshot.PastPlans) {
			if p.PlanKey == key && k.Merged {
				past = append(past, p)
			}
		}
	}
	newestFirst := func(a, b stackview.ReportedPlan) int { return b.When.Compare(a.When) }
	slices.SortStableFunc(current, newestFirst)
	slices.SortStableFunc(past, newestFirst)
	return current, past
}

// findRun returns the plan that a component has yet to apply, as the cluster has sent it that says how the component
// stands; nil if it has not. One that has drifted has applied its plan, and tofu-controller makes no other one by itself.
func (s Source) findRun(k stackview.Known, c StackComponent) *RunPart {
	if c.Reported == nil || slices.Contains([]string{stackview.Ready, stackview.Destroyed, stackview.Drifted}, c.Reported.Status) {
		return nil
	}
	current, _ := s.findPlans(k, c.ComponentSummary)
	for _, p := range current {
		if p.Cluster == c.Reported.Cluster {
			part := newRunPart(p)
			return &part
		}
	}
	return nil
}

var (
	// secretAttribute matches the line of an attribute of a plan whose name looks like that of a secret, and hiddenValue
	// what has no value of it.
	secretAttribute = regexp.MustCompile(`(?i)^(\s*[+~-] [^:]*(?:password|passwd|token|secret|api_?-?key|private_?-?key|signature)[^:]*: )(.*)\n`)
	hiddenValue     = regexp.MustCompile(`^(?:\(sensitive value\)|\(known after apply\)| -> )+$`)
)

// cleanPlan returns the text of a plan without what looks like a secret, also where the module does not say that it
// is one.
func cleanPlan(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		parts := secretAttribute.FindStringSubmatch(line)
		switch {
		case parts == nil:
			b.WriteString(CleanText(line))
		case hiddenValue.MatchString(parts[2]):
			b.WriteString(CleanText(parts[1]) + parts[2] + "\n")
		default:
			b.WriteString(CleanText(parts[1]) + "***\n")
		}
	}
	return b.String()
}

func newRunPart(p stackview.ReportedPlan) RunPart { return RunPart{p.ID, p.Counts, p.Cluster, p.When} }

// Run returns a plan of a stack in an environment, and whether it is known.
func (s Source) Run(environment, name, id string) (found StackRun, ok bool) {
	s.visitStacks(func(k stackview.Known) {
		if k.Environment != environment || k.Summary.Stack != name {
			return
		}
		_, components := s.describeStack(k)
		for _, c := range components {
			current, past := s.findPlans(k, c.ComponentSummary)
			all := slices.Concat(current, past)
			if i := slices.IndexFunc(all, func(p stackview.ReportedPlan) bool { return p.ID == id }); i >= 0 {
				found, ok = s.describeRun(k, c, all[i], i < len(current), all[:i]), true
			}
		}
	})
	return found, ok
}

func (s Source) describeRun(k stackview.Known, c StackComponent, p stackview.ReportedPlan, isCurrent bool, after []stackview.ReportedPlan) StackRun {
	run := StackRun{
		RunPart: newRunPart(p), Environment: k.Environment, Stack: k.Summary.Stack, Component: c, Namespace: k.Namespace,
		Plan: p.Plan, Inputs: p.Inputs, Digest: p.Digest, Text: cleanPlan(p.Text), Cut: p.Cut,
	}
	var newer *stackview.ReportedPlan
	for i, other := range after {
		if other.PlanKey == p.PlanKey {
			newer = &after[i]
		}
	}
	isCurrent = isCurrent && newer == nil
	run.Outcome = findOutcome(c, p, isCurrent, newer)
	if !isCurrent {
		run.Outcome.Ready = s.findReady(k, c, p, newer)
	}
	run.Component.MayApprove = c.MayApprove && isCurrent
	if e, known := s.Snapshot.FindEnvironment(k.Environment); known && isCurrent {
		run.Output = e.Output.Head
	}
	return run
}

// LacksPlans reports whether a plan waits for approval of which it is not known what it does.
func (s Stack) LacksPlans() bool {
	return slices.ContainsFunc(s.Parts, func(c StackComponent) bool {
		return c.Run == nil && c.State != nil && c.State.Word == stackview.Waits
	})
}
