package promote

// History is the commits of the base's branch.
type History struct {
	commits []string // newest first
	places  map[string]spot
}

// position is where a commit is in a history: commits[:newer] contain it, and it contains
// commits[older:].
type spot struct {
	newer, older int
	beside       bool // it is not one of the commits
}

// SideCommit is a commit that the base's branch contains outside of its first parents, because a
// merge brought it. An environment may have it, and never gets it.
type Beside struct {
	Commit string
	// Newer counts the commits of the line that contain it, and Older those that it does not
	// contain.
	Newer, Older int
}

// NewHistory returns the history of commits, newest first, each of which contains the ones after
// it.
func NewHistory(commits []string, beside ...Beside) History {
	h := History{commits: commits, places: make(map[string]spot, len(commits)+len(beside))}
	for i, c := range commits {
		h.places[c] = spot{newer: i, older: i + 1}
	}
	for _, b := range beside {
		h.places[b.Commit] = spot{b.Newer, b.Older, true}
	}
	return h
}

// Head returns the newest commit; "" if there is none.
func (h History) Head() string {
	if len(h.commits) == 0 {
		return ""
	}
	return h.commits[0]
}

// Contains reports whether a commit is in the history.
func (h History) Has(commit string) bool {
	_, ok := h.places[commit]
	return ok
}

// IsNewer reports whether commit a is newer than b: whether it contains b. Any commit is newer than
// "".
func (h History) Newer(a, b string) bool {
	if b == "" {
		return h.Has(a)
	}
	x, known := h.places[a]
	y, too := h.places[b]
	if !known || !too || a == b {
		return false
	}
	return x.older < y.newer || x.older == y.newer && !(x.beside && y.beside)
}

// newerCommits returns the commits that are newer than one, newest first: all if it is "", and none
// if it is not in the history.
func (h History) after(commit string) []string {
	if commit == "" {
		return h.commits
	}
	return h.commits[:h.places[commit].newer]
}

// reachedIndex returns the index of the newest commit that a commit of the history is or contains.
func (h History) reached(commit string) int {
	if p := h.places[commit]; p.beside {
		return p.older
	}
	return h.places[commit].newer
}

// CountNewer returns how many commits are newer than one; 0 if it is not in the history.
func (h History) Behind(commit string) int { return h.places[commit].newer }

// CommitsBetween returns the commits that are older than a and newer than b, newest first: all that
// are older than a if b is not one of the older ones, and none if a is not in the history.
func (h History) Between(a, b string) []string {
	p, ok := h.places[a]
	if !ok {
		return nil
	}
	if q, ok := h.places[b]; ok && q.newer >= p.older {
		return h.commits[p.older:q.newer]
	}
	return h.commits[p.older:]
}

// Commits returns all commits of the history, newest first. The caller must not change them.
func (h History) Commits() []string { return h.commits }

// ShortID returns the beginning of a commit's id, for people.
func Short(commit string) string { return commit[:min(7, len(commit))] }
