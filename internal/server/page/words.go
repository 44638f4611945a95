package page

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// exactTime returns a time for programs, and plainTime for people.
func exactTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func plainTime(t time.Time) string { return t.UTC().Format("Mon 2006-01-02 15:04 UTC") }

// formatSentence returns a message of a program as a sentence.
func formatSentence(message string) string {
	first, size := utf8.DecodeRuneInString(message)
	if size == 0 {
		return ""
	}
	message = string(unicode.ToUpper(first)) + message[size:]
	if strings.HasSuffix(message, "?") {
		return message
	}
	return message + "."
}

// elapsedText returns how long something took, as text.
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

// gateState returns the state of a verdict.
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

// kindState returns the state of a kind of problems.
func kindState(kind string) answer.State {
	switch kind {
	case answer.Declined:
		return answer.State{Tone: answer.Stopped, Word: kind}
	case answer.Warning:
		return answer.State{Tone: answer.Waiting, Word: kind}
	}
	return answer.State{Tone: answer.Bad, Word: kind}
}

// stopState returns the state of a commit in an environment: that of the environment where it has it.
func stopState(s answer.Stop) answer.State {
	switch s.Mark {
	case answer.MarkHas, answer.MarkIn:
		return s.Environment.State
	case answer.MarkNext, answer.MarkWith:
		return answer.State{Tone: answer.Waiting, Word: "next"}
	case answer.MarkLeftOut:
		return answer.State{Tone: answer.Unknown, Word: "left out"}
	}
	return answer.State{Tone: answer.Unknown, Word: "not yet"}
}

// markText returns what a commit is to an environment, where little room is.
func markText(mark string) string {
	switch mark {
	case answer.MarkHas:
		return "has it"
	case answer.MarkIn:
		return "has newer"
	case answer.MarkNext:
		return "next"
	case answer.MarkWith:
		return "comes"
	case answer.MarkLeftOut:
		return "left out"
	}
	return ""
}

// shortVersion returns a version where little room is: a whole commit is shortened.
func shortVersion(version string) string {
	if len(version) == 40 && strings.Trim(version, "0123456789abcdef") == "" {
		return text.ShortCommit(version)
	}
	return text.Limit(version, 24)
}
