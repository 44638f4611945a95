package gittest

import (
	"bytes"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// settings are those of a new bare repository. What is pushed stays in packs: git would
// write a file for each object.
const settings = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
[http]
	receivepack = true
[uploadpack]
	allowAnySHA1InWant = true
	allowFilter = true
[receive]
	autogc = false
	unpackLimit = 1
[gc]
	auto = 0
`

// Server serves the bare repositories below Root over HTTP. Its methods may be
// called by several goroutines at once, also while it serves.
type Server struct {
	Root string

	t       testing.TB
	http    *httptest.Server
	backend string         // git-http-backend
	running sync.WaitGroup // requests; net/http does not wait for those it handed over
	closing chan struct{}  // closed when stalled requests must end

	mu           sync.Mutex
	repositories map[string]*repository
	answers      map[state]answer // that git has given
	stores       map[string]*store
	onlyGit      atomic.Bool  // git answers everything
	inside       atomic.Int64 // questions that were answered without git
}

type repository struct {
	clock    atomic.Int64 // commits made so far in its clones
	password string       // "" lets everybody in
	requests []*Request
	faults   []*fault
}

// Request is a request that came in for a repository.
type Request struct {
	Method   string
	Path     string // without the query
	Service  string // "git-upload-pack", "git-receive-pack"
	Status   int    // of the answer, 0 as long as there is none
	Password string // of the Basic authentication
	BytesIn  int64  // of the body, as sent
	BytesOut int64  // of the answer's body
}

// onlyGitVariable is set where git itself must answer every request of every server.
const onlyGitVariable = "GITTEST_ONLY_GIT"

// Serve starts a server of a new folder. It ends with the test, after its
// requests; those that a fault has stalled are reset then.
func Serve(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		Root: t.TempDir(), t: t, closing: make(chan struct{}), repositories: map[string]*repository{}, answers: map[state]answer{}, stores: map[string]*store{},
	}
	var err error
	s.backend, err = findBackend()
	if err != nil {
		t.Fatalf("%v: git-http-backend comes with git, in some distributions as a package of its own", err)
	}
	s.onlyGit.Store(os.Getenv(onlyGitVariable) != "")
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		close(s.closing)
		s.http.Close()
		s.running.Wait()
		s.closeStores()
	})
	return s
}

// findBackend returns the path of git-http-backend.
var findBackend = sync.OnceValues(func() (string, error) {
	folder, err := attempt(".", nil, "", "--exec-path")
	if err != nil {
		return "", err
	}
	backend := filepath.Join(strings.TrimSpace(folder), "git-http-backend")
	_, err = os.Stat(backend)
	return backend, err
})

// ServeGit is Serve for tests of what speaks with git: git itself answers every request.
func ServeGit(t testing.TB) *Server {
	t.Helper()
	s := Serve(t)
	s.LeaveToGit()
	return s
}

// LeaveToGit has git itself answer every request from now on.
func (s *Server) LeaveToGit() { s.onlyGit.Store(true) }

// Address returns what [Reach] finds the server by.
func (s *Server) Address() string { return s.http.URL + " " + s.Root }

// Reach returns a server of another process, which notes the requests down and makes the faults.
func Reach(t testing.TB, address string) *Server {
	t.Helper()
	url, root, ok := strings.Cut(address, " ")
	if !ok {
		t.Fatalf("%q is not the address of a server", address)
	}
	return &Server{Root: root, t: t, http: &httptest.Server{URL: url}, repositories: map[string]*repository{}, stores: map[string]*store{}}
}

// Create makes the empty bare repository NAME.git, with HEAD at main, which can be
// pushed to and asked for any commit. It returns its URL.
func (s *Server) Create(name string) string {
	s.t.Helper()
	dir := s.Dir(name)
	for _, folder := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
	for file, text := range map[string]string{"config": settings, "HEAD": "ref: refs/heads/main\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	return s.URL(name)
}

// URL returns the URL of a repository: http://127.0.0.1:PORT/NAME.git.
func (s *Server) URL(name string) string { return s.http.URL + "/" + name + ".git" }

// peoplePath begins the paths of requests that are not those of what is tested.
const peoplePath = "/people"

// PeopleURL returns another URL of a repository, for those who work on it beside what is tested:
// requests for it are not noted, meet no faults, and need no password.
func (s *Server) PeopleURL(name string) string { return s.http.URL + peoplePath + "/" + name + ".git" }

// Dir returns the path of a bare repository.
func (s *Server) Dir(name string) string { return filepath.Join(s.Root, name+".git") }

// Work makes a clone of a repository, for the length of the test.
func (s *Server) Work(t testing.TB, name string) *Work {
	t.Helper()
	s.mu.Lock()
	clock := &s.repositoryOf(name).clock
	s.mu.Unlock()
	dir := filepath.Join(t.TempDir(), path.Base(name))
	w := &Work{Dir: dir, t: t, clock: clock, server: s, origin: s.storeOf(s.Dir(name)), own: s.storeOf(filepath.Join(dir, ".git"))}
	if err := w.cloneInside(); err != nil {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		Git(t, s.Root, "clone", "-q", "--template=", s.Dir(name), dir)
		w.noteIndex()
	}
	return w
}

// RequirePassword makes the server answer 401 to requests for a repository that do
// not have this password, under any user name. Faults come after that check.
func (s *Server) RequirePassword(name, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repositoryOf(name).password = password
}

// Requests returns all requests for a repository so far, in the order in which they
// came. One that is not answered yet, or never was, has status 0.
func (s *Server) Requests(name string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Request
	for _, r := range s.repositoryOf(name).requests {
		all = append(all, *r)
	}
	return all
}

// repositoryOf returns the notes on a repository, whether it exists or not. The caller
// holds the lock.
func (s *Server) repositoryOf(name string) *repository {
	r := s.repositories[name]
	if r == nil {
		r = &repository{}
		s.repositories[name] = r
	}
	return r
}

func (s *Server) serve(w http.ResponseWriter, req *http.Request) {
	s.running.Add(1)
	defer s.running.Done()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the client has gone
	}
	if path, ok := strings.CutPrefix(req.URL.Path, peoplePath); ok && !s.closed() {
		req.URL.Path = path
		s.pass(req, body).send(w)
		return
	}
	r, name := requested(req, int64(len(body)))
	fault, allowed := s.arrived(name, r, bytes.Contains(body, []byte("command=ls-refs\n")))
	var a answer
	switch {
	case s.closed():
		a = answer{reset: true} // a client that tries again is not let in while stalls end
	case !allowed:
		a = unauthorized
	case fault != nil:
		a = fault.answerRequest(req, s.closing, func() answer { return s.pass(req, body) })
	default:
		a = s.pass(req, body)
	}
	s.mu.Lock()
	r.Status, r.BytesOut = a.status, int64(len(a.body))
	s.mu.Unlock()
	a.send(w)
}

func (s *Server) closed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// requested describes a request, and returns the name of its repository.
func requested(req *http.Request, size int64) (*Request, string) {
	name, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), ".git/")
	service := req.URL.Query().Get("service")
	if service == "" {
		service = path.Base(req.URL.Path)
	}
	_, password, _ := req.BasicAuth()
	return &Request{Method: req.Method, Path: req.URL.Path, Service: service, Password: password, BytesIn: size}, name
}

// arrived notes a request down, and returns the fault that it meets, or nil; asks says that
// it is one of version 2 for the refs.
func (s *Server) arrived(name string, r *Request, asks bool) (f *fault, allowed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	repo := s.repositoryOf(name)
	repo.requests = append(repo.requests, r)
	if repo.password != "" && r.Password != repo.password {
		return nil, false
	}
	i := slices.IndexFunc(repo.faults, func(f *fault) bool { return f.matchesRequest(r, asks) })
	if i < 0 {
		return nil, true
	}
	f = repo.faults[i]
	f.left--
	if f.left == 0 {
		repo.faults = slices.Delete(repo.faults, i, i+1)
	}
	return f, true
}

func (s *Server) pass(req *http.Request, body []byte) answer {
	if q := s.newQuestion(req, body); q != nil {
		return s.answerQuestion(q)
	}
	return s.askBackend(req, body)
}

// askBackend returns what git http-backend answers. The body is passed on with its length,
// as CGI has no chunks, which git sends packs of over 1 MiB in.
func (s *Server) askBackend(req *http.Request, body []byte) answer {
	env := slices.Concat(identityVariables(), isolationVariables(), []string{"GIT_PROJECT_ROOT=" + s.Root, "GIT_HTTP_EXPORT_ALL=1"})
	if p := req.Header.Get("Git-Protocol"); p != "" {
		env = append(env, "GIT_PROTOCOL="+p)
	}
	req = req.Clone(req.Context())
	req.Body, req.ContentLength, req.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	// Stderr is no file, so that all processes that have it open are waited for.
	messages := messages{s.t}
	script := cgi.Handler{Path: s.backend, Env: env, Stderr: messages, Logger: log.New(messages, "", 0)}
	recorder := httptest.NewRecorder()
	script.ServeHTTP(recorder, req)
	return answer{status: recorder.Code, header: recorder.Header(), body: recorder.Body.Bytes()}
}

// messages puts what git says into the test's log.
type messages struct{ t testing.TB }

func (m messages) Write(text []byte) (int, error) {
	m.t.Logf("git http-backend: %s", bytes.TrimSpace(text))
	return len(text), nil
}

// answer is what the client is given.
type answer struct {
	status int // 0: nothing
	header http.Header
	body   []byte
	reset  bool // the connection, after the body
}

var unauthorized = answer{
	status: http.StatusUnauthorized, header: http.Header{"Www-Authenticate": {`Basic realm="git"`}},
}

func (a answer) send(w http.ResponseWriter) {
	control := http.NewResponseController(w)
	if a.status != 0 { // else nothing is flushed either: that would answer 200
		maps.Copy(w.Header(), a.header)
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body) // fails if the client has gone
		if a.reset {
			_ = control.Flush()
		}
	}
	if a.reset {
		reset(control)
	}
}

func reset(control *http.ResponseController) {
	conn, _, err := control.Hijack()
	if err != nil {
		return // the connection is closed already
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // makes closing a reset
	}
	_ = conn.Close()
}
