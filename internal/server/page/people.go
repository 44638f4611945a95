package page

import (
	"cmp"
	"slices"
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

// pullLevers are the levers of the pull request of an environment.
var pullLevers = []string{"approve-removals", "merge", "close", "reopen"}

// splitLines returns the lines of a text.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// NeedLevers returns what the reader may do about what an environment needs.
func (v overviewView) NeedLevers(n needView) []LeverLink {
	var all []LeverLink
	for _, name := range n.Need.Levers {
		for _, l := range slices.Concat(v.Levers[n.Environment], v.StackLevers[n.Environment]) {
			if l.Lever == name && l.Allowed {
				all = append(all, l)
			}
		}
	}
	return slices.Clip(all)
}
