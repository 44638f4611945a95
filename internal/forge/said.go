package forge

import "sync"

// Said remembers the statuses that we have set, for forges that keep every one that
// they are sent: the same is not said twice. It may be forgotten. The zero Said is
// ready to be used, also concurrently.
type Said struct {
	mu sync.Mutex
	of map[saidKey]Status
}

type saidKey struct{ commit, context string }

// maxSaid bounds how many statuses are remembered.
const maxSaid = 1024

// Already reports whether the status of a commit was set to this last.
func (s *Said) Already(commit string, status Status) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.of[saidKey{commit, status.Context}]
	return ok && last == status
}

// Note remembers that the status of a commit was set.
func (s *Said) Note(commit string, status Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil || len(s.of) >= maxSaid {
		s.of = map[saidKey]Status{}
	}
	s.of[saidKey{commit, status.Context}] = status
}
