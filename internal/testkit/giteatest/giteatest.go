// Package giteatest provides tests with a real Gitea.
//
// What it keeps true: the server is a process of the test's own, on this machine
// only, with its data in the test's folder, and has ended when the test has; it
// reads no user's settings; packages share nothing but the program, which is built
// once, from the Go module proxy, and kept in the user's cache folder. The tests of a
// package share one server (Share), each with repositories of its own: a start takes
// longer than most tests. Where the program can be neither found nor built the tests are
// skipped and say why, or fail if FAIRLEAD_GITEA is "require".
//
// It needs the git command.
package giteatest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is a Gitea that runs. A mistake in using it fails the test.
type Server struct {
	URL   string // http://127.0.0.1:PORT
	Token string // of the administrator, who may do everything

	t    testing.TB
	dir  string        // of its data
	bin  string        // folder of the program
	done chan struct{} // closed when it has ended

	internalToken string // of its hooks

	making *sync.Mutex // held while what is there once is made
}

const (
	admin    = "root-of-all"
	password = "not-a-secret-1"
	patience = 5 * time.Minute // a busy machine starts it slowly
)

// Start starts a server, which ends with the test. TestMain must call Run.
func Start(t testing.TB) *Server {
	t.Helper()
	common.Lock()
	checkRuns(t)
	common.Unlock()
	return start(t, t.TempDir, t.Cleanup)
}

// start starts a server in the folder that it is given, and says with atEnd what ends it.
func start(t testing.TB, newDir func() string, atEnd func(func())) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("a real Gitea takes its time, and -short asks for less")
	}
	bin, err := buildProgram(t)
	if err != nil && os.Getenv("FAIRLEAD_GITEA") == "require" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skipf("there is no Gitea to test with: %v", err)
	}
	s := &Server{t: t, dir: newDir(), bin: bin, internalToken: rand.Text(), making: &sync.Mutex{}}
	if err := s.startProcess(atEnd); err != nil {
		t.Fatal(err)
	}
	s.newCommand("admin", "user", "create", "--admin", "--must-change-password=false",
		"--username", admin, "--password", password, "--email", admin+"@example.com")
	s.Token = s.newToken(admin, "all")
	return s
}

// In returns the server to another test, a part of the one that it was started for:
// that is what a mistake fails.
func (s *Server) In(t testing.TB) *Server {
	other := *s
	other.t = t
	return &other
}

// UserToken returns a new token of a user, who is made if there is no such. It has
// the given scopes ("read:repository"), or all.
func (s *Server) UserToken(name string, scopes ...string) string {
	s.t.Helper()
	if len(scopes) == 0 {
		scopes = []string{"all"}
	}
	s.create("/admin/users", map[string]any{
		"username": name, "email": name + "@example.com", "password": password, "must_change_password": false,
	})
	return s.newToken(name, scopes...)
}

// newToken makes a token, which Gitea allows only with the password.
func (s *Server) newToken(name string, scopes ...string) string {
	s.t.Helper()
	var made struct {
		Token string `json:"sha1"`
	}
	s.doAs(name+":"+password, http.MethodPost, "/users/"+name+"/tokens", map[string]any{
		"name": "token " + rand.Text(), "scopes": scopes,
	}, &made)
	return made.Token
}

// create makes something, if it is not there already. Of two that make the same at
// once, Gitea would tell one of its database.
func (s *Server) create(path string, body any) {
	s.t.Helper()
	s.making.Lock()
	defer s.making.Unlock()
	status, answer, err := s.newRequest(s.Token, http.MethodPost, path, body)
	if err == nil && status >= 300 && !strings.Contains(string(answer), "already exists") {
		err = fmt.Errorf("POST %s: %d: %s", path, status, answer)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// sendJSON asks the API as the administrator. A body is sent, and an answer put into
// into, as JSON, if they are not nil.
func (s *Server) sendJSON(method, path string, body, into any) {
	s.t.Helper()
	s.doAs(s.Token, method, path, body, into)
}

func (s *Server) doAs(token, method, path string, body, into any) {
	s.t.Helper()
	status, answer, err := s.newRequest(token, method, path, body)
	if err == nil && status >= 300 {
		err = fmt.Errorf("%s %s: %d: %s", method, path, status, answer)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(answer, into)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// newRequest does one request, with a token or with NAME:PASSWORD.
func (s *Server) newRequest(token, method, path string, body any) (int, []byte, error) {
	var sent bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&sent).Encode(body); err != nil {
			return 0, nil, err
		}
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+"/api/v1"+path, &sent)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if name, word, ok := strings.Cut(token, ":"); ok {
		req.SetBasicAuth(name, word)
	} else if token != "" {
		req.Header.Set("Authorization", "token "+token)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	return answer.StatusCode, all, err
}

// errEnded reports that there is nothing to wait for any more.
var errEnded = errors.New("the server has ended")

// waitUntil asks again and again, until it is told that it is done, the server ends, or
// it has taken too long.
func (s *Server) waitUntil(what string, ask func() (bool, error)) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for {
		if ok, err := ask(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-s.done:
			return errEnded
		case <-late:
			return fmt.Errorf("%s: not within %s", what, patience)
		}
	}
}
