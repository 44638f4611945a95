package kubestatus

import (
	"encoding/json"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
)

// Labels of Rancher Fleet.
const (
	fleetCommitLabel    = "fleet.cattle.io/commit"
	fleetRepoLabel      = "fleet.cattle.io/repo-name"
	fleetNamespaceLabel = "fleet.cattle.io/bundle-namespace"
)

type bundleDeployment struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Paused       bool   `json:"paused"`
		DeploymentID string `json:"deploymentID"`
	} `json:"spec"`
	Status struct {
		Conditions          []condition       `json:"conditions"`
		AppliedDeploymentID string            `json:"appliedDeploymentID"`
		Ready               bool              `json:"ready"`
		NonModified         bool              `json:"nonModified"`
		Resources           []json.RawMessage `json:"resources"`
	} `json:"status"`
}

func (r *reader) readBundleDeployment(raw json.RawMessage, e *agentapi.Entry) (ledger.Phase, error) {
	var b bundleDeployment
	if err := json.Unmarshal(raw, &b); err != nil {
		return ledger.Unknown, err
	}
	labels := b.Metadata.Labels
	repo := labels[fleetNamespaceLabel] + "/" + labels[fleetRepoLabel]
	r.bundles[repo] = append(r.bundles[repo], b)
	ready, deployed := findCondition(b.Status.Conditions, "Ready"), findCondition(b.Status.Conditions, "Deployed")
	e.Observed = b.Spec.DeploymentID == b.Status.AppliedDeploymentID
	e.Inventory, e.Since, e.Message = len(b.Status.Resources), ready.since(), ready.Message
	phase := ledger.Progressing
	switch {
	case b.Spec.Paused:
		phase, e.Reason = ledger.Suspended, "Paused"
	case !e.Observed && deployed.Status == "False":
		phase, e.Reason, e.Message, e.Since = ledger.Failed, "ErrApplied", deployed.Message, deployed.since()
	case !e.Observed:
		e.Reason = "WaitApplied"
	case b.Status.Ready && b.Status.NonModified:
		phase, e.Reason = ledger.Ready, "Ready"
	case !b.Status.Ready:
		phase, e.Reason = r.waitOrFail(ready), "NotReady"
	default:
		phase, e.Reason = r.waitOrFail(ready), "Modified"
	}
	commit := nameCommit("", labels[fleetCommitLabel])
	if phase == ledger.Ready {
		e.Revision = commit
	} else {
		e.Attempted = commit
	}
	return phase, nil
}

func (r *reader) waitOrFail(c condition) ledger.Phase {
	if r.isPast(c.since()) {
		return ledger.Failed
	}
	return ledger.Progressing
}

type gitRepo struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Repo     string   `json:"repo"`
		Branch   string   `json:"branch"`
		Revision string   `json:"revision"`
		Paths    []string `json:"paths"`
		Paused   bool     `json:"paused"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64       `json:"observedGeneration"`
		Commit             string      `json:"commit"`
		GitJobStatus       string      `json:"gitJobStatus"`
		Conditions         []condition `json:"conditions"`
		Summary            struct {
			DesiredReady int `json:"desiredReady"`
			Ready        int `json:"ready"`
			ErrApplied   int `json:"errApplied"`
			NotReady     int `json:"notReady"`
			Modified     int `json:"modified"`
		} `json:"summary"`
		Display struct {
			State string `json:"state"`
		} `json:"display"`
	} `json:"status"`
}

func (g gitRepo) source() *agentapi.Source {
	s := &agentapi.Source{URL: g.Spec.Repo, Ref: g.Spec.Branch}
	if g.Spec.Revision != "" {
		s.Ref = g.Spec.Revision
	}
	if s.Ref == "" {
		s.Ref = "master" // the default of Rancher Fleet
	}
	if len(g.Spec.Paths) > 0 {
		s.Path = g.Spec.Paths[0]
	}
	return s
}

// readGitRepo reads the phase from the bundles and their counts: the status names a commit as soon
// as it is found.
func (r *reader) readGitRepo(raw json.RawMessage, e *agentapi.Entry) (ledger.Phase, error) {
	var g gitRepo
	if err := json.Unmarshal(raw, &g); err != nil {
		return ledger.Unknown, err
	}
	ready, stalled := findCondition(g.Status.Conditions, "Ready"), findCondition(g.Status.Conditions, "Stalled")
	e.Source = g.source()
	e.Observed = g.Status.ObservedGeneration >= g.Metadata.Generation
	e.Reason, e.Message, e.Since = g.Status.Display.State, ready.Message, ready.since()
	summary := g.Status.Summary
	e.Inventory = summary.DesiredReady
	phase := ledger.Progressing
	switch {
	case g.Spec.Paused:
		phase, e.Reason = ledger.Suspended, "Paused"
	case stalled.Status == "True":
		phase, e.Reason, e.Message, e.Since = ledger.Failed, "Stalled", stalled.Message, stalled.since()
	case !e.Observed:
	case g.Status.GitJobStatus == "Failed":
		phase, e.Reason = ledger.Failed, "GitJobFailed"
	case summary.ErrApplied > 0:
		phase = ledger.Failed
	case summary.NotReady+summary.Modified > 0:
		phase = r.waitOrFail(ready)
	case g.isDeployed(r.bundles[g.Metadata.Namespace+"/"+g.Metadata.Name]):
		phase = ledger.Ready
	}
	commit := nameCommit(e.Source.Ref, g.Status.Commit)
	if phase == ledger.Ready {
		e.Revision = commit
	} else {
		e.Attempted = commit
	}
	return phase, nil
}

func (g gitRepo) isDeployed(bundles []bundleDeployment) bool {
	for _, b := range bundles {
		if commit := b.Metadata.Labels[fleetCommitLabel]; commit != "" && commit != g.Status.Commit {
			return false
		}
	}
	job := g.Status.GitJobStatus
	return g.Status.Summary.DesiredReady > 0 && g.Status.Summary.Ready == g.Status.Summary.DesiredReady && (job == "Current" || job == "")
}
