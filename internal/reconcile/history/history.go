// Package history reads from Git alone what people and Fairlead did to environments: which commit was
// promoted, held, approved or frozen, when, by whom and why.
//
// What the package keeps true: what is read is in the messages of commits that Fairlead and its commands
// write, and in nothing else, so that every clone of the control plane has the same history; a text that
// a person wrote is one line.
package history

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// PromoteAction is what a commit is called that promotes another one, if nothing else is written in it.
const PromoteAction = "promote"

// FreezeAction is what a commit is called that writes, changes or ends a freeze; in entries it is what begins one, and
// the others have actions of their own. FreezesTrailer names in it an environment of the freeze; without one it is about
// all. CommitTrailer names the commit of the base that is approved, or may pass a freeze.
const (
	FreezeAction    = "freeze"
	ExceptionAction = "freeze-exception"
	EndFreezeAction = "end-freeze"
	FreezesTrailer  = "Fairlead-Freezes"
	CommitTrailer   = "Fairlead-Commit"
)

// EndsTrailer names in a commit the freeze that it ends.
const EndsTrailer = "Fairlead-Ends"

// UnmergedTrailer names in a promotion the commit that it supersedes before the output was merged.
const UnmergedTrailer = "Fairlead-Unmerged"

// RollbackAction is what a commit is called that takes an environment back to an older one.
const RollbackAction = "rollback"

// Entry is one thing that a person or Fairlead did.
type Entry struct {
	Time time.Time `json:"time"`
	Who  string    `json:"who"`
	// Via says how Who reached Fairlead, as the trailer Fairlead-Via does: "web" for the page; "" if it does not say.
	Via string `json:"via,omitempty"`
	// Environment is the one that it is about; "" for what is about the whole fleet.
	Environment string `json:"environment,omitempty"`
	// Environments are those that a freeze is about; nil for all of them.
	Environments []string `json:"environments,omitempty"`
	// Action is as the trailer Fairlead-Action names it, but for what is done to a freeze later.
	Action string `json:"action"`
	Title  string `json:"title"`
	// From and To are the commits of the base that the environment had, and has since; "" if it was not
	// about one.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Own is the commit of the environment's branch that a merge brought which brought none of the base; of one that is
	// lost its id alone is known.
	Own git.CommitInfo `json:"-"`
	// Reason is what the person wrote, or what Fairlead found.
	Reason string `json:"reason,omitempty"`
	// Forced is the reason for forcing it, and Overrides the objections; "" and nil if it was not forced.
	Forced    string   `json:"forced,omitempty"`
	Overrides []string `json:"overrides,omitempty"`
	// Unmerged is the commit of the base that a promotion superseded before its output was merged; "" for none.
	Unmerged string `json:"-"`
	// Commit is the commit that did it, and Repo the repository.
	Commit string `json:"commit"`
	Repo   string `json:"-"`
	// Authored is when the commit To was made; zero if it is not known.
	Authored time.Time `json:"-"`
	// Pull is the number of the pull request of the output that was merged, closed or opened again; 0 for other
	// actions. Then URL is its page at the forge; "" if it has none.
	Pull int    `json:"pull,omitempty"`
	URL  string `json:"-"`
}

// Log is what people and Fairlead did, the newest first, as far as it can be read.
type Log struct {
	Entries []Entry
	Unread  []Unread
	// Deployments are those of each environment whose output was read, the oldest first.
	Deployments map[string][]Deployment
}

// Unread is a repository that does not tell who merged and closed its pull requests.
type Unread struct {
	Repo   string `json:"repo"`
	Reason string `json:"reason"`
}

// Branch is a branch of the control plane that things are written to.
type Branch struct {
	Environment string // "" for that of the base
	Repo        *git.Repository
	URL, Head   string
	// CommitAt returns the commit of the base that the environment has at a commit of the branch; "" if it has
	// none. nil where the branch has no record of it.
	CommitAt func(head string) (string, error)
}

// maxLine is how long one text of an entry may be.
const maxLine = 1000

// Read returns what was done on a branch, the newest first, among its newest commits. subject returns the
// first line of the message of a commit of the base.
func Read(b Branch, limit int, subject func(commit string) string) ([]Entry, error) {
	commits, err := b.Repo.ListCommits(b.Head, limit)
	if err != nil {
		return nil, err
	}
	var all []Entry
	to := "" // the commit that the environment had, while it is read from the oldest
	for _, c := range slices.Backward(commits) {
		e, ok := parseEntry(b, c, subject)
		if !ok {
			continue
		}
		if e.To != "" && (e.Action == PromoteAction || e.Action == RollbackAction) {
			if to == "" { // what wrote the record before says nothing of it
				to, err = b.commitBefore(c)
				if err != nil {
					return nil, err
				}
			}
			e.From, to = to, e.To
		}
		all = append(all, e)
	}
	slices.Reverse(all)
	return all, nil
}

