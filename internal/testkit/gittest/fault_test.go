package gittest

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestFaultsOfFetch(t *testing.T) {
	tests := map[string]struct {
		fault Fault
		want  string // what git says; "" if it succeeds
	}{
		"status":           {Fault{Status: 503, Header: http.Header{"Retry-After": {"7"}}, Body: "later"}, "error: 503"},
		"status of POST":   {Fault{Method: "POST", Status: 500}, "HTTP 500"},
		"other service":    {Fault{Service: "git-receive-pack", Status: 503}, ""},
		"other method":     {Fault{Method: "PUT", Status: 503}, ""},
		"reset":            {Fault{Reset: true}, "unable to access"},
		"cut refs":         {Fault{CutAfter: 5}, "unable to access"},
		"cut pack":         {Fault{Method: "POST", CutAfter: 500_000}, "curl 56"},
		"cut past the end": {Fault{CutAfter: 1 << 30}, ""},
		"truncated refs":   {Fault{Method: "GET", Truncate: 20}, "expected flush"},
		"truncated pack":   {Fault{Method: "POST", Truncate: 500_000}, "early EOF"},
		"truncated error":  {Fault{Status: 404, Body: "long", Truncate: 1}, "not found"},
	}
	s := Serve(t)
	w := edited(t, s, "cp")
	w.Write("big", noise(1<<20))
	w.Commit("big")
	w.Push()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			remove := s.Inject("cp", test.fault)
			_, err := attempt(t.TempDir(), nil, "", "clone", "-q", s.URL("cp"), ".")
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %s", err, test.want)
			}
			remove()
			remove() // does nothing
			Git(t, t.TempDir(), "clone", "-q", s.URL("cp"), ".")
		})
	}
}

func TestFaultIsMetSoOften(t *testing.T) {
	s := Serve(t)
	edited(t, s, "cp")
	s.Inject("cp", Fault{Times: 2, Status: 503, Header: http.Header{"Retry-After": {"7"}}, Body: "later"})
	for _, want := range []int{503, 503, 200} {
		answer, err := http.Get(s.URL("cp") + "/info/refs?service=git-upload-pack")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		equal(t, "status", answer.StatusCode, want)
		equal(t, "header", answer.Header.Get("Retry-After") == "7", want == 503)
	}
	equal(t, "bytes", s.Requests("cp")[0], Request{
		Method: "GET", Path: "/cp.git/info/refs", Service: "git-upload-pack", Status: 503, BytesOut: 5,
	})
}

func TestResetAnswersNothing(t *testing.T) {
	s := Serve(t)
	edited(t, s, "cp")
	s.Inject("cp", Fault{Reset: true})
	answer, err := http.Get(s.URL("cp") + "/info/refs?service=git-upload-pack")
	if err == nil {
		answer.Body.Close()
		t.Errorf("the request was answered: %s", answer.Status)
	}
}

func TestCutsAreExact(t *testing.T) {
	s := Serve(t)
	edited(t, s, "cp")
	for name, test := range map[string]struct {
		fault Fault
		cut   bool
	}{
		"cut":       {Fault{CutAfter: 40, Times: 1}, true},
		"truncated": {Fault{Truncate: 40, Times: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s.Inject("cp", test.fault)
			answer, err := http.Get(s.URL("cp") + "/info/refs?service=git-upload-pack")
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			equal(t, "bytes", len(body), 40)
			equal(t, "cut", err != nil, test.cut)
		})
	}
}

// pushed makes a commit in a clone and pushes it over HTTP; it returns its id.
func pushed(t *testing.T, s *Server, w *Work, text string) (string, error) {
	t.Helper()
	w.Write("pushed", text)
	id := w.Commit("push " + text)
	_, err := attempt(w.Dir, nil, "", "push", "-q", s.URL("cp"), "main")
	return id, err
}

func TestAnswerToPushIsLost(t *testing.T) {
	s := Serve(t)
	w := edited(t, s, "cp")
	s.Inject("cp", Fault{Method: "POST", Service: "git-receive-pack", CutAfter: 1, Times: 1})
	id, err := pushed(t, s, w, "x")
	if err == nil {
		t.Error("git push believed the answer")
	}
	equal(t, "main", Refs(t, s.Dir("cp"))["refs/heads/main"], id)
}

func TestRaceOfPushes(t *testing.T) {
	s := Serve(t)
	w, other := edited(t, s, "cp"), s.Work(t, "cp")
	var theirs string
	s.Inject("cp", Fault{Service: "git-receive-pack", Method: "GET", Times: 1, After: func() {
		other.Write("other", "x")
		theirs = other.Commit("in between")
		other.Push()
	}})
	if _, err := pushed(t, s, w, "x"); err == nil {
		t.Error("git push overwrote a commit that it did not know")
	}
	equal(t, "main", Refs(t, s.Dir("cp"))["refs/heads/main"], theirs)
}

func TestBeforeAndAfter(t *testing.T) {
	s := Serve(t)
	w := edited(t, s, "cp")
	var seen []string
	see := func() { seen = append(seen, Refs(t, s.Dir("cp"))["refs/heads/main"]) }
	before := Git(t, w.Dir, "rev-parse", "main")
	s.Inject("cp", Fault{Service: "git-receive-pack", Method: "POST", Before: see, After: see})
	after, err := pushed(t, s, w, "x")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "main before and after", seen, []string{before, after})
}

func TestStallEnds(t *testing.T) {
	fetch := func(t *testing.T, end func(*Server, func())) error {
		s := Serve(t)
		edited(t, s, "cp")
		arrived := make(chan struct{})
		remove := s.Inject("cp", Fault{Times: 1, Stall: true, Before: func() { close(arrived) }})
		done := make(chan error)
		dir := t.TempDir()
		go func() {
			_, err := attempt(dir, nil, "", "ls-remote", s.URL("cp"))
			done <- err
		}()
		<-arrived
		equal(t, "requests while it stalls", listed(s, "cp"), []string{"GET git-upload-pack "})
		end(s, remove)
		return <-done
	}
	t.Run("fault is removed", func(t *testing.T) {
		if err := fetch(t, func(_ *Server, remove func()) { remove() }); err != nil {
			t.Error(err)
		}
	})
	t.Run("connection is closed", func(t *testing.T) {
		if err := fetch(t, func(s *Server, _ func()) { s.http.CloseClientConnections() }); err == nil {
			t.Error("git had an answer")
		}
	})
}

func TestStallEndsWithTheTest(t *testing.T) {
	done := make(chan error, 1)
	t.Run("stalled", func(t *testing.T) {
		s := Serve(t)
		edited(t, s, "cp")
		arrived := make(chan struct{})
		s.Inject("cp", Fault{Stall: true, Times: 1, Before: func() { close(arrived) }})
		go func() {
			_, err := http.Get(s.URL("cp") + "/info/refs?service=git-upload-pack")
			done <- err
		}()
		<-arrived
	})
	if err := <-done; err == nil {
		t.Error("the request was answered")
	}
}
