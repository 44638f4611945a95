package answer

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// PullImpact is the answer of /api/v1/environments/{name}/pulls/{number}: what a pull request changes, or what it
// meant when it was merged or closed.
type PullImpact struct {
	Environment string `json:"environment"`
	// State is that of the environment; of a pull request that was merged or closed, its own.
	State    State             `json:"state"`
	Pull     status.Pull       `json:"pull"`
	Withheld []status.Withheld `json:"withheld,omitempty"`
	// Ended is "merged" or "closed"; "" while it is open. Reason is why, and By who did it; "" if it is not known.
	Ended  string `json:"ended,omitempty"`
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
	// From and To are the commits of the base before, and with it; nil if they are not known. Commits are those
	// that come with it, the newest first.
	From    *Commit  `json:"from,omitempty"`
	To      *Commit  `json:"to,omitempty"`
	Commits []Commit `json:"commits,omitempty"`
	// OwnCommits are those of the environment's branch that came with it, the newest first; of one that is open they are
	// not known.
	OwnCommits []Commit `json:"ownCommits,omitempty"`
	// Lost reports that Git has its commit no longer, so that nothing is known of what it changed.
	Lost bool `json:"lost,omitempty"`
	// Changes are the groups of the change by falling risk; nil if it is not known.
	Changes *PullChanges `json:"changes,omitempty"`
	// Text is what fairlead diff prints of it: deletions first.
	Text string `json:"text"`
}

// PullChanges is the change of a pull request: how much of what, and what becomes of it.
type PullChanges struct {
	ClusterTypes int           `json:"clusterTypes"`
	Workloads    int           `json:"workloads"`
	Assignments  impact.Counts `json:"assignments"`
	// Stacks counts the stacks with a change, and Components their components.
	Stacks     int           `json:"stacks,omitempty"`
	Components int           `json:"components,omitempty"`
	Files      impact.Counts `json:"files"`
	// Groups are changes of the same kind, by falling risk, and MoreGroups counts those that are not listed.
	Groups     []PullGroup `json:"groups"`
	MoreGroups int         `json:"moreGroups,omitempty"`
}

// PullGroup is one change, in as many places as Count says.
type PullGroup struct {
	Name         string   `json:"name"`
	Risk         string   `json:"risk,omitempty"` // "deletes", "unknown", or "" for neither
	Unit         string   `json:"unit"`
	Count        int      `json:"count"`
	ClusterTypes int      `json:"clusterTypes,omitempty"`
	Details      []string `json:"details,omitempty"`
	// Examples are some of the places.
	Examples []PullExample `json:"examples"`
	// Diff is the change in lines, in one of the places; "" if whole units come or go.
	Diff string `json:"diff,omitempty"`
}

// PullExample is a place that changes.
type PullExample struct {
	Path string `json:"path"`
	// ClusterType and Target are those of an assignment that has a page; "" for others.
	ClusterType string `json:"clusterType,omitempty"`
	Target      string `json:"target,omitempty"`
}

// maxGroups is how many groups of a change are listed.
const maxGroups = 100

// Pull returns what the open pull request of an environment changes, and whether there is one of that number.
func (s Source) Pull(name string, number int) (PullImpact, bool) {
	e, known := s.Snapshot.FindEnvironment(name)
	if !known || e.Pull == nil || e.Pull.Number != number || e.State == status.InSync {
		return PullImpact{}, false
	}
	one, _ := s.Environment(name)
	p := PullImpact{Environment: name, State: one.Situation.State, Pull: *e.Pull, Withheld: e.Withheld, Text: CleanText(e.Impact)}
	if e.Proposed != nil {
		p.Changes = s.newPullChanges(*e.Proposed)
		s.linkExamples(name, p.Changes.Groups)
	}
	stage, promoted := s.Snapshot.Chain.FindStage(name)
	if promoted && !stage.Merged {
		p.From, p.To = s.describeCommit(s.findRunning(stage)), s.describeCommit(stage.Commit)
		p.Commits = s.listCommits(s.findRunning(stage), stage.Commit)
	}
	return p, true
}

