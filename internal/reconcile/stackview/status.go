package stackview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// Statuses of components, worst first.
const (
	Failed      = "failed"
	Differs     = "plan differs" // from the approved one, so it is not applied
	Drifted     = "drifted"
	Waits       = "waits for approval"
	Unknown     = "unknown"
	Progressing = "progressing"
	Behind      = "behind" // ready, with an older root module
	Suspended   = "suspended"
	Ready       = "ready"
	Destroyed   = "destroyed" // ready, with everything gone
)

// NotReported means that no cluster reports the component.
const NotReported = "not reported"

// AllStatuses returns all statuses, worst first.
func AllStatuses() []string {
	return []string{Failed, Differs, Drifted, Waits, Unknown, Progressing, Behind, Suspended, Ready, Destroyed}
}

// Status is the worst reported status of a component. The zero Status means no report.
type Status struct {
	Status  string    `json:"status"`
	Cluster string    `json:"cluster"`
	Since   time.Time `json:"since,omitzero"`
	Message string    `json:"message,omitempty"`
}

// Report is the reported state of an object.
type Report struct {
	Cluster string
	Object  string // "Kind/namespace/name"
	// Phase is the name of a ledger phase.
	Phase, Revision string
	Since           time.Time
	Message         string
	Plan            ledger.Plan
}

// FindStatus returns the status of a component. Its Terraform object or HelmRelease counts; its
// Kustomization only if that is ready or missing. Since is that of the object: the Kustomization
// becomes ready again with each output.
func FindStatus(c stackfiles.ComponentSummary, reports []Report) Status {
	byCluster, isOfTerraform := map[string][]Status{}, map[string]bool{}
	for _, r := range reports {
		one := Status{Status: readStatus(c, r), Cluster: r.Cluster, Since: r.Since, Message: r.Message}
		kind, _, _ := strings.Cut(r.Object, "/")
		known := byCluster[r.Cluster]
		isOfTerraform[r.Cluster] = isOfTerraform[r.Cluster] || kind == "Terraform"
		if kind == "Kustomization" {
			byCluster[r.Cluster] = append(known, one)
		} else {
			byCluster[r.Cluster] = append([]Status{one}, known...)
		}
	}
	var worst Status
	for cluster, all := range byCluster {
		of, last := all[0], all[len(all)-1]
		switch {
		case (of.Status == Ready || of.Status == Destroyed) && last.Status != Ready && last.Status != Destroyed:
			of = last
		case c.Action == stackfiles.Destroy && (of.Status == Destroyed || of.Status == Ready && !isOfTerraform[cluster]):
			of.Status = Destroyed
			if last.Since.After(of.Since) { // it may have been ready before the destroy
				of.Since = last.Since
			}
		}
		if worst.Status == "" || of.compare(worst) < 0 {
			worst = of
		}
	}
	return worst
}

func (s Status) compare(other Status) int {
	return cmp.Or(cmp.Compare(slices.Index(AllStatuses(), s.Status), slices.Index(AllStatuses(), other.Status)), cmp.Compare(s.Cluster, other.Cluster))
}

func readStatus(c stackfiles.ComponentSummary, r Report) string {
	kind, _, _ := strings.Cut(r.Object, "/")
	status := ReadPhase(r.Phase, r.Message, r.Plan)
	if status != Ready || kind != "Terraform" {
		return status
	}
	switch {
	case c.Action == stackfiles.Destroy: // its resources still exist
		return Progressing
	case !c.IsPlannedAt(ledger.ParseRevision(r.Revision).Commit):
		return Behind
	}
	return Ready
}

// ReadPhase returns the status of a component for its object's phase, ignoring revisions.
func ReadPhase(phase, message string, plan ledger.Plan) string {
	switch known := ledger.ParsePhase(phase); {
	case known == ledger.Waiting, phase == Waits:
		return Waits
	case known == ledger.Ready && plan.Destroys:
		return Destroyed
	case known == ledger.Failed && strings.HasPrefix(message, tfplan.Differs):
		return Differs
	case slices.Contains(AllStatuses(), phase):
		return phase
	}
	return Unknown
}

// PhaseWord returns a phase for people.
func PhaseWord(p ledger.Phase) string {
	if p == ledger.Waiting {
		return Waits
	}
	return p.String()
}

var plurals = map[string]string{Waits: "wait for approval", Differs: "plans differ"}

// SummarizeStatuses summarizes the statuses of a stack's components; "" means not reported.
func SummarizeStatuses(statuses []string) string {
	counts := map[string]int{}
	for _, s := range statuses {
		counts[cmp.Or(s, NotReported)]++
	}
	var parts []string
	for _, status := range append(AllStatuses(), NotReported) {
		switch n := counts[status]; n {
		case 0:
		case len(statuses):
			return status
		case 1:
			parts = append(parts, "1 "+status)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, cmp.Or(plurals[status], status)))
		}
	}
	return strings.Join(parts, ", ")
}
