package session

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"sync"
	"time"
)

// endedSessions are signed-out sessions by mark. It is safe for concurrent use.
type endedSessions struct {
	file  string
	mu    sync.Mutex
	until map[string]time.Time // natural end of the session
}

func (e *endedSessions) load() error {
	if e.file == "" {
		return nil
	}
	text, err := os.ReadFile(e.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	err = json.Unmarshal(text, &e.until)
	if e.until == nil {
		e.until = map[string]time.Time{}
	}
	return err
}

// add also drops sessions past their natural end. After an error, the entry is lost at a restart.
func (e *endedSessions) add(mark string, until, now time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.until, func(_ string, end time.Time) bool { return !now.Before(end) })
	e.until[mark] = until
	if e.file == "" {
		return nil
	}
	text, err := json.Marshal(e.until)
	if err != nil {
		return err
	}
	err = os.WriteFile(e.file+".new", text, 0o600)
	if err != nil {
		return err
	}
	return os.Rename(e.file+".new", e.file)
}

func (e *endedSessions) has(mark string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ended := e.until[mark]
	return ended
}
