package repos

import "strings"

// Scope is the set of repositories that a round polls.
type Scope struct {
	all  bool
	some map[string]bool // by normalized URL in lower case: forges ignore case
}

// All is the scope of a scheduled round.
var All = Scope{all: true}

// Only returns the scope of repositories by normalized URL; none polls nothing.
func Only(normal ...string) Scope {
	s := Scope{some: map[string]bool{}}
	for _, repo := range normal {
		s.some[strings.ToLower(repo)] = true
	}
	return s
}

// With returns the union.
func (s Scope) With(other Scope) Scope {
	both := Only()
	both.all = s.all || other.all
	for _, some := range []map[string]bool{s.some, other.some} {
		for repo := range some {
			both.some[repo] = true
		}
	}
	return both
}

// IsAll reports whether all repositories are polled.
func (s Scope) IsAll() bool { return s.all }
