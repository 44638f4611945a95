package gitlabfake

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// pipeline is one that was started, and not by a push.
type pipeline struct {
	id                                 int64
	ref, commit, source, status, start string
	variables                          map[string]string
	ours                               bool // the token's user has started it
}

func (r *pipeline) object(p *project) object {
	return object{
		"id": r.id, "project_id": p.id, "ref": r.ref, "sha": r.commit, "source": r.source, "status": r.status, "name": nil,
		"created_at": r.start, "updated_at": r.start, "web_url": fmt.Sprintf("https://gitlab.example/%s/-/pipelines/%d", p.path, r.id),
	}
}

// configuration is the file without which no pipeline runs.
const configuration = ".gitlab-ci.yml"

func (s *Server) startPipeline(c call) reply {
	var variables []map[string]string
	if text := c.said["variables"]; text != "" {
		if err := json.Unmarshal([]byte(text), &variables); err != nil {
			return reply{status: http.StatusBadRequest, value: object{"error": "variables is invalid"}}
		}
	}
	all := map[string]string{}
	for _, v := range variables {
		if len(v) != 2 || v["key"] == "" {
			s.t.Errorf("a variable is %v", v)
		}
		all[v["key"]] = v["value"]
	}
	refuse := func(why string) reply {
		return newFailure(http.StatusBadRequest, object{"base": []string{why}})
	}
	commit := s.readRefs(c.project)["refs/heads/"+c.said["ref"]]
	if commit == "" {
		return refuse("Reference not found")
	}
	if gittest.Git(s.t, c.project.dir, "ls-tree", commit, "--", configuration) == "" {
		return refuse("Missing CI config file")
	}
	return reply{status: http.StatusCreated, value: s.start(c.project, c.said["ref"], commit, "api", all, true).object(c.project)}
}

func (s *Server) start(p *project, ref, commit, source string, variables map[string]string, ours bool) *pipeline {
	s.ids++
	r := &pipeline{s.ids, ref, commit, source, "created", s.nextTime(), variables, ours}
	p.runs = append(p.runs, r)
	return r
}

func (s *Server) listPipelines(c call) reply {
	after, err := time.Parse(time.RFC3339, c.said["updated_after"])
	if c.said["updated_after"] != "" && err != nil {
		return reply{status: http.StatusBadRequest, value: object{"error": "updated_after is invalid"}}
	}
	all := []any{}
	for _, r := range c.project.runs {
		changed, err := time.Parse(time.RFC3339, r.start)
		if err != nil {
			s.t.Fatal(err)
		}
		is := func(name, value string) bool { return c.said[name] == "" || c.said[name] == value }
		if is("ref", r.ref) && is("source", r.source) && is("sha", r.commit) && changed.After(after) {
			all = append(all, r.object(c.project))
		}
	}
	if c.said["sort"] != "asc" {
		slices.Reverse(all)
	}
	return s.allOnPage(c, all)
}

func (p *project) run(id string) *pipeline {
	for _, r := range p.runs {
		if strconv.FormatInt(r.id, 10) == id {
			return r
		}
	}
	return nil
}

// listVariables lists those of a pipeline for who has started it.
func (s *Server) listVariables(c call) reply {
	r := c.project.run(c.parts[3])
	switch {
	case r == nil:
		return notFound
	case !r.ours:
		return newFailure(http.StatusForbidden, "403 Forbidden")
	}
	all := []any{}
	for _, key := range slices.Sorted(maps.Keys(r.variables)) {
		all = append(all, object{"key": key, "value": r.variables[key], "variable_type": "env_var", "raw": false})
	}
	return reply{status: http.StatusOK, value: all}
}

// StartPipeline starts one from a source ("api", "trigger", "web") as a person; shown
// is whether the token's user may see its variables.
func (s *Server) StartPipeline(at, ref, source string, shown bool, variables map[string]string) {
	s.t.Helper()
	s.withProject(at, func(p *project) { s.start(p, ref, s.readRefs(p)["refs/heads/"+ref], source, variables, shown) })
}

// SetPipeline makes a pipeline be in a state.
func (s *Server) SetPipeline(at, id, state string) {
	s.t.Helper()
	s.withProject(at, func(p *project) { p.run(id).status = state })
}

// Variables returns those of a pipeline.
func (s *Server) Variables(at, id string) (all map[string]string) {
	s.t.Helper()
	s.withProject(at, func(p *project) { all = maps.Clone(p.run(id).variables) })
	return all
}
