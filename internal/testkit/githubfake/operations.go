package githubfake

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// call is a request for a repository.
type call struct {
	repo   *repository
	item   *item // that the path names
	params map[string]string
	query  url.Values
	fields object
	login  string // who asks
}

func (c call) textField(field string) string {
	text, _ := c.fields[field].(string)
	return text
}

// operations are what this GitHub does.
var operations = map[string]func(*Server, call) reply{
	"GET /repos/{owner}/{repo}": (*Server).showRepository,

	"GET /repos/{owner}/{repo}/pulls":                 (*Server).listPulls,
	"POST /repos/{owner}/{repo}/pulls":                (*Server).openPull,
	"GET /repos/{owner}/{repo}/pulls/{pull_number}":   (*Server).showPull,
	"PATCH /repos/{owner}/{repo}/pulls/{pull_number}": (*Server).editPull,

	"PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge": (*Server).mergePull,

	"GET /repos/{owner}/{repo}/issues":                                 (*Server).listIssues,
	"POST /repos/{owner}/{repo}/issues":                                (*Server).openIssue,
	"GET /repos/{owner}/{repo}/issues/{issue_number}":                  (*Server).showIssue,
	"PATCH /repos/{owner}/{repo}/issues/{issue_number}":                (*Server).editIssue,
	"POST /repos/{owner}/{repo}/issues/{issue_number}/labels":          (*Server).addLabels,
	"DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name}": (*Server).removeLabel,

	"POST /repos/{owner}/{repo}/statuses/{sha}":             (*Server).addStatus,
	"GET /repos/{owner}/{repo}/commits/{ref}/statuses":      (*Server).listStatuses,
	"GET /repos/{owner}/{repo}/commits/{ref}/check-runs":    (*Server).listChecks,
	"POST /repos/{owner}/{repo}/check-runs":                 (*Server).addCheck,
	"PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}": (*Server).editCheck,

	"GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews": (*Server).listReviews,
	"GET /repos/{owner}/{repo}/branches/{branch}":           (*Server).showBranch,
	"GET /repos/{owner}/{repo}/rules/branches/{branch}":     (*Server).listRules,

	"POST /repos/{owner}/{repo}/actions/workflows/{workflow_id}/dispatches": (*Server).dispatchWorkflow,
	"GET /repos/{owner}/{repo}/actions/workflows/{workflow_id}/runs":        (*Server).listRuns,

	"GET /repos/{owner}/{repo}/commits/{ref}":    (*Server).showCommit,
	"POST /repos/{owner}/{repo}/git/blobs":       (*Server).addBlob,
	"POST /repos/{owner}/{repo}/git/trees":       (*Server).addTree,
	"POST /repos/{owner}/{repo}/git/commits":     (*Server).addCommit,
	"GET /repos/{owner}/{repo}/git/ref/{ref}":    (*Server).showRef,
	"POST /repos/{owner}/{repo}/git/refs":        (*Server).addRef,
	"PATCH /repos/{owner}/{repo}/git/refs/{ref}": (*Server).editRef,

	"GET /repos/{owner}/{repo}/issues/{issue_number}/comments":  (*Server).listComments,
	"POST /repos/{owner}/{repo}/issues/{issue_number}/comments": (*Server).addComment,
	"PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}":  (*Server).editComment,
}