// commitBefore returns the commit of the base that the environment had before a commit of the branch.
func (b Branch) commitBefore(c git.CommitInfo) (string, error) {
	if b.CommitAt == nil || len(c.Parents) == 0 {
		return "", nil
	}
	return b.CommitAt(c.Parents[0])
}

// parseEntry reads what a commit did, and reports whether it is one of Fairlead's or of its commands.
func parseEntry(b Branch, c git.CommitInfo, subject func(commit string) string) (Entry, bool) {
	trailers := publish.Trailers(c.Message)
	last := func(key string) string {
		all := trailers[key]
		if len(all) == 0 {
			return ""
		}
		return text.OneLine(all[len(all)-1])
	}
	action, promoted, environment := last("Fairlead-Action"), last("Fairlead-Promoted"), last("Fairlead-Promotion")
	if action == "" && environment == "" {
		return Entry{}, false
	}
	e := Entry{
		Time: c.When, Who: cleanLine(c.Author.Name), Via: cleanLine(last("Fairlead-Via")), Environment: cmp.Or(environment, b.Environment), Action: cmp.Or(action, PromoteAction), Title: cleanLine(c.Subject()),
		To: cmp.Or(promoted, last(CommitTrailer)), Forced: cleanLine(last("Fairlead-Forced")), Unmerged: last(UnmergedTrailer), Commit: c.ID, Repo: b.URL,
	}
	if e.Action == FreezeAction {
		e.Environments = list.Convert(trailers[FreezesTrailer], cleanLine)
		switch {
		case e.To != "":
			e.Action = ExceptionAction
		case last(EndsTrailer) != "":
			e.Action = EndFreezeAction
		}
	}
	paragraphs := strings.Split(strings.TrimSpace(strings.ReplaceAll(c.Message, "\r\n", "\n")), "\n\n")
	about := ""
	if promoted != "" {
		about = cleanLine(subject(promoted))
	}
	var reasons []string
	for i, p := range paragraphs {
		if i == 0 || i == len(paragraphs)-1 { // the title and the trailers
			continue
		}
		for line := range strings.Lines(p) {
			objection, overridden := strings.CutPrefix(line, "Overrides: ")
			shown := cleanLine(objection)
			switch {
			case overridden:
				e.Overrides = append(e.Overrides, shown)
			case shown != "" && shown != about:
				reasons = append(reasons, shown)
			}
		}
	}
	e.Reason = text.Limit(strings.Join(reasons, "; "), maxLine)
	return e, true
}

// IsPromotion reports whether a commit records that an environment was promoted.
func IsPromotion(c git.CommitInfo) bool {
	e, isOurs := parseEntry(Branch{}, c, func(string) string { return "" })
	return isOurs && e.Action == PromoteAction && e.To != ""
}

// Moves reports whether an entry gave an environment the commit To, which others are only about.
func (e Entry) Moves() bool {
	return e.Action == PromoteAction || e.Action == RollbackAction || e.Action == forge.MergeAction
}

// IsAboutFreeze reports whether an entry began, changed or ended a freeze.
func (e Entry) IsAboutFreeze() bool {
	return e.Action == FreezeAction || e.Action == ExceptionAction || e.Action == EndFreezeAction
}

// Concerns reports whether an entry is about an environment.
func (e Entry) Concerns(environment string) bool {
	if e.IsAboutFreeze() && e.Environment == "" {
		return len(e.Environments) == 0 || slices.Contains(e.Environments, environment)
	}
	return e.Environment == environment
}

// cleanLine returns a text in one line, without what looks like a password.
func cleanLine(line string) string {
	return text.MaskSecrets(text.Limit(text.OneLine(line), maxLine))
}

// Sort orders entries of several branches, the newest first.
func Sort(all []Entry) {
	slices.SortStableFunc(all, func(a, b Entry) int {
		if a.Environment == b.Environment && a.Time.Unix() == b.Time.Unix() { // an output is merged after the promotion that it is of
			return cmp.Or(cmp.Compare(b.Pull, a.Pull), b.Time.Compare(a.Time))
		}
		return cmp.Or(b.Time.Compare(a.Time), strings.Compare(a.Environment, b.Environment))
	})
}
