package page

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// History is the page of what was done: the answer, and how it was asked for.
type History struct {
	answer.History
	Query        url.Values
	Environments []string
	Refusal      Missing
}

// ParseBound returns the time that a filter means by a time, or a day: of one that ends what is listed, all counts. It
// reports whether the text is either.
func ParseBound(written string, isEnd bool) (time.Time, bool) {
	day, err := time.Parse(time.DateOnly, written)
	if err != nil {
		at, ok := history.ParseMoment(written)
		return at.Time, ok && at.Commit == ""
	}
	if isEnd {
		day = day.AddDate(0, 0, 1)
	}
	return day, true
}

// ParseHistoryFilter returns the filter that the parameters of an address mean.
func ParseHistoryFilter(query url.Values) answer.HistoryFilter {
	page, _ := strconv.Atoi(query.Get("page"))        // another text is the first page,
	since, _ := ParseBound(query.Get("since"), false) // or no time
	until, _ := ParseBound(query.Get("until"), true)  // likewise
	return answer.HistoryFilter{
		Environment: query.Get("env"), Who: query.Get("who"), Action: findAction(query.Get("what")), Text: query.Get("q"), Since: since, Until: until, Forced: query.Get("forced") != "", Page: page,
	}
}

// IsAsked reports whether a choice of the form is the one that was asked for.
func (v History) IsAsked(name, value string) bool {
	asked := v.Query.Get(name)
	return asked == value || name == "what" && findAction(asked) == value
}

// BoundType returns the type of the field of a filter that is a day, or a time of which a field for days would lose
// the hour.
func (v History) BoundType(name string) string {
	_, err := time.Parse(time.DateOnly, v.Asked(name))
	if v.Asked(name) == "" || err == nil {
		return "date"
	}
	return "text"
}

// Asked returns a parameter.
func (v History) Asked(name string) string { return v.Query.Get(name) }

// IsFiltered reports whether anything is asked for but all.
func (v History) IsFiltered() bool {
	return ParseHistoryFilter(v.Query) != answer.HistoryFilter{Page: ParseHistoryFilter(v.Query).Page}
}

// asked returns the parameters by which it was asked for, but for its page.
func (v History) asked() url.Values {
	query := url.Values{}
	for _, name := range []string{"env", "who", "what", "q", "since", "until", "forced"} {
		if value := v.Query.Get(name); value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// CSVLink returns the address of the same as a table for spreadsheets.
func (v History) CSVLink() string { return strings.TrimSuffix("history.csv?"+v.asked().Encode(), "?") }

// Pager returns the way to what was done before and after.
func (v History) Pager() pager {
	return newPager(v.Page, answer.HistoryEntries, v.Total, "entries", func(page int) string {
		query := v.asked()
		query.Set("page", strconv.Itoa(page))
		return "history?" + query.Encode()
	})
}

// actionWords are what people call what was done.
var actionWords = map[string]string{
	history.PromoteAction: "promoted", history.RollbackAction: "rolled back", history.HoldAction: "held", "release": "released", approveAction: "approved",
	history.FreezeAction: "froze", history.ExceptionAction: "let pass a freeze", history.EndFreezeAction: "ended a freeze",
	forge.MergeAction: "merged", forge.CloseAction: "closed", forge.ReopenAction: "opened again", "clone-stack": "cloned a stack", "tear-down-stack": "tore down a stack",
	"connect": "connected a cluster", "renew-key": "renewed a key", "retire": "retired a cluster", "adopt": "adopted a cluster", "ephemeral": "made or changed an ephemeral environment",
	"waves-skip": "skipped a wave", history.WavesBackAction: "went back to before its waves", "waves-replace": "began its waves again", "waves-retry": "took back what was decided about waves",
	history.ChangeAction: "changed", status.FailedAction: "failed", status.RecoveredAction: "recovered", status.WaitsAction: "waits",
	status.DriftAction: "drifted", status.DriftEndedAction: "drift ended",
}

const approveAction = "approve"

// IsAction reports whether something of the name can be done.
func IsAction(name string) bool { return actionWords[name] != "" }

// findAction returns the name of what was done, of which a text has that or says what people, or texts, call it.
func findAction(text string) string {
	for action, word := range actionWords {
		if text == word || text == strings.ReplaceAll(action, "-", " ") {
			return action
		}
	}
	return text
}

// IsTitled reports whether the title says what was done, as to a freeze or a stack, and not the action alone.
func (History) IsTitled(e answer.HistoryEntry) bool {
	isKnown := slices.Contains(status.EventActions(), e.Action) || e.Moves() || e.Action == history.HoldAction || e.Action == history.ChangeAction || e.Action == "release" || e.Action == approveAction && e.To != ""
	return e.Pull == 0 && (e.Environment == "" || !isKnown)
}

// eventTones are the tones of the states that an environment has since an event.
var eventTones = map[string]answer.Tone{status.FailedAction: answer.Bad, status.RecoveredAction: answer.Good, status.WaitsAction: answer.Waiting, status.DriftAction: answer.Bad, status.DriftEndedAction: answer.Good}

// eventState returns the state that an environment has since an event; nil for what somebody did.
func eventState(action string) *answer.State {
	if !slices.Contains(status.EventActions(), action) {
		return nil
	}
	return &answer.State{Tone: eventTones[action], Word: actionText(action)}
}

// pastTenses are the past tenses of the verbs with which the titles of commits begin.
var pastTenses = map[string]string{
	"Adopt": "adopted", "Approve": "approved", "Extend": "extended", "Make": "made", "Remove": "removed", "Clone": "cloned", "Connect": "connected", "End": "ended", "Freeze": "froze", "Hold": "held", "Let": "let", "Promote": "promoted",
	"Release": "released", "Renew": "renewed", "Retire": "retired", "Replace": "replaced", "Retry": "retried", "Roll": "rolled", "Skip": "skipped", "Take": "took", "Tear": "tore",
}

// pastTense returns what the title of a commit asks for as something that was done.
func pastTense(title string) string {
	verb, rest, _ := strings.Cut(title, " ")
	past := pastTenses[verb]
	if past == "" {
		return title
	}
	return past + " " + rest
}

func actionText(action string) string {
	if word := actionWords[action]; word != "" {
		return word
	}
	return action
}
