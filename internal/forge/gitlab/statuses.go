package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

type commitStatus struct {
	ID           int64     `json:"id"`
	Name         string    `json:"name"`
	Status       string    `json:"status"`
	Description  string    `json:"description"`
	TargetURL    string    `json:"target_url"`
	AllowFailure bool      `json:"allow_failure"`
	Created      time.Time `json:"created_at"`
	Started      time.Time `json:"started_at"`
	Finished     time.Time `json:"finished_at"`
	Author       user      `json:"author"`
}

// Statuses includes pipeline jobs.
func (g *Forge) Statuses(ctx context.Context, commit string) ([]forge.CommitStatus, error) {
	found, err := listAll[commitStatus](ctx, g, "list statuses", "repository/commits/"+gl.PathEscape(commit)+"/statuses", func(o gl.ListOptions) any {
		return &gl.GetCommitStatusesOptions{ListOptions: o}
	})
	if err != nil {
		return nil, err
	}
	// Each pipeline of the commit has its own latest status.
	slices.SortFunc(found, func(a, b commitStatus) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(b.ID, a.ID)) })
	found = slices.CompactFunc(found, func(a, b commitStatus) bool { return a.Name == b.Name })
	found = slices.DeleteFunc(found, func(s commitStatus) bool { return s.ID == 0 })
	return list.Convert(found, commitStatus.toCommitStatus), nil
}

func (s commitStatus) toCommitStatus() forge.CommitStatus {
	when := s.Created
	for _, later := range []time.Time{s.Started, s.Finished} {
		if later.After(when) {
			when = later
		}
	}
	said := forge.CommitStatus{
		Context: s.Name, Outcome: outcomeOf(s.Status), Description: s.Description, URL: s.TargetURL,
		Time: when, Author: s.Author.Name,
	}
	if s.AllowFailure && (said.Outcome == forge.Failure || s.Status == "manual") { // GitLab proceeds without it
		said.Outcome, said.Description = forge.Success, cmp.Or(s.Description, s.Status+", which is allowed")
	}
	return said
}

// outcomeOf maps GitLab's states of jobs and pipelines. Unknown ones are pending, so that nothing
// proceeds because of them.
func outcomeOf(status string) forge.Outcome {
	switch status {
	case "success", "skipped":
		return forge.Success
	case "failed", "canceled":
		return forge.Failure
	}
	return forge.Pending
}

const maxDescription = 255

var outcomes = map[forge.Outcome]gl.BuildStateValue{forge.Pending: gl.Pending, forge.Success: gl.Success, forge.Failure: gl.Failed}

// createStatus: GitLab refuses to set the state that a status has, even with another description;
// that counts as success.
func (g *Forge) createStatus(ctx context.Context, commit string, s forge.Status) error {
	o := gl.SetCommitStatusOptions{State: outcomes[s.Outcome], Name: &s.Context, Description: new(forge.OneLine(s.Description, maxDescription))}
	if s.URL != "" {
		o.TargetURL = &s.URL
	}
	_, _, err := callAPI[struct{}](ctx, g, "set a status", http.MethodPost, "statuses/"+gl.PathEscape(commit), o)
	var r *problem.Refusal
	if errors.As(err, &r) && strings.Contains(r.Reason, "Cannot transition status") && strings.Contains(r.Reason, fmt.Sprintf(" from :%s ", o.State)) {
		return nil
	}
	return err
}
