package status

import (
	"slices"
	"time"
)

// Level is the severity of a finding.
type Level string

// The levels of findings.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn" // the daemon works, but something may fail later
	LevelFail Level = "fail" // the daemon cannot work
)

// Finding is the result of a check of the set-up.
type Finding struct {
	Level   Level  `json:"level"`
	Subject string `json:"what"` // "https://git.example.com/team/fleet: push"
	Message string `json:"says"`
	Hint    string `json:"hint,omitempty"` // only empty for level "ok"
}

// Examination is the last check of the set-up.
type Examination struct {
	// When is zero before the first check.
	When     time.Time `json:"when,omitzero"`
	Findings []Finding `json:"findings"`
}

// SetExamination replaces the last check of the set-up.
func (s *Store) SetExamination(e Examination) {
	e.Findings = slices.Clone(e.Findings)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.examination = e
	s.announceChange()
}
