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

// PullEvent is an action on our pull request.
type PullEvent struct {
	Pull
	Action string
	Time   time.Time
	Who    string // "" if the forge does not report it
	Reason string
	Via    string // how Who reached Fairlead, such as "web"; "" if unknown
	// Record is the commit that records it; "" at a forge with an API.
	Record string
}

// Journal is a forge that records who merged and closed our pull requests.
type Journal interface {
	// PullEvents returns the last actions on our newest pull requests, unsorted. A forge with an
	// API does not report reopening.
	PullEvents(ctx context.Context) ([]PullEvent, error)
}

const maxRecordCommits = 50

// PullEvents returns the recorded actions: each is a commit.
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

func parseAction(c git.CommitInfo) string {
	for title, action := range map[string]string{mergedTitle: MergeAction, closedTitle: CloseAction, reopenTitle: ReopenAction} {
		if strings.HasPrefix(c.Message, title) {
			return action
		}
	}
	return ""
}

const reasonTrailer, viaTrailer = "Fairlead-Reason: ", "Fairlead-Via: "

func parseTrailer(c git.CommitInfo, trailer string) string {
	for line := range strings.Lines(c.Message) {
		if value, ok := strings.CutPrefix(line, trailer); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

const maxMergerReads = 20

// PullEvents returns who merged or closed our newest pull requests, as far as the forge reports it.
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

// readMerger sets who merged a pull request, and reports whether it asked the forge. It asks once.
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
