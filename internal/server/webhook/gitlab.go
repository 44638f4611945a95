package webhook

import (
	"cmp"
	"encoding/json"
)

// labPayload is what is read of a payload of GitLab.
type labPayload struct {
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

// parseLab reads a delivery of GitLab: of a webhook or of a system hook.
func parseLab(_ string, body []byte) (Event, []string, error) {
	var which struct {
		Kind string `json:"object_kind"`
		Name string `json:"event_name"` // all that some system hooks have
	}
	if err := json.Unmarshal(body, &which); err != nil {
		return Event{}, nil, err
	}
	event := labEvent(cmp.Or(which.Kind, which.Name))
	if event == nil {
		return Event{}, nil, errOther
	}
	var p labPayload
	if err := json.Unmarshal(body, &p); err != nil {
		return Event{}, nil, err
	}
	e, ok := event(&p)
	if !ok {
		return Event{}, nil, errOther
	}
	return e, []string{p.Project.HTTPURL, p.Project.SSHURL, p.Project.WebURL}, nil
}

// labEvent returns the function that reads an event; nil if it does not concern us.
func labEvent(name string) func(*labPayload) (Event, bool) {
	switch name {
	case "push", "tag_push":
		return (*labPayload).push
	case "merge_request":
		return (*labPayload).mergeRequest
	case "note":
		return (*labPayload).note
	case "pipeline":
		return (*labPayload).pipeline
	}
	return nil
}

func (p *labPayload) push() (Event, bool) { return Event{Kind: Push, Ref: refOf(p.Ref)}, true }

func (p *labPayload) mergeRequest() (Event, bool) {
	kind, action := labAction(p.Attributes.Action, p.Attributes.OldRevision != "")
	return Event{Kind: kind, Ref: refOf(p.Attributes.TargetBranch), Number: max(0, p.Attributes.IID), Action: action}, kind != ""
}

// labAction returns the kind and our word for an action of a merge request; "" if it does
// not concern us.
func labAction(action string, commits bool) (Kind, string) {
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

// note is a comment on a merge request; others do not concern us.
func (p *labPayload) note() (Event, bool) {
	e := Event{Kind: Review, Ref: refOf(p.MergeRequest.TargetBranch), Number: max(0, p.MergeRequest.IID), Action: "commented"}
	return e, p.Attributes.NoteableType == "MergeRequest"
}

func (p *labPayload) pipeline() (Event, bool) {
	name := p.Attributes.Ref
	if p.Attributes.Tag && name != "" {
		name = "refs/tags/" + name
	}
	return Event{Kind: Check, Ref: refOf(name), Number: max(0, p.MergeRequest.IID), Action: wordOf(p.Attributes.Status)}, true
}
