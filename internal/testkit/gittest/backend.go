package gittest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// question is a request that git upload-pack or git receive-pack can be asked without
// git http-backend, which does nothing else for it than to start them.
type question struct {
	dir      string
	service  string // "git-upload-pack", "git-receive-pack"
	refs     bool   // it is a GET, for the refs or the capabilities
	protocol string // what the client says of it
	body     []byte
}

// newQuestion returns the question of a request, or nil if git http-backend must answer: the
// repository is not there or has other settings than [Server.Create] wrote, or the request
// is not one that git makes.
func (s *Server) newQuestion(req *http.Request, body []byte) *question {
	name, rest, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), ".git/")
	q := &question{dir: s.Dir(name), service: rest, protocol: req.Header.Get("Git-Protocol"), body: body}
	if req.Method == http.MethodGet && rest == "info/refs" {
		q.service, q.refs = req.URL.Query().Get("service"), true
	} else if req.Method != http.MethodPost || req.Header.Get("Content-Type") != "application/x-"+q.service+"-request" {
		return nil
	}
	if q.service != "git-upload-pack" && q.service != "git-receive-pack" {
		return nil
	}
	config, err := os.ReadFile(filepath.Join(q.dir, "config"))
	if err != nil || string(config) != settings {
		return nil
	}
	switch req.Header.Get("Content-Encoding") {
	case "":
		return q
	case "gzip":
		q.body, err = unzip(body)
		if err != nil {
			return nil
		}
		return q
	default:
		return nil
	}
}

func unzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// answerQuestion asks git, or repeats what git has answered to the same question when the
// repository was the same.
func (s *Server) answerQuestion(q *question) answer {
	if !s.onlyGit.Load() {
		if a, ok := s.answerInside(q); ok {
			return a
		}
	}
	before, known := s.findState(q)
	if known {
		s.mu.Lock()
		a, found := s.answers[before]
		s.mu.Unlock()
		if found {
			return a
		}
	}
	a, err := s.askGit(q)
	if err == nil {
		learnCapabilities(q, a.body)
	}
	after, still := s.findState(q)
	if err == nil && known && still && before == after {
		s.mu.Lock()
		s.answers[before] = a
		s.mu.Unlock()
	}
	return a
}

// state is a digest of a question and of all that its answer depends on.
type state [sha256.Size]byte

// findState returns the state that a question is asked in; known is false where its answer
// must be git's own: it changes the repository, or is not of references alone.
func (s *Server) findState(q *question) (found state, known bool) {
	asked := fmt.Sprintf("%s\n%s\n%t\n%q\n%s", q.dir, q.service, q.refs, q.protocol, q.body)
	if !q.refs && q.service == "git-receive-pack" {
		return found, false
	}
	h := sha256.New()
	io.WriteString(h, asked)
	refs, err := readReferences(q.dir)
	if err == nil {
		err = addPacks(h, q.dir)
	}
	if err != nil || !q.refs && !onlyWants(q.body, refs) {
		return found, false
	}
	for _, line := range refs {
		io.WriteString(h, line)
	}
	h.Sum(found[:0])
	return found, true
}

// readReferences returns the text of all files that references are in, each with its path.
func readReferences(dir string) ([]string, error) {
	var all []string
	for _, name := range []string{"HEAD", "packed-refs", "refs"} {
		err := filepath.WalkDir(filepath.Join(dir, name), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			all = append(all, path+" "+string(text)+"\n")
			return err
		})
		if err != nil && (name != "packed-refs" || !errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
	}
	return all, nil
}

// addPacks adds the names and sizes of a repository's packs to a digest, and which folders of
// objects beside them there are, so that one that was damaged is another repository.
func addPacks(w io.Writer, dir string) error {
	for _, folder := range []string{"objects", "objects/pack"} {
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil {
			return err
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%s %d\n", e.Name(), info.Size())
		}
	}
	return nil
}

// onlyWants reports whether a request of git upload-pack wants references alone: what else
// there is a repository may have or not.
func onlyWants(body []byte, refs []string) bool {
	for line := range bytes.Lines(body) {
		_, id, wants := bytes.Cut(line, []byte("want "))
		if !wants {
			continue
		}
		if len(id) < 40 || !slices.ContainsFunc(refs, func(r string) bool { return strings.Contains(r, string(id[:40])) }) {
			return false
		}
	}
	return true
}

// askGit runs git as git http-backend does. The error is that of git, whose answer may
// say more.
func (s *Server) askGit(q *question) (answer, error) {
	name := strings.TrimPrefix(q.service, "git-")
	args := []string{name, "--stateless-rpc"}
	if q.refs {
		args = append(args, "--http-backend-info-refs")
	}
	var out bytes.Buffer
	cmd := exec.Command("git", append(args, ".")...)
	cmd.Dir = q.dir
	cmd.Env = append(testEnvironment(), "GIT_PROTOCOL="+q.protocol)
	cmd.Stdin, cmd.Stdout = bytes.NewReader(q.body), &out
	cmd.Stderr = messages{s.t} // no file, so that all processes that have it open are waited for
	err := cmd.Run()
	return q.wrapBody(out.Bytes()), err
}
