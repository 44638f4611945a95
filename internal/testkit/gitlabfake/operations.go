package gitlabfake

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// operation is what this GitLab does, and what it knows of the request for it.
type operation struct {
	method, path string // below the project, or with a slash of the whole server; * is one part
	params       params
	do           func(*Server, call) reply
}

// params are the parameters of a list or the fields of a body, and the values that
// they may have, with | between; "" is any text. Those with ! must be there.
type params map[string]string

var (
	paging      = params{"page": "", "per_page": "", "order_by": "created_at|updated_at", "sort": "asc|desc", "scope": "all|created_by_me|assigned_to_me"}
	writing     = params{"title": "", "description": "", "labels": "", "add_labels": "", "remove_labels": "", "state_event": "close|reopen"}
	listing     = paging.and(params{"state": "opened|closed|merged|locked|all", "source_branch": "", "target_branch": ""})
	listIssues  = paging.and(params{"state": "opened|closed|all", "labels": ""})
	opening     = params{"title!": "", "description": "", "labels": ""}
	openMerging = opening.and(params{"source_branch!": "", "target_branch!": "", "remove_source_branch": ""})
	accepting   = params{"sha": "", "auto_merge": yesNo, "merge_when_pipeline_succeeds": yesNo}
	listNotes   = params{"page": "", "per_page": "", "order_by": "created_at|updated_at", "sort": "asc|desc"}
	threading   = params{"body!": "", "position": anyJSON}
	statusList  = params{"page": "", "per_page": "", "ref": "", "stage": "", "name": "", "pipeline_id": "", "all": yesNo}
	pipelining  = params{"ref!": "", "variables": anyJSON}
	pipelines   = params{
		"page": "", "per_page": "", "order_by": "id|status|ref|updated_at|user_id", "sort": "asc|desc", "ref": "", "sha": "", "source": "", "updated_after": "",
	}
	plain   = params{"page": "", "per_page": ""}
	stating = params{"state!": "pending|running|success|failed|canceled|skipped", "name": "", "context": "", "description": "", "target_url": "", "ref": ""}
)

func (p params) and(others params) params {
	all := maps.Clone(p)
	maps.Copy(all, others)
	return all
}

var operations = []operation{
	{"GET", "merge_requests", listing, (*Server).listMerging},
	{"POST", "merge_requests", openMerging, (*Server).openMerging},
	{"GET", "merge_requests/*", nil, (*Server).readItem},
	{"PUT", "merge_requests/*", writing.and(params{"target_branch": ""}), (*Server).editItem},
	{"PUT", "merge_requests/*/merge", accepting, (*Server).acceptMerge},
	{"POST", "merge_requests/*/cancel_merge_when_pipeline_succeeds", nil, (*Server).cancelAutoMerge},
	{"GET", "merge_requests/*/notes", listNotes, (*Server).listNotes},
	{"POST", "merge_requests/*/notes", params{"body!": ""}, (*Server).addNote},
	{"PUT", "merge_requests/*/notes/*", params{"body!": ""}, (*Server).editNote},
	{"GET", "issues", listIssues, (*Server).listIssues},
	{"POST", "issues", opening, (*Server).openIssue},
	{"GET", "issues/*", nil, (*Server).readItem},
	{"PUT", "issues/*", writing, (*Server).editItem},
	{"POST", "statuses/*", stating, (*Server).addStatus},
	{"GET", "repository/commits/*", nil, (*Server).readCommit},
	{"GET", "repository/commits/*/statuses", statusList, (*Server).listStatuses},
	{"GET", "merge_requests/*/approvals", nil, (*Server).readApprovals},
	{"GET", "merge_requests/*/versions", plain, (*Server).listVersions},
	{"GET", "merge_requests/*/diffs", plain, (*Server).listDiffs},
	{"GET", "merge_requests/*/discussions", plain, (*Server).listThreads},
	{"POST", "merge_requests/*/discussions", threading, (*Server).openThread},
	{"PUT", "merge_requests/*/discussions/*", params{"resolved!": yesNo}, (*Server).resolveThread},
	{"DELETE", "merge_requests/*/discussions/*/notes/*", nil, (*Server).removeNote},
	{"POST", "pipeline", pipelining, (*Server).startPipeline},
	{"GET", "pipelines", pipelines, (*Server).listPipelines},
	{"GET", "pipelines/*/variables", nil, (*Server).listVariables},
	{"GET", "/user", nil, (*Server).showUser},
	{"GET", "/version", nil, (*Server).showVersion},
	{"GET", "/personal_access_tokens/self", nil, (*Server).showToken},
	{"GET", "/projects/*", nil, (*Server).showProject},
	{"GET", "/users", params{"page": "", "per_page": "", "search": ""}, (*Server).findUsers},
	{"GET", "/groups/*/members/all", plain, (*Server).listMembers},
}

