package githubfake

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// Proposed is a pull request of a person.
type Proposed struct {
	From        string // owner/name of the repository that has the branch; "" for the same one
	Head, Base  string
	Title, Body string
	Draft       bool
}

// withRepository runs do in a repository, as it is now.
func (s *Server) withRepository(repo string, do func(*repository)) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repositories[strings.ToLower(repo)]
	if r == nil {
		s.t.Fatalf("there is no repository %s", repo)
	}
	s.updatePulls(r)
	do(r)
}

// Fork makes a copy of a repository, with all branches, for another owner.
func (s *Server) Fork(repo, owner string) string {
	s.t.Helper()
	_, name, _ := strings.Cut(repo, "/")
	fork := owner + "/" + name
	gittest.Git(s.t, s.Git.Root, "clone", "-q", "--bare", s.Git.Dir(repo), s.Git.Dir(fork))
	s.addRepository(fork)
	return fork
}

// Propose opens a pull request as a person does, and returns its number.
func (s *Server) Propose(repo string, p Proposed) (number int) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) {
		from := r
		if p.From != "" {
			from = s.repositories[strings.ToLower(p.From)]
		}
		i, bad := s.newPull(r, from, p.Head, p.Base)
		if bad != nil {
			s.t.Fatalf("open a pull request: %v", bad.value)
		}
		i.title, i.body, i.pull.draft = p.Title, p.Body, p.Draft
		number = i.number
	})
	return number
}

// Merge merges a pull request with a merge commit, or its changes as one commit.
func (s *Server) Merge(repo string, number int, squash bool) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) {
		i := r.items[number]
		if i == nil || i.pull == nil || !i.open || i.pull.headRepo != r {
			s.t.Fatalf("pull request %d of %s cannot be merged", number, repo)
		}
		s.createMerge(r, i, squash)
	})
}

// SetOpen closes or opens an issue or a pull request.
func (s *Server) SetOpen(repo string, number int, open bool) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) { r.items[number].open = open })
}

// Retarget makes an open pull request one for another branch.
func (s *Server) Retarget(repo string, number int, base string) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) { r.items[number].pull.base = base })
}

// Set makes the settings of a repository.
func (s *Server) Set(repo string, o Settings) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) { r.settings = o })
}

// Remark comments on an issue or a pull request.
func (s *Server) Remark(repo string, number int, body string) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) { s.newComment(r.items[number], "alice", body) })
}

// Comments returns the comments of an issue or a pull request, oldest first.
func (s *Server) Comments(repo string, number int) (all []string) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) {
		for _, one := range r.items[number].comments {
			all = append(all, one.body)
		}
	})
	return all
}

// Write writes the body of an issue or a pull request.
func (s *Server) Write(repo string, number int, body string) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) { r.items[number].body = body })
}

// Label adds labels to an issue or a pull request.
func (s *Server) Label(repo string, number int, names ...string) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) {
		for _, name := range names {
			addTo(r.items[number], []any{name})
		}
	})
}

// Labels returns the labels of an issue or a pull request, sorted.
func (s *Server) Labels(repo string, number int) (names []string) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) { names = slices.Sorted(slices.Values(r.items[number].labels)) })
	return names
}

// Newest returns the number of the newest issue or pull request.
func (s *Server) Newest(repo string) (number int) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) { number = len(r.items) })
	return number
}

// Copies opens many pull requests that are as another one, and closed.
func (s *Server) Copies(repo string, number, times int) {
	s.t.Helper()
	s.withRepository(repo, func(r *repository) {
		for range times {
			of := *r.items[number]
			of.pull = &pull{headRepo: of.pull.headRepo, head: of.pull.head, base: of.pull.base, commit: of.pull.commit}
			r.addItem(of).open = false
		}
	})
}
