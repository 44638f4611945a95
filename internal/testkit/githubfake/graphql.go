package githubfake

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// graphqlPrefix is where GraphQL is, as on a GitHub Enterprise Server.
const graphqlPrefix = "/api/graphql"

// graphqlPath is that as requests note it.
const graphqlPath = "/graphql"

// documents are the requests that are known. No description checks them; see
// README.md.
var documents = map[string]func(*Server, string, object) reply{
	"query { viewer { login } }": (*Server).showViewer,
	"mutation($input: EnablePullRequestAutoMergeInput!) { enablePullRequestAutoMerge(input: $input) { pullRequest { number } } }":   (*Server).enableAutoMerge,
	"mutation($input: DisablePullRequestAutoMergeInput!) { disablePullRequestAutoMerge(input: $input) { pullRequest { number } } }": (*Server).disableAutoMerge,
}

// answerGraphQL answers a request; one that is not known fails the test.
func (s *Server) answerGraphQL(req *http.Request, body []byte) answer {
	var sent struct {
		Query     string
		Variables object
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		s.t.Errorf("GraphQL: %v", err)
	}
	do := documents[strings.Join(strings.Fields(sent.Query), " ")]
	if do == nil || req.Method != http.MethodPost {
		s.t.Errorf("GraphQL: %s %q is not known", req.Method, sent.Query)
		return newFailure(http.StatusNotFound, "Not Found").encodeJSON()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	login := s.loginOf(strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "))
	if login == "" {
		return newFailure(http.StatusUnauthorized, "Bad credentials").encodeJSON()
	}
	return do(s, login, sent.Variables).encodeJSON()
}

// refuse is how GraphQL refuses.
func refuse(kind, path, message string) reply {
	return reply{status: http.StatusOK, value: object{
		"data": object{path: nil}, "errors": []any{object{"type": kind, "path": []string{path}, "message": message}},
	}}
}

func (s *Server) showViewer(login string, _ object) reply {
	return reply{status: http.StatusOK, value: object{"data": object{"viewer": object{"login": login}}}}
}

func (s *Server) enableAutoMerge(login string, variables object) reply {
	const path = "enablePullRequestAutoMerge"
	input, _ := variables["input"].(object)
	text := func(name string) string {
		value, _ := input[name].(string)
		return value
	}
	for name := range input {
		if !slices.Contains([]string{"pullRequestId", "expectedHeadOid", "mergeMethod"}, name) {
			s.t.Errorf("GraphQL: the field %q is not known", name)
		}
	}
	r, i := s.node(text("pullRequestId"))
	if i == nil {
		return refuse("NOT_FOUND", path, "Could not resolve to a node with the global id of '"+text("pullRequestId")+"'.")
	}
	method, ok := map[string]string{"MERGE": "merge", "SQUASH": "squash", "REBASE": "rebase"}[text("mergeMethod")]
	state, _ := s.mergeState(r, i)
	switch {
	case !ok:
		s.t.Errorf("GraphQL: %q is no way to merge", text("mergeMethod"))
		return refuse("UNPROCESSABLE", path, "no such way to merge")
	case r.settings.NoAutoMerge:
		return refuse("UNPROCESSABLE", path, "Auto merge is not allowed for this repository")
	case !r.allowsMethod(method):
		return refuse("UNPROCESSABLE", path, methodNames[method]+" are not allowed on this repository")
	case text("expectedHeadOid") != i.pull.commit:
		return refuse("UNPROCESSABLE", path, "Head sha didn't match expected")
	case state != "blocked":
		return refuse("UNPROCESSABLE", path, "Pull request Pull request is in "+state+" status")
	}
	i.pull.auto, i.pull.autoBy = method, login
	return reply{status: http.StatusOK, value: object{"data": object{path: object{"pullRequest": object{"number": i.number}}}}}
}

// disableAutoMerge has a pull request not be merged later.
func (s *Server) disableAutoMerge(_ string, variables object) reply {
	const path = "disablePullRequestAutoMerge"
	input, _ := variables["input"].(object)
	id, _ := input["pullRequestId"].(string)
	if len(input) != 1 {
		s.t.Errorf("GraphQL: the input is %v", input)
	}
	_, i := s.node(id)
	switch {
	case i == nil:
		return refuse("NOT_FOUND", path, "Could not resolve to a node with the global id of '"+id+"'.")
	case i.pull.auto == "" || !i.open:
		return refuse("UNPROCESSABLE", path, "Can't disable auto-merge for this pull request")
	}
	i.pull.auto, i.pull.autoBy = "", ""
	return reply{status: http.StatusOK, value: object{"data": object{path: object{"pullRequest": object{"number": i.number}}}}}
}

// node returns the pull request with a node id, as it is now.
func (s *Server) node(id string) (*repository, *item) {
	for _, r := range s.repositories {
		s.updatePulls(r)
		for _, i := range r.items {
			if i.pull != nil && r.nodeID(i) == id {
				return r, i
			}
		}
	}
	return nil, nil
}