// call is a request for something in a project.
type call struct {
	project *project
	item    *item    // that the path names
	last    string   // part of the path
	parts   []string // of the path
	said    map[string]string
}

func (c call) number(name string, otherwise int) int {
	n, err := strconv.Atoi(c.said[name])
	if err != nil || n < 1 {
		return otherwise
	}
	return n
}

// runOperation does what a request asks for. The caller holds the lock.
func (s *Server) runOperation(req *http.Request, noted *Request) reply {
	op, parts, ok := find(noted)
	if !ok {
		s.t.Errorf("%s %s is none of the operations", noted.Method, noted.Path)
		return newFailure(http.StatusNotFound, "404 Not Found")
	}
	c := call{last: parts[len(parts)-1], parts: parts}
	var err error
	c.said, err = said(noted, op.params)
	if err == nil {
		err = op.params.check(c.said)
	}
	if err != nil {
		s.t.Errorf("%s %s: %v", op.method, op.path, err)
		return reply{status: http.StatusBadRequest, value: object{"error": err.Error()}}
	}
	if !s.knows(req) {
		return unauthorized
	}
	if strings.HasPrefix(op.path, "/") {
		return op.do(s, c)
	}
	c.project = s.findProject(parts[1])
	if c.project == nil {
		return newFailure(http.StatusNotFound, "404 Project Not Found")
	}
	s.updateMerges(c.project)
	if len(parts) >= 4 && (parts[2] == "merge_requests" || parts[2] == "issues") {
		c.item = c.project.findItem(parts[2] == "merge_requests", parts[3])
		if c.item == nil {
			return notFound
		}
	}
	return op.do(s, c)
}

func (s *Server) knows(req *http.Request) bool {
	return s.Token != "" && req.Header.Get("Authorization") == "Bearer "+s.Token
}

var unauthorized = newFailure(http.StatusUnauthorized, "401 Unauthorized")

// showUser shows whom the token is of.
func (s *Server) showUser(call) reply {
	return reply{status: http.StatusOK, value: fairlead}
}

func (s *Server) showVersion(call) reply {
	return reply{status: http.StatusOK, value: object{"version": "18.2.1", "revision": "fa7e"}}
}

// showToken shows the token, with the day on which it expires; null if it does not.
func (s *Server) showToken(call) reply {
	var expires any
	if s.TokenExpires != "" {
		expires = s.TokenExpires
	}
	return reply{status: http.StatusOK, value: object{"id": 1, "name": "fairlead", "scopes": []string{"api"}, "active": true, "expires_at": expires}}
}

// showProject shows a project in which the account of the token is a developer.
func (s *Server) showProject(c call) reply {
	p := s.findProject(c.last)
	if p == nil {
		return newFailure(http.StatusNotFound, "404 Project Not Found")
	}
	return reply{status: http.StatusOK, value: object{"path_with_namespace": p.path, "issues_enabled": true, "merge_requests_enabled": true,
		"permissions": object{"project_access": object{"access_level": 30}, "group_access": nil}}}
}

