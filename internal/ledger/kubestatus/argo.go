package kubestatus

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
)

type application struct {
	Spec struct {
		Source  *argoSource  `json:"source"`
		Sources []argoSource `json:"sources"`
	} `json:"spec"`
	Status struct {
		Sync struct {
			Status    string   `json:"status"`
			Revision  string   `json:"revision"`
			Revisions []string `json:"revisions"`
		} `json:"sync"`
		Health struct {
			Status             string    `json:"status"`
			Message            string    `json:"message"`
			LastTransitionTime time.Time `json:"lastTransitionTime"`
		} `json:"health"`
		OperationState struct {
			Phase      string    `json:"phase"`
			Message    string    `json:"message"`
			StartedAt  time.Time `json:"startedAt"`
			FinishedAt time.Time `json:"finishedAt"`
			SyncResult struct {
				Revision  string   `json:"revision"`
				Revisions []string `json:"revisions"`
			} `json:"syncResult"`
		} `json:"operationState"`
		Conditions []condition       `json:"conditions"`
		Resources  []json.RawMessage `json:"resources"`
	} `json:"status"`
}

type argoSource struct {
	RepoURL        string `json:"repoURL"`
	Path           string `json:"path"`
	Chart          string `json:"chart"`
	TargetRevision string `json:"targetRevision"`
}

func (a application) source() argoSource {
	switch {
	case a.Spec.Source != nil:
		return *a.Spec.Source
	case len(a.Spec.Sources) > 0:
		return a.Spec.Sources[0]
	}
	return argoSource{}
}

// nameRevision returns a revision of the first source. It returns "" for a branch name, which Argo
// CD repeats if it could not resolve it.
func (s argoSource) nameRevision(one string, several []string) string {
	if len(several) > 0 {
		one = several[0]
	}
	if s.Chart == "" && !text.IsCommit(one) && !strings.Contains(one, ":") { // sha256:… of an artifact
		return ""
	}
	if s.Chart != "" {
		return one
	}
	return nameCommit(s.TargetRevision, one)
}

func (r *reader) readApplication(raw json.RawMessage, e *agentapi.Entry) (ledger.Phase, error) {
	var a application
	if err := json.Unmarshal(raw, &a); err != nil {
		return ledger.Unknown, err
	}
	from, status := a.source(), a.Status
	e.Source = &agentapi.Source{URL: from.RepoURL, Ref: from.TargetRevision, Path: from.Path}
	e.Observed, e.Inventory = true, len(status.Resources)
	e.Reason = status.Sync.Status + "," + status.Health.Status
	e.Since = status.Health.LastTransitionTime
	if finished := status.OperationState.FinishedAt; finished.After(e.Since) {
		e.Since = finished
	}
	compared := from.nameRevision(status.Sync.Revision, status.Sync.Revisions)
	operated := from.nameRevision(status.OperationState.SyncResult.Revision, status.OperationState.SyncResult.Revisions)
	isSynced := status.Sync.Status == "Synced"
	if isSynced {
		e.Revision = compared
	} else {
		e.Attempted = compared
	}
	operation := status.OperationState.Phase
	switch {
	case operation == "Running", operation == "Terminating":
		if operated != "" && operated != e.Revision {
			e.Attempted = operated
		}
		e.Since = status.OperationState.StartedAt
		return ledger.Progressing, nil
	case isSynced && status.Health.Status == "Healthy":
		return ledger.Ready, nil
	case status.Health.Status == "Degraded":
		e.Message = status.Health.Message
		return ledger.Failed, nil
	case operation == "Failed", operation == "Error":
		e.Message = status.OperationState.Message
		if operated != "" && operated != e.Revision {
			e.Attempted = operated
		}
		return ledger.Failed, nil
	case status.Health.Status == "Suspended":
		return ledger.Suspended, nil
	}
	return r.readApplicationErrors(status.Conditions, e), nil
}

// readApplicationErrors fails an Application that could not be compared for longer than patience.
func (r *reader) readApplicationErrors(conditions []condition, e *agentapi.Entry) ledger.Phase {
	for _, c := range conditions {
		if strings.HasSuffix(c.Type, "Error") {
			e.Reason, e.Message, e.Since = c.Type, c.Message, c.since()
			if r.isPast(c.since()) {
				return ledger.Failed
			}
		}
	}
	return ledger.Progressing
}
