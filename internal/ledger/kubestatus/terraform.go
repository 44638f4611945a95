package kubestatus

import (
	"encoding/json"
	"strings"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
)

type terraformStatus struct {
	fluxStatus
	LastAppliedRevision   string `json:"lastAppliedRevision"`
	LastAttemptedRevision string `json:"lastAttemptedRevision"`
	LastPlannedRevision   string `json:"lastPlannedRevision"`
	Plan                  struct {
		Pending              string `json:"pending"`
		IsDestroyPlan        bool   `json:"isDestroyPlan"`
		IsDriftDetectionPlan bool   `json:"isDriftDetectionPlan"`
	} `json:"plan"`
}

func (r *reader) readTerraform(raw json.RawMessage, e *agentapi.Entry) (ledger.Phase, error) {
	var o struct {
		Metadata metadata `json:"metadata"`
		Spec     struct {
			Suspend     bool          `json:"suspend"`
			ApprovePlan string        `json:"approvePlan"`
			Path        string        `json:"path"`
			SourceRef   fluxReference `json:"sourceRef"`
		} `json:"spec"`
		Status terraformStatus `json:"status"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return ledger.Unknown, err
	}
	status := o.Status
	phase := readFlux(status.fluxStatus, o.Metadata.Generation, o.Spec.Suspend, e)
	e.Revision = status.LastAppliedRevision
	if tried := status.LastAttemptedRevision; tried != e.Revision {
		e.Attempted = tried
	}
	s, ok := r.sources[o.Spec.SourceRef.objectName(o.Metadata.Namespace)]
	if ok {
		e.Source = &agentapi.Source{URL: s.url, Ref: s.ref, Path: o.Spec.Path}
	}
	if phase != ledger.Suspended {
		e.Observed = e.Observed && status.ObservedGeneration >= o.Metadata.Generation
		phase = status.readPhase(phase, o.Spec.ApprovePlan, e)
	}
	if s.isPendingFor(phase, e.Reason) || phase == ledger.Failed && e.Reason == "ArtifactFailed" && s.phase == ledger.Ready {
		phase = ledger.Progressing
	}
	r.terraforms[e.ObjectName()] = terraform{phase, ok && s.revision != "" && s.revision != status.LastAttemptedRevision}
	return phase, nil
}

// readPhase returns the phase of an object that is not suspended, and sets its plan. Conditions
// alone are not enough: they are Ready while any plan but the first waits, and Unknown during drift
// checks.
func (s terraformStatus) readPhase(phase ledger.Phase, approved string, e *agentapi.Entry) ledger.Phase {
	pending := s.Plan.Pending
	switch {
	case pending != "" && approved != "auto" && approved != pending:
		e.Plan = ledger.Plan{ID: pending, Destroys: s.Plan.IsDestroyPlan, Drift: s.Plan.IsDriftDetectionPlan}
		return ledger.Waiting
	case phase == ledger.Ready:
		return s.readReady(e)
	case phase == ledger.Failed && e.Reason == "DriftDetected":
		applied := findCondition(s.Conditions, "Apply")
		if applied.Status == "False" { // its own apply failed halfway
			e.Message = CleanTerraform(applied.Message)
			return ledger.Failed
		}
		e.Message = CleanTerraform(e.Message)
		return ledger.Drifted
	case phase == ledger.Progressing && s.isChecking(e):
		return ledger.Checking
	}
	e.Message = CleanTerraform(e.Message)
	return phase
}

// readReady returns the phase of an object with a Ready condition. A commit without changes is
// planned, but never applied.
func (s terraformStatus) readReady(e *agentapi.Entry) ledger.Phase {
	planned := findCondition(s.Conditions, "Plan")
	isApplied := s.LastAttemptedRevision == s.LastAppliedRevision
	isUnchanged := s.LastAttemptedRevision == s.LastPlannedRevision && planned.Status == "False" && planned.Reason == "TerraformPlannedNoChanges"
	switch {
	case !e.Observed, s.Plan.Pending != "", !isApplied && !isUnchanged:
		return ledger.Progressing
	case s.Plan.IsDestroyPlan && e.Reason != "TerraformAppliedSucceed" && e.Reason != "TerraformPlannedNoChanges":
		return ledger.Progressing
	}
	if s.Plan.IsDestroyPlan {
		e.Plan = ledger.Plan{Destroys: true}
	}
	e.Revision, e.Attempted = s.LastAttemptedRevision, ""
	return ledger.Ready
}

// isChecking reports whether an object re-checks a settled state, without changes or an apply in
// progress.
func (s terraformStatus) isChecking(e *agentapi.Entry) bool {
	return e.Observed && e.Reason == "Progressing" && s.Plan.Pending == "" && findCondition(s.Conditions, "Reconciling").Status == "True"
}

// CleanTerraform returns the resources and counts of a plan in a tofu-controller message, or the
// text after the first "Error: ".
func CleanTerraform(message string) string {
	_, failure, hasFailed := strings.Cut(message, "\nError: ")
	if hasFailed {
		return strings.TrimSpace(failure)
	}
	var parts []string
	for line := range strings.Lines(message) {
		resource, isResource := strings.CutPrefix(line, "  # ")
		if isResource || strings.HasPrefix(line, "Plan: ") {
			parts = append(parts, strings.TrimSpace(resource))
		}
	}
	if len(parts) > 0 {
		return strings.Join(parts, "; ")
	}
	return strings.TrimSpace(strings.TrimPrefix(message, "Drift detected."))
}
