package githubfake

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// Fault is what goes wrong with a request.
type Fault struct {
	Method string // "" any
	Path   string // like /repos/*/*/pulls; "" any
	Times  int    // how many requests meet it; 0: all

	// Status, if not 0, is answered with Header and Body, and nothing is done.
	Status int
	Header http.Header
	Body   string
	// Stall sends no answer until the client gives up or the test ends.
	Stall bool
	// CutAfter, if not 0, closes the connection after that many bytes of the
	// answer's body. What was asked for was done by then.
	CutAfter int
	// Empty answers without a body. What was asked for was done by then.
	Empty bool
}

// Inject makes requests meet a fault. Of several, one meets the first injected.
func (s *Server) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// findFault returns the fault that a request meets, or nil. The caller holds the lock.
func (s *Server) findFault(req *http.Request) *Fault {
	i := slices.IndexFunc(s.faults, func(f *Fault) bool {
		return (f.Method == "" || f.Method == req.Method) && matchesPath(f.Path, req.URL.Path)
	})
	if i < 0 {
		return nil
	}
	f := s.faults[i]
	f.Times--
	if f.Times == 0 {
		s.faults = slices.Delete(s.faults, i, i+1)
	}
	return f
}

func (f *Fault) findAnswer(req *http.Request, closing <-chan struct{}) (answer, bool) {
	switch {
	case f == nil:
		return answer{}, false
	case f.Stall:
		select {
		case <-req.Context().Done():
		case <-closing:
		}
		return answer{}, true
	case f.Status != 0:
		return answer{f.Status, f.Header, []byte(f.Body)}, true
	}
	return answer{}, false
}

func (f *Fault) sendAnswer(w http.ResponseWriter, a answer) {
	if a.status == 0 {
		hangUp(w)
		return
	}
	maps.Copy(w.Header(), a.header)
	switch {
	case f != nil && f.Empty:
		a.body = nil
	case f != nil && f.CutAfter != 0:
		// A handler that writes less than it said makes net/http close the connection.
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
		a.body = a.body[:min(f.CutAfter, len(a.body))]
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // fails if the client has gone
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}
