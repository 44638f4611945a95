package promote

// History is the commits of the base's branch.
type History struct {
	commits []string // newest first
	at      map[string]int
}

// NewHistory makes a history of commits, newest first, each the first parent of the
// one before.
func NewHistory(commits []string) History {
	h := History{commits: commits, at: make(map[string]int, len(commits))}
	for i, c := range commits {
		h.at[c] = i
	}
	return h
}

// Head gives the newest commit; "" if there is none.
func (h History) Head() string {
	if len(h.commits) == 0 {
		return ""
	}
	return h.commits[0]
}

// Has reports whether a commit is in the history.
func (h History) Has(commit string) bool {
	_, ok := h.at[commit]
	return ok
}

// Newer reports whether commit a is newer than b; anything is newer than "".
func (h History) Newer(a, b string) bool {
	if b == "" {
		return h.Has(a)
	}
	i, known := h.at[a]
	j, too := h.at[b]
	return known && too && i < j
}

// after gives the commits that are newer than one, newest first; all if it is "", and
// none if it is not in the history.
func (h History) after(commit string) []string {
	if commit == "" {
		return h.commits
	}
	return h.commits[:h.at[commit]]
}

// Short gives the beginning of a commit's id, for people.
func Short(commit string) string { return commit[:min(7, len(commit))] }

// Commits gives all commits of the history, newest first. They must not be changed.
func (h History) Commits() []string { return h.commits }

// Older gives the commits that are older than one, newest first; none if it is not in
// the history.
func (h History) Older(commit string) []string {
	if !h.Has(commit) {
		return nil
	}
	return h.commits[h.at[commit]+1:]
}
