package forge

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/git"
)

// The actions on pull requests.
const (
	MergeAction  = "merge"
	CloseAction  = "close"
	ReopenAction = "reopen"
)

// PullEvent is an action on a pull request of ours.
type PullEvent struct {
	Pull
	Action string
	Time   time.Time
	Who    string // "" if the forge does not tell
	Reason string
	Via    string // how Who reached Fairlead, as "web" for the page; "" if that is not known
	// Record is the commit that says so; "" at a forge with an API.
	Record string
}

// Journal is a forge that knows who merged and closed our pull requests.
type Journal interface {
	// PullEvents returns the last actions on our newest pull requests, in no order. A forge with an API does
	// not tell what was opened again.
	PullEvents(ctx context.Context) ([]PullEvent, error)
}

// maxRecordCommits bounds the commits of a document that are read for its actions.
const maxRecordCommits = 50

// PullEvents returns the actions on the pull requests that are kept: each is a commit.
func (p *Plain) PullEvents(context.Context) ([]PullEvent, error) {
	var events []PullEvent
	err := p.visitPulls(func(pull Pull, commit string) error {
		commits, err := p.store.remote.Mirror().ListCommits(commit, maxRecordCommits)
		for _, c := range commits {
			action := parseAction(c)
			if action != "" {
				events = append(events, PullEvent{Pull: pull, Action: action, Time: c.When, Who: c.Author.Name, Reason: parseTrailer(c, reasonTrailer), Via: parseTrailer(c, viaTrailer), Record: c.ID})
			}
		}
		return err
	})
	return events, err
}

// parseAction returns the action of a document's commit; "" if it is another change.
func parseAction(c git.CommitInfo) string {
	for title, action := range map[string]string{mergedTitle: MergeAction, closedTitle: CloseAction, reopenTitle: ReopenAction} {
		if strings.HasPrefix(c.Message, title) {
			return action
		}
	}
	return ""
}

// reasonTrailer begins the line of a document's commit that says why it was made, and viaTrailer the one that says how
// the person reached Fairlead.
const reasonTrailer, viaTrailer = "Fairlead-Reason: ", "Fairlead-Via: "

// parseTrailer returns what a line of a document's commit says; "" if there is none.
func parseTrailer(c git.CommitInfo, trailer string) string {
	for line := range strings.Lines(c.Message) {
		if value, ok := strings.CutPrefix(line, trailer); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// What PullEvents asks of a forge with an API: the newest page of its list, and, where lists do not name who
// merged, so many pull requests at most, each once.
const maxMergerReads = 20

// PullEvents returns who merged or closed our newest pull requests, as far as the forge tells.
func (h *Hosted[P]) PullEvents(ctx context.Context) ([]PullEvent, error) {
	found, err := h.calls.ListPulls(ctx, "list "+h.dialect.Pull+"s that ended", PullFilter{Newest: true})
	if err != nil {
		return nil, err
	}
	var events []PullEvent
	reads := 0
	for _, native := range found {
		p := h.calls.ParsePull(native)
		pull, _, err := h.parsePull(p)
		if errors.Is(err, ErrNotFound) || pull.State == Open {
			continue
		}
		if err != nil {
			return nil, err
		}
		e := PullEvent{Pull: pull, Action: CloseAction, Time: p.Ended, Who: pull.By, Reason: pull.Reason}
		if pull.State == Merged {
			e.Action = MergeAction
		}
		if e.Action == MergeAction && e.Who == "" && reads < maxMergerReads {
			read, err := h.readMerger(ctx, &e)
			if err != nil {
				return nil, err
			}
			if read {
				reads++
			}
		}
		events = append(events, e)
	}
	return events, nil
}

// readMerger sets who merged a pull request whose place in a list does not tell, and reports whether it asked
// the forge: what it answered once stays so.
func (h *Hosted[P]) readMerger(ctx context.Context, e *PullEvent) (bool, error) {
	h.mu.Lock()
	who, known := h.mergers[e.Number]
	h.mu.Unlock()
	if !known {
		_, pull, _, err := h.FindPull(ctx, e.Number)
		if err != nil {
			return true, err
		}
		who = pull.By
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.mergers == nil || len(h.mergers) >= maxCachedStatuses {
			h.mergers = map[int]string{}
		}
		h.mergers[e.Number] = who
	}
	e.Who, e.By = who, who
	return !known, nil
}
