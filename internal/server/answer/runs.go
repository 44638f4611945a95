package answer

import (
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
	// Output is the commit of the output branch that has the component so; "" if that is not known.
	Output string `json:"output,omitempty"`
	// Digest is that of the plan.
	Digest string `json:"digest"`
	// Text is the plan for people, deletions first. Cut reports that there is more of it.
	Text string `json:"text"`
	Cut  bool   `json:"cut,omitempty"`
}

// findPlans returns the plans of a component that the clusters have sent which report it, the newest first. What
// another cluster sends is no plan of the component, whichever key it has.
func (s Source) findPlans(k stackview.Known, c stackfiles.ComponentSummary) (all []stackview.ReportedPlan) {
	for _, r := range s.StackReports[StackObject{k.Environment, k.Namespace, c.Object}] {
		p, sent := s.Snapshot.ReportedPlans[stackview.PlanKey{Cluster: r.Cluster, Namespace: k.Namespace, Object: c.Object}]
		if sent && p.IsOf(k, c) && strings.HasPrefix(r.Object, "Terraform/") {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b stackview.ReportedPlan) int { return b.When.Compare(a.When) })
	return all
}

// findRun returns the plan that a component has yet to apply, as the cluster has sent it that says how the component
// stands; nil if it has not.
func (s Source) findRun(k stackview.Known, c StackComponent) *RunPart {
	if c.Reported == nil || c.Reported.Status == stackview.Ready || c.Reported.Status == stackview.Destroyed {
		return nil
	}
	for _, p := range s.findPlans(k, c.ComponentSummary) {
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
			for _, p := range s.findPlans(k, c.ComponentSummary) {
				if p.ID != id {
					continue
				}
				e, _ := s.Snapshot.FindEnvironment(environment)
				ok = true
				found = StackRun{
					RunPart: newRunPart(p), Environment: environment, Stack: name, Component: c, Namespace: k.Namespace,
					Output: e.Output.Head, Digest: p.Digest, Text: cleanPlan(p.Text), Cut: p.Cut,
				}
			}
		}
	})
	return found, ok
}

// LacksPlans reports whether a plan waits for approval of which it is not known what it does.
func (s Stack) LacksPlans() bool {
	return slices.ContainsFunc(s.Parts, func(c StackComponent) bool {
		return c.Run == nil && c.State != nil && c.State.Word == stackview.Waits
	})
}
