package gittest

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// listed returns of each request what it was for and how it ended.
func listed(s *Server, name string) []string {
	var all []string
	for _, r := range s.Requests(name) {
		all = append(all, r.Method+" "+r.Service+" "+http.StatusText(r.Status))
	}
	return all
}

func TestCloneAndPushOverHTTP(t *testing.T) {
	s := Serve(t)
	edited(t, s, "cp")
	equal(t, "requests of people who edit", s.Requests("cp"), []Request(nil))

	dir := t.TempDir()
	Git(t, dir, "clone", "-q", s.URL("cp"), ".")
	equal(t, "files", Files(t, dir, "HEAD"), map[string]string{"a/b.yaml": "one\n"})
	equal(t, "requests of a clone", listed(s, "cp"), []string{
		"GET git-upload-pack OK", "POST git-upload-pack OK", "POST git-upload-pack OK",
	})

	w := &Work{Dir: dir, t: t}
	w.Write("big", noise(2<<20))
	Git(t, dir, "add", "-A")
	Git(t, dir, "commit", "-qm", "big")
	Git(t, dir, "push", "-q", "origin", "main")
	equal(t, "refs", Refs(t, s.Dir("cp")), map[string]string{"refs/heads/main": Git(t, dir, "rev-parse", "main")})
	all := s.Requests("cp")
	push := all[len(all)-1]
	if push.Service != "git-receive-pack" || push.Path != "/cp.git/git-receive-pack" || push.BytesIn < 2<<20 || push.BytesOut == 0 {
		t.Errorf("the push was noted as %+v", push)
	}
}

func TestServerSpeaksProtocol2(t *testing.T) {
	s := Serve(t)
	id := Git(t, edited(t, s, "cp").Dir, "rev-parse", "HEAD")
	dir := t.TempDir()
	Git(t, dir, "init", "-q")
	for version, requests := range map[string]int{"1": 1, "2": 2} {
		before := len(s.Requests("cp"))
		equal(t, "refs", Git(t, dir, "-c", "protocol.version="+version, "ls-remote", s.URL("cp"), "refs/heads/main"), id+"\trefs/heads/main")
		equal(t, "requests with protocol "+version, len(s.Requests("cp"))-before, requests)
	}
	Git(t, dir, "fetch", "-q", "--depth=1", "--filter=blob:none", s.URL("cp"), id)
}

func TestPassword(t *testing.T) {
	s := Serve(t)
	edited(t, s, "cp")
	s.RequirePassword("cp", "secret")
	with := func(password string) string {
		return strings.Replace(s.URL("cp"), "//", "//"+url.UserPassword("x", password).String()+"@", 1)
	}
	dir := t.TempDir()
	if _, err := attempt(dir, nil, "", "ls-remote", with("wrong")); err == nil || !strings.Contains(err.Error(), "Authentication failed") {
		t.Errorf("with a wrong password: %v", err)
	}
	Git(t, dir, "ls-remote", with("secret"))
	var told []string
	for _, r := range s.Requests("cp") {
		told = append(told, r.Password+" "+http.StatusText(r.Status))
	}
	equal(t, "passwords", told, []string{" Unauthorized", "wrong Unauthorized", " Unauthorized", "secret OK", "secret OK"})
}

func TestFaultComesAfterPassword(t *testing.T) {
	s := Serve(t)
	edited(t, s, "cp")
	s.RequirePassword("cp", "secret")
	s.Inject("cp", Fault{Times: 1, Status: http.StatusServiceUnavailable})
	if _, err := attempt(t.TempDir(), nil, "", "ls-remote", strings.Replace(s.URL("cp"), "//", "//x:secret@", 1)); err == nil {
		t.Error("there was no fault")
	}
	equal(t, "requests", listed(s, "cp"), []string{"GET git-upload-pack Unauthorized", "GET git-upload-pack Service Unavailable"})
}

func TestUnknownRepository(t *testing.T) {
	s := Serve(t)
	if _, err := attempt(t.TempDir(), nil, "", "ls-remote", s.URL("none")); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("got %v", err)
	}
	equal(t, "requests", listed(s, "none"), []string{"GET git-upload-pack Not Found"})
}

func TestClientsAtOnce(t *testing.T) {
	s := Serve(t)
	edited(t, s, "cp")
	s.Inject("cp", Fault{Service: "git-upload-pack", Times: 2, Before: func() {}})
	var group sync.WaitGroup
	for range 4 {
		dir := t.TempDir()
		group.Go(func() {
			if _, err := attempt(dir, nil, "", "clone", "-q", s.URL("cp"), "."); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	equal(t, "requests", len(s.Requests("cp")), 12)
}
