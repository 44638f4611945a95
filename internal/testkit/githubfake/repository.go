package githubfake

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// repository is what GitHub knows of a repository besides its Git.
type repository struct {
	name     string // owner/name
	dir      string // of the bare repository
	items    map[int]*item
	statuses map[string][]*status // of a commit, oldest first
	checks   []*check             // oldest first
	runs     []*workflowRun       // oldest first
	settings Settings
}

// item is an issue or a pull request; they share their numbers.
type item struct {
	number      int
	title, body string
	labels      []string
	open        bool
	pull        *pull      // nil for an issue
	comments    []*comment // oldest first
}

type pull struct {
	headRepo   *repository
	head, base string // branches
	commit     string // at head, when it was last open
	merged     bool
	looked     [2]string // the commits of head and base for which we know that it is not merged
	auto       string    // how it is merged once nothing is missing; "" if it is not
	autoBy     string    // who wanted that
	draft      bool
	reviews    []*review // oldest first
}

func (r *repository) ownerName() string {
	owner, _, _ := strings.Cut(r.name, "/")
	return owner
}

// addItem adds an issue or pull request.
func (r *repository) addItem(i item) *item {
	i.number, i.open = len(r.items)+1, true
	r.items[i.number] = &i
	return &i
}

func (r *repository) newestItems(want func(*item) bool) []*item {
	var all []*item
	for _, i := range r.items {
		if want(i) {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b *item) int { return cmp.Compare(b.number, a.number) })
	return all
}

func (s *Server) readRefs(r *repository) map[string]string { return gittest.Refs(s.t, r.dir) }

func (s *Server) isAhead(r *repository, of, commit string) bool {
	return gittest.Git(s.t, r.dir, "rev-list", "--count", of+".."+commit) != "0"
}

// updatePulls brings open pull requests up to what Git says: their branches have moved or
// are gone, or what they bring is in the base, by whatever way.
func (s *Server) updatePulls(r *repository) {
	refs := s.readRefs(r)
	for _, i := range r.items {
		if i.pull == nil || !i.open {
			continue
		}
		theirs := refs
		if i.pull.headRepo != r {
			theirs = s.readRefs(i.pull.headRepo)
		}
		head, base := theirs["refs/heads/"+i.pull.head], refs["refs/heads/"+i.pull.base]
		if head == "" || base == "" {
			i.open = false
			continue
		}
		i.pull.commit = head
		if at := [2]string{head, base}; at != i.pull.looked {
			i.pull.looked = at
			i.pull.merged = i.pull.headRepo == r && !s.isAhead(r, base, head)
			i.open = !i.pull.merged
		}
	}
	s.mergeWaiting(r)
}

func (s *Server) listPulls(c call) reply {
	q := c.query
	all := c.repo.newestItems(func(i *item) bool {
		return i.pull != nil && inState(i, q.Get("state")) && fromHead(i.pull, q.Get("head")) &&
			(q.Get("base") == "" || q.Get("base") == i.pull.base)
	})
	return s.pageOf(q, sortedItems(q, all, func(i *item) any { return c.repo.pullObject(i, false) }))
}

// fromHead is GitHub's filter: a head that does not name an owner is ignored.
func fromHead(p *pull, head string) bool {
	owner, branch, ok := strings.Cut(head, ":")
	return !ok || strings.EqualFold(owner, p.headRepo.ownerName()) && branch == p.head
}

func inState(i *item, state string) bool {
	switch state {
	case "all":
		return true
	case "closed":
		return !i.open
	}
	return i.open
}

// sortedItems returns the items of a list in the order that was asked for.
func sortedItems(q url.Values, items []*item, show func(*item) any) []any {
	if q.Get("direction") == "asc" {
		slices.Reverse(items)
	}
	all := []any{}
	for _, i := range items {
		all = append(all, show(i))
	}
	return all
}

func (s *Server) openPull(c call) reply {
	head, base := c.textField("head"), c.textField("base")
	from := c.repo
	if owner, branch, ok := strings.Cut(head, ":"); ok {
		_, name, _ := strings.Cut(c.repo.name, "/")
		from, head = s.repositories[strings.ToLower(owner+"/"+name)], branch
		if from == nil {
			return newFailure(http.StatusUnprocessableEntity, "Validation Failed", object{"resource": "PullRequest", "field": "head", "code": "invalid"})
		}
	}
	var said item
	if r := s.editItem(c, &said); r.status != http.StatusOK {
		return r
	}
	i, bad := s.newPull(c.repo, from, head, base)
	if bad != nil {
		return *bad
	}
	i.title, i.body = said.title, said.body
	return reply{status: http.StatusCreated, value: c.repo.pullObject(i, true)}
}

func (s *Server) newPull(r, from *repository, head, base string) (*item, *reply) {
	commit, to := s.readRefs(from)["refs/heads/"+head], s.readRefs(r)["refs/heads/"+base]
	for name, id := range map[string]string{"head": commit, "base": to} {
		if id == "" {
			bad := newFailure(http.StatusUnprocessableEntity, "Validation Failed", object{"resource": "PullRequest", "field": name, "code": "invalid"})
			return nil, &bad
		}
	}
	for _, i := range r.items {
		if p := i.pull; p != nil && i.open && p.headRepo == from && p.head == head && p.base == base {
			bad := newInvalid("PullRequest", "A pull request already exists for "+from.ownerName()+":"+head+".")
			return nil, &bad
		}
	}
	if from == r && !s.isAhead(r, to, commit) {
		bad := newInvalid("PullRequest", "No commits between "+base+" and "+head)
		return nil, &bad
	}
	return r.addItem(item{pull: &pull{headRepo: from, head: head, base: base, commit: commit, looked: [2]string{commit, to}}}), nil
}

func (s *Server) editItem(c call, i *item) reply {
	if title, ok := c.fields["title"].(string); ok {
		if len([]rune(title)) > 256 {
			return newInvalid("Issue", "title is too long (maximum is 256 characters)")
		}
		i.title = title
	}
	if body, ok := c.fields["body"].(string); ok {
		if len([]rune(body)) > 65536 {
			return newInvalid("Issue", "body is too long (maximum is 65536 characters)")
		}
		i.body = body
	}
	switch state := c.textField("state"); {
	case state == "open" && !i.open && i.pull != nil && i.pull.merged:
		return newInvalid("PullRequest", "state cannot be changed. The pull request was merged.")
	case state != "":
		i.open = state == "open"
	}
	return reply{status: http.StatusOK}
}

func (r *repository) pageURL(kind string, number int) string {
	return "https://github.example/" + r.name + "/" + kind + "/" + strconv.Itoa(number)
}
