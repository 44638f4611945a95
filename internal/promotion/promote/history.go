package promote

// History is the commits of the base's branch.
type History struct {
	commits   []string // newest first
	positions map[string]position
}

// position is where a commit is in a history: commits[:newer] contain it, and it contains
// commits[older:].
type position struct {
	newer, older int
	isSide       bool // it is not one of the commits
}

// SideCommit is a commit that the base's branch contains outside of its first parents, because a
// merge brought it. An environment may have it, and never gets it.
type SideCommit struct {
	Commit string
	// Newer counts the commits of the line that contain it, and Older those that it does not
	// contain.
	Newer, Older int
}

// NewHistory returns the history of commits, newest first, each of which contains the ones after
// it.
func NewHistory(commits []string, beside ...SideCommit) History {
	h := History{commits: commits, positions: make(map[string]position, len(commits)+len(beside))}
	for i, c := range commits {
		h.positions[c] = position{newer: i, older: i + 1}
	}
	for _, b := range beside {
		h.positions[b.Commit] = position{b.Newer, b.Older, true}
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
func (h History) Contains(commit string) bool {
	_, ok := h.positions[commit]
	return ok
}

// IsNewer reports whether commit a is newer than b: whether it contains b. Any commit is newer than
// "".
func (h History) IsNewer(a, b string) bool {
	if b == "" {
		return h.Contains(a)
	}
	x, known := h.positions[a]
	y, too := h.positions[b]
	if !known || !too || a == b {
		return false
	}
	return x.older < y.newer || x.older == y.newer && !(x.isSide && y.isSide)
}

// Position returns how many commits contain one, and how many it does not contain; false if it is not in the
// history.
func (h History) Position(commit string) (newer, older int, known bool) {
	p, known := h.positions[commit]
	return p.newer, p.older, known
}

// newerCommits returns the commits that are newer than one, newest first: all if it is "", and none
// if it is not in the history.
func (h History) newerCommits(commit string) []string {
	if commit == "" {
		return h.commits
	}
	return h.commits[:h.positions[commit].newer]
}

// OldestNewer returns the oldest commit that is newer than one, which an environment with that
// commit has waited for longest; "" if there is none.
func (h History) OldestNewer(commit string) string {
	newer := h.newerCommits(commit)
	if len(newer) == 0 {
		return ""
	}
	return newer[len(newer)-1]
}

// reachedIndex returns the index of the newest commit that a commit of the history is or contains.
func (h History) reachedIndex(commit string) int {
	if p := h.positions[commit]; p.isSide {
		return p.older
	}
	return h.positions[commit].newer
}

// CountNewer returns how many commits are newer than one; 0 if it is not in the history.
func (h History) CountNewer(commit string) int { return h.positions[commit].newer }

// CommitsBetween returns the commits that are older than a and newer than b, newest first: all that
// are older than a if b is not one of the older ones, and none if a is not in the history.
func (h History) CommitsBetween(a, b string) []string {
	p, ok := h.positions[a]
	if !ok {
		return nil
	}
	if q, ok := h.positions[b]; ok && q.newer >= p.older {
		return h.commits[p.older:q.newer]
	}
	return h.commits[p.older:]
}

// Commits returns all commits of the history, newest first. The caller must not change them.
func (h History) Commits() []string { return h.commits }
