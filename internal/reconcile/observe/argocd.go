package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

// argoEvent is the body of our template for Argo CD: the state of an Application.
type argoEvent struct {
	App         string `json:"app"`
	Namespace   string `json:"namespace"`
	UID         string `json:"uid"` // "" in older templates
	Environment string `json:"environment"`
	ClusterType string `json:"clusterType"`
	Sync        string `json:"sync"`
	Health      string `json:"health"`
	// Phase is that of the last operation, and Attempted its revision.
	Phase     string `json:"phase"`
	Attempted string `json:"attempted"`
	// Revision is what the state was compared with: a commit or, unless Synced, perhaps a branch.
	// Branch is the wanted one; "" with several sources.
	Revision string          `json:"revision"`
	Branch   string          `json:"branch"`
	Message  string          `json:"message"`
	Time     json.RawMessage `json:"time"`
}

// ParseArgoCD parses a notification with the template of docs/how-to/bootstrap-a-cluster.md, for a
// proven name. Errors are as in [ParseFlux].
func ParseArgoCD(body []byte, cluster string) (Event, error) {
	var a argoEvent
	if err := json.Unmarshal(body, &a); err != nil {
		return Event{}, fmt.Errorf("read an event of Argo CD: %w", err)
	}
	if a.App == "" || a.Namespace == "" || a.Sync == "" || a.Health == "" {
		return Event{}, errors.New("read an event of Argo CD: the Application or its status is missing")
	}
	var when time.Time
	if err := json.Unmarshal(a.Time, &when); err != nil || when.IsZero() {
		return Event{}, ErrNoTime
	}
	if !areNames(a.App, a.Namespace, a.UID, a.Environment, a.ClusterType, a.Branch) {
		return Event{}, errors.New("read an event of Argo CD: a name is too long, or has a line break")
	}
	phase, text := a.rolloutPhase()
	about := ledger.ParseRevision(text)
	if about.Commit != "" && about.Branch == "" && a.Branch != "HEAD" && ledger.ParseRevision(a.Branch).Commit == "" {
		about.Branch = strings.TrimPrefix(a.Branch, "refs/heads/") // as an agent names it
	}
	if phase == rollout.Ready && about == (ledger.Revision{}) {
		return Event{}, ErrNoReport
	}
	return Event{
		Cluster: cluster, Proven: true, Environment: a.Environment, ClusterType: a.ClusterType, Object: "Application/" + a.Namespace + "/" + a.App, UID: a.UID,
		Branch: about.Branch, Commit: about.Commit, Version: about.Version, Phase: phase, Message: cleanMessage(a.Message), When: when.UTC(),
	}, nil
}

// rolloutPhase returns the phase and its revision. The compared revision counts only if synced.
func (a argoEvent) rolloutPhase() (phase rollout.Phase, revision string) {
	synced := a.Sync == "Synced"
	failed := slices.Contains([]string{"Failed", "Error"}, a.Phase)
	if synced {
		revision = a.Revision
	} else if failed || a.Phase == "Running" {
		revision = a.Attempted
	}
	switch {
	case synced && a.Health == "Healthy":
		return rollout.Ready, revision
	case failed || a.Health == "Degraded":
		return rollout.Failed, revision
	case a.Health == "Suspended":
		return rollout.Suspended, revision
	}
	return rollout.Progressing, revision
}
