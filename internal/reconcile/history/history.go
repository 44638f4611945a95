// Package history reads from Git what people and Fairlead did to environments: promotions, holds,
// approvals and freezes, with time, author and reason.
//
// It reads only commit messages, so every clone has the same history.
// Text of people is one line.
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

// PromoteAction is the default action of a commit that promotes another, and HoldAction holds an environment.
const (
	PromoteAction = "promote"
	HoldAction    = "hold"
)

// FreezeAction writes, changes or ends a freeze; entries have it only for the begin. FreezesTrailer
// names a frozen environment; without it the freeze covers all. CommitTrailer names a base commit
// that is approved or exempt.
const (
	FreezeAction    = "freeze"
	ExceptionAction = "freeze-exception"
	EndFreezeAction = "end-freeze"
	FreezesTrailer  = "Fairlead-Freezes"
	CommitTrailer   = "Fairlead-Commit"
)

// EndsTrailer names the freeze that a commit ends.
const EndsTrailer = "Fairlead-Ends"

// UnmergedTrailer names, in a promotion, a superseded commit that was not merged.
const UnmergedTrailer = "Fairlead-Unmerged"

// WavesBackAction takes an environment back to before its waves.
const WavesBackAction = "waves-back"

// RollbackAction is the action of a commit that rolls an environment back.
const RollbackAction = "rollback"

// ChangeAction is a commit that records no action: someone changed what the environment has, or the base.
const ChangeAction = "change"

