package forge

import "sync"

// statusCache keeps the statuses that we have set, so that none is sent twice: forges
// keep every one that they are sent. The zero statusCache is ready to use, also
// concurrently.
type statusCache struct {
	mu       sync.Mutex
	statuses map[statusKey]Status
}

type statusKey struct{ commit, context string }

// maxCachedStatuses bounds how many statuses are remembered.
const maxCachedStatuses = 1024

// has reports whether the status of a commit was set to this last.
func (s *statusCache) has(commit string, status Status) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.statuses[statusKey{commit, status.Context}]
	return ok && last == status
}

// put remembers that the status of a commit was set.
func (s *statusCache) put(commit string, status Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.statuses == nil || len(s.statuses) >= maxCachedStatuses {
		s.statuses = map[statusKey]Status{}
	}
	s.statuses[statusKey{commit, status.Context}] = status
}
