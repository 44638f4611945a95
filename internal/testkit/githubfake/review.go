package githubfake

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// review is a review of a pull request.
type review struct {
	id                int
	by, state, commit string
	when              time.Time
}

// Review reviews a pull request as it is now; state is APPROVED, CHANGES_REQUESTED or
// COMMENTED.
func (s *Server) Review(repo, login string, number int, state string) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) {
		p := r.items[number].pull
		p.reviews = append(p.reviews, &review{s.nextID(), login, state, p.commit, s.nextTime()})
	})
}

// Dismiss dismisses all reviews of a user.
func (s *Server) Dismiss(repo, login string, number int) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) {
		for _, one := range r.items[number].pull.reviews {
			if one.by == login && one.state != "COMMENTED" {
				one.state = "DISMISSED"
			}
		}
	})
}

// approvedBy returns who approves a pull request. GitHub counts approvals of older
// commits, too.
func (p *pull) approvedBy() (logins []string) {
	last := map[string]string{}
	for _, one := range p.reviews {
		if one.state != "COMMENTED" {
			last[one.by] = one.state
		}
	}
	for login, state := range last {
		if state == "APPROVED" {
			logins = append(logins, login)
		}
	}
	slices.Sort(logins)
	return logins
}

// listReviews returns all reviews, oldest first.
func (s *Server) listReviews(c call) reply {
	all := []any{}
	for _, one := range c.item.pull.reviews {
		all = append(all, object{
			"id": one.id, "user": userObject(one.by), "state": one.state, "commit_id": one.commit, "submitted_at": formatTime(one.when), "body": "",
		})
	}
	return s.pageOf(c.query, all)
}

// Team makes a team, "org/team".
func (s *Server) Team(name string, logins ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.teams[strings.ToLower(name)] = logins
}

// Account returns who commits with an address a login.
func (s *Server) Account(login, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts[address] = login
}

func (s *Server) listMembers(team string, query url.Values) reply {
	logins, ok := s.teams[strings.ToLower(team)]
	if !ok {
		return newFailure(http.StatusNotFound, "Not Found")
	}
	all := []any{}
	for _, login := range logins {
		all = append(all, userObject(login))
	}
	return s.pageOf(query, all)
}

// showBranch shows a branch, and what has to be said before something is merged into
// it.
func (s *Server) showBranch(c call) reply {
	name, err := url.PathUnescape(c.params["branch"])
	commit := s.readRefs(c.repo)["refs/heads/"+name]
	if err != nil || commit == "" {
		return newFailure(http.StatusNotFound, "Branch not found")
	}
	o := object{"name": name, "commit": object{"sha": commit}, "protected": false, "protection": object{"enabled": false}}
	if settings := c.repo.settings; !settings.Ruleset && len(settings.Required) > 0 {
		o["protected"] = true
		o["protection"] = object{"enabled": true, "required_status_checks": object{"contexts": anyOf(settings.Required)}}
	}
	return reply{status: http.StatusOK, value: o}
}

func anyOf(texts []string) []any {
	all := []any{}
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}

// rule is one of a ruleset.
type rule struct {
	Type       string         `json:"type"`
	Parameters map[string]any `json:"parameters,omitempty"`
}

func (s *Server) listRules(c call) reply {
	all, settings := []any{rule{Type: "deletion"}}, c.repo.settings
	if !settings.Ruleset {
		return s.pageOf(c.query, []any{})
	}
	if len(settings.Required) > 0 {
		checks := []any{}
		for _, context := range settings.Required {
			checks = append(checks, object{"context": context})
		}
		all = append(all, rule{"required_status_checks", object{"required_status_checks": checks, "strict_required_status_checks_policy": settings.Strict}})
	}
	if settings.Approvals > 0 {
		all = append(all, rule{"pull_request", object{
			"required_approving_review_count": settings.Approvals, "dismiss_stale_reviews_on_push": false, "require_code_owner_review": false,
			"require_last_push_approval": false, "required_review_thread_resolution": false,
		}})
	}
	return s.pageOf(c.query, all)
}
