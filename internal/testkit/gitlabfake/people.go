package gitlabfake

import (
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// Proposed is a merge request of a person.
type Proposed struct {
	From               string // path of the project that has the source; "" for the same one
	Source, Target     string // branches
	Title, Description string
}

// Merging is how a merge request is merged.
type Merging struct {
	Squash       bool // its changes become one commit
	RemoveSource bool // the source branch is removed afterwards
}

// withProject runs do in a project, as it is now.
func (s *Server) withProject(at string, do func(*project)) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.findProject(at)
	if p == nil {
		s.t.Fatalf("there is no project %s", at)
	}
	s.updateMerges(p)
	do(p)
}

// withMerge runs do with a merge request.
func (s *Server) withMerge(at string, iid int, do func(*project, *item)) {
	s.t.Helper()
	s.withProject(at, func(p *project) { do(p, s.known(p, true, iid)) })
}

func (s *Server) known(p *project, merging bool, iid int) *item {
	s.t.Helper()
	for _, i := range p.items {
		if (i.merge != nil) == merging && i.iid == iid {
			return i
		}
	}
	s.t.Fatalf("%s has no such item, %d", p.path, iid)
	return nil
}

// Fork makes a copy of a project, with all branches, in another group.
func (s *Server) Fork(at, group string) string {
	s.t.Helper()
	fork := group + "/" + path.Base(at)
	gittest.Git(s.t, s.Git.Root, "clone", "-q", "--bare", s.Git.Dir(at), s.Git.Dir(fork))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addProject(fork)
	return fork
}

// Propose opens a merge request as a person does, and returns its iid.
func (s *Server) Propose(at string, o Proposed) (iid int) {
	s.t.Helper()
	s.withProject(at, func(p *project) {
		from := p
		if o.From != "" {
			from = s.findProject(o.From)
		}
		i, bad := s.newMerging(p, from, o.Source, o.Target)
		if bad != nil {
			s.t.Fatalf("open a merge request: %v", bad.value)
		}
		i.title, i.description, iid = o.Title, o.Description, i.iid
	})
	return iid
}

// Merge merges a merge request with a merge commit, or its changes as one commit.
func (s *Server) Merge(at string, iid int, how Merging) {
	s.t.Helper()
	s.withMerge(at, iid, func(p *project, i *item) {
		if i.state != "opened" || i.merge.from != p {
			s.t.Fatalf("merge request %d of %s cannot be merged", iid, at)
		}
		s.mergeItem(p, i, how)
	})
}

// RequirePipeline lets nothing be merged whose pipeline has not succeeded.
func (s *Server) RequirePipeline(at string) {
	s.t.Helper()
	s.withProject(at, func(p *project) { p.needsPipeline = true })
}

// Remark comments on a merge request.
func (s *Server) Remark(at string, iid int, body string) {
	s.t.Helper()
	s.withMerge(at, iid, func(_ *project, i *item) { s.newNote(i, person, body) })
}

// Comments returns the comments on a merge request, oldest first.
func (s *Server) Comments(at string, iid int) (all []string) {
	s.t.Helper()
	s.withMerge(at, iid, func(_ *project, i *item) {
		for _, n := range i.notes {
			all = append(all, n.body)
		}
	})
	return all
}

// Close closes a merge request.
func (s *Server) Close(at string, iid int) {
	s.t.Helper()
	s.withMerge(at, iid, func(_ *project, i *item) { i.state = "closed" })
}

// Reopen opens a closed merge request again.
func (s *Server) Reopen(at string, iid int) {
	s.t.Helper()
	s.withMerge(at, iid, func(_ *project, i *item) { i.applyEvent("reopen") })
}

// Retarget makes a merge request one for another branch.
func (s *Server) Retarget(at string, iid int, target string) {
	s.t.Helper()
	s.withMerge(at, iid, func(_ *project, i *item) { i.merge.target = target })
}

// Write writes the description of a merge request.
func (s *Server) Write(at string, iid int, text string) {
	s.t.Helper()
	s.withMerge(at, iid, func(_ *project, i *item) { i.description = text })
}

// WriteIssue writes the description of an issue.
func (s *Server) WriteIssue(at string, iid int, text string) {
	s.t.Helper()
	s.withProject(at, func(p *project) { s.known(p, false, iid).description = text })
}

// Label adds labels to a merge request.
func (s *Server) Label(at string, iid int, names ...string) {
	s.t.Helper()
	s.withMerge(at, iid, func(_ *project, i *item) { i.addLabels(strings.Join(names, ",")) })
}

// Labels returns the labels of a merge request, sorted.
func (s *Server) Labels(at string, iid int) (names []string) {
	s.t.Helper()
	s.withMerge(at, iid, func(_ *project, i *item) { names = slices.Clone(i.labels) })
	return names
}

// Descriptions returns the descriptions of all merge requests as GitLab has them,
// oldest first.
func (s *Server) Descriptions(at string) (all []string) {
	s.t.Helper()
	s.withProject(at, func(p *project) {
		for _, i := range p.items {
			if i.merge != nil {
				all = append(all, i.description)
			}
		}
	})
	return all
}

// Newest returns the iid of the newest merge request.
func (s *Server) Newest(at string) (iid int) {
	s.t.Helper()
	s.withProject(at, func(p *project) {
		for _, i := range p.items {
			if i.merge != nil {
				iid = max(iid, i.iid)
			}
		}
	})
	return iid
}

// Copies opens many merge requests that are as another one, and closed.
func (s *Server) Copies(at string, iid, times int) {
	s.t.Helper()
	s.withMerge(at, iid, func(p *project, i *item) {
		for range times {
			of, m := *i, *i.merge
			of.merge = &m
			s.addItem(p, of).state = "closed"
		}
	})
}

// Rename moves a project. GitLab then redirects questions that have its old path,
// which is left to who asks.
func (s *Server) Rename(at, to string) {
	s.t.Helper()
	s.withProject(at, func(p *project) { p.path = to })
}

// Statuses returns all that was said about a commit, oldest first.
func (s *Server) Statuses(at, commit string) (all []Status) {
	s.t.Helper()
	s.withProject(at, func(p *project) { all = slices.Clone(p.statuses[commit]) })
	return all
}

// SayStatus sets a status of a commit, as a job or another user does.
func (s *Server) SayStatus(at, commit string, said Status) {
	s.t.Helper()
	s.withProject(at, func(p *project) {
		s.ids++
		said.id, said.when = s.ids, s.nextTime()
		p.statuses[commit] = append(p.statuses[commit], said)
	})
}

// Approve approves a merge request.
func (s *Server) Approve(at string, iid int, login string) {
	s.t.Helper()
	s.withMerge(at, iid, func(_ *project, i *item) {
		i.withdraw(login)
		i.approvals = append(i.approvals, approval{login, s.nextTime()})
	})
}

// RequestChanges asks for changes, with which an approval of that person ends.
func (s *Server) RequestChanges(at string, iid int, login string) {
	s.t.Helper()
	s.withMerge(at, iid, func(_ *project, i *item) { i.withdraw(login) })
}

func (i *item) withdraw(login string) {
	i.approvals = slices.DeleteFunc(i.approvals, func(a approval) bool { return a.login == login })
}

// Group makes a group, with who is in it itself; a - is before who is blocked.
func (s *Server) Group(path string, logins ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups[path] = logins
}

// Account returns a user an address that everybody sees.
func (s *Server) Account(login, email string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.findAccount(login).email = email
}
