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

type pipeline struct {
	ID      int64     `json:"id"`
	Name    string    `json:"name"`
	Ref     string    `json:"ref"`
	Source  string    `json:"source"`
	Status  string    `json:"status"`
	Created time.Time `json:"created_at"`
	WebURL  string    `json:"web_url"`
}

const maxPipelines = 20

// WorkflowRuns looks only at the newest pipelines, and only at those started by API or trigger
// token.
func (g *Forge) WorkflowRuns(ctx context.Context, w forge.Workflow, since time.Time) ([]forge.Run, error) {
	o := gl.ListProjectPipelinesOptions{Ref: &w.Ref, OrderBy: new("id"), Sort: new("desc"), ListOptions: gl.ListOptions{PerPage: 100, Page: 1}}
	since = since.UTC().Truncate(time.Second)
	if !since.IsZero() { // creation counts as an update
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

// isOf reports whether a pipeline runs a workflow. A token may not read the variables of other
// users' pipelines; these are not ours.
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
	if p.Status == "skipped" {
		r.Outcome = forge.Failure
	}
	if r.Outcome != forge.Pending {
		r.Reason = p.Status
	}
	return r
}
