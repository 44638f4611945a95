package gitlabfake

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// project is what GitLab knows of a project besides its Git.
type project struct {
	id       int64
	path     string // group/name
	dir      string // of the bare repository
	items    []*item
	statuses map[string][]Status // of a commit, oldest first
	runs     []*pipeline         // oldest first

	needsPipeline bool // nothing is merged whose pipeline has not succeeded
}

// item is an issue or a merge request. Each of both kinds has its own iids.
type item struct {
	id                 int64
	iid                int
	title, description string
	labels             []string
	state              string  // opened, closed, merged
	merge              *merge  // nil for an issue
	notes              []*note // oldest first
	approvals          []approval
}

type merge struct {
	from           *project
	source, target string // branches
	commit         string // at the source, when it was last open
	merged         string // the commit that it became
	ahead          bool   // whether there was something to merge
	conflict       bool
	auto           bool      // it is merged once its pipeline has succeeded
	looked         [2]string // the commits of source and target for which we know that; empty at first
	versions       []version // oldest first
}

// Status is what was said about a commit.
type Status struct {
	Name, State, Description, URL string

	AllowFailure bool   // the pipeline goes on if it fails
	Pipeline     int    // which one it is in; 0 is that of what comes from outside
	By           string // login
	id           int64
	when         string
}

// addProject makes a project of a repository. The caller holds the lock, as in all below.
func (s *Server) addProject(path string) *project {
	s.ids++
	p := &project{id: s.ids, path: path, dir: s.Git.Dir(path), statuses: map[string][]Status{}}
	s.projects = append(s.projects, p)
	return p
}

// findProject returns a project by its id or its path, in which each slash is escaped.
func (s *Server) findProject(part string) *project {
	name, err := url.PathUnescape(part)
	if err != nil {
		return nil
	}
	for _, p := range s.projects {
		if strings.EqualFold(p.path, name) || strconv.FormatInt(p.id, 10) == name {
			return p
		}
	}
	return nil
}

func (p *project) findItem(merging bool, iid string) *item {
	for _, i := range p.items {
		if (i.merge != nil) == merging && strconv.Itoa(i.iid) == iid {
			return i
		}
	}
	return nil
}

func (s *Server) addItem(p *project, i item) *item {
	s.ids += 7 // others use the server too
	i.id, i.iid, i.state = s.ids, 1, "opened"
	for _, other := range p.items {
		if (other.merge == nil) == (i.merge == nil) {
			i.iid++
		}
	}
	p.items = append(p.items, &i)
	return &i
}

func (p *project) newest(merging bool, state string, want func(*item) bool) (all []*item) {
	for _, i := range slices.Backward(p.items) {
		if (i.merge != nil) == merging && (state == "" || state == "all" || state == i.state) && want(i) {
			all = append(all, i)
		}
	}
	return all
}

func (s *Server) readRefs(p *project) map[string]string { return gittest.Refs(s.t, p.dir) }

// ahead reports whether a commit has something that another has not.
func (s *Server) ahead(p *project, of, commit string) bool {
	return gittest.Git(s.t, p.dir, "rev-list", "--count", of+".."+commit) != "0"
}

// updateMerges brings open merge requests up to what Git says: one whose source is gone is
// closed, one whose commits are in the target is merged, by whatever way.
func (s *Server) updateMerges(p *project) {
	refs := s.readRefs(p)
	for _, i := range p.items {
		if i.merge == nil || i.state != "opened" {
			continue
		}
		m, theirs := i.merge, refs
		if m.from != p {
			theirs = s.readRefs(m.from)
		}
		at := [2]string{theirs["refs/heads/"+m.source], refs["refs/heads/"+m.target]}
		if at[0] == "" {
			i.state = "closed"
			continue
		}
		m.commit = at[0]
		if at == m.looked || at[1] == "" || m.from != p {
			continue
		}
		m.looked = at
		s.addVersion(p, i)
		ahead := s.ahead(p, at[1], at[0])
		if m.ahead && !ahead {
			i.state, m.merged = "merged", at[0]
		}
		m.ahead, m.conflict = ahead, s.hasConflict(p, at[1], at[0])
	}
	s.mergeWaiting(p)
}

func (s *Server) listMerging(c call) reply {
	is := func(name, branch string) bool { return c.said[name] == "" || c.said[name] == branch }
	return s.itemsPage(c, c.project.newest(true, c.said["state"], func(i *item) bool {
		return is("source_branch", i.merge.source) && is("target_branch", i.merge.target)
	}))
}

func (s *Server) openMerging(c call) reply {
	i, bad := s.newMerging(c.project, c.project, c.said["source_branch"], c.said["target_branch"])
	if bad != nil {
		return *bad
	}
	if r := s.change(c, i); r.status != http.StatusOK {
		c.project.items = slices.DeleteFunc(c.project.items, func(other *item) bool { return other == i })
		return r
	}
	return reply{status: http.StatusCreated, value: itemObject(c.project, i)}
}

// newMerging opens a merge request, even if there is nothing to merge.
func (s *Server) newMerging(p, from *project, source, target string) (*item, *reply) {
	refuse := func(status int, message any) (*item, *reply) {
		r := newFailure(status, message)
		return nil, &r
	}
	commit, to := s.readRefs(from)["refs/heads/"+source], s.readRefs(p)["refs/heads/"+target]
	switch {
	case p == from && source == target:
		return refuse(http.StatusUnprocessableEntity, []string{"You can't use same project/branch for source and target"})
	case commit == "":
		return refuse(http.StatusBadRequest, object{"source_branch": []string{"does not exist"}})
	case to == "":
		return refuse(http.StatusBadRequest, object{"target_branch": []string{"does not exist"}})
	}
	for _, i := range p.items {
		if m := i.merge; m != nil && i.state == "opened" && m.from == from && m.source == source && m.target == target {
			return refuse(http.StatusConflict, []string{fmt.Sprintf("Another open merge request already exists for this source branch: !%d", i.iid)})
		}
	}
	ahead := from != p || s.ahead(p, to, commit)
	i := s.addItem(p, item{merge: &merge{from: from, source: source, target: target, commit: commit, ahead: ahead}})
	s.addVersion(p, i)
	return i, nil
}

