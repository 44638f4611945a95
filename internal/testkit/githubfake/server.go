// Package githubfake is a GitHub for tests: the part of its REST API that Fairlead
// uses, with real Git repositories behind it.
//
// What it keeps true: every request, and every answer, but for those of GraphQL, is
// as GitHub's own description of its API says (github.json; see README.md beside it),
// and a request for anything else fails the test; what Git knows (where a branch is, what is
// merged) is asked of Git; what people do (People) is done as GitHub does it; and an
// answer is noted down before the client has it.
package githubfake

import (
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// prefix is where the API is, as on a GitHub Enterprise Server.
const prefix = "/api/v3"

// Server is a GitHub. Its methods may be called by several goroutines at once.
type Server struct {
	Git *gittest.Server // has the repositories, by their names owner/name
	// Token is the credential that is asked for, besides those of an App.
	Token string
	// TokenExpires is when it expires, as GitHub writes that; "" if it does not.
	TokenExpires string
	// PageSize bounds how much a page of a list has; 0 is 100, as on GitHub.
	PageSize int
	// Now is the clock; nil for one that is a second later each time that it is read.
	Now func() time.Time

	t       testing.TB
	http    *httptest.Server
	closing chan struct{} // closed when stalled requests must end
	api     description

	mu           sync.Mutex
	repositories map[string]*repository
	requests     []*Request
	faults       []*Fault
	app          *app
	made         int                 // comments, reviews, checks and runs so far
	ticks        int                 // of the clock
	teams        map[string][]string // logins, by "org/team"
	accounts     map[string]string   // logins, by the address of their commits
}

// Request is a request that came in.
type Request struct {
	Method, Path string // without the place of the API
	Query        url.Values
	Body         string
	Status       int // of the answer, 0 as long as there is none
}

type app struct {
	id           string
	installation string
	key          *rsa.PublicKey
	tokens       map[string]bool // that were given out
}

// object is a JSON object.
type object = map[string]any

type answer struct {
	status int
	header http.Header
	body   []byte
}

// Serve starts a GitHub without repositories. It ends with the test.
func Serve(t testing.TB) *Server {
	t.Helper()
	api, err := loaded()
	if err != nil {
		t.Fatalf("read the description of GitHub's API: %v", err)
	}
	s := &Server{
		Git: gittest.Serve(t), Token: "fake-token", t: t, closing: make(chan struct{}), api: api, repositories: map[string]*repository{},
		teams: map[string][]string{}, accounts: map[string]string{},
	}
	rest := http.StripPrefix(prefix, http.HandlerFunc(s.serve))
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != graphqlPrefix {
			rest.ServeHTTP(w, req)
			return
		}
		req.URL.Path = graphqlPath
		s.serve(w, req)
	}))
	t.Cleanup(func() {
		close(s.closing)
		s.http.Close()
	})
	return s
}

// API returns the URL of the API.
func (s *Server) API() string { return s.http.URL + prefix }

// begin is when the clock of this GitHub starts.
var begin = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// nextTime returns the time of something new.
func (s *Server) nextTime() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	s.ticks++
	return begin.Add(time.Duration(s.ticks) * time.Second)
}

// nextID returns the id of something new.
func (s *Server) nextID() int {
	s.made++
	return s.made
}

// Create makes an empty repository, owner/name, and returns the URL for Git.
func (s *Server) Create(name string) string {
	s.t.Helper()
	url := s.Git.Create(name)
	s.addRepository(name)
	return url
}

func (s *Server) addRepository(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repositories[strings.ToLower(name)] = &repository{name: name, dir: s.Git.Dir(name), items: map[int]*item{}, statuses: map[string][]*status{}}
}

// Install lets an App in, and returns its installation tokens to who has its key.
func (s *Server) Install(id string, installation int64, key *rsa.PublicKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.app = &app{id, strconv.FormatInt(installation, 10), key, map[string]bool{}}
}

// Requests returns all requests so far, in the order in which they came.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Request
	for _, r := range s.requests {
		all = append(all, *r)
	}
	return all
}

// Writes returns how many requests so far were to change something.
func (s *Server) Writes() int {
	n := 0
	for _, r := range s.Requests() {
		question := r.Path == graphqlPath && !strings.Contains(r.Body, "mutation")
		if r.Method != http.MethodGet && !question {
			n++
		}
	}
	return n
}

func (s *Server) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the client has gone
	}
	noted, fault := s.arrived(req, body)
	a, done := fault.findAnswer(req, s.closing)
	if !done {
		a = s.answer(req, body)
	}
	s.mu.Lock()
	noted.Status = a.status
	s.mu.Unlock()
	fault.sendAnswer(w, a)
}

