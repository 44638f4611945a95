package gitlab

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

// workflowVariable tells the project's pipeline which workflow to run.
const workflowVariable = "FAIRLEAD_WORKFLOW"

// DispatchWorkflow starts a pipeline of the ref, with the workflow's inputs as variables.
func (g *Forge) DispatchWorkflow(ctx context.Context, w forge.Workflow) error {
	if _, ok := w.Inputs[workflowVariable]; ok {
		return &problem.Refusal{Operation: "start a pipeline of " + g.api.Repo, Reason: "an input is called " + workflowVariable, Advice: "give the input another name"}
	}
	variables := []*gl.PipelineVariableOptions{{Key: new(workflowVariable), Value: &w.Name}}
	for _, name := range slices.Sorted(maps.Keys(w.Inputs)) {
		variables = append(variables, &gl.PipelineVariableOptions{Key: &name, Value: new(w.Inputs[name])})
	}
	_, _, err := callAPI[pipeline](ctx, g, "start a pipeline", http.MethodPost, "pipeline", &gl.CreatePipelineOptions{Ref: &w.Ref, Variables: &variables})
	return err
}

// pipeline is what we read of one.
type pipeline struct {
	ID      int64     `json:"id"`
	Name    string    `json:"name"`
	Ref     string    `json:"ref"`
	Source  string    `json:"source"`
	Status  string    `json:"status"`
	Created time.Time `json:"created_at"`
	WebURL  string    `json:"web_url"`
}

// maxPipelines bounds of how many pipelines we ask which workflow they are.
const maxPipelines = 20

// WorkflowRuns returns the pipelines of the ref that were started as a workflow, by us or with a
// trigger's token, at a time or later, newest first. It looks at the newest ones only.
func (g *Forge) WorkflowRuns(ctx context.Context, w forge.Workflow, since time.Time) ([]forge.Run, error) {
	o := gl.ListProjectPipelinesOptions{Ref: &w.Ref, OrderBy: new("id"), Sort: new("desc"), ListOptions: gl.ListOptions{PerPage: 100, Page: 1}}
	since = since.UTC().Truncate(time.Second) // GitLab's times are cut off too
	if !since.IsZero() {                      // what was made since then was changed since then
		o.UpdatedAfter = new(since.Add(-time.Second))
	}
	found, _, err := callAPI[[]pipeline](ctx, g, "list pipelines", http.MethodGet, "pipelines", &o)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b pipeline) int { return cmp.Compare(b.ID, a.ID) })
	found = slices.DeleteFunc(found, func(p pipeline) bool {
		return p.ID == 0 || p.Ref != w.Ref || p.Source != "api" && p.Source != "trigger" || p.Created.Before(since)
	})
	var runs []forge.Run
	for _, p := range found[:min(maxPipelines, len(found))] {
		is, err := g.isOf(ctx, p, w.Name)
		if err != nil {
			return nil, err
		}
		if is {
			runs = append(runs, p.toRun())
		}
	}
	return runs, nil
}

// isOf reports whether a pipeline was started as a workflow. Of those that another user
// has started, a token may not be allowed to know that: they are not ours.
func (g *Forge) isOf(ctx context.Context, p pipeline, workflow string) (bool, error) {
	type variable struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	all, answer, err := callAPI[[]variable](ctx, g, "read a pipeline's variables", http.MethodGet, fmt.Sprintf("pipelines/%d/variables", p.ID), nil)
	if answer != nil && answer.StatusCode == http.StatusForbidden {
		return false, nil
	}
	return slices.Contains(all, variable{workflowVariable, workflow}), err
}

func (p pipeline) toRun() forge.Run {
	id := strconv.FormatInt(p.ID, 10)
	r := forge.Run{ID: id, Title: cmp.Or(p.Name, "Pipeline #"+id), Outcome: outcomeOf(p.Status), Started: p.Created, URL: p.WebURL}
	if p.Status == "skipped" { // nothing of it ran
		r.Outcome = forge.Failure
	}
	if r.Outcome != forge.Pending {
		r.Reason = p.Status
	}
	return r
}