func find(r *Request) (operation, []string, bool) {
	parts := strings.Split(strings.Trim(r.Path, "/"), "/")
	at := r.Path
	if len(parts) >= 3 && parts[0] == "projects" {
		at = strings.Join(parts[2:], "/")
	}
	i := slices.IndexFunc(operations, func(o operation) bool {
		return o.method == r.Method && matchesPath(o.path, at)
	})
	if i < 0 {
		return operation{}, nil, false
	}
	return operations[i], parts, true
}

// yesNo are the values of what is yes or no, and not a text; anyJSON is what its
// operation reads itself.
const (
	yesNo   = "true|false"
	anyJSON = "{}"
)

// said returns the parameters or fields of a request.
func said(r *Request, known params) (map[string]string, error) {
	all := map[string]string{}
	for name, values := range r.Query {
		all[name] = strings.Join(values, ",")
	}
	if r.Method == http.MethodGet || r.Body == "" {
		return all, nil
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(r.Body), &fields); err != nil {
		return nil, err
	}
	for name, v := range fields {
		text, ok := v.(string)
		if yes, is := v.(bool); is && (known[name] == yesNo || known[name+"!"] == yesNo) {
			text, ok = strconv.FormatBool(yes), true
		}
		if known[name] == anyJSON {
			raw, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			text, ok = string(raw), true
		}
		if !ok {
			return nil, fmt.Errorf("%s is no text", name)
		}
		all[name] = text
	}
	return all, nil
}

// check reports what is wrong with what a request said.
func (p params) check(said map[string]string) error {
	for name, value := range said {
		values, ok := p[name]
		if !ok {
			values, ok = p[name+"!"]
		}
		if !ok {
			return fmt.Errorf("%s is not known", name)
		}
		if values != "" && values != anyJSON && !slices.Contains(strings.Split(values, "|"), value) {
			return fmt.Errorf("%s does not have a valid value", name)
		}
	}
	for name := range p {
		if name, must := strings.CutSuffix(name, "!"); must && said[name] == "" {
			return fmt.Errorf("%s is missing", name)
		}
	}
	return nil
}

// page is which page of a list this is.
type page struct{ number, size, all int }

// itemsPage returns one page of a list, newest first unless it was asked for otherwise.
func (s *Server) itemsPage(c call, items []*item) reply {
	if c.said["sort"] == "asc" {
		slices.Reverse(items)
	}
	return pageOf(s, c, items, func(i *item) any { return itemObject(c.project, i) })
}

func (s *Server) allOnPage(c call, all []any) reply {
	return pageOf(s, c, all, func(v any) any { return v })
}

// pageOf returns one page of a list, and shows only what is on it.
func pageOf[T any](s *Server, c call, all []T, show func(T) any) reply {
	most := s.PageSize
	if most == 0 {
		most = 100
	}
	p := page{c.number("page", 1), min(c.number("per_page", 20), most), len(all)}
	from := min(p.all, (p.number-1)*p.size)
	shown := []any{}
	for _, v := range all[from:min(p.all, from+p.size)] {
		shown = append(shown, show(v))
	}
	return reply{http.StatusOK, shown, &p}
}

// setHeaders sets the headers that say where in the list it is; of a long list GitLab
// does not say how long it is.
func (p page) setHeaders(h http.Header, at string, query url.Values) {
	pages := max(1, (p.all+p.size-1)/p.size)
	set := func(name string, n int, ok bool) {
		text := ""
		if ok {
			text = strconv.Itoa(n)
		}
		h.Set(name, text)
	}
	set("X-Page", p.number, true)
	set("X-Per-Page", p.size, true)
	set("X-Prev-Page", p.number-1, p.number > 1)
	set("X-Next-Page", p.number+1, p.number < pages)
	if p.all <= 10_000 {
		set("X-Total", p.all, true)
		set("X-Total-Pages", pages, true)
	}
	if p.number < pages {
		query.Set("page", strconv.Itoa(p.number+1))
		h.Set("Link", fmt.Sprintf(`<%s?%s>; rel="next"`, at, query.Encode()))
	}
}
