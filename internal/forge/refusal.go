package forge

import (
	"fmt"
	"strings"
	"time"
)

// RateLimit is the error for a request that a forge does not take for a while.
type RateLimit struct {
	Until time.Time
}

// Error names the time when requests are taken again.
func (r *RateLimit) Error() string {
	return "the forge takes no more requests until " + r.Until.UTC().Format(time.RFC3339)
}

// Refusal is an answer of a forge that is not what was asked for.
type Refusal struct {
	Operation string // was to be done
	Reason    string // by the forge, in one line
	Advice    string // what to do about it
	Kind      error  // ErrNotFound and so on; nil if it is none of them
	Again     bool   // the same request may succeed a moment later
}

// Error names the operation and the reason.
func (r *Refusal) Error() string {
	if r.Kind != nil {
		return fmt.Sprintf("%s: %v: %s", r.Operation, r.Kind, r.Reason)
	}
	return fmt.Sprintf("%s: %s", r.Operation, r.Reason)
}

// Unwrap returns the kind.
func (r *Refusal) Unwrap() error { return r.Kind }

// Hint returns the advice.
func (r *Refusal) Hint() string { return r.Advice }

// OneLine makes a text one line of at most so many characters.
func OneLine(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// RenamedError returns the error for a repository that the forge now calls otherwise.
// kind is what the forge calls a repository.
func RenamedError(kind, repo, now string) *Refusal {
	return &Refusal{Operation: "read " + repo, Reason: "the " + kind + " is now called " + OneLine(now, maxQuote), Advice: "write its new name into the settings"}
}
