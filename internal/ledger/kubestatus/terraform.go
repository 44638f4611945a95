package kubestatus

import (
	"encoding/json"
	"strings"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
)

// readTerraform reads a Terraform object of tofu-controller. One that waits for approval is reported as
// failed, as it is for the Kustomization that applies it; the ledger tells it from others by the message.
func (r *reader) readTerraform(raw json.RawMessage, e *agentapi.Entry) (ledger.Phase, error) {
	var o struct {
		Metadata metadata `json:"metadata"`
		Spec     struct {
			Suspend     bool          `json:"suspend"`
			ApprovePlan string        `json:"approvePlan"`
			Path        string        `json:"path"`
			SourceRef   fluxReference `json:"sourceRef"`
		} `json:"spec"`
		Status struct {
			fluxStatus
			LastAppliedRevision   string `json:"lastAppliedRevision"`
			LastAttemptedRevision string `json:"lastAttemptedRevision"`
			Plan                  struct {
				Pending string `json:"pending"`
			} `json:"plan"`
		} `json:"status"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return ledger.Unknown, err
	}
	phase := readFlux(o.Status.fluxStatus, o.Metadata.Generation, o.Spec.Suspend, e)
	e.Revision = o.Status.LastAppliedRevision
	if tried := o.Status.LastAttemptedRevision; tried != e.Revision {
		e.Attempted = tried
	}
	if s, ok := r.sources[o.Spec.SourceRef.objectName(o.Metadata.Namespace)]; ok {
		e.Source = &agentapi.Source{URL: s.url, Ref: s.ref, Path: o.Spec.Path}
	}
	pending := o.Status.Plan.Pending
	switch {
	case phase == ledger.Suspended:
	case e.Reason == "TerraformPlannedWithChanges" && pending != "" && pending != o.Spec.ApprovePlan && o.Spec.ApprovePlan != "auto":
		e.Message, phase = ledger.AwaitsApproval+pending, ledger.Failed
	case e.Reason == "DriftDetected" && phase == ledger.Failed:
		e.Message = ledger.HasDrift + strings.TrimSpace(strings.TrimPrefix(e.Message, "Drift detected."))
	}
	return phase, nil
}
