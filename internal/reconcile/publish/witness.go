package publish

import "sync"

// Witness remembers where this process left its branches, to detect another Fairlead with its own
// data folder. The zero value is ready; nil detects nothing. It is safe for concurrent use.
type Witness struct {
	// Tell is called once, with the first foreign commit and its branch.
	Tell func(branch, commit string)

	mu   sync.Mutex
	left map[string]string // commits by branch; "" for a missing branch
	told bool
}

func (t *Witness) noticeCommit(branch, commit string, made bool) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before, known := t.left[branch]
	if known && made && commit != before && !t.told {
		t.told = true
		t.Tell(branch, commit)
	}
	t.noteCommit(branch, commit)
}

func (t *Witness) leaveBranch(branch, commit string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noteCommit(branch, commit)
}

func (t *Witness) forgetBranch(branch string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.left, branch)
}

func (t *Witness) noteCommit(branch, commit string) {
	if t.left == nil {
		t.left = map[string]string{}
	}
	t.left[branch] = commit
}
