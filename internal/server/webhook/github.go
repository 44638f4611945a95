package webhook

import (
	"cmp"
	"encoding/json"
	"slices"
)

type githubPayload struct {
	Action string `json:"action"`
	Ref    string `json:"ref"`
	Number int    `json:"number"`
	State  string `json:"state"`
	Review struct {
		State string `json:"state"` // GitHub
		Type  string `json:"type"`  // Gitea
	} `json:"review"`
	PullRequest struct {
		Number int  `json:"number"`
		Merged bool `json:"merged"`
		Base   struct {
			Ref string `json:"ref"`
		} `json:"base"`
	} `json:"pull_request"`
	CheckSuite githubSuite `json:"check_suite"`
	CheckRun   struct {
		CheckSuite githubSuite `json:"check_suite"`
	} `json:"check_run"`
	Branches []struct {
		Name string `json:"name"`
	} `json:"branches"`
	Repository struct {
		CloneURL string `json:"clone_url"`
		SSHURL   string `json:"ssh_url"`
		HTMLURL  string `json:"html_url"`
	} `json:"repository"`
}

type githubSuite struct {
	HeadBranch   string `json:"head_branch"`
	PullRequests []struct {
		Number int `json:"number"`
	} `json:"pull_requests"`
}

func githubKind(name string) (Kind, []string) {
	switch name {
	case "push":
		return Push, nil
	case "pull_request":
		return Pull, []string{"opened", "reopened", "edited", "synchronize", "ready_for_review", "converted_to_draft", "closed", "merged"}
	case "pull_request_review", // GitHub; the others are Gitea's
		"pull_request_approved", "pull_request_rejected", "pull_request_comment":
		return Review, nil
	case "check_suite", "check_run":
		return Check, []string{"completed", "rerequested", "requested_action"}
	case "status":
		return Status, nil
	}
	return "", nil
}

func parseGitHub(name string, body []byte) (Event, []string, error) {
	kind, actions := githubKind(name)
	if kind == "" {
		return Event{}, nil, errIrrelevant
	}
	var p githubPayload
	if err := json.Unmarshal(body, &p); err != nil {
		return Event{}, nil, err
	}
	e := p.newEvent(kind, name)
	if actions != nil && !slices.Contains(actions, e.Action) {
		return Event{}, nil, errIrrelevant
	}
	return e, []string{p.Repository.CloneURL, p.Repository.SSHURL, p.Repository.HTMLURL}, nil
}

func (p *githubPayload) newEvent(kind Kind, name string) Event {
	e := Event{Kind: kind, Action: safeWord(p.Action)}
	switch kind {
	case Push:
		e.Ref = fullReference(p.Ref)
	case Pull:
		e.Ref, e.Number = fullReference(p.PullRequest.Base.Ref), p.pullNumber()
		switch {
		case p.Action == "closed" && p.PullRequest.Merged:
			e.Action = "merged"
		case p.Action == "synchronized": // Gitea
			e.Action = "synchronize"
		}
	case Review:
		e.Ref, e.Number = fullReference(p.PullRequest.Base.Ref), p.pullNumber()
		e.Action = safeWord(cmp.Or(p.Review.State, p.Review.Type))
	case Check:
		suite := p.CheckSuite
		if name == "check_run" {
			suite = p.CheckRun.CheckSuite
		}
		e.Ref = fullReference(suite.HeadBranch)
		if len(suite.PullRequests) > 0 {
			e.Number = max(0, suite.PullRequests[0].Number)
		}
	case Status:
		e.Action = safeWord(p.State)
		if len(p.Branches) > 0 {
			e.Ref = fullReference(p.Branches[0].Name)
		}
	}
	return e
}

func (p *githubPayload) pullNumber() int { return max(0, cmp.Or(p.Number, p.PullRequest.Number)) }
