package stackview

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/cost"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// Limits of a plan's text and of its lines, in bytes.
const maxPlanText, maxPlanLine = 64 << 10, 2000

// PlanKey identifies a Terraform object of a cluster.
type PlanKey struct{ Cluster, Namespace, Object string }

// ReportedPlan is a plan that a cluster sent with its key.
type ReportedPlan struct {
	PlanKey
	// ID identifies the plan's effect, inputs and sender.
	ID string
	// Plan is tofu-controller's id, Inputs the digest of the inputs, or "", and Digest that of the
	// effect.
	Plan, Inputs, Digest string
	tfplan.Counts
	// Text is human-readable, deletions first. Cut is set if it is truncated.
	Text string
	Cut  bool
	When time.Time // time of receipt
}

// NewReportedPlan returns a plan that a cluster sent.
func NewReportedPlan(cluster string, r tfplan.Report, now time.Time) ReportedPlan {
	r.Plan.PutDeletionsFirst()
	p := ReportedPlan{
		PlanKey: PlanKey{cluster, r.Namespace, r.Name}, Plan: r.PlanID, Inputs: r.Annotations[stackfiles.InputsAnnotation], Digest: r.Plan.Digest,
		Counts: r.Plan.Count(), When: now,
	}
	p.Costs = r.Costs
	if r.Stale { // the annotation belongs to the next plan
		p.Inputs = ""
	}
	p.Text, p.Cut = limitLines(r.Plan.Text())
	sum := sha256.Sum256([]byte(strings.Join([]string{cluster, r.Namespace, r.Name, p.Plan, p.Inputs, p.Digest}, "\x00")))
	p.ID = hex.EncodeToString(sum[:8])
	return p
}

func limitLines(whole string) (kept string, isCut bool) {
	var b strings.Builder
	for line := range strings.Lines(whole) {
		if b.Len()+min(len(line), maxPlanLine) > maxPlanText {
			return b.String(), true
		}
		if len(line) > maxPlanLine {
			line, isCut = text.Shorten(line, maxPlanLine)+"\n", true
		}
		b.WriteString(line)
	}
	return b.String(), isCut
}

// maxCostLines bounds the lines of a text about costs.
const maxCostLines = 50

// FormatCosts returns in Markdown what the plans cost that become approved from one output to the next: by component,
// by stack, and of the environment; "" for none. costs returns the costs of a component's plan, nil if unknown.
func FormatCosts(before, after []stackfiles.Summary, costs func(namespace string, c stackfiles.ComponentSummary) []cost.Change) string {
	var lines []string
	var total []cost.Change
	counted := 0
	for _, s := range after {
		var was stackfiles.Summary
		if i := slices.IndexFunc(before, func(b stackfiles.Summary) bool { return b.Stack == s.Stack }); i >= 0 {
			was = before[i]
		}
		var parts []string
		var sum []cost.Change
		for _, c := range s.Components {
			old, _ := was.FindComponent(c.Name)
			if c.Approval == "" || old.Approval == c.Approval && old.Plan == c.Plan && old.Inputs == c.Inputs {
				continue
			}
			if found := costs(s.Namespace, c); len(found) > 0 {
				sum = cost.Add(sum, found)
				parts = append(parts, fmt.Sprintf("  - `%s`: %s\n", c.Name, cost.Text(found)))
			}
		}
		if len(parts) > 0 {
			lines = append(append(lines, fmt.Sprintf("- stack `%s`: %s\n", s.Stack, cost.Text(sum))), parts...)
			total, counted = cost.Add(total, sum), counted+1
		}
	}
	if counted == 0 {
		return ""
	}
	if len(lines) > maxCostLines {
		lines = append(lines[:maxCostLines], "- and more\n")
	}
	if counted > 1 {
		lines = append(lines, fmt.Sprintf("- all of the environment: %s\n", cost.Text(total)))
	}
	return "\n### Costs of the approved plans\n\n" + strings.Join(lines, "")
}

// IsOf reports whether the plan belongs to the current component of a stack.
func (p ReportedPlan) IsOf(k Known, c stackfiles.ComponentSummary) bool {
	return k.Merged && k.Namespace == p.Namespace && c.Object == p.Object && c.Inputs != "" && c.Inputs == p.Inputs && c.Plan == p.Plan
}
