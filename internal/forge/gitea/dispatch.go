package gitea

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// DispatchWorkflow fails as if the workflow were missing on servers without Actions, and on Forgejo
// where its API differs.
func (g *Forge) DispatchWorkflow(ctx context.Context, w forge.Workflow) error {
	_, _, err := callAPI(ctx, g, "dispatch a workflow", func(c *sdk.Client) (*sdk.RunDetails, *sdk.Response, error) {
		return c.DispatchRepoActionWorkflow(g.owner, g.name, w.Name, sdk.CreateActionWorkflowDispatchOption{Ref: w.Ref, Inputs: w.Inputs}, false)
	})
	return err
}

const maxRuns = 20

// WorkflowRuns looks only at the newest runs. Only a run's jobs have a creation time.
func (g *Forge) WorkflowRuns(ctx context.Context, w forge.Workflow, since time.Time) ([]forge.Run, error) {
	since = since.Truncate(time.Second) // Gitea's times have seconds
	found, _, err := callAPI(ctx, g, "list runs", func(c *sdk.Client) (*sdk.ActionWorkflowRunsResponse, *sdk.Response, error) {
		return c.ListRepoActionRuns(g.owner, g.name, sdk.ListRepoActionRunsOptions{
			ListOptions: sdk.ListOptions{Page: 1, PageSize: pageSize}, Event: "workflow_dispatch", Branch: strings.TrimPrefix(w.Ref, "refs/heads/"),
		})
	})
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(found.WorkflowRuns, func(r *sdk.ActionWorkflowRun) bool {
		if r == nil {
			return true
		}
		name, _, _ := strings.Cut(r.Path, "@") // NAME@REF
		// A run that ended before cannot have been created later.
		ended := r.Status == "completed" && r.CompletedAt.Unix() > 0 && r.CompletedAt.Before(since.Add(-time.Second))
		return name != w.Name || r.Event != "workflow_dispatch" || ended
	})
	slices.SortFunc(all, func(a, b *sdk.ActionWorkflowRun) int { return cmp.Compare(b.ID, a.ID) })
	var runs []forge.Run
	for _, r := range all[:min(maxRuns, len(all))] {
		made, err := g.madeAt(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		if !made.Before(since) {
			runs = append(runs, readRun(r, made))
		}
	}
	return runs, nil
}

func (g *Forge) madeAt(ctx context.Context, run int64) (time.Time, error) {
	jobs, _, err := callAPI(ctx, g, "list a run's jobs", func(c *sdk.Client) (*sdk.ActionWorkflowJobsResponse, *sdk.Response, error) {
		return c.ListRepoActionRunJobs(g.owner, g.name, run, sdk.ListRepoActionJobsOptions{ListOptions: sdk.ListOptions{Page: 1, PageSize: pageSize}})
	})
	if err != nil {
		return time.Time{}, err
	}
	var made time.Time
	for _, j := range jobs.Jobs {
		if j != nil && (made.IsZero() || j.CreatedAt.Before(made)) {
			made = j.CreatedAt
		}
	}
	return made, nil
}

func readRun(r *sdk.ActionWorkflowRun, made time.Time) forge.Run {
	run := forge.Run{
		ID: strconv.FormatInt(r.ID, 10), Title: cmp.Or(r.DisplayTitle, fmt.Sprintf("Run %d", r.RunNumber)), Outcome: forge.Pending, Started: made, URL: r.HTMLURL,
	}
	if r.Status != "completed" {
		return run
	}
	run.Reason = cmp.Or(r.Conclusion, r.Status)
	run.Outcome = forge.Failure
	if r.Conclusion == "success" {
		run.Outcome = forge.Success
	}
	return run
}