func (s *Server) listIssues(c call) reply {
	return s.itemsPage(c, c.project.newest(false, c.said["state"], func(i *item) bool {
		for name := range strings.SplitSeq(c.said["labels"], ",") {
			if name != "" && !slices.Contains(i.labels, name) {
				return false
			}
		}
		return true
	}))
}

func (s *Server) openIssue(c call) reply {
	i := s.addItem(c.project, item{})
	if r := s.change(c, i); r.status != http.StatusOK {
		return r
	}
	return reply{status: http.StatusCreated, value: itemObject(c.project, i)}
}

func (s *Server) readItem(c call) reply {
	o := itemObject(c.project, c.item)
	if c.item.merge != nil {
		o["head_pipeline"] = nil
		if now := c.project.pipelineStatus(c.item.merge.commit); now != "" {
			o["head_pipeline"] = object{"id": 1, "sha": c.item.merge.commit, "status": now}
		}
		v := c.item.merge.versions[len(c.item.merge.versions)-1]
		o["diff_refs"] = object{"base_sha": s.mergeBase(c.project, v), "start_sha": v.start, "head_sha": v.head}
	}
	return reply{status: http.StatusOK, value: o}
}

func (s *Server) editItem(c call) reply {
	if len(c.said) == 0 {
		return reply{status: http.StatusBadRequest, value: object{"error": "at least one parameter must be provided"}}
	}
	if r := s.change(c, c.item); r.status != http.StatusOK {
		return r
	}
	return s.readItem(c)
}

// action is a quick action in a description: it is done, and taken away.
var action = regexp.MustCompile(`(?mi)^/(close|reopen|merge|approve|title|label|assign|lock|draft|done|target_branch)\b.*\n?`)

func runActions(text string) (left, event string) {
	bare := strings.ReplaceAll(text, "\r", "")
	if !action.MatchString(bare) {
		return text, ""
	}
	return strings.TrimRight(action.ReplaceAllString(bare, ""), " \n"), strings.ToLower(action.FindStringSubmatch(bare)[1])
}

// applyEvent closes an item, or opens it again.
func (i *item) applyEvent(event string) {
	switch {
	case event == "close" && i.state == "opened":
		i.state = "closed"
	case event == "reopen" && i.state == "closed":
		i.state = "opened"
	}
}

// change makes an item as a request says.
func (s *Server) change(c call, i *item) reply {
	if title, ok := c.said["title"]; ok {
		if n := len([]rune(title)); n == 0 || n > 255 {
			return newFailure(http.StatusBadRequest, object{"title": []string{"is too long (maximum is 255 characters)"}})
		}
		i.title = strings.TrimSpace(title)
	}
	event := c.said["state_event"]
	if text, ok := c.said["description"]; ok {
		said := ""
		i.description, said = runActions(text)
		event = cmp.Or(event, said)
	}
	i.applyEvent(event)
	if names, ok := c.said["labels"]; ok && s.Reporter {
		i.labels = nil
		i.addLabels(names)
	}
	if s.Reporter {
		i.addLabels(c.said["add_labels"])
	}
	gone := strings.Split(c.said["remove_labels"], ",")
	i.labels = slices.DeleteFunc(i.labels, func(name string) bool { return slices.Contains(gone, name) })
	return reply{status: http.StatusOK}
}

// addLabels adds labels, which have commas between them; GitLab makes those that there
// are not yet.
func (i *item) addLabels(names string) {
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		if name != "" && !slices.Contains(i.labels, name) {
			i.labels = append(i.labels, name)
		}
	}
	slices.Sort(i.labels)
}

// addStatus adds a status of a commit. A status that is not over is changed; one
// that is over gets a successor.
func (s *Server) addStatus(c call) reply {
	sha := c.last
	if !slices.Contains(strings.Fields(gittest.Git(s.t, c.project.dir, "rev-list", "--branches")), sha) {
		return newFailure(http.StatusNotFound, "404 References for commit Not Found")
	}
	now := Status{
		Name: cmp.Or(c.said["name"], c.said["context"], "default"), State: c.said["state"], Description: c.said["description"], URL: c.said["target_url"],
		By: "fairlead",
	}
	if len([]rune(now.Description)) > 255 {
		return newFailure(http.StatusBadRequest, object{"description": []string{"is too long (maximum is 255 characters)"}})
	}
	all := c.project.statuses[sha]
	s.ids++
	now.id, now.when = s.ids, s.nextTime()
	last := slices.IndexFunc(all, func(old Status) bool {
		return old.Name == now.Name && old.Pipeline == now.Pipeline && (old.State == "pending" || old.State == "running")
	})
	switch {
	case last < 0:
		all = append(all, now)
	case now.State == "pending":
		return newFailure(http.StatusBadRequest,
			fmt.Sprintf(`Cannot transition status via :enqueue from :%s (Reason(s): Status cannot transition via "enqueue")`, all[last].State))
	default:
		now.URL, now.id = cmp.Or(now.URL, all[last].URL), all[last].id
		all[last] = now
	}
	c.project.statuses[sha] = all
	return reply{status: http.StatusCreated, value: now.object(sha)}
}
