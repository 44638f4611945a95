package stackview

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// maxPlanText and maxPlanLine bound the text of a plan that is kept, and each line of it, in bytes.
const maxPlanText, maxPlanLine = 64 << 10, 2000

// PlanKey identifies the newest plan that a cluster has sent of a Terraform object.
type PlanKey struct{ Cluster, Namespace, Object string }

// ReportedPlan is a plan that a cluster has sent with its key.
type ReportedPlan struct {
	PlanKey
	// ID identifies the plan: what it does, what it was made from, and who has sent it.
	ID string
	// Plan is the id that tofu-controller has given to it, Inputs the digest of what it was made from, "" if that is not
	// known, and Digest that of what it does.
	Plan, Inputs, Digest string
	tfplan.Counts
	// Text is the plan for people, deletions first. Cut reports that there is more of it.
	Text string
	Cut  bool
	When time.Time // it was received
}

// NewReportedPlan returns a plan that a cluster has sent.
func NewReportedPlan(cluster string, r tfplan.Report, now time.Time) ReportedPlan {
	r.Plan.PutDeletionsFirst()
	p := ReportedPlan{
		PlanKey: PlanKey{cluster, r.Namespace, r.Name}, Plan: r.PlanID, Inputs: r.Annotations[stackfiles.InputsAnnotation], Digest: r.Plan.Digest,
		Counts: r.Plan.Count(), When: now,
	}
	if r.Stale { // the annotation is of the next plan
		p.Inputs = ""
	}
	p.Text, p.Cut = limitLines(r.Plan.Text())
	sum := sha256.Sum256([]byte(strings.Join([]string{cluster, r.Namespace, r.Name, p.Plan, p.Inputs, p.Digest}, "\x00")))
	p.ID = hex.EncodeToString(sum[:8])
	return p
}

// limitLines returns a text without what is too long of it, and whether that is anything.
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

// IsOf reports whether it is a plan of a component of a stack, as clusters have that now.
func (p ReportedPlan) IsOf(k Known, c stackfiles.ComponentSummary) bool {
	return k.Merged && k.Namespace == p.Namespace && c.Object == p.Object && c.Inputs != "" && c.Inputs == p.Inputs && c.Plan == p.Plan
}
