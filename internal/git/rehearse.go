package git

import "github.com/fairlead-io/fairlead/internal/git/pack"

// Rehearsal is a push that is shown instead of made.
type Rehearsal struct {
	Repo    string // without a password
	Commits []Commit
	Updates []RefUpdate
}

// FindCommit returns a commit that was written for the push.
func (r Rehearsal) FindCommit(id string) (Commit, bool) {
	for _, c := range r.Commits {
		if own, err := c.ID(); err == nil && own == id {
			return c, true
		}
	}
	return Commit{}, false
}

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

func (m *Remote) rehearsePush(p *Pack, updates []RefUpdate) {
	r := Rehearsal{Repo: m.shown, Updates: updates}
	if p != nil {
		r.Commits = p.rehearsed
	}
	m.options.Rehearse(r)
}
