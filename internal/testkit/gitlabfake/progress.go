package gitlabfake

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// account is a user.
type account struct {
	id           int64
	login, email string // the address is shown to everybody
}

func (a account) object() object {
	return object{"id": a.id, "username": a.login, "name": strings.ToUpper(a.login), "state": "active", "public_email": a.email}
}

// approval is a yes of a user.
type approval struct{ login, when string }

// version is what a merge request's branch was at some time.
type version struct {
	id                int64
	head, start, when string // start is where the target was
}

// nextTime returns another second each time.
func (s *Server) nextTime() string {
	s.ticks++
	return time.Date(2026, time.January, 1, 0, 0, s.ticks, 0, time.UTC).Format("2006-01-02T15:04:05.000Z")
}

// findAccount returns a user, who is made if there is no such.
func (s *Server) findAccount(login string) *account {
	i := slices.IndexFunc(s.accounts, func(a account) bool { return a.login == login })
	if i < 0 {
		s.ids++
		i, s.accounts = len(s.accounts), append(s.accounts, account{id: s.ids, login: login})
	}
	return &s.accounts[i]
}

// addVersion notes down what a merge request's branch is now. GitLab moves the comments
// along that are at lines of files that are as they were, and notes below the others
// that their lines have changed.
func (s *Server) addVersion(p *project, i *item) {
	m := i.merge
	if n := len(m.versions); n > 0 && m.versions[n-1].head == m.commit {
		return
	}
	if m.from != p {
		gittest.Git(s.t, p.dir, "fetch", "-q", m.from.dir, m.commit)
	}
	s.ids++
	now := version{s.ids, m.commit, s.readRefs(p)["refs/heads/"+m.target], s.nextTime()}
	m.versions = append(m.versions, now)
	for _, n := range i.notes {
		switch {
		case n.place == nil:
		case s.readBlob(p, n.place.Head, n.place.NewPath) == s.readBlob(p, now.head, n.place.NewPath):
			n.place.Head, n.place.Start, n.place.Base = now.head, now.start, s.mergeBase(p, now)
		default:
			change := s.newNote(i, n.author, "changed this line in a version of the diff")
			change.thread, change.system = n.thread, true
		}
	}
}

func (s *Server) readBlob(p *project, commit, path string) string {
	return gittest.Git(s.t, p.dir, "ls-tree", commit, "--", path)
}

func (s *Server) mergeBase(p *project, v version) string {
	return gittest.Git(s.t, p.dir, "merge-base", v.start, v.head)
}

func (s *Server) listVersions(c call) reply {
	var all []any
	for _, v := range slices.Backward(c.item.merge.versions) {
		all = append(all, object{
			"id": v.id, "head_commit_sha": v.head, "start_commit_sha": v.start, "base_commit_sha": s.mergeBase(c.project, v), "created_at": v.when, "state": "collected",
		})
	}
	return s.allOnPage(c, all)
}

func (s *Server) readApprovals(c call) reply {
	by := []any{}
	for _, a := range c.item.approvals {
		by = append(by, object{"user": s.findAccount(a.login).object(), "approved_at": a.when})
	}
	return reply{status: http.StatusOK, value: object{"iid": c.item.iid, "approved": true, "approved_by": by}}
}

func (s *Server) readCommit(c call) reply {
	if !s.has(c.project, c.last) {
		return newFailure(http.StatusNotFound, "404 Commit Not Found")
	}
	show := strings.Split(gittest.Git(s.t, c.project.dir, "show", "-s", "--format=%an%n%ae%n%s", c.last), "\n")
	return reply{status: http.StatusOK, value: object{"id": c.last, "author_name": show[0], "author_email": show[1], "title": show[2]}}
}

func (s *Server) has(p *project, commit string) bool {
	return slices.Contains(strings.Fields(gittest.Git(s.t, p.dir, "rev-list", "--branches")), commit)
}

// findUsers finds by a part of a name, and by a whole address.
func (s *Server) findUsers(c call) reply {
	all := []any{}
	for _, a := range s.accounts {
		if text := c.said["search"]; strings.Contains(a.login, text) || text != "" && strings.EqualFold(a.email, text) {
			all = append(all, a.object())
		}
	}
	return s.allOnPage(c, all)
}

func (s *Server) listMembers(c call) reply {
	name, err := url.PathUnescape(c.parts[1])
	if _, ok := s.groups[name]; !ok || err != nil {
		return newFailure(http.StatusNotFound, "404 Group Not Found")
	}
	all := []any{}
	for group, logins := range s.groups {
		if group != name && !strings.HasPrefix(name, group+"/") {
			continue
		}
		for _, login := range logins {
			login, blocked := strings.CutPrefix(login, "-")
			member := s.findAccount(login).object()
			member["access_level"] = 30
			if blocked {
				member["state"] = "blocked"
			}
			all = append(all, member)
		}
	}
	slices.SortFunc(all, func(a, b any) int { return cmp.Compare(a.(object)["id"].(int64), b.(object)["id"].(int64)) })
	return s.allOnPage(c, all)
}

// listStatuses lists the latest status of each name in each pipeline.
func (s *Server) listStatuses(c call) reply {
	commit := c.parts[4]
	if !s.has(c.project, commit) {
		return newFailure(http.StatusNotFound, "404 Commit Not Found")
	}
	all := []any{}
	said := c.project.statuses[commit]
	for i, st := range said {
		later := slices.ContainsFunc(said[i+1:], func(o Status) bool { return o.Name == st.Name && o.Pipeline == st.Pipeline })
		if c.said["all"] == "true" || !later {
			all = append(all, st.object(commit))
		}
	}
	return s.allOnPage(c, all)
}

func (st Status) object(commit string) object {
	o := object{
		"id": st.id, "sha": commit, "name": st.Name, "status": st.State, "description": st.Description, "target_url": st.URL,
		"created_at": "2026-01-01T00:00:00.000Z", "started_at": nil, "finished_at": nil, "allow_failure": st.AllowFailure,
		"author": object{"id": 9, "username": st.By},
	}
	if st.State == "pending" {
		o["created_at"] = st.when
	} else {
		o["finished_at"] = st.when
	}
	return o
}
