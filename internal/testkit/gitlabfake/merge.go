package gitlabfake

import (
	"net/http"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// pipelineStatus returns how the pipeline of a commit fares, whose jobs are statuses: running,
// failed or success; "" if there is none.
func (p *project) pipelineStatus(commit string) string {
	latest := map[string]string{}
	for _, s := range p.statuses[commit] {
		latest[s.Name] = s.State
	}
	now := ""
	for _, state := range latest {
		switch {
		case state == "pending" || state == "running":
			return "running"
		case state != "success":
			now = "failed"
		case now == "":
			now = state
		}
	}
	return now
}

// mergeStatus returns what GitLab says of merging, in its old words and in its new
// ones. It finds that out after it has answered that there is a merge request.
func (p *project) mergeStatus(i *item) (string, string) {
	pipeline := p.pipelineStatus(i.merge.commit)
	switch {
	case i.state != "opened":
		return "can_be_merged", "not_open"
	case i.merge.looked == [2]string{}:
		return "checking", "preparing"
	case i.merge.conflict:
		return "cannot_be_merged", "conflict"
	case p.needsPipeline && pipeline == "running":
		return "can_be_merged", "ci_still_running"
	case p.needsPipeline && pipeline != "success":
		return "can_be_merged", "ci_must_pass"
	}
	return "can_be_merged", "mergeable"
}

// acceptMerge merges a merge request as a request says. What is to be merged later needs
// a pipeline to wait for.
func (s *Server) acceptMerge(c call) reply {
	_, status := c.project.mergeStatus(c.item)
	pipeline := c.project.pipelineStatus(c.item.merge.commit)
	later := c.said["auto_merge"] == "true" || c.said["merge_when_pipeline_succeeds"] == "true"
	waits := later && pipeline == "running" && (status == "mergeable" || status == "ci_still_running")
	switch sha := c.said["sha"]; {
	case sha != "" && sha != c.item.merge.commit:
		return newFailure(http.StatusConflict, "SHA does not match HEAD of source branch: "+c.item.merge.commit)
	case status == "conflict":
		return newFailure(http.StatusUnprocessableEntity, "Branch cannot be merged")
	case waits:
		c.item.merge.auto = true
	case status != "mergeable" || later && pipeline != "success":
		return newFailure(http.StatusMethodNotAllowed, "405 Method Not Allowed")
	default:
		s.mergeItem(c.project, c.item, Merging{})
	}
	return reply{status: http.StatusOK, value: itemObject(c.project, c.item)}
}

// cancelAutoMerge has a merge request not be merged later. GitLab answers 201 to what it
// refuses too.
func (s *Server) cancelAutoMerge(c call) reply {
	if !c.item.merge.auto || c.item.state != "opened" {
		return reply{status: http.StatusCreated, value: object{"status": "error", "message": "Can't cancel the automatic merge", "http_status": http.StatusNotAcceptable}}
	}
	c.item.merge.auto = false
	return reply{status: http.StatusCreated, value: object{"status": "success"}}
}

func (s *Server) mergeItem(p *project, i *item, how Merging) {
	m := i.merge
	target := s.readRefs(p)["refs/heads/"+m.target]
	args := []string{"commit-tree", gittest.Git(s.t, p.dir, "merge-tree", "--write-tree", target, m.commit), "-m", i.title, "-p", target}
	if !how.Squash {
		args = append(args, "-p", m.commit)
	}
	m.merged, i.state = gittest.Git(s.t, p.dir, args...), "merged"
	gittest.Git(s.t, p.dir, "update-ref", "refs/heads/"+m.target, m.merged, target)
	if how.RemoveSource {
		gittest.Git(s.t, p.dir, "update-ref", "-d", "refs/heads/"+m.source, m.commit)
	}
}

// mergeWaiting merges what was to be merged once its pipeline has succeeded.
func (s *Server) mergeWaiting(p *project) {
	for _, i := range p.items {
		if i.merge != nil && i.merge.auto && i.state == "opened" && !i.merge.conflict && p.pipelineStatus(i.merge.commit) == "success" {
			s.mergeItem(p, i, Merging{})
		}
	}
}
