package page

import (
	"cmp"
	"strings"
)

// Refused is the page of what is refused.
type Refused struct {
	Error, Hint string
	// Return is the path to which signing in again leads; "" for the one that was refused.
	Return string
}

// refusedView is the data of refused.html.
type refusedView struct {
	Refused
	SignIn bool   // whether the reader can sign in
	Path   string // of what was refused, with its query
}

// SignInFrom returns the path to which signing in leads.
func (v refusedView) SignInFrom() string { return cmp.Or(v.Return, v.Path) }

// Back returns the path of what was asked for, with what was typed; "" if it was an address alone.
func (v refusedView) Back() string {
	if v.Return != "" || !strings.Contains(v.Path, "?") {
		return ""
	}
	return strings.TrimPrefix(v.Path, "/")
}

// leverList is what the reader may do with an environment.
type leverList struct {
	Environment string
	Levers      []LeverLink
}

var pullLevers = []string{"approve-removals", "merge", "close", "reopen"}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
