// Package gitlabfake is a GitLab for tests: the part of its REST API that Fairlead
// uses, with real Git repositories behind it.
//
// What it keeps true: a request for an operation, a parameter or a field that this
// GitLab does not know, or with a value that GitLab does not take, fails the test; what
// Git knows (where a branch is, what is merged) is asked of Git; what people do
// (people.go) is done as GitLab does it; and an answer is noted down before the client
// has it.
package gitlabfake

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// prefix is where the API is.
const prefix = "/api/v4"

// Server is a GitLab. Its methods may be called by several goroutines at once.
type Server struct {
	Git *gittest.Server // has the repositories, by their paths group/name
	// Token is the credential that is asked for.
	Token string
	// TokenExpires is the day on which it expires, as 2026-12-01; "" if it does not.
	TokenExpires string
	// PageSize bounds how much a page of a list has; 0 is 100, as on GitLab.
	PageSize int
	// Reporter is whether the token has that role or a higher one; without it, labels
	// are dropped.
	Reporter bool

	t       testing.TB
	http    *httptest.Server
	closing chan struct{} // closed when stalled requests must end

	mu       sync.Mutex
	projects []*project
	groups   map[string][]string // the logins of who is in a group itself
	accounts []account
	ticks    int   // of the clock
	ids      int64 // given out so far; they count all that there is on the server
	requests []*Request
	faults   []*Fault
}

// Request is a request that came in.
type Request struct {
	Method string
	Path   string // as it was escaped, without the place of the API
	Query  url.Values
	Body   string
	Status int // of the answer, 0 as long as there is none
}

// object is a JSON object.
type object = map[string]any

type answer struct {
	status int
	header http.Header
	body   []byte
}

// Serve starts a GitLab without projects. It ends with the test.
func Serve(t testing.TB) *Server {
	t.Helper()
	s := &Server{Git: gittest.Serve(t), Token: "glpat-fake", Reporter: true, t: t, closing: make(chan struct{}), ids: 1000, groups: map[string][]string{}}
	s.accounts = []account{{id: 7, login: "fairlead"}, {id: 8, login: "alice"}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		close(s.closing)
		s.http.Close()
	})
	return s
}

// API returns the URL of the API.
func (s *Server) API() string { return s.http.URL + prefix }

// Create makes an empty project, group/name, and returns the URL for Git.
func (s *Server) Create(path string) string {
	s.t.Helper()
	at := s.Git.Create(path)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addProject(path)
	return at
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
		if r.Method != http.MethodGet {
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
	noted, fault := s.arrived(req, string(body))
	a, done := fault.findAnswer(req, s.closing)
	if !done {
		a = s.answer(req, noted)
	}
	s.mu.Lock()
	noted.Status = a.status
	s.mu.Unlock()
	fault.sendAnswer(w, a)
}

// arrived notes a request down, and returns the fault that it meets.
func (s *Server) arrived(req *http.Request, body string) (*Request, *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	noted := &Request{Method: req.Method, Path: strings.TrimPrefix(req.URL.EscapedPath(), prefix), Query: req.URL.Query(), Body: body}
	s.requests = append(s.requests, noted)
	return noted, s.findFault(noted)
}

// answer answers a request; what is wrong with it fails the test.
func (s *Server) answer(req *http.Request, noted *Request) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runOperation(req, noted)
	body, err := json.Marshal(r.value)
	if err != nil {
		s.t.Errorf("the answer to %s %s: %v", noted.Method, noted.Path, err)
	}
	a := answer{r.status, http.Header{"Content-Type": {"application/json"}}, body}
	if r.list != nil {
		r.list.setHeaders(a.header, s.API()+noted.Path, noted.Query)
	}
	sum := sha256.Sum256(body)
	a.header.Set("ETag", `W/"`+hex.EncodeToString(sum[:16])+`"`)
	a.header.Set("RateLimit-Limit", "2000")
	a.header.Set("RateLimit-Remaining", "1999")
	a.header.Set("RateLimit-Name", "throttle_authenticated_api")
	if r.status == http.StatusOK && noted.Method == http.MethodGet && req.Header.Get("If-None-Match") == a.header.Get("ETag") {
		a.status, a.body = http.StatusNotModified, nil
	}
	return a
}

// reply is what an operation returns: a JSON value, and which page it is if it is a list.
type reply struct {
	status int
	value  any
	list   *page
}

func newFailure(status int, message any) reply {
	return reply{status: status, value: object{"message": message}}
}

var notFound = newFailure(http.StatusNotFound, "404 Not found")

// matchesPath reports whether a path matches a pattern like /projects/*/issues.
func matchesPath(pattern, at string) bool {
	ok, err := path.Match(pattern, at)
	return pattern == "" || ok && err == nil
}
