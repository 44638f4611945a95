package publish

import "sync"

// Witness knows where this process has left the branches that it proposes from, so that it notices another Fairlead, with
// a data folder of its own, that proposes from them too. The zero value knows of no branch, and nil notices nothing. It is
// safe for use by several goroutines.
type Witness struct {
	// Tell is called once, with the first commit of another Fairlead and its branch.
	Tell func(branch, commit string)

	mu   sync.Mutex
	left map[string]string // commits by branch; "" for a branch that was not there
	told bool
}

// noticeCommit notes where a branch is. made reports whether Fairlead has made the commit.
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

// leaveBranch notes that this process has a branch be at a commit.
func (t *Witness) leaveBranch(branch, commit string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noteCommit(branch, commit)
}

// forgetBranch has it not known where a branch is.
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
