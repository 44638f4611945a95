package gitea_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// proxy stands between a forge and a server. It notes down the requests, and answers
// some of them itself.
type proxy struct {
	*httptest.Server
	pass http.Handler // what is not a fault

	mu       sync.Mutex
	requests []string // METHOD PATH
	faults   []*fault
}

// fault is what goes wrong with requests.
type fault struct {
	method, path string // "" for all; the path is part of the request's
	times        int    // 0 for always
	status       int    // it is answered so, and not passed on
	header       http.Header
	body         string
	cut          int  // bytes of the answer that come; 0 for all
	empty        bool // nothing of the answer comes
	stall        bool // no answer comes
}

// serve starts a proxy of a server; without its URL all that is not a fault is 404.
func serve(t *testing.T, server string) *proxy {
	t.Helper()
	p := &proxy{pass: http.NotFoundHandler()}
	if server != "" {
		to, err := url.Parse(server)
		check(t, err)
		p.pass = httputil.NewSingleHostReverseProxy(to)
	}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		f := p.meet(req)
		if f == nil {
			p.pass.ServeHTTP(w, req)
			return
		}
		f.answer(w, req, p.pass)
	}))
	t.Cleanup(p.Close)
	return p
}

// meet notes a request down, and gives the first fault that it meets.
func (p *proxy) meet(req *http.Request) *fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, req.Method+" "+req.URL.Path)
	for _, f := range p.faults {
		if f.times < 0 || f.method != "" && f.method != req.Method || !strings.Contains(req.URL.Path, f.path) {
			continue
		}
		if f.times--; f.times == 0 {
			f.times = -1
		}
		return f
	}
	return nil
}

// inject makes requests meet a fault.
func (p *proxy) inject(f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.times == 0 {
		f.times = 1 << 30
	}
	p.faults = append(p.faults, &f)
}

// asked returns the requests since it was called last.
func (p *proxy) asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.requests
	p.requests = nil
	return all
}

// writes returns how many requests were to change something.
func (p *proxy) writes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, r := range p.requests {
		if !strings.HasPrefix(r, "GET ") {
			n++
		}
	}
	return n
}

func (f *fault) answer(w http.ResponseWriter, req *http.Request, pass http.Handler) {
	if f.stall {
		_, _ = io.Copy(io.Discard, req.Body) // so that the server sees that the client has gone
		<-req.Context().Done()
		return
	}
	for name, values := range f.header {
		w.Header()[name] = values
	}
	if f.status != 0 {
		w.WriteHeader(f.status)
		_, _ = io.WriteString(w, f.body)
		return
	}
	made := httptest.NewRecorder()
	pass.ServeHTTP(made, req)
	if f.empty {
		w.WriteHeader(made.Code)
		return
	}
	w.Header().Set("Content-Length", made.Header().Get("Content-Length"))
	if w.Header().Get("Content-Length") == "" {
		w.Header().Set("Content-Length", "1000000")
	}
	w.WriteHeader(made.Code)
	_, _ = w.Write(made.Body.Bytes()[:f.cut])
}