// runOperation does what a request asks for.
func (s *Server) runOperation(op operation, fields object) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	bearer := strings.TrimPrefix(op.input.Request.Header.Get("Authorization"), "Bearer ")
	if strings.HasPrefix(op.input.Route.Path, "/app/") {
		return s.installationToken(op, bearer)
	}
	login := s.loginOf(bearer)
	if login == "" {
		return newFailure(http.StatusUnauthorized, "Bad credentials")
	}
	params := op.input.PathParams
	if op.input.Route.Path == "/rate_limit" {
		return reply{status: http.StatusOK, value: object{}}
	}
	if team, ok := params["team_slug"]; ok {
		return s.listMembers(params["org"]+"/"+team, op.input.Request.URL.Query())
	}
	c := call{params: params, query: op.input.Request.URL.Query(), fields: fields, login: login}
	c.repo = s.repositories[strings.ToLower(params["owner"]+"/"+params["repo"])]
	if c.repo == nil {
		return newFailure(http.StatusNotFound, "Not Found")
	}
	s.updatePulls(c.repo)
	if text := params["pull_number"] + params["issue_number"]; text != "" {
		c.item = c.repo.items[parseNumber(text)]
		if c.item == nil || params["pull_number"] != "" && c.item.pull == nil {
			return newFailure(http.StatusNotFound, "Not Found")
		}
	}
	do := operations[op.routeName()]
	if do == nil {
		s.t.Errorf("%s is described, but not done", op.routeName())
		return newFailure(http.StatusNotFound, "Not Found")
	}
	return do(s, c)
}

func (s *Server) showRepository(c call) reply {
	return reply{status: http.StatusOK, value: object{"full_name": c.repo.name, "has_issues": true, "permissions": object{"pull": true, "push": true}}}
}

func (s *Server) showPull(c call) reply {
	o := c.repo.pullObject(c.item, true)
	state, _ := s.mergeState(c.repo, c.item)
	o["mergeable_state"], o["mergeable"] = state, state != "dirty"
	return reply{status: http.StatusOK, value: o}
}

func (s *Server) editPull(c call) reply {
	if r := s.editItem(c, c.item); r.status != http.StatusOK {
		return r
	}
	return s.showPull(c)
}

// pullObject shows a pull request. One in a list does not say whether it is merged,
// but when.
func (r *repository) pullObject(i *item, alone bool) object {
	o := object{
		"number": i.number, "title": i.title, "body": i.body, "state": state(i), "labels": labels(i), "html_url": r.pageURL("pull", i.number),
		"merged_at": nil, "node_id": r.nodeID(i), "auto_merge": i.autoMerge(), "draft": i.pull.draft,
		"head": object{"ref": i.pull.head, "sha": i.pull.commit, "label": i.pull.headRepo.ownerName() + ":" + i.pull.head, "repo": repoObject(i.pull.headRepo)},
		"base": object{"ref": i.pull.base, "label": r.ownerName() + ":" + i.pull.base, "repo": repoObject(r)},
	}
	if i.pull.merged {
		o["merged_at"] = "2026-01-01T00:00:00Z"
	}
	if !i.open {
		o["closed_at"] = "2026-01-01T00:00:00Z"
	}
	if alone {
		o["merged"], o["merged_by"] = i.pull.merged, nil
		if i.pull.merged {
			o["merged_by"] = object{"login": "alice"}
		}
	}
	return o
}

func repoObject(r *repository) object {
	_, name, _ := strings.Cut(r.name, "/")
	return object{"name": name, "full_name": r.name}
}

func state(i *item) string {
	if i.open {
		return "open"
	}
	return "closed"
}

func labels(i *item) []any {
	all := []any{}
	for _, name := range i.labels {
		all = append(all, object{"name": name})
	}
	return all
}

func (s *Server) listIssues(c call) reply {
	q := c.query
	all := c.repo.newestItems(func(i *item) bool {
		for name := range strings.SplitSeq(q.Get("labels"), ",") {
			if name != "" && !hasLabel(i, name) {
				return false
			}
		}
		return inState(i, q.Get("state"))
	})
	return s.pageOf(q, sortedItems(q, all, func(i *item) any { return c.repo.issueObject(i) }))
}

func (r *repository) issueObject(i *item) object {
	o := object{"number": i.number, "title": i.title, "body": i.body, "state": state(i), "labels": labels(i), "html_url": r.pageURL("issues", i.number)}
	if i.pull != nil {
		url := r.pageURL("pull", i.number)
		o["pull_request"] = object{"url": url, "html_url": url, "diff_url": url, "patch_url": url}
	}
	return o
}

