package gittest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// store is a bare repository that is read and written in this process, without git. It knows the
// common cases of what git does, and each of its methods returns errLeft for the others: they, and
// everything that fails, are git's.
type store struct {
	dir string

	mu    sync.Mutex // held while a question is answered
	packs *pack.Set
	files map[string]fileState // of objects/pack
	known map[objectID]links
}

// fileState tells a file from what it was before.
type fileState struct {
	size int64
	time time.Time
}

// errLeft means that git must answer.
var errLeft = errors.New("this is left to git")

func (s *Server) storeOf(dir string) *store {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stores[dir] == nil {
		s.stores[dir] = &store{dir: dir, known: map[objectID]links{}}
	}
	return s.stores[dir]
}

// closeStores closes the packs that were read.
func (s *Server) closeStores() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.stores {
		if o.packs != nil {
			_ = o.packs.Close() // they were only read
		}
	}
}

// answerInside answers a question as git does; it returns false where git must answer, and has
// then changed nothing.
func (s *Server) answerInside(q *question) (answer, bool) {
	o := s.storeOf(q.dir)
	o.mu.Lock()
	defer o.mu.Unlock()
	body, err := o.makeAnswer(q)
	if err != nil {
		return answer{}, false
	}
	s.inside.Add(1)
	return q.wrapBody(body), true
}

func (o *store) makeAnswer(q *question) ([]byte, error) {
	if err := o.refreshPacks(); err != nil {
		return nil, err
	}
	version2 := slices.Contains(strings.Split(q.protocol, ":"), "version=2")
	switch {
	case q.protocol != "" && q.protocol != "version=2":
		return nil, errLeft
	case q.refs && (!version2 || q.service == "git-receive-pack"): // which has no version 2
		return o.advertiseReferences(q.service)
	case q.refs:
		return tellCapabilities()
	case q.service == "git-receive-pack":
		return o.answerPush(q.body)
	case version2 && bytes.Contains(q.body, []byte("command=ls-refs\n")):
		return o.listReferences(q.body)
	case version2:
		return o.answerFetch(q.body)
	default:
		return o.answerUpload(q.body)
	}
}

// refreshPacks makes the store read the packs that there are now.
func (o *store) refreshPacks() error {
	if err := packLoose(o.dir); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(o.dir, "objects/info/alternates")); err == nil {
		return errLeft
	}
	entries, err := os.ReadDir(filepath.Join(o.dir, "objects/pack"))
	if err != nil {
		return err
	}
	files := map[string]fileState{}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "pack-") || !strings.HasSuffix(e.Name(), ".pack") {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		files[e.Name()] = fileState{info.Size(), info.ModTime()}
	}
	before := o.files
	o.files = files
	for name, is := range before {
		if files[name] != is { // it is another one, or gone
			err := o.packs.Close()
			o.packs = nil
			if err != nil {
				return err
			}
			break
		}
	}
	switch {
	case o.packs == nil:
		o.packs, err = pack.Open(filepath.Join(o.dir, "objects/pack"))
	case !maps.Equal(before, files):
		_, err = o.packs.Refresh()
	}
	return err
}

// packLoose moves the objects that are files of their own into a pack, as git repack does.
func packLoose(dir string) error {
	folders, err := os.ReadDir(filepath.Join(dir, "objects"))
	if err != nil {
		return err
	}
	var all []object
	var files []string
	for _, f := range folders {
		if f.Name() == "info" || f.Name() == "pack" {
			continue
		}
		inside, err := os.ReadDir(filepath.Join(dir, "objects", f.Name()))
		if err != nil {
			return err
		}
		for _, e := range inside {
			id, err := parseID(f.Name() + e.Name())
			if err != nil { // one that git is writing
				return err
			}
			found, err := readLoose(filepath.Join(dir, "objects"), id)
			if err != nil {
				return err
			}
			all, files = append(all, found), append(files, filepath.Join(dir, "objects", f.Name(), e.Name()))
		}
	}
	if len(all) == 0 {
		return nil
	}
	if err := keepObjects(dir, all); err != nil {
		return err
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			return err
		}
		_ = os.Remove(filepath.Dir(file)) // it may have others
	}
	return nil
}

// wrapBody returns the answer to a question with what HTTP adds.
func (q *question) wrapBody(body []byte) answer {
	kind := "result"
	if q.refs {
		kind = "advertisement"
		if !slices.Contains(strings.Split(q.protocol, ":"), "version=2") {
			body = slices.Concat(appendLine(nil, "# service="+q.service+"\n"), flush, body)
		}
	}
	return answer{
		status: http.StatusOK,
		header: http.Header{"Content-Type": {"application/x-" + q.service + "-" + kind}, "Cache-Control": {"no-cache, max-age=0, must-revalidate"}},
		body:   body,
	}
}

// The two lines of Git's protocol that have no text.
var flush, delimiter = []byte("0000"), []byte("0001")

// appendLine appends a line of Git's protocol.
func appendLine(body []byte, text string) []byte {
	return append(fmt.Appendf(body, "%04x", len(text)+4), text...)
}

// cutLines returns the text of all lines of Git's protocol up to a flush or a delimiter, and what
// follows that.
func cutLines(body []byte) (lines []string, rest []byte, err error) {
	for {
		if len(body) < 4 {
			return nil, nil, errLeft
		}
		size, err := strconv.ParseUint(string(body[:4]), 16, 16)
		if err != nil || int(size) > len(body) || size > 1 && size < 4 {
			return nil, nil, errLeft
		}
		if size < 4 {
			return lines, body[4:], nil
		}
		lines, body = append(lines, string(body[4:size])), body[size:]
	}
}
