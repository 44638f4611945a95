package git

import "github.com/fairlead-io/fairlead/internal/git/pack"

// Rehearsal is a push that is shown instead of made.
type Rehearsal struct {
	Repo    string   // without a password
	Commits []Commit // that were written for it
	Updates []RefUpdate
}

// FindCommit returns the commit that an update moves its reference to, if it was written for the push.
func (r Rehearsal) FindCommit(id string) (Commit, bool) {
	for _, c := range r.Commits {
		if own, err := c.ID(); err == nil && own == id {
			return c, true
		}
	}
	return Commit{}, false
}

// rehearsePack returns a pack that holds nothing but the ids of commits.
func rehearsePack(commits []Commit) (*Pack, error) {
	p := &Pack{Pack: &pack.Pack{}, rehearsed: commits}
	for _, c := range commits {
		id, err := c.ID()
		if err != nil {
			return nil, err
		}
		p.Commits = append(p.Commits, id)
	}
	return p, nil
}

// rehearsePush shows a push, and leaves the server and the mirror as they are.
func (m *Remote) rehearsePush(p *Pack, updates []RefUpdate) {
	r := Rehearsal{Repo: m.shown, Updates: updates}
	if p != nil {
		r.Commits = p.rehearsed
	}
	m.options.Rehearse(r)
}