// Entry is one action of a person or Fairlead.
type Entry struct {
	Time time.Time `json:"time"`
	Who  string    `json:"who"`
	// Via is how Who reached Fairlead, from the trailer Fairlead-Via: "web" for the page; "" if
	// unknown.
	Via string `json:"via,omitempty"`
	// Environment is the environment of the action; "" for the whole fleet.
	Environment string `json:"environment,omitempty"`
	// Environments are the environments of a freeze; missing for all of them.
	Environments []string `json:"environments,omitempty"`
	// Action is the trailer Fairlead-Action, or an action of its own for later changes of a freeze.
	Action string `json:"action"`
	Title  string `json:"title"`
	// From and To are the commits of the base before and after; "" if not applicable.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Lanes are the lanes of the action. If only lanes moved, From and To are "".
	Lanes []LaneVersion `json:"lanes,omitempty"`
	// Own is the newest commit of the environment's branch in a merge without a new base commit. If
	// it is lost, only its id is set.
	Own git.CommitInfo `json:"-"`
	// Clusters have drifted, Since a time that an entry for its end has.
	Clusters []string  `json:"clusters,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	// Reason is the reason given by the person, or what Fairlead found.
	Reason string `json:"reason,omitempty"`
	// Forced is the reason for forcing it, and Overrides the objections; empty if not forced.
	Forced    string   `json:"forced,omitempty"`
	Overrides []string `json:"overrides,omitempty"`
	// Unmerged is the superseded commit whose output was not merged; "" for none.
	Unmerged string `json:"-"`
	// Commit is the commit of the action, and Repo its repository.
	Commit string `json:"commit"`
	Repo   string `json:"-"`
	// Authored is the time of the commit To; zero if unknown.
	Authored time.Time `json:"-"`
	// Pull is the number of the pull request that was merged, closed or opened again; 0 for other
	// actions. URL is its page; "" if it has none.
	Pull int    `json:"pull,omitempty"`
	URL  string `json:"-"`
}

// LaneVersion is a lane, and the commit of the base that it got or that was approved; "" for none.
type LaneVersion struct {
	Lane   string `json:"lane"`
	Commit string `json:"commit,omitempty"`
}

func readLanes(message string) (all []LaneVersion) {
	for _, written := range publish.Trailers(message)[publish.LaneTrailer] {
		name, commit, _ := strings.Cut(cleanLine(written), "@")
		all = append(all, LaneVersion{name, commit})
	}
	return all
}

// Log is the readable history, newest first.
type Log struct {
	Entries []Entry
	Unread  []Unread
	// Deployments has those of each readable output by environment, oldest first.
	Deployments map[string][]Deployment
}

// Unread is a repository that does not tell who merged and closed its pull requests, or, without
// one, the ledger.
type Unread struct {
	Repo   string `json:"repo"`
	Reason string `json:"reason"`
}

// Branch is a branch of the control plane.
type Branch struct {
	Environment string // "" for the base
	Repo        *git.Repository
	URL, Head   string
	// CommitAt returns the base commit at a commit of the branch; "" for none. It is nil without a
	// record.
	CommitAt func(head string) (string, error)
}

const maxLine = 1000

// Read returns the actions among a branch's newest commits, newest first. subject returns a base
// commit's subject.
func Read(b Branch, limit int, subject func(commit string) string) ([]Entry, error) {
	commits, err := b.Repo.ListCommits(b.Head, limit)
	if err != nil {
		return nil, err
	}
	var all []Entry
	to := "" // current commit, reading from the oldest
	for _, c := range slices.Backward(commits) {
		e, ok := parseEntry(b, c, subject)
		if !ok {
			if len(c.Parents) > 1 {
				continue
			}
			e = Entry{Time: c.When, Who: cleanLine(c.Author.Name), Environment: b.Environment, Action: ChangeAction, Title: cleanLine(c.Subject()), Commit: c.ID, Repo: b.URL}
		}
		if e.To != "" && (e.Action == PromoteAction || e.Action == RollbackAction) {
			if to == "" { // the writer before kept no history
				to, err = b.commitBefore(c)
				if err != nil {
					return nil, err
				}
			}
			e.From, to = to, e.To
			if len(e.Lanes) > 0 && e.From == e.To {
				e.From, e.To = "", ""
			}
		}
		all = append(all, e)
	}
	slices.Reverse(all)
	return all, nil
}

// commitBefore returns the base commit before a commit of the branch; "" if unknown.
func (b Branch) commitBefore(c git.CommitInfo) (string, error) {
	if b.CommitAt == nil || len(c.Parents) == 0 {
		return "", nil
	}
	return b.CommitAt(c.Parents[0])
}

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
		To: cmp.Or(promoted, last(CommitTrailer)), Forced: cleanLine(last("Fairlead-Forced")), Unmerged: last(UnmergedTrailer), Lanes: readLanes(c.Message), Commit: c.ID, Repo: b.URL,
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
		if i == 0 || i == len(paragraphs)-1 { // title and trailers
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

// IsAction reports whether a commit records what was done by Fairlead, or through it.
func IsAction(c git.CommitInfo) bool {
	_, isOurs := parseEntry(Branch{}, c, func(string) string { return "" })
	return isOurs
}

// IsPromotion reports whether a commit records a promotion.
func IsPromotion(c git.CommitInfo) bool {
	e, isOurs := parseEntry(Branch{}, c, func(string) string { return "" })
	return isOurs && e.Action == PromoteAction && e.To != ""
}

// Moves reports whether an entry gave the environment the commit To.
func (e Entry) Moves() bool {
	return e.Action == PromoteAction || e.Action == RollbackAction || e.Action == forge.MergeAction
}

// IsAboutFreeze reports whether an entry began, changed or ended a freeze.
func (e Entry) IsAboutFreeze() bool {
	return e.Action == FreezeAction || e.Action == ExceptionAction || e.Action == EndFreezeAction
}

// Concerns reports whether an entry affects an environment.
func (e Entry) Concerns(environment string) bool {
	if e.IsAboutFreeze() && e.Environment == "" {
		return len(e.Environments) == 0 || slices.Contains(e.Environments, environment)
	}
	return e.Environment == environment
}

func cleanLine(line string) string {
	return text.MaskSecrets(text.Limit(text.OneLine(line), maxLine))
}

// Sort orders entries of several branches, newest first.
func Sort(all []Entry) {
	slices.SortStableFunc(all, func(a, b Entry) int {
		if a.Environment == b.Environment && a.Time.Unix() == b.Time.Unix() { // the merge follows its promotion
			return cmp.Or(cmp.Compare(b.Pull, a.Pull), b.Time.Compare(a.Time))
		}
		return cmp.Or(b.Time.Compare(a.Time), strings.Compare(a.Environment, b.Environment))
	})
}
