package gitlabfake

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// Fault is what goes wrong with requests.
type Fault struct {
	Method string // "" any
	Path   string // like /projects/*/issues; "" any
	Times  int    // how many requests meet it; 0: all

	// Status, if not 0, is answered with Header and Body, and nothing is done.
	Status int
	Header http.Header
	Body   string
	// Stall sends no answer until the client gives up or the test ends.
	Stall bool
	// CutAfter, if not 0, ends the answer after so many bytes of the body that it
	// said there are. What was asked for was done by then.
	CutAfter int
}

// Inject makes requests meet a fault. Of several, one meets the first injected.
func (s *Server) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// findFault returns the fault that a request meets, or nil. The caller holds the lock.
func (s *Server) findFault(r *Request) *Fault {
	for i, f := range s.faults {
		if f.Method != "" && f.Method != r.Method || !matchesPath(f.Path, r.Path) {
			continue
		}
		f.Times--
		if f.Times == 0 {
			s.faults = slices.Delete(s.faults, i, i+1)
		}
		return f
	}
	return nil
}

// findAnswer returns the answer to a request that is not done; its status is 0 if there is
// to be none.
func (f *Fault) findAnswer(req *http.Request, closing <-chan struct{}) (answer, bool) {
	if f == nil {
		return answer{}, false
	}
	if f.Stall {
		select {
		case <-req.Context().Done():
		case <-closing:
		}
	}
	return answer{f.Status, f.Header, []byte(f.Body)}, f.Stall || f.Status != 0
}

func (f *Fault) sendAnswer(w http.ResponseWriter, a answer) {
	if a.status == 0 {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close()
		}
		return
	}
	maps.Copy(w.Header(), a.header)
	if f != nil && f.CutAfter != 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
		a.body = a.body[:min(f.CutAfter, len(a.body))]
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // fails if the client has gone
}
