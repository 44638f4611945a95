package githubfake

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// workflowRun is a run of a workflow.
type workflowRun struct {
	id, number       int
	file, ref        string
	commit           string
	inputs           map[string]string
	conclusion       string // "" while it runs
	created, started time.Time
}

// Finish ends a run of a workflow.
func (s *Server) Finish(repo string, id int, conclusion string) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) { r.run(id).conclusion = conclusion })
}

// Inputs returns the inputs of a run of a workflow.
func (s *Server) Inputs(repo string, id int) (inputs map[string]string) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) { inputs = maps.Clone(r.run(id).inputs) })
	return inputs
}

func (r *repository) run(id int) *workflowRun {
	return r.runs[slices.IndexFunc(r.runs, func(one *workflowRun) bool { return one.id == id })]
}

// workflow returns the text of a workflow at a commit; "" if there is none.
func (s *Server) workflow(r *repository, commit, file string) string {
	path := ".github/workflows/" + file
	if commit == "" || gittest.Git(s.t, r.dir, "ls-tree", commit, path) == "" {
		return ""
	}
	return gittest.Show(s.t, r.dir, commit, path)
}

func (s *Server) dispatchWorkflow(c call) reply {
	file, ref := c.params["workflow_id"], c.textField("ref")
	refs := s.readRefs(c.repo)
	commit := refs["refs/heads/"+ref] + refs["refs/tags/"+ref]
	if s.workflow(c.repo, refs["refs/heads/main"], file) == "" {
		return newFailure(http.StatusNotFound, "Not Found")
	}
	text := s.workflow(c.repo, commit, file)
	switch {
	case commit == "":
		return newFailure(http.StatusUnprocessableEntity, "No ref found for: "+ref)
	case !strings.Contains(text, "workflow_dispatch"):
		return newFailure(http.StatusUnprocessableEntity, "Workflow does not have 'workflow_dispatch' trigger")
	}
	inputs, given := map[string]string{}, c.fields["inputs"]
	wanted, _ := given.(object)
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if !strings.Contains(text, " "+name+":") {
			return newFailure(http.StatusUnprocessableEntity, `Unexpected inputs provided: ["`+name+`"]`)
		}
		inputs[name], _ = wanted[name].(string)
	}
	at := s.nextTime()
	c.repo.runs = append(c.repo.runs, &workflowRun{
		id: s.nextID(), number: len(c.repo.runs) + 1, file: file, ref: ref, commit: commit, inputs: inputs, created: at, started: at,
	})
	return reply{status: http.StatusNoContent}
}

// listRuns returns the runs of a workflow, newest first.
func (s *Server) listRuns(c call) reply {
	q := c.query
	if s.workflow(c.repo, s.readRefs(c.repo)["refs/heads/main"], c.params["workflow_id"]) == "" {
		return newFailure(http.StatusNotFound, "Not Found")
	}
	since, err := time.Parse(time.RFC3339, strings.TrimPrefix(q.Get("created"), ">="))
	if err != nil && q.Get("created") != "" {
		s.t.Errorf("%q is no time", q.Get("created"))
	}
	all := []any{}
	for _, one := range slices.Backward(c.repo.runs) {
		if one.file == c.params["workflow_id"] && (q.Get("branch") == "" || q.Get("branch") == one.ref) && !one.created.Before(since) {
			all = append(all, one.object())
		}
	}
	return s.namedPage(q, "workflow_runs", all)
}

func (r *workflowRun) object() object {
	o := object{
		"id": r.id, "run_number": r.number, "name": r.file, "display_title": "Smoke " + strconv.Itoa(r.number), "event": "workflow_dispatch",
		"status": "in_progress", "conclusion": nil, "head_branch": r.ref, "head_sha": r.commit, "path": ".github/workflows/" + r.file,
		"created_at": formatTime(r.created), "run_started_at": formatTime(r.started), "html_url": "https://github.example/runs/" + strconv.Itoa(r.id),
	}
	if r.conclusion != "" {
		o["status"], o["conclusion"] = "completed", r.conclusion
	}
	return o
}

// MoreRuns adds runs of a workflow that are as another one, and later.
func (s *Server) MoreRuns(repo string, id, times int) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) {
		for range times {
			of := *r.run(id)
			of.id, of.number, of.created = s.nextID(), len(r.runs)+1, s.nextTime()
			r.runs = append(r.runs, &of)
		}
	})
}