func (s *Server) openIssue(c call) reply {
	i := item{}
	if r := s.editItem(c, &i); r.status != http.StatusOK {
		return r
	}
	if names, ok := c.fields["labels"].([]any); ok {
		addTo(&i, names)
	}
	return reply{status: http.StatusCreated, value: c.repo.issueObject(c.repo.addItem(i))}
}

func (s *Server) showIssue(c call) reply {
	return reply{status: http.StatusOK, value: c.repo.issueObject(c.item)}
}

func (s *Server) editIssue(c call) reply {
	if r := s.editItem(c, c.item); r.status != http.StatusOK {
		return r
	}
	return s.showIssue(c)
}

func (s *Server) addLabels(c call) reply {
	names, _ := c.fields["labels"].([]any)
	addTo(c.item, names)
	return reply{status: http.StatusOK, value: labels(c.item)}
}

func addTo(i *item, names []any) {
	for _, name := range names {
		if text, ok := name.(string); ok && !hasLabel(i, text) {
			i.labels = append(i.labels, text)
		}
	}
}

func hasLabel(i *item, name string) bool {
	return slices.ContainsFunc(i.labels, func(other string) bool { return strings.EqualFold(other, name) })
}

func (s *Server) removeLabel(c call) reply {
	name, err := url.PathUnescape(c.params["name"])
	if err != nil || !hasLabel(c.item, name) {
		return newFailure(http.StatusNotFound, "Label does not exist")
	}
	c.item.labels = slices.DeleteFunc(c.item.labels, func(other string) bool { return strings.EqualFold(other, name) })
	return reply{status: http.StatusOK, value: labels(c.item)}
}

// errUndecodable is in GitHub's own words.
//
//lint:ignore ST1005 they begin with a capital
var errUndecodable = errors.New("A JSON web token could not be decoded")

// installationToken returns out a token of an App for an hour.
func (s *Server) installationToken(op operation, proof string) reply {
	if s.app == nil || op.input.PathParams["installation_id"] != s.app.installation {
		return newFailure(http.StatusNotFound, "Not Found")
	}
	issued, err := s.app.verify(proof)
	if err != nil {
		return newFailure(http.StatusUnauthorized, err.Error())
	}
	token := fmt.Sprintf("fake-installation-token-%d", len(s.app.tokens)+1)
	s.app.tokens[token] = true
	return reply{status: http.StatusCreated, value: object{
		"token": token, "expires_at": issued.Add(time.Hour).UTC().Format(time.RFC3339),
	}}
}

// verify checks a JSON Web Token as GitHub does, and returns when it was issued, which
// is this GitHub's clock.
func (a *app) verify(proof string) (time.Time, error) {
	text, signature, _ := cutLast(proof)
	sum := sha256.Sum256([]byte(text))
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || rsa.VerifyPKCS1v15(a.key, crypto.SHA256, sum[:], raw) != nil {
		return time.Time{}, errUndecodable
	}
	head, body, _ := strings.Cut(text, ".")
	var h struct{ Alg, Typ string }
	var claims struct {
		Iat, Exp int64
		Iss      string
	}
	for part, into := range map[string]any{head: &h, body: &claims} {
		raw, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil || json.Unmarshal(raw, into) != nil {
			return time.Time{}, errUndecodable
		}
	}
	switch {
	case h.Alg != "RS256":
		return time.Time{}, errors.New("'alg' is not RS256")
	case claims.Iss != a.id:
		return time.Time{}, errors.New("'Issuer' claim ('iss') must be an Integer")
	case claims.Exp-claims.Iat > 600:
		return time.Time{}, errors.New("'Expiration time' claim ('exp') is too far in the future")
	}
	return time.Unix(claims.Iat, 0), nil
}

func cutLast(text string) (string, string, bool) {
	i := strings.LastIndex(text, ".")
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}
