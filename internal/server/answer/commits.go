package answer

import (
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// What a commit is to an environment.
const (
	MarkHas      = "has"      // it is the one that the environment has
	MarkProposed = "proposed" // the environment was promoted to it, and its output is not merged yet
	MarkRuns     = "runs"     // the environment has it until a newer one is merged, which it was promoted to
	MarkIn       = "in"       // the environment had it, and has a newer one, which contains it
	MarkLane     = "lane"     // the environment does not have it as a whole, but all that it changes, by its lanes
	MarkWithin   = "within"   // the environment has a newer one, which contains it, and never had this one
	MarkBack     = "back"     // the environment had it, and was rolled back
	MarkNext     = "next"     // the environment gets it, or waits for it
	MarkWith     = "with"     // it comes with the one that the environment gets
	MarkLeftOut  = "skipped"  // the environment gets a newer one instead, which contains it
	MarkNot      = "not"      // the environment does not have it, and gets another first
	MarkNever    = "never"    // it changes nothing that is rendered, so that no environment gets it
	MarkUnknown  = "unknown"  // what the environment had in the past is not known
)

// MarkText returns what a commit is to an environment, where little room is.
func MarkText(mark string) string {
	switch mark {
	case MarkHas, MarkProposed, MarkLane:
		return "has it"
	case MarkRuns:
		return "runs"
	case MarkIn:
		return "has newer"
	case MarkWithin:
		return "left out"
	case MarkBack:
		return "gone back"
	case MarkNext:
		return "next"
	case MarkWith:
		return "comes"
	case MarkLeftOut:
		return "left out"
	case MarkUnknown:
		return "not known"
	}
	return ""
}

// Commits is the answer of /api/v1/commits: the newest commits of the base and of the environments' own branches, and
// where they are.
type Commits struct {
	// At is the time that was asked about, as it was written; "" for now.
	At           string        `json:"at,omitempty"`
	Environments []Environment `json:"environments"`
	// Total is how many commits are known.
	Total int `json:"total"`
	// Found is how many of them were asked for, of which Items has one page.
	Found int            `json:"found"`
	Page  int            `json:"page"`
	Items []CommitPlaces `json:"items"`
}

// CommitPlaces is a commit, and what it is to each environment.
type CommitPlaces struct {
	Commit Commit `json:"commit"`
	// Branch is the environment on whose own branch the commit is; "" if it is one of the base.
	Branch string   `json:"branch,omitempty"`
	Marks  []string `json:"marks"` // by environment
}

// ListRows is how many items a page of commits or problems has.
const ListRows = 50

// CommitFilter selects commits; "" is any. Pages are counted from 1.
type CommitFilter struct {
	Text, Author string
	// Environment selects those that an environment does not run yet, and Path those that change a file in which it
	// is: also those of which not all files are known.
	Environment, Path string
	Page              int
}

// Commits returns the newest commits, and where they are.
func (s Source) Commits(f CommitFilter) Commits {
	chain := s.Snapshot.Chain
	answer := Commits{At: s.At, Environments: s.listPromoted(), Total: len(chain.ListCommits()), Items: []CommitPlaces{}}
	found := listFound(s, f)
	answer.Found = len(found)
	found, answer.Page = pageOf(found, f.Page, ListRows)
	for _, c := range found {
		row := CommitPlaces{Branch: c.branch, Marks: []string{}}
		for _, stage := range chain.Stages {
			switch c.branch {
			case "":
				row.Marks = append(row.Marks, s.findMark(c.index, stage))
			case stage.Environment:
				row.Commit = describeEdit(s, c.branch, stage.Edits[c.index])
				row.Marks = append(row.Marks, editMark(s, stage, c.index))
			default:
				row.Marks = append(row.Marks, "")
			}
		}
		if c.branch == "" {
			row.Commit = *s.describeCommit(chain.Commits[c.index].ID)
		}
		answer.Items = append(answer.Items, row)
	}
	return answer
}

// foundCommit is the place of a commit among those of the base, or among the edits of the environment branch.
type foundCommit struct {
	branch string
	index  int
	when   time.Time
}

// listFound returns the commits that a filter selects, newest first: edits are between those of the base by their time.
func listFound(s Source, f CommitFilter) (found []foundCommit) {
	var edits []foundCommit
	for _, stage := range s.Snapshot.Chain.Stages {
		for i, c := range stage.Edits {
			if f.selects(c) && (f.Environment == "" || f.Environment == stage.Environment && editMark(s, stage, i) == MarkNext) {
				edits = append(edits, foundCommit{stage.Environment, i, c.When})
			}
		}
	}
	slices.SortStableFunc(edits, func(a, b foundCommit) int { return b.when.Compare(a.when) })
	for _, i := range s.orderCommits() {
		c := s.Snapshot.Chain.Commits[i]
		if !f.selects(c) || f.Environment != "" && !s.isAhead(i, f.Environment) {
			continue
		}
		for len(edits) > 0 && edits[0].when.After(c.When) {
			found, edits = append(found, edits[0]), edits[1:]
		}
		found = append(found, foundCommit{"", i, c.When})
	}
	return append(found, edits...)
}

// orderCommits returns the indexes of the known commits, newest first: one that is not on the line is before
// those that it contains.
func (s Source) orderCommits() (order []int) {
	chain := s.Snapshot.Chain
	for i, c := range chain.Commits {
		at := len(order)
		if c.Beside != nil {
			after := slices.IndexFunc(order, func(j int) bool { return chain.Contains(i, j) })
			if after >= 0 {
				at = after
			}
		}
		order = slices.Insert(order, at, i)
	}
	return order
}

func (f CommitFilter) selects(c status.Commit) bool {
	found := hasWords(c.Subject+" "+c.Author, f.Text) || strings.HasPrefix(c.ID, strings.ToLower(f.Text))
	return found && strings.Contains(strings.ToLower(c.Author), strings.ToLower(f.Author)) && f.selectsPath(c)
}

func (f CommitFilter) selectsPath(c status.Commit) bool {
	has := func(path string) bool { return strings.Contains(path, f.Path) }
	return f.Path == "" || c.MorePaths > 0 || slices.ContainsFunc(c.Paths, has)
}

// isAhead reports whether an environment does not run the i-th commit yet, nor a newer one that contains it.
func (s Source) isAhead(i int, environment string) bool {
	stage, promoted := s.Snapshot.Chain.FindStage(environment)
	return promoted && slices.Contains([]string{MarkProposed, MarkNext, MarkWith, MarkLeftOut, MarkNot, MarkBack}, s.findMark(i, stage))
}

func (s Source) listPromoted() []Environment {
	return slices.DeleteFunc(s.listEnvironments(), func(e Environment) bool { return !e.Promoted })
}

// FindCommits returns the ids of the known commits that begin with a text of at least four letters.
func (s Source) FindCommits(prefix string) (ids []string) {
	for _, c := range s.Snapshot.Chain.ListCommits() {
		if len(prefix) >= 4 && strings.HasPrefix(c.ID, strings.ToLower(prefix)) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}
