package page

import (
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

func exactTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func plainTime(t time.Time) string { return t.UTC().Format("Mon 2006-01-02 15:04 UTC") }

func elapsedText(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}

func forgeName(kind string) string {
	return map[string]string{"github": "GitHub", "gitlab": "GitLab", "gitea": "Gitea"}[kind]
}

func levelState(l status.Level) answer.State {
	switch l {
	case status.LevelOK:
		return answer.State{Tone: answer.Good, Word: "passed"}
	case status.LevelWarn:
		return kindState(answer.Warning)
	case status.LevelFail:
	}
	return answer.State{Tone: answer.Bad, Word: "fails"}
}

func gateState(v gate.Verdict) answer.State {
	switch v.Status {
	case gate.Pass:
		return answer.State{Tone: answer.Good, Word: "passes"}
	case gate.Fail:
		return answer.State{Tone: answer.Bad, Word: "fails"}
	case gate.Wait:
	}
	return answer.State{Tone: answer.Waiting, Word: "waits"}
}

// mayChange reports whether people are told when a verdict may change: its reason may say so already.
func mayChange(v gate.Verdict) bool { return !v.ValidUntil.IsZero() && !v.NamesTime }

// noneLikeThat says of a list that a filter selects nothing of it.
func noneLikeThat(n int, noun string) string {
	if n == 1 {
		return "The only " + noun + " is not like that."
	}
	return fmt.Sprintf("None of the %s is like that.", text.Count(n, noun))
}

// hyphenated are the words of states that programs write with a hyphen.
var hyphenated = strings.NewReplacer("rolling-out", "rolling out", "in-sync", "in sync")

func stateText(word string) string { return hyphenated.Replace(word) }

func kindState(kind string) answer.State {
	switch kind {
	case answer.Declined:
		return answer.State{Tone: answer.Stopped, Word: kind}
	case answer.Warning:
		return answer.State{Tone: answer.Waiting, Word: kind}
	}
	return answer.State{Tone: answer.Bad, Word: kind}
}

// outcomeState returns the state of what an explanation finds of a policy or a config; nil of anything else.
func outcomeState(found string) *answer.State {
	switch found {
	case "selects it", string(explain.Wins), "satisfied":
		return &answer.State{Tone: answer.Good, Word: found}
	case "not satisfied":
		return &answer.State{Tone: answer.Bad, Word: found}
	}
	return nil
}

// pullText is a sentence around the pull request that it names; Pull is nil if it names none.
type pullText struct {
	Before string
	Pull   *pullLink
	After  string
}

// pullLink is a pull request of an environment's output: without a page at a forge, ours is the one.
type pullLink struct {
	Environment string
	Number      int
	URL         string
}

func newPullLink(environment string, p status.Pull) pullLink {
	return pullLink{environment, p.Number, p.URL}
}

func trimStateWord(s answer.State, reason string) string {
	return strings.TrimPrefix(reason, s.Word+": ")
}

// splitPull returns a sentence as what is before and after the pull request that it names, if that is the given
// one.
func splitPull(sentence string, pull *status.Pull, environment string) pullText {
	if pull == nil {
		return pullText{Before: sentence}
	}
	for _, name := range []string{fmt.Sprintf("pull request #%d", pull.Number), fmt.Sprintf("pull request %d", pull.Number)} {
		before, after, found := strings.Cut(sentence, name)
		if found && !strings.ContainsAny(after[:min(1, len(after))], "0123456789") {
			link := newPullLink(environment, *pull)
			return pullText{before, &link, after}
		}
	}
	return pullText{Before: sentence}
}

func shortVersion(version string) string {
	if text.IsCommit(version) {
		return text.ShortCommit(version)
	}
	return text.Limit(version, 24)
}

func deletesState(n int) answer.State {
	return answer.State{Tone: answer.Bad, Word: "deletes " + text.Count(n, "thing")}
}

// formTime is how a browser sends the time of a field, without a zone.
const formTime = "2006-01-02T15:04"

// ReadFormTime returns a time that a field of a form has, as programs write it: the fields are in UTC. Any other text is
// as it was.
func ReadFormTime(value string) string {
	t, err := time.Parse(formTime, value)
	if err != nil {
		return value
	}
	return exactTime(t)
}

// localTime returns a time as the field of a form has it; "" for a text that is no time, which is typed.
func localTime(value string) string {
	t, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return ""
	}
	return t.UTC().Format(formTime)
}

// optionText returns what people call a value that a field of an operator action may have.
func optionText(field, value string) string {
	if field != "scope" {
		return value
	}
	switch value {
	case model.ScopeOutput:
		return "promotions, and all merges"
	case model.ScopePromotion:
		return "promotions alone"
	}
	return value
}
