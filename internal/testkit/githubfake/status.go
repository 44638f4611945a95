package githubfake

import (
	"net/http"
	"slices"
	"time"
)

// Status is what was said about a commit.
type Status struct{ Context, State, Description, URL string }

// status is one as it is kept.
type status struct {
	Status
	by   string
	when time.Time
}

// Statuses returns all that was said about a commit, oldest first.
func (s *Server) Statuses(repo, commit string) (all []Status) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) {
		for _, one := range r.statuses[commit] {
			all = append(all, one.Status)
		}
	})
	return all
}

// Say sets a status of a commit, as a person does.
func (s *Server) Say(repo, login, commit string, said Status) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) {
		r.statuses[commit] = append(r.statuses[commit], &status{said, login, s.nextTime()})
	})
}

// saidOf returns the latest state in each context, be it a status or a check.
func (r *repository) saidOf(commit string) map[string]string {
	latest, when := map[string]string{}, map[string]time.Time{}
	for _, one := range r.statuses[commit] {
		latest[one.Context], when[one.Context] = one.State, one.when
	}
	for _, c := range r.checks {
		if c.commit == commit && c.when.After(when[c.name]) {
			latest[c.name], when[c.name] = c.statusState(), c.when
		}
	}
	return latest
}

func (s *Server) addStatus(c call) reply {
	sha := c.params["sha"]
	if !s.hasCommit(c.repo, sha) {
		return newInvalid("Status", "No commit found for SHA: "+sha)
	}
	said := Status{c.textField("context"), c.textField("state"), c.textField("description"), c.textField("target_url")}
	if len([]rune(said.Description)) > 140 {
		return newInvalid("Status", "description is too long (maximum is 140 characters)")
	}
	one := &status{said, c.login, s.nextTime()}
	c.repo.statuses[sha] = append(c.repo.statuses[sha], one)
	return reply{status: http.StatusCreated, value: one.object()}
}

func (one *status) object() object {
	return object{
		"context": one.Context, "state": one.State, "description": one.Description, "target_url": one.URL,
		"creator": userObject(one.by), "created_at": formatTime(one.when), "updated_at": formatTime(one.when),
	}
}

func formatTime(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// listStatuses returns all statuses, newest first.
func (s *Server) listStatuses(c call) reply {
	all := []any{}
	for _, one := range slices.Backward(c.repo.statuses[c.params["ref"]]) {
		all = append(all, one.object())
	}
	return s.pageOf(c.query, all)
}
