package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	gh "github.com/google/go-github/v57/github"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

// DispatchWorkflow starts a workflow, which must have the trigger workflow_dispatch.
func (g *Forge) DispatchWorkflow(ctx context.Context, w forge.Workflow) error {
	if err := g.checkWorkflow(w); err != nil {
		return err
	}
	event := gh.CreateWorkflowDispatchEventRequest{Ref: w.Ref, Inputs: map[string]any{}}
	for name, value := range w.Inputs {
		event.Inputs[name] = value
	}
	_, answer, err := callAPI(g, "dispatch a workflow", func() (any, *gh.Response, error) {
		answer, err := g.client.Actions.CreateWorkflowDispatchEventByFileName(ctx, g.owner, g.name, w.Name, event)
		return nil, answer, err
	})
	var r *problem.Refusal
	if answer != nil && answer.StatusCode == http.StatusUnprocessableEntity && errors.As(err, &r) {
		r.Advice = "have the workflow on the default branch and at " + forge.Quote(w.Ref) + ", with the trigger workflow_dispatch and these inputs"
	}
	if err != nil {
		return fmt.Errorf("workflow %s: %w", w.Name, err)
	}
	return nil
}

func (g *Forge) checkWorkflow(w forge.Workflow) error {
	if isSegment(w.Name) && w.Ref != "" {
		return nil
	}
	return &problem.Refusal{
		Operation: "run a workflow of " + g.api.Repo, Reason: strconv.Quote(w.Name) + " at " + strconv.Quote(w.Ref) + " is none",
		Advice: "name the file in .github/workflows, as in smoke.yaml, and a branch or tag",
	}
}

const maxRuns = 1000

// WorkflowRuns returns the dispatched runs of a workflow at its ref, newest first.
func (g *Forge) WorkflowRuns(ctx context.Context, w forge.Workflow, since time.Time) ([]forge.Run, error) {
	if err := g.checkWorkflow(w); err != nil {
		return nil, err
	}
	filter := &gh.ListWorkflowRunsOptions{Event: "workflow_dispatch", Branch: w.Ref}
	since = since.Truncate(time.Second) // GitHub's times have seconds
	if !since.IsZero() {
		filter.Created = ">=" + since.UTC().Format(time.RFC3339)
	}
	read := 0
	found, err := listAll(g, "list runs of a workflow", func(o gh.ListOptions) ([]*gh.WorkflowRun, *gh.Response, error) {
		filter.ListOptions = o
		some, answer, err := g.client.Actions.ListWorkflowRunsByFileName(ctx, g.owner, g.name, w.Name, filter)
		if err != nil {
			return nil, answer, err
		}
		read += len(some.WorkflowRuns)
		if read >= maxRuns {
			answer.NextPage = 0
		}
		return some.WorkflowRuns, answer, nil
	})
	if err != nil {
		return nil, fmt.Errorf("workflow %s: %w", w.Name, err)
	}
	var all []forge.Run
	for _, r := range found {
		if r.GetEvent() == "workflow_dispatch" && r.GetHeadBranch() == w.Ref && !r.GetCreatedAt().Before(since) {
			all = append(all, readRun(r))
		}
	}
	slices.SortStableFunc(all, func(a, b forge.Run) int { return b.Started.Compare(a.Started) })
	return slices.CompactFunc(all, func(a, b forge.Run) bool { return a.ID == b.ID }), nil
}

func readRun(r *gh.WorkflowRun) forge.Run {
	run := forge.Run{
		ID: strconv.FormatInt(r.GetID(), 10), Title: cmp.Or(r.GetDisplayTitle(), r.GetName()), Outcome: forge.Pending,
		Started: r.GetCreatedAt().Time, URL: r.GetHTMLURL(),
	}
	if r.GetStatus() != "completed" {
		return run
	}
	// A skipped run proves nothing.
	run.Outcome, run.Reason = forge.Failure, r.GetConclusion()
	if run.Reason == "success" {
		run.Outcome = forge.Success
	}
	return run
}
