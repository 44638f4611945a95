package giteatest

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Create creates a repository, OWNER/NAME, whose main branch has one commit. The
// owner is an organisation, which is made if there is no such. (Without a commit,
// nothing of its pull requests would work until a queue had seen the first push.)
func (s *Server) Create(repo string) {
	s.t.Helper()
	owner, name, _ := strings.Cut(repo, "/")
	s.create("/orgs", map[string]any{"username": owner})
	s.sendJSON(http.MethodPost, "/orgs/"+owner+"/repos", map[string]any{"name": name, "auto_init": true, "default_branch": "main"}, nil)
}

// Remote returns the URL that Git reaches a repository at, with the administrator's
// token in it.
func (s *Server) Remote(repo string) string {
	at, err := url.Parse(s.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	at.User = url.UserPassword(admin, s.Token)
	return at.JoinPath(repo + ".git").String()
}

// Join lets a user write to a repository.
func (s *Server) Join(repo, name string) {
	s.t.Helper()
	s.sendJSON(http.MethodPut, "/repos/"+repo+"/collaborators/"+name, map[string]any{"permission": "write"}, nil)
}

// Fork makes a fork of a repository for a user, NAME/REPOSITORY, with the branches
// that there are.
func (s *Server) Fork(repo, name string) {
	s.t.Helper()
	s.doAs(s.UserToken(name), http.MethodPost, "/repos/"+repo+"/forks", map[string]any{}, nil)
}

// Protect protects a branch: it changes by pull request only, and a commit needs
// the status to be success.
func (s *Server) Protect(repo, branch, status string) {
	s.t.Helper()
	s.sendJSON(http.MethodPost, "/repos/"+repo+"/branch_protections", map[string]any{
		"rule_name": branch, "enable_status_check": true, "status_check_contexts": []string{status},
	}, nil)
}

// Webhook has the server tell a URL of everything that happens in a repository.
func (s *Server) Webhook(repo, url, secret string) {
	s.t.Helper()
	s.sendJSON(http.MethodPost, "/repos/"+repo+"/hooks", map[string]any{
		"type": "gitea", "active": true, "config": map[string]string{"url": url, "content_type": "json", "secret": secret},
		"events": []string{
			"push", "create", "delete", "status", "pull_request_only", "pull_request_review_approved", "pull_request_review_rejected",
			"pull_request_comment", "pull_request_sync", "pull_request_label",
		},
	}, nil)
}

// Propose opens a pull request as a person, and returns its number. A head in a fork
// is OWNER:BRANCH.
func (s *Server) Propose(repo, head, base, body string) int {
	s.t.Helper()
	var made struct{ Number int }
	s.sendJSON(http.MethodPost, "/repos/"+repo+"/pulls", map[string]any{"head": head, "base": base, "title": "mine", "body": body}, &made)
	return made.Number
}

// Write makes the body of a pull request or issue another one, as a person does.
func (s *Server) Write(repo string, number int, body string) {
	s.t.Helper()
	s.sendJSON(http.MethodPatch, issue(repo, number), map[string]any{"body": body}, nil)
}

// SetOpen closes a pull request or issue, or opens it again.
func (s *Server) SetOpen(repo string, number int, open bool) {
	s.t.Helper()
	state := "closed"
	if open {
		state = "open"
	}
	s.sendJSON(http.MethodPatch, issue(repo, number), map[string]any{"state": state}, nil)
}

// Retarget makes a pull request one for another branch.
func (s *Server) Retarget(repo string, number int, base string) {
	s.t.Helper()
	s.sendJSON(http.MethodPatch, fmt.Sprintf("/repos/%s/pulls/%d", repo, number), map[string]any{"base": base}, nil)
}

// RemoveBranch removes a branch, if it is there.
func (s *Server) RemoveBranch(repo, branch string) {
	s.t.Helper()
	status, said, err := s.newRequest(s.Token, http.MethodDelete, "/repos/"+repo+"/branches/"+branch, nil)
	if err == nil && status >= 300 && status != http.StatusNotFound {
		err = fmt.Errorf("remove the branch %s: %d: %s", branch, status, said)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func issue(repo string, number int) string { return fmt.Sprintf("/repos/%s/issues/%d", repo, number) }

// Merge merges a pull request as a person, with a merge commit. It waits until
// Gitea knows whether there is a conflict.
func (s *Server) Merge(repo string, number int) {
	s.t.Helper()
	err := s.waitUntil("merge", func() (bool, error) {
		status, said, err := s.newRequest(s.Token, http.MethodPost, fmt.Sprintf("/repos/%s/pulls/%d/merge", repo, number), map[string]any{"Do": "merge"})
		if err == nil && status >= 300 && !strings.Contains(string(said), "try again later") {
			err = fmt.Errorf("merge pull request %d: %d: %s", number, status, said)
		}
		if err == nil && status >= 300 {
			s.Mergeable(repo, number) // whoever asks has Gitea look again, where it has forgotten to
		}
		return status < 300, err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// Mergeable reports whether the server has found that a pull request can be merged.
// It is no as long as the server is looking.
func (s *Server) Mergeable(repo string, number int) bool {
	s.t.Helper()
	var found struct{ Mergeable bool }
	s.sendJSON(http.MethodGet, fmt.Sprintf("/repos/%s/pulls/%d", repo, number), nil, &found)
	return found.Mergeable
}

// Look waits until the server has looked whether the open pull requests of a
// repository can be merged. None of them may be in conflict.
func (s *Server) Look(repo string) {
	s.t.Helper()
	err := s.waitUntil("look at the pull requests", func() (bool, error) {
		var pulls []struct{ Mergeable bool }
		s.sendJSON(http.MethodGet, "/repos/"+repo+"/pulls?state=open", nil, &pulls)
		return !slices.Contains(pulls, struct{ Mergeable bool }{false}), nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// Remark comments on an issue or pull request as a person.
func (s *Server) Remark(repo string, number int, body string) {
	s.t.Helper()
	s.sendJSON(http.MethodPost, issue(repo, number)+"/comments", map[string]any{"body": body}, nil)
}

// Comments returns the comments of an issue or pull request, oldest first.
func (s *Server) Comments(repo string, number int) (all []string) {
	s.t.Helper()
	var found []struct{ Body string }
	s.sendJSON(http.MethodGet, issue(repo, number)+"/comments", nil, &found)
	for _, c := range found {
		all = append(all, c.Body)
	}
	return all
}

// Label returns an issue or pull request a label, which is made if there is no such.
func (s *Server) Label(repo string, number int, name string) {
	s.t.Helper()
	var made struct{ ID int }
	s.sendJSON(http.MethodPost, "/repos/"+repo+"/labels", map[string]any{"name": name, "color": "#00aabb"}, &made)
	s.sendJSON(http.MethodPost, issue(repo, number)+"/labels", map[string]any{"labels": []int{made.ID}}, nil)
}

// Labels returns the labels of an issue or pull request, sorted.
func (s *Server) Labels(repo string, number int) []string {
	s.t.Helper()
	var all []struct{ Name string }
	s.sendJSON(http.MethodGet, issue(repo, number)+"/labels", nil, &all)
	var names []string
	for _, l := range all {
		names = append(names, l.Name)
	}
	slices.Sort(names)
	return names
}

// Status is what was said about a commit.
type Status struct {
	Context     string
	State       string `json:"status"`
	Description string
	URL         string `json:"target_url"`
}

// Statuses returns the last status of a commit in each context, sorted by context.
func (s *Server) Statuses(repo, commit string) []Status {
	s.t.Helper()
	var found struct{ Statuses []Status }
	s.sendJSON(http.MethodGet, "/repos/"+repo+"/commits/"+commit+"/status", nil, &found)
	slices.SortFunc(found.Statuses, func(a, b Status) int { return cmp.Compare(a.Context, b.Context) })
	return found.Statuses
}

// Settle waits until the open pull requests of a repository are up to its branches:
// a queue brings them there after a push.
func (s *Server) Settle(repo string) {
	s.t.Helper()
	err := s.waitUntil("bring pull requests up to their branches", func() (bool, error) {
		var branches []struct {
			Name   string
			Commit struct{ ID string }
		}
		s.sendJSON(http.MethodGet, "/repos/"+repo+"/branches", nil, &branches)
		var pulls []struct{ Head struct{ Label, Sha string } }
		s.sendJSON(http.MethodGet, "/repos/"+repo+"/pulls?state=open", nil, &pulls)
		at := map[string]string{}
		for _, b := range branches {
			at[b.Name] = b.Commit.ID
		}
		for _, p := range pulls {
			if is, ok := at[p.Head.Label]; ok && is != p.Head.Sha {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// Unlabel takes all labels from an issue or pull request.
func (s *Server) Unlabel(repo string, number int) {
	s.t.Helper()
	s.sendJSON(http.MethodDelete, issue(repo, number)+"/labels", nil, nil)
}

// Commit writes a file on a branch, which is made from main if it is not there, and
// returns the commit's id.
func (s *Server) Commit(repo, branch, path, text string) string {
	s.t.Helper()
	body := map[string]any{"content": base64.StdEncoding.EncodeToString([]byte(text)), "message": "write " + path, "branch": branch}
	if status, _, err := s.newRequest(s.Token, http.MethodGet, "/repos/"+repo+"/branches/"+branch, nil); err == nil && status == http.StatusNotFound {
		body["branch"], body["new_branch"] = "main", branch
	}
	var made struct{ Commit struct{ Sha string } }
	s.sendJSON(http.MethodPost, "/repos/"+repo+"/contents/"+path, body, &made)
	return made.Commit.Sha
}

// Until asks again and again until it is told yes; if that takes too long, the test
// fails.
func (s *Server) Until(ask func() bool) {
	s.t.Helper()
	if err := s.waitUntil("what the test waits for", func() (bool, error) { return ask(), s.t.Context().Err() }); err != nil {
		s.t.Fatal(err)
	}
}
