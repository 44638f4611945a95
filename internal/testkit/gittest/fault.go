package gittest

import (
	"net/http"
	"slices"
	"sync"
)

// Fault is what goes wrong with requests for a repository. The request is answered
// with Status, or by git; then the answer is cut. Stall and Reset come before both.
type Fault struct {
	Service string // "" any; "git-upload-pack", "git-receive-pack"
	Method  string // "" any; GET asks for the refs, also by a POST of version 2, or the capabilities; POST does the rest
	Times   int    // how many requests meet it; 0: all until it is removed

	// Status, if not 0, is answered with Header and Body, and git is not asked.
	Status int
	Header http.Header
	Body   string

	// Stall sends no answer until the client gives up (no client is answered), the
	// server closes (the connection is reset), or the fault is removed (the
	// request goes on as if only Stall had not been set).
	Stall bool
	// Reset resets the connection without an answer; git is not asked.
	Reset bool
	// CutAfter, if not 0, resets the connection after that many bytes of the
	// answer's body. Git has done its work by then.
	CutAfter int64
	// Truncate, if not 0, ends the answer after that many bytes of its body, as
	// if that was all. Git has done its work by then.
	Truncate int64

	// Before is called when the request has come in, After when its answer has
	// been made: the client is given the answer when After returns.
	Before, After func()
}

// fault is a fault that was injected.
type fault struct {
	Fault
	left    int           // requests that will meet it still; below 0: any number
	removed chan struct{} // closed when it is
}

// Inject makes requests for a repository meet a fault, until it is removed or has
// been met often enough. Of several faults, a request meets the first injected.
func (s *Server) Inject(name string, f Fault) (remove func()) {
	added := &fault{Fault: f, left: f.Times, removed: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	repo := s.repositoryOf(name)
	repo.faults = append(repo.faults, added)
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		repo.faults = slices.DeleteFunc(repo.faults, func(f *fault) bool { return f == added })
		close(added.removed)
	})
}

// matchesRequest reports whether a request meets the fault; asks says that it is for the refs.
func (f *fault) matchesRequest(r *Request, asks bool) bool {
	method := r.Method
	if asks {
		method = http.MethodGet
	}
	return (f.Service == "" || f.Service == r.Service) && (f.Method == "" || f.Method == method)
}

// answerRequest returns the answer to a request that meets the fault; pass asks git.
func (f *fault) answerRequest(req *http.Request, closing <-chan struct{}, pass func() answer) answer {
	if f.Before != nil {
		f.Before()
	}
	if f.After != nil {
		defer f.After()
	}
	if f.Stall {
		select {
		case <-req.Context().Done():
			return answer{reset: true}
		case <-closing:
			return answer{reset: true}
		case <-f.removed:
		}
	}
	switch {
	case f.Reset:
		return answer{reset: true}
	case f.Status != 0:
		return f.cut(answer{status: f.Status, header: f.Header, body: []byte(f.Body)})
	default:
		return f.cut(pass())
	}
}

func (f *fault) cut(a answer) answer {
	size := int64(len(a.body))
	switch {
	case f.CutAfter != 0 && f.CutAfter <= size:
		a.body, a.reset = a.body[:f.CutAfter], true
	case f.Truncate != 0 && f.Truncate < size:
		a.body = a.body[:f.Truncate]
		a.header = a.header.Clone()
		a.header.Del("Content-Length")
	}
	return a
}
