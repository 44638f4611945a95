package status

import (
	"fmt"
	"time"
)

// Unfinished is an environment whose work runs, or failed and is retried, since a time.
type Unfinished struct {
	Environment string    `json:"environment"`
	Since       time.Time `json:"since"`
}

// StartCycle records the start of a cycle.
func (s *Store) StartCycle(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = at
	if s.keptSince.IsZero() {
		s.keptSince = at
	}
}

// StartEnvironment returns the first start of work since the last success.
func (s *Store) StartEnvironment(environment string, at time.Time) (since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since, ok := s.unfinished[environment]; ok {
		return since
	}
	if s.unfinished == nil {
		s.unfinished = map[string]time.Time{}
	}
	s.unfinished[environment] = at
	return at
}

// FinishEnvironment records success.
func (s *Store) FinishEnvironment(environment string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unfinished, environment)
}

// FindOverdue returns environments unfinished for longer than after, and why the whole loop is
// late, or "".
func (s Snapshot) FindOverdue(now time.Time, after time.Duration) (environments []Unfinished, loop string) {
	environments = []Unfinished{}
	for _, u := range s.Unfinished {
		if now.Sub(u.Since) > after {
			environments = append(environments, u)
		}
	}
	switch {
	case !s.Began.IsZero() && now.Sub(s.Began) > after:
		loop = fmt.Sprintf("the cycle that began at %s has not ended", s.Began.UTC().Format(time.RFC3339))
	case s.Began.IsZero() && !s.Cycle.Next.IsZero() && now.Sub(s.Cycle.Next) > after:
		loop = fmt.Sprintf("the cycle that was due at %s has not begun", s.Cycle.Next.UTC().Format(time.RFC3339))
	}
	return environments, loop
}

// OverdueReason describes an overdue environment in one sentence.
func (s Snapshot) OverdueReason(u Unfinished) string {
	text := fmt.Sprintf("environment %s has not finished a cycle since %s", u.Environment, u.Since.UTC().Format(time.RFC3339))
	if e, ok := s.FindEnvironment(u.Environment); ok && e.State == Failed {
		text += ": " + e.Reason
	}
	return text
}
