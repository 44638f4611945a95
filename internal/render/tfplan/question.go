package tfplan

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// DigestAnnotation is the annotation of a Terraform object with the digest of the
// approved plan.
const DigestAnnotation = "fairlead.io/plan-digest"

// Differs begins the reason if the plan is not the approved one.
const Differs = "the plan differs from the approved one"

// Answer tells tofu-controller whether it may use a plan.
type Answer struct {
	Passed bool   `json:"passed"`
	Reason string `json:"reason"`
	Digest string `json:"digest,omitempty"` // of the plan, if it was readable
}

// question is the payload of a post-planning webhook of type SpecAndPlan: the Terraform
// object with the plan instead of its status.
type question struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name              string            `json:"name"`
		Namespace         string            `json:"namespace"`
		Annotations       map[string]string `json:"annotations"`
		DeletionTimestamp string            `json:"deletionTimestamp"`
		Generation        int64             `json:"generation"`
	} `json:"metadata"`
	Spec struct {
		ApprovePlan       string `json:"approvePlan"`
		Force             bool   `json:"force"`
		PlanOnly          bool   `json:"planOnly"`
		DestroyOnDeletion bool   `json:"destroyResourcesOnDeletion"`
		Webhooks          []any  `json:"webhooks"`
	} `json:"spec"`
	Status struct {
		Plan json.RawMessage `json:"tfplan"`
		// The remaining fields are in the object itself, but not in the webhook's
		// payload.
		Observed int64  `json:"observedGeneration"`
		Planned  string `json:"lastPlannedRevision"` // as "BRANCH@sha1:COMMIT"
		Pending  struct {
			ID string `json:"pending"`
		} `json:"plan"`
	} `json:"status"`
	Cost json.RawMessage `json:"cost"` // added by who sends a plan to Fairlead
}

// AnswerQuestion answers tofu-controller after it makes a plan, and again before it
// applies an approved plan, which it makes again. Only a yes has that applied. The
// answer depends on the question only. The error means that text is not a question.
func AnswerQuestion(text []byte) (Answer, error) {
	q, err := readQuestion(text)
	if err != nil {
		return Answer{}, err
	}
	return q.answer(), nil
}

func readQuestion(text []byte) (question, error) {
	var q question
	err := json.Unmarshal(text, &q)
	switch {
	case err != nil:
		return q, fmt.Errorf("it is not a Terraform object in JSON: %w", err)
	case q.Kind != "Terraform" || !strings.HasPrefix(q.APIVersion, "infra.contrib.fluxcd.io/"):
		return q, errors.New("it is not a Terraform object of tofu-controller")
	case len(q.Status.Plan) == 0:
		return q, errors.New("it has no plan: the payloadType of the webhook must be SpecAndPlan")
	}
	return q, nil
}

func (q question) planID() string {
	branch, commit, isCommit := strings.Cut(q.Status.Planned, "@sha1:")
	if q.Status.Pending.ID != "" || !isCommit || len(commit) < shortCommit {
		return q.Status.Pending.ID
	}
	return PlanID(branch, commit)
}

// PlanID returns tofu-controller's id of a plan at a commit of a branch.
func PlanID(branch, commit string) string { return "plan-" + branch + "-" + commit[:shortCommit] }

const shortCommit = 10

func (q question) isApproved() bool {
	return q.Spec.ApprovePlan != "" && q.Spec.ApprovePlan != "disable"
}

func (q question) answer() Answer {
	approved := q.Metadata.Annotations[DigestAnnotation]
	isDeleted := q.Spec.DestroyOnDeletion && q.Metadata.DeletionTimestamp != "" // deletion destroys regardless of approvePlan
	switch {
	case q.Spec.ApprovePlan == "auto" && !q.Spec.Force && len(q.Spec.Webhooks) == 0: // tofu-controller does not ask
		return Answer{Passed: true, Reason: "the plans of the object are applied without approval"}
	case q.Spec.Force || q.Spec.ApprovePlan == "auto":
		return Answer{Reason: "the object is not as Fairlead has rendered it: it applies every plan"}
	case isDeleted && !q.isApproved():
		approved = ""
	case isDeleted:
	case !q.isApproved() || q.Spec.PlanOnly:
		return Answer{Passed: true, Reason: "the plan is not applied: it waits for approval"}
	}
	p, err := Read(q.Status.Plan)
	switch {
	case err != nil:
		return Answer{Reason: "the plan cannot be read: " + err.Error()}
	case p.Errored:
		return Answer{Reason: "planning ended with an error", Digest: p.Digest}
	case p.ChangesNothing():
		return Answer{Passed: true, Reason: "the plan changes nothing", Digest: p.Digest}
	case approved == "" && isDeleted:
		return Answer{Reason: "the object is deleted, and nobody has approved that what it made is destroyed: set destroyResourcesOnDeletion to false to keep that", Digest: p.Digest}
	case approved == "":
		return Answer{Reason: "the approval names no digest of the plan", Digest: p.Digest}
	case approved != p.Digest:
		return Answer{Reason: fmt.Sprintf("%s: it is %s, and %s was approved; remove the approval, and read the new plan", Differs, p.Digest, approved), Digest: p.Digest}
	}
	return Answer{Passed: true, Reason: "the plan is the approved one", Digest: p.Digest}
}
