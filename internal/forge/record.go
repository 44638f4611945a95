package forge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
)

// recordStore are documents in references of a repository: each is a commit whose tree
// has the files of the document, on top of the one before it, so that who changed
// what and when is in Git too.
type recordStore struct {
	mu     sync.Mutex // one is written at a time: those that we write are in no race
	remote *git.Remote
	author git.Signature
	now    func() time.Time
	as     Commission
}

// Commission is how documents are committed on behalf of a person: the zero value is nobody's.
type Commission struct {
	Committer git.Signature // the zero value is the author
	Sign      git.Signer    // nil for none
	Trailers  []string      // lines for the end of each message
}

// record is one document.
type record struct {
	ref    string
	commit string // "" if it is new
	files  map[string][]byte
	with   []git.Commit // written with it, for the other references that move
}

// decode reads a YAML file of a document.
func (r record) decode(file string, into any) error {
	if err := yaml.Unmarshal(r.files[file], into); err != nil {
		return fmt.Errorf("%s in %s: %w", file, r.ref, err)
	}
	return nil
}

// maxAttempts bounds how often a write is tried again after another writer was faster.
const maxAttempts = 5

// listRefs returns the references below a prefix and the commits that they are at.
func (s *recordStore) listRefs(prefix string) (map[string]string, error) {
	if s.remote.Mirror() == nil {
		return nil, fmt.Errorf("%s was not read yet", s.remote.URL())
	}
	return s.remote.Mirror().Refs(prefix)
}

// readRecord reads the document at a commit.
func (s *recordStore) readRecord(ref, commit string) (record, error) {
	return git.InspectTree(s.remote.Mirror(), commit, func(t tree.Tree) (record, error) {
		return record{ref: ref, commit: commit, files: maps.Collect(t.All())}, nil
	})
}

// writeRecord stores a document, and moves other references with it: all, or nothing
// where the server can do that. The error is git.ErrStale if another writer was faster.
func (s *recordStore) writeRecord(ctx context.Context, r record, message string, others ...git.RefUpdate) error {
	files, err := tree.FromFiles(r.files)
	if err != nil {
		return err
	}
	c := git.Commit{Tree: files, Author: s.author, Committer: s.as.Committer, Sign: s.as.Sign, When: s.now(), Message: s.addTrailers(message)}
	if r.commit != "" {
		c.Parents = []string{r.commit}
	}
	pack, err := s.remote.Write(ctx, append([]git.Commit{c}, r.with...)...)
	if err != nil {
		return err
	}
	return s.remote.Push(ctx, pack, append(others, git.RefUpdate{Ref: r.ref, Old: r.commit, New: pack.Commits[0]})...)
}

// addTrailers returns the message of a commit, with the lines for its end.
func (s *recordStore) addTrailers(message string) string {
	if len(s.as.Trailers) > 0 {
		if !strings.Contains(message, "\n") {
			message += "\n"
		}
		message += "\n" + strings.Join(s.as.Trailers, "\n")
	}
	return message + "\n"
}

// nextRef returns the reference of the next numbered document: one more than the highest
// number. A slower writer finds it taken, reads again, and sees what the other wrote.
func (s *recordStore) nextRef(prefix string) (string, int, error) {
	refs, err := s.listRefs(prefix)
	if err != nil {
		return "", 0, err
	}
	highest := 0
	for ref := range refs {
		highest = max(highest, documentNumber(ref, prefix))
	}
	return prefix + strconv.Itoa(highest+1), highest + 1, nil
}

// documentNumber returns the number of a document; 0 if its reference has none.
func documentNumber(ref, prefix string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(ref, prefix))
	if err != nil || n < 0 || strconv.Itoa(n) != strings.TrimPrefix(ref, prefix) {
		return 0
	}
	return n
}

// retryStale calls do until no other writer is faster. do must not call it.
func (s *recordStore) retryStale(ctx context.Context, do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for range maxAttempts {
		err = do()
		if !errors.Is(err, git.ErrStale) {
			return err
		}
		if _, syncErr := s.remote.Sync(ctx); syncErr != nil {
			return syncErr
		}
	}
	return err
}