// arrived notes a request down, and returns the fault that it meets.
func (s *Server) arrived(req *http.Request, body []byte) (*Request, *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	noted := &Request{Method: req.Method, Path: req.URL.Path, Query: req.URL.Query(), Body: string(body)}
	s.requests = append(s.requests, noted)
	return noted, s.findFault(req)
}

// answer answers a request; what is wrong with it fails the test.
func (s *Server) answer(req *http.Request, body []byte) answer {
	if req.URL.Path == graphqlPath {
		return s.answerGraphQL(req, body)
	}
	op, err := s.api.findOperation(req)
	if err != nil {
		s.t.Errorf("%s %s: %v", req.Method, req.URL, err)
		return newFailure(http.StatusNotFound, "Not Found").encodeJSON()
	}
	var fields object
	if len(body) > 0 {
		if err := json.Unmarshal(body, &fields); err != nil {
			s.t.Errorf("%s: %v", op.routeName(), err)
		}
	}
	if err := op.checkRequest(body, fields); err != nil {
		s.t.Errorf("%s: %v", op.routeName(), err)
	}
	r := s.runOperation(op, fields)
	a := s.encode(op, r)
	s.paged(req, r, &a)
	if a.status >= 300 && !op.hasStatus(a.status) || a.status == http.StatusNotModified {
		return a
	}
	if err := op.checkAnswer(a); err != nil {
		s.t.Errorf("the answer to %s: %v", op.routeName(), err)
	}
	return a
}

// reply is what an operation returns: a JSON value, or the pages of a list.
type reply struct {
	status int
	value  any
	pages  int // of the list
}

func newFailure(status int, message string, details ...any) reply {
	v := object{"message": message, "documentation_url": "https://docs.github.com/rest"}
	if len(details) > 0 {
		v["errors"] = details
	}
	return reply{status: status, value: v}
}

func newInvalid(resource, message string) reply {
	return newFailure(http.StatusUnprocessableEntity, "Validation Failed", object{"resource": resource, "code": "custom", "message": message})
}

func (r reply) encodeJSON() answer {
	body, _ := json.Marshal(r.value) // of maps, lists, texts and numbers
	return answer{r.status, http.Header{"Content-Type": {"application/json; charset=utf-8"}}, body}
}

// encode fills in what GitHub says besides, and returns the answer its ETag.
func (s *Server) encode(op operation, r reply) answer {
	if r.status < 300 {
		whole, err := op.fillAnswer(r.status, r.value)
		if err != nil {
			s.t.Errorf("the answer to %s: %v", op.routeName(), err)
		}
		r.value = whole
	}
	a := r.encodeJSON()
	sum := sha256.Sum256(a.body)
	a.header.Set("ETag", `W/"`+hex.EncodeToString(sum[:])+`"`)
	a.header.Set("X-RateLimit-Limit", "5000")
	a.header.Set("X-RateLimit-Remaining", "4999")
	a.header.Set("X-RateLimit-Reset", "1")
	a.header.Set("X-RateLimit-Resource", "core")
	if s.TokenExpires != "" {
		a.header.Set("GitHub-Authentication-Token-Expiration", s.TokenExpires)
	}
	if r.status == http.StatusOK && op.input.Request.Method == http.MethodGet && op.input.Request.Header.Get("If-None-Match") == a.header.Get("ETag") {
		a.status, a.body = http.StatusNotModified, nil
	}
	return a
}

// paged returns the answer the links to other pages.
func (s *Server) paged(req *http.Request, r reply, a *answer) {
	if r.pages < 2 {
		return
	}
	page := max(1, parseNumber(req.URL.Query().Get("page")))
	link := func(n int, rel string) string {
		q := maps.Clone(req.URL.Query())
		q["page"] = []string{strconv.Itoa(n)}
		return fmt.Sprintf(`<%s%s?%s>; rel="%s"`, s.API(), req.URL.Path, q.Encode(), rel)
	}
	links := []string{link(r.pages, "last"), link(1, "first")}
	if page < r.pages {
		links = append(links, link(page+1, "next"))
	}
	a.header.Set("Link", strings.Join(links, ", "))
}

func (s *Server) pageOf(query url.Values, all []any) reply {
	size := parseNumber(query.Get("per_page"))
	if size == 0 {
		size = 30
	}
	most := s.PageSize
	if most == 0 {
		most = 100
	}
	size = min(size, most)
	from := min(len(all), (max(1, parseNumber(query.Get("page")))-1)*size)
	return reply{http.StatusOK, all[from:min(len(all), from+size)], (len(all) + size - 1) / size}
}

func parseNumber(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// matchesPath reports whether a path matches a pattern like /repos/*/*/pulls.
func matchesPath(pattern, at string) bool {
	ok, err := path.Match(pattern, at)
	return pattern == "" || ok && err == nil
}
