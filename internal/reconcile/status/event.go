package status

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// Event is a change of the state of an environment while the process runs. Git does not record it.
type Event struct {
	Environment string
	// Action is one of [EventActions], but for drift.
	Action string
	Commit string // of the base: the one that failed, recovered or waits; "" if unknown
	Reason string
	When   time.Time
}

// The actions of events, as the history names them.
const (
	FailedAction     = "failed"
	RecoveredAction  = "recovered"
	WaitsAction      = "waits"
	DriftAction      = "drifted"
	DriftEndedAction = "drift-ended"
)

// EventActions returns the actions of events.
func EventActions() []string {
	return []string{FailedAction, RecoveredAction, WaitsAction, DriftAction, DriftEndedAction}
}

// maxEvents is how many events are kept.
const maxEvents = 500

type shownState struct {
	word  StageState
	tone  Tone
	waits bool
	// failing reports that it failed, and was not well since.
	failing bool
	// promoted reports that the order of promotion was known: without it, the state is that of the output alone.
	promoted bool
	since    time.Time // zero if it was the first that was seen
}

// followState notes a change of the shown state of an environment. The caller holds the lock.
func (s *Store) followState(name string, when time.Time) {
	e := s.environments[name]
	stage, promoted := s.chain.FindStage(name)
	now := shownState{promoted: promoted}
	reason := e.Reason
	if promoted {
		stage.State, stage.Empty = stage.FindState(e.State), e.EmptyReason()
		now.word, now.tone = stage.FindShown(e)
		now.waits = stage.Next.State == promote.Waiting && stage.Next.Candidate != stage.Commit
		reason = describeAction(stage, e)
	} else {
		now.word, now.tone = e.FindShown()
	}
	before, known := s.shown[name]
	known = known && before.promoted == promoted
	now.failing = now.tone == ToneBad || known && before.failing && now.tone != ToneGood
	now.since = before.since
	switch {
	case !known:
		now.since = time.Time{}
	case before.word != now.word:
		now.since = when
	}
	if s.shown == nil {
		s.shown = map[string]shownState{}
	}
	s.shown[name] = now
	if !known {
		return
	}
	add := func(action, commit string) {
		s.events = append(s.events[max(0, len(s.events)+1-maxEvents):], Event{name, action, commit, reason, when})
	}
	switch {
	case now.tone == ToneBad && before.tone != ToneBad:
		add(FailedAction, stage.Commit)
	case before.failing && !now.failing:
		reason = string(now.word)
		add(RecoveredAction, stage.Commit)
	case now.waits && !before.waits:
		add(WaitsAction, stage.Next.Candidate)
	}
}
