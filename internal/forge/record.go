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

// recordStore keeps documents in references: each version is a commit on top of the previous one.
type recordStore struct {
	mu     sync.Mutex // one write at a time, to avoid races with ourselves
	remote *git.Remote
	author git.Signature
	now    func() time.Time
	as     Commission
}

// Commission is how documents are committed on behalf of a person; zero for nobody.
type Commission struct {
	Committer git.Signature // zero for the author
	Sign      git.Signer    // nil for unsigned
	Trailers  []string
}

type record struct {
	ref    string
	commit string
	files  map[string][]byte
	with   []git.Commit // further commits, for the other moved references
}

func (r record) decode(file string, into any) error {
	if err := yaml.Unmarshal(r.files[file], into); err != nil {
		return fmt.Errorf("%s in %s: %w", file, r.ref, err)
	}
	return nil
}

const maxAttempts = 5

func (s *recordStore) listRefs(prefix string) (map[string]string, error) {
	if s.remote.Mirror() == nil {
		return nil, fmt.Errorf("%s was not read yet", s.remote.URL())
	}
	return s.remote.Mirror().Refs(prefix)
}

func (s *recordStore) readRecord(ref, commit string) (record, error) {
	return git.InspectTree(s.remote.Mirror(), commit, func(t tree.Tree) (record, error) {
		return record{ref: ref, commit: commit, files: maps.Collect(t.All())}, nil
	})
}

// writeRecord stores a document and moves other references, atomically if the server supports that.
// The error is git.ErrStale if another writer was faster.
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

func (s *recordStore) addTrailers(message string) string {
	if len(s.as.Trailers) > 0 {
		if !strings.Contains(message, "\n") {
			message += "\n"
		}
		message += "\n" + strings.Join(s.as.Trailers, "\n")
	}
	return message + "\n"
}

// nextRef returns the reference of the next number. A slower writer finds it taken and reads again.
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

func documentNumber(ref, prefix string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(ref, prefix))
	if err != nil || n < 0 || strconv.Itoa(n) != strings.TrimPrefix(ref, prefix) {
		return 0
	}
	return n
}

// retryStale calls do until no other writer is faster. It must not be nested.
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
