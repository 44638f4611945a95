package status

import (
	"slices"
	"time"
)

// Level is the severity of a finding.
type Level string

// The levels.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn" // the daemon works without it, or it may fail later
	LevelFail Level = "fail" // the daemon cannot do its work
)

// Finding is the result of a check of the set-up.
type Finding struct {
	Level   Level  `json:"level"`
	Subject string `json:"what"` // "https://git.example.com/team/fleet: push"
	Message string `json:"says"`
	Hint    string `json:"hint,omitempty"` // never "" if the level is not OK
}

// Examination is what was found when the set-up was checked last.
type Examination struct {
	// When is zero before the first time.
	When     time.Time `json:"when,omitzero"`
	Findings []Finding `json:"findings"`
}

// SetExamination replaces what was found when the set-up was checked.
func (s *Store) SetExamination(e Examination) {
	e.Findings = slices.Clone(e.Findings)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.examination = e
	s.announceChange()
}
