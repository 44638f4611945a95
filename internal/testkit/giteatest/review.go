package giteatest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// SayStatus sets a status of a commit as a user, who may write to the repository
// from then on.
func (s *Server) SayStatus(repo, name, commit string, said Status) {
	s.t.Helper()
	token := s.UserToken(name)
	s.Join(repo, name)
	s.doAs(token, http.MethodPost, "/repos/"+repo+"/statuses/"+commit, map[string]any{
		"context": said.Context, "state": said.State, "description": said.Description, "target_url": said.URL,
	}, nil)
}

// Review reviews a pull request as a user: APPROVED, REQUEST_CHANGES or COMMENT. One
// who may write is a user whose review counts.
func (s *Server) Review(repo, name string, number int, event string, writes bool) {
	s.t.Helper()
	token := s.UserToken(name)
	if writes {
		s.Join(repo, name)
	}
	s.doAs(token, http.MethodPost, pull(repo, number)+"/reviews", map[string]any{"event": event, "body": "reviewed"}, nil)
}

func pull(repo string, number int) string { return fmt.Sprintf("/repos/%s/pulls/%d", repo, number) }

// LineComment is a comment at a line.
type LineComment struct {
	ID       int64
	Body     string
	File     string `json:"path"`
	Line     int    `json:"position"`
	User     struct{ Login string }
	Resolver *struct{ Login string } // nil if it is not resolved
}

// LineComments returns the comments at lines of a pull request, by file and line.
func (s *Server) LineComments(repo string, number int) (all []LineComment) {
	s.t.Helper()
	var reviews []struct{ ID int64 }
	s.sendJSON(http.MethodGet, pull(repo, number)+"/reviews?limit=100", nil, &reviews)
	for _, r := range reviews {
		var some []LineComment
		s.sendJSON(http.MethodGet, fmt.Sprintf("%s/reviews/%d/comments", pull(repo, number), r.ID), nil, &some)
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b LineComment) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return all
}

// Team makes a team, of users. They and the organisation are made if there are no
// such.
func (s *Server) Team(org, team string, names ...string) {
	s.t.Helper()
	s.create("/orgs", map[string]any{"username": org})
	var made struct{ ID int64 }
	s.sendJSON(http.MethodPost, "/orgs/"+org+"/teams", map[string]any{
		"name": team, "permission": "read", "units": []string{"repo.code", "repo.pulls"}, "includes_all_repositories": false,
	}, &made)
	for _, name := range names {
		s.join(made.ID, name)
	}
}

func (s *Server) join(team int64, name string) {
	s.t.Helper()
	s.UserToken(name)
	s.sendJSON(http.MethodPut, fmt.Sprintf("/teams/%d/members/%s", team, name), nil, nil)
}

// Own makes a user an owner of an organisation.
func (s *Server) Own(org, name string) {
	s.t.Helper()
	var teams []struct {
		ID   int64
		Name string
	}
	s.sendJSON(http.MethodGet, "/orgs/"+org+"/teams", nil, &teams)
	for _, t := range teams {
		if t.Name == "Owners" {
			s.join(t.ID, name)
		}
	}
}

// SetEmail returns a user an address, with which commits are theirs.
func (s *Server) SetEmail(name, email string) {
	s.t.Helper()
	s.UserToken(name)
	s.sendJSON(http.MethodPatch, "/admin/users/"+name, map[string]any{"login_name": name, "source_id": 0, "email": email}, nil)
}

// ProtectWith protects a branch, which needs so many approvals and a status.
func (s *Server) ProtectWith(repo, branch string, approvals int, status string) {
	s.t.Helper()
	s.sendJSON(http.MethodPost, "/repos/"+repo+"/branch_protections", map[string]any{
		"rule_name": branch, "required_approvals": approvals, "enable_status_check": true, "status_check_contexts": []string{status},
	}, nil)
}
