package webhook

import (
	"cmp"
	"encoding/json"
	"slices"
)

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
		OldRevision  string `json:"oldrev"` // set if an update has new commits
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

func parseGitLab(_ string, body []byte) (Event, []string, error) {
	var which struct {
		Kind string `json:"object_kind"`
		Name string `json:"event_name"` // the only name in some system hooks
	}
	if err := json.Unmarshal(body, &which); err != nil {
		return Event{}, nil, err
	}
	name := cmp.Or(which.Kind, which.Name)
	if !slices.Contains([]string{"push", "tag_push", "merge_request", "note", "pipeline"}, name) {
		return Event{}, nil, errIrrelevant
	}
	var p gitlabPayload
	if err := json.Unmarshal(body, &p); err != nil {
		return Event{}, nil, err
	}
	e := p.newEvent(name)
	if e.Kind == "" {
		return Event{}, nil, errIrrelevant
	}
	return e, []string{p.Project.HTTPURL, p.Project.SSHURL, p.Project.WebURL}, nil
}

func (p *gitlabPayload) newEvent(name string) Event {
	its, request := p.Attributes, p.MergeRequest
	switch name {
	case "merge_request":
		kind, action := gitlabAction(its.Action, its.OldRevision != "")
		return Event{Kind: kind, Ref: fullReference(its.TargetBranch), Number: max(0, its.IID), Action: action}
	case "note":
		if its.NoteableType != "MergeRequest" {
			return Event{}
		}
		return Event{Kind: Review, Ref: fullReference(request.TargetBranch), Number: max(0, request.IID), Action: "commented"}
	case "pipeline":
		ref := its.Ref
		if its.Tag && ref != "" {
			ref = "refs/tags/" + ref
		}
		return Event{Kind: Check, Ref: fullReference(ref), Number: max(0, request.IID), Action: safeWord(its.Status)}
	}
	return Event{Kind: Push, Ref: fullReference(p.Ref)}
}

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
