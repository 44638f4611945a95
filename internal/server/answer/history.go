package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// HistoryEntries is how many entries a page of the history has.
const HistoryEntries = 50

// HistoryFilter selects what was done; "" and zero are any. Pages are counted from 1.
type HistoryFilter struct {
	Environment, Who, Action, Text string
	Since, Until                   time.Time
	Forced                         bool
	Page                           int
	All                            bool // on one page
}

// History is the answer of /api/v1/history: what people and Fairlead did, from Git alone.
type History struct {
	// At is the time up to which it goes, as it was written; "" for now.
	At string `json:"at,omitempty"`
	// Total counts what was asked for, of which Items has one page, the newest first.
	Total int            `json:"total"`
	Page  int            `json:"page"`
	Items []HistoryEntry `json:"items"`
	// Unread are repositories that do not tell now who merged and closed their pull requests.
	Unread []history.Unread `json:"unread,omitempty"`
	// People and Actions are those of the whole history, up to that time.
	People  []string `json:"people"`
	Actions []string `json:"actions"`
}

// HistoryEntry is one thing that a person or Fairlead did.
type HistoryEntry struct {
	history.Entry
	URL string `json:"url,omitempty"` // of the commit that did it, or of the pull request
	// FromCommit is the commit of the base that the environment had, and ToCommit the one that it got.
	FromCommit *Commit `json:"fromCommit,omitempty"`
	ToCommit   *Commit `json:"toCommit,omitempty"`
	// LaneCommits are the commits of Lanes, in their order; those of which there is none have no id.
	LaneCommits []Commit `json:"laneCommits,omitempty"`
	// OwnCommit is the commit of the environment's branch that a merge brought which brought none of the base.
	OwnCommit *Commit `json:"ownCommit,omitempty"`
}

// History returns what was done, as a filter asks for it.
func (s Source) History(all history.Log, f HistoryFilter) History {
	answer := History{At: s.At, Unread: all.Unread, Items: []HistoryEntry{}, People: []string{}, Actions: []string{}}
	var selected []history.Entry
	for _, e := range all.Entries {
		if e.Who != "" {
			answer.People = list.AddMissing(answer.People, e.Who)
		}
		answer.Actions = list.AddMissing(answer.Actions, e.Action)
		e.From, e.To = s.findRendered(e.From), s.findRendered(e.To)
		if f.selects(e, s.Snapshot.Chain.FindCommit(e.To)) {
			selected = append(selected, e)
		}
	}
	slices.Sort(answer.People)
	slices.Sort(answer.Actions)
	answer.Total = len(selected)
	if !f.All {
		selected, answer.Page = pageOf(selected, f.Page, HistoryEntries)
	}
	for _, e := range selected {
		own := s.describeCommit(e.Own.ID)
		if own != nil {
			own.URL = giturl.CommitPage(s.findRepo(e.Environment), own.ID)
			own.Subject, own.Author, own.When = CleanText(e.Own.Subject()), CleanText(e.Own.Author.Name), e.Own.When
		}
		lanes := list.Convert(e.Lanes, func(l history.LaneVersion) Commit { return *cmp.Or(s.describeCommit(l.Commit), &Commit{}) })
		answer.Items = append(answer.Items, HistoryEntry{e, cmp.Or(e.URL, giturl.CommitPage(e.Repo, e.Commit)), s.describeCommit(e.From), s.describeCommit(e.To), lanes, own})
	}
	return answer
}

// findRendered returns the commit that an environment has whose output was rendered from another one: the newest before
// it that changes what is rendered. An environment that was not promoted to yet is rendered from the newest of all.
func (s Source) findRendered(id string) string {
	chain := s.Snapshot.Chain
	i := chain.IndexCommit(id)
	if i < 0 || !chain.Commits[i].Unrendered || chain.Commits[i].Beside == nil {
		return id
	}
	older := chain.Commits[i].Beside.Newer
	if older >= len(chain.Commits) || chain.Commits[older].Beside != nil { // it is not known
		return id
	}
	return chain.Commits[older].ID
}

// ListDriftEvents returns the events of drift: when it began and when it ended.
func ListDriftEvents(periods []fleetview.DriftPeriod) (all []history.Entry) {
	for _, p := range periods {
		e := history.Entry{Time: p.Since, Environment: p.Environment, Action: status.DriftAction, Clusters: p.Clusters, Reason: CleanText(p.Object + ": " + p.Message)}
		all = append(all, e)
		if !p.Until.IsZero() {
			e.Time, e.Since, e.Action, e.Reason = p.Until, p.Since, status.DriftEndedAction, p.Object
			all = append(all, e)
		}
	}
	return all
}

func (f HistoryFilter) selects(e history.Entry, to status.Commit) bool {
	text := strings.ToLower(strings.Join([]string{e.Who, e.Action, e.Title, e.Environment, e.Reason, e.Forced, e.From, e.To, e.Commit, to.Subject, to.Author}, " "))
	for _, l := range e.Lanes {
		text += strings.ToLower(" lane " + l.Lane + " " + l.Commit)
	}
	text += strings.ToLower(" " + strings.Join(e.Clusters, " "))
	if e.Pull > 0 {
		text += fmt.Sprintf(" pull request %d", e.Pull)
	}
	return (f.Environment == "" || e.Concerns(f.Environment)) && (f.Who == "" || strings.EqualFold(f.Who, e.Who)) && (f.Action == "" || f.Action == e.Action) &&
		(f.Since.IsZero() || !e.Time.Before(f.Since)) && (f.Until.IsZero() || e.Time.Before(f.Until)) && (!f.Forced || e.Forced != "") &&
		strings.Contains(text, strings.ToLower(f.Text))
}
