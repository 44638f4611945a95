package githubfake

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
)

// check is a check run of a commit.
type check struct {
	id                 int
	name, commit, slug string
	status, conclusion string
	external           string
	title, summary     string
	notes              []Annotation
	when               time.Time // it began, or was completed
}

// Annotation is one that a check run has.
type Annotation struct {
	File  string
	Line  int
	Level string // notice, warning, failure
	Text  string
}

// statusState is that of a status which says the same.
func (c *check) statusState() string {
	switch {
	case c.status != "completed":
		return "pending"
	case slices.Contains([]string{"success", "neutral", "skipped"}, c.conclusion):
		return "success"
	}
	return "failure"
}

func (c *check) object() object {
	o := object{
		"id": c.id, "name": c.name, "head_sha": c.commit, "status": c.status, "conclusion": nil, "external_id": c.external,
		"started_at": formatTime(c.when), "completed_at": nil, "app": object{"slug": c.slug, "name": c.slug},
		"output":   object{"title": c.title, "summary": c.summary, "annotations_count": len(c.notes)},
		"html_url": "https://github.example/checks/1", "details_url": "https://ci.example/1",
	}
	if c.status == "completed" {
		o["conclusion"], o["completed_at"] = c.conclusion, formatTime(c.when)
	}
	return o
}

// Check makes a check run of an App, "" or a conclusion.
func (s *Server) Check(repo, slug, commit, name, conclusion string) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) {
		one := &check{id: s.nextID(), name: name, commit: commit, slug: slug, status: "in_progress", when: s.nextTime()}
		if conclusion != "" {
			one.status, one.conclusion = "completed", conclusion
		}
		r.checks = append(r.checks, one)
	})
}

// Annotations returns those that the latest check runs of an App have at the head of a
// pull request, sorted by the names of the runs.
func (s *Server) Annotations(repo, slug string, number int) (all []Annotation) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) {
		for _, one := range r.latestChecks(r.items[number].pull.commit) {
			if one.slug == slug {
				all = append(all, one.notes...)
			}
		}
	})
	return all
}

// latestChecks returns the latest check run of each App and name, sorted by name.
func (r *repository) latestChecks(commit string) (all []*check) {
	for _, one := range slices.Backward(r.checks) {
		same := func(other *check) bool { return other.name == one.name && other.slug == one.slug }
		if one.commit == commit && !slices.ContainsFunc(all, same) {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b *check) int { return cmp.Compare(a.name, b.name) })
	return all
}

func (s *Server) listChecks(c call) reply {
	all := []any{}
	for _, one := range c.repo.latestChecks(c.params["ref"]) {
		if name := c.query.Get("check_name"); name == "" || name == one.name {
			all = append(all, one.object())
		}
	}
	return s.namedPage(c.query, "check_runs", all)
}

func (s *Server) namedPage(query map[string][]string, name string, all []any) reply {
	r := s.pageOf(query, all)
	r.value = object{"total_count": len(all), name: r.value}
	return r
}

func (s *Server) addCheck(c call) reply {
	commit := c.textField("head_sha")
	switch {
	case !isApp(c.login):
		return newFailure(http.StatusForbidden, "You must authenticate via a GitHub App.")
	case !s.hasCommit(c.repo, commit):
		return newFailure(http.StatusUnprocessableEntity, "No commit found for SHA: "+commit)
	}
	one := &check{id: s.nextID(), commit: commit, slug: strings.TrimSuffix(c.login, "[bot]"), status: "queued"}
	c.repo.checks = append(c.repo.checks, one)
	s.write(one, c.fields)
	return reply{status: http.StatusCreated, value: one.object()}
}

func (s *Server) editCheck(c call) reply {
	for _, one := range c.repo.checks {
		if one.id == parseNumber(c.params["check_run_id"]) && one.slug+"[bot]" == c.login {
			s.write(one, c.fields)
			return reply{status: http.StatusOK, value: one.object()}
		}
	}
	return newFailure(http.StatusNotFound, "Not Found")
}

// write makes a check run as a request says. Annotations are added to those that it
// has.
func (s *Server) write(one *check, fields object) {
	set := func(from object, name string, field *string) {
		if text, ok := from[name].(string); ok {
			*field = text
		}
	}
	set(fields, "name", &one.name)
	set(fields, "status", &one.status)
	set(fields, "external_id", &one.external)
	if _, ok := fields["conclusion"]; ok {
		one.status = "completed"
	}
	set(fields, "conclusion", &one.conclusion)
	one.when = s.nextTime()
	output, _ := fields["output"].(object)
	set(output, "title", &one.title)
	set(output, "summary", &one.summary)
	notes, _ := output["annotations"].([]any)
	for _, note := range notes {
		note, _ := note.(object)
		var a Annotation
		set(note, "path", &a.File)
		set(note, "annotation_level", &a.Level)
		set(note, "message", &a.Text)
		line, _ := note["start_line"].(float64)
		a.Line = int(line)
		one.notes = append(one.notes, a)
	}
}
