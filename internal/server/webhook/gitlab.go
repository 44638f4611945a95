package webhook

import (
	"cmp"
	"encoding/json"
)

// gitlabPayload is what is read of a payload of GitLab.
type gitlabPayload struct {
	Ref     string `json:"ref"`
	Project struct {
		HTTPURL string `json:"git_http_url"`
		SSHURL  string `json:"git_ssh_url"`
		WebURL  string `json:"web_url"`
	} `json:"project"`
	Attributes struct {
		IID          int    `json:"iid"`
		Action       string `json:"action"`
		OldRevision  string `json:"oldrev"` // of an update that has new commits
		TargetBranch string `json:"target_branch"`
		NoteableType string `json:"noteable_type"`
		Ref          string `json:"ref"` // of a pipeline
		Tag          bool   `json:"tag"`
		Status       string `json:"status"`
	} `json:"object_attributes"`
	MergeRequest struct {
		IID          int    `json:"iid"`
		TargetBranch string `json:"target_branch"`
	} `json:"merge_request"`
}

// parseGitLab reads a delivery of GitLab: of a webhook or of a system hook.
func parseGitLab(_ string, body []byte) (Event, []string, error) {
	var which struct {
		Kind string `json:"object_kind"`
		Name string `json:"event_name"` // all that some system hooks have
	}
	if err := json.Unmarshal(body, &which); err != nil {
		return Event{}, nil, err
	}
	event := gitlabEvent(cmp.Or(which.Kind, which.Name))
	if event == nil {
		return Event{}, nil, errIrrelevant
	}
	var p gitlabPayload
	if err := json.Unmarshal(body, &p); err != nil {
		return Event{}, nil, err
	}
	e, ok := event(&p)
	if !ok {
		return Event{}, nil, errIrrelevant
	}
	return e, []string{p.Project.HTTPURL, p.Project.SSHURL, p.Project.WebURL}, nil
}

// gitlabEvent returns the function that reads an event; nil if it does not concern us.
func gitlabEvent(name string) func(*gitlabPayload) (Event, bool) {
	switch name {
	case "push", "tag_push":
		return (*gitlabPayload).pushEvent
	case "merge_request":
		return (*gitlabPayload).mergeRequestEvent
	case "note":
		return (*gitlabPayload).noteEvent
	case "pipeline":
		return (*gitlabPayload).pipelineEvent
	}
	return nil
}

func (p *gitlabPayload) pushEvent() (Event, bool) {
	return Event{Kind: Push, Ref: fullReference(p.Ref)}, true
}

func (p *gitlabPayload) mergeRequestEvent() (Event, bool) {
	kind, action := gitlabAction(p.Attributes.Action, p.Attributes.OldRevision != "")
	return Event{Kind: kind, Ref: fullReference(p.Attributes.TargetBranch), Number: max(0, p.Attributes.IID), Action: action}, kind != ""
}

// gitlabAction returns the kind and our word for an action of a merge request; "" if it does
// not concern us.
func gitlabAction(action string, commits bool) (Kind, string) {
	switch action {
	case "open":
		return Pull, "opened"
	case "reopen":
		return Pull, "reopened"
	case "close":
		return Pull, "closed"
	case "merge":
		return Pull, "merged"
	case "update":
		if commits {
			return Pull, "synchronize"
		}
		return Pull, "edited"
	case "approved", "approval", "unapproved", "unapproval":
		return Review, action
	}
	return "", ""
}

// noteEvent is a comment on a merge request; others do not concern us.
func (p *gitlabPayload) noteEvent() (Event, bool) {
	e := Event{Kind: Review, Ref: fullReference(p.MergeRequest.TargetBranch), Number: max(0, p.MergeRequest.IID), Action: "commented"}
	return e, p.Attributes.NoteableType == "MergeRequest"
}

func (p *gitlabPayload) pipelineEvent() (Event, bool) {
	name := p.Attributes.Ref
	if p.Attributes.Tag && name != "" {
		name = "refs/tags/" + name
	}
	return Event{Kind: Check, Ref: fullReference(name), Number: max(0, p.MergeRequest.IID), Action: safeWord(p.Attributes.Status)}, true
}