// listCommits returns the known commits of the base after one, and up to another one, the newest first.
func (s Source) listCommits(from, to string) (all []Commit) {
	older, newer := s.Snapshot.Chain.IndexCommit(from), s.Snapshot.Chain.IndexCommit(to)
	if newer < 0 || older < newer {
		return nil
	}
	for _, c := range s.Snapshot.Chain.Commits[newer:older] {
		if c.Beside == nil {
			all = append(all, *s.describeCommit(c.ID))
		}
	}
	return all
}

// IsStalePull reports whether a pull request is the open one of an environment that problems stop.
func (s Source) IsStalePull(name string, number int) bool {
	e, _ := s.Snapshot.FindEnvironment(name)
	return e.StalePull != nil && e.StalePull.Number == number
}

// PastPull returns what a pull request of an environment meant that was merged or closed, or what one changes that
// problems keep from being updated.
func (s Source) PastPull(name string, p history.Pull) PullImpact {
	reason, by := history.SplitAuthor(CleanText(p.Reason), CleanText(p.By))
	past := PullImpact{
		Environment: name, State: State{Good, string(p.State)}, Ended: string(p.State), Reason: reason, By: by,
		Pull: status.Pull{Number: p.Number, Title: CleanText(p.Title), URL: p.URL, Head: p.Commit},
		From: s.describeCommit(s.findRendered(p.From)), To: s.describeCommit(s.findRendered(p.To)), Changes: s.newPullChanges(p.Report), Text: CleanText(p.Report.Text()),
	}
	past.Lost = p.Lost
	if p.Lost {
		past.Changes, past.Text = nil, ""
	}
	switch p.State {
	case forge.Closed:
		past.State.Tone = Stopped
	case forge.Open: // of an environment that problems stop
		past.State.Tone, past.Ended = Waiting, ""
	case forge.Merged:
	}
	describe := func(c git.CommitInfo) Commit {
		known := *s.describeCommit(c.ID)
		known.Subject, known.Author, known.When, known.Unrendered = CleanText(c.Subject()), CleanText(c.Author.Name), c.When, slices.Contains(p.Unrendered, c.ID)
		return known
	}
	past.Commits, past.OwnCommits = list.Convert(p.Commits, describe), list.Convert(p.OwnCommits, describe)
	for i, c := range past.OwnCommits {
		past.OwnCommits[i].URL = giturl.CommitPage(s.findRepo(name), c.ID)
	}
	return past
}

func (s Source) newPullChanges(r impact.Report) *PullChanges {
	c := &PullChanges{ClusterTypes: r.ClusterTypes, Workloads: r.Workloads, Assignments: r.Assignments, Stacks: r.Stacks, Components: r.Components.Total(), Files: r.Files, Groups: []PullGroup{}, MoreGroups: max(0, len(r.Groups)-maxGroups)}
	for _, g := range r.Groups[:len(r.Groups)-c.MoreGroups] {
		one := PullGroup{Name: CleanText(g.Name), Risk: string(g.Risk), Unit: string(g.Unit), Count: g.Count, ClusterTypes: g.ClusterTypes, Examples: []PullExample{}, Diff: CleanText(g.Diff)}
		for _, d := range g.Details {
			one.Details = append(one.Details, CleanText(d))
		}
		for _, path := range g.Examples {
			one.Examples = append(one.Examples, PullExample{Path: CleanText(path)})
		}
		c.Groups = append(c.Groups, one)
	}
	return c
}

// linkExamples adds to the examples of groups the assignments that have pages now.
func (s Source) linkExamples(environment string, groups []PullGroup) {
	for _, g := range groups {
		for i, e := range g.Examples {
			clusterType, target, isPath := strings.Cut(e.Path, "/")
			if g.Unit != string(impact.Assignment) || !isPath {
				continue
			}
			if _, assigned, _ := s.findAssignment(environment, clusterType, target); assigned {
				g.Examples[i].ClusterType, g.Examples[i].Target = clusterType, target
			}
		}
	}
}
