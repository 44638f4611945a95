package page

import (
	"bytes"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// sentencePart is a part of a message of a program: one of its fields is set.
type sentencePart struct {
	Text    string
	Time    time.Time
	Command string
	Commit  string // the short id of a commit of any repository
	Doc     string // the address of a page of the documentation, whose words are Text
}

// notable matches what a message has besides words: commands, which need whole ids, times as programs write them,
// digests and the ids of commits, whole or short, and pages of the documentation.
var notable = regexp.MustCompile(`\bfairlead (?:approve|approve-plan|check|cluster|diff|doctor|explain|fleet|freeze|history|hold|impact|pr|promote|release|render|rollback|simulate|stack|status|wait)\b[^;:,"]*` +
	`|\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)` + `|https://github\.com/fairlead-io/fairlead/[\w./#-]*\w` + `|\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b|\b[0-9a-f]{7}\b`)

var afterCommand = regexp.MustCompile(` (?:about|and|does|in|lists|or|prints|says|shows|to|with)\b.*$`)

// asWritten matches what is before a time that a person is to write, or has written: it is one of these on the page, too.
var asWritten = regexp.MustCompile(`(?i)(?:\bwrit(?:e|ten)\b[^;]*\bas [^;]*|^[^"]*"(?:[^"]*"[^"]*")*[^"]*)$`)

// guides are the addresses of guides of the documentation.
const guides = "https://github.com/fairlead-io/fairlead/blob/main/docs/how-to/"

// newDocPart returns a page of the documentation: a guide by the words of its name, another one by its address.
func newDocPart(address string) sentencePart {
	name, isGuide := strings.CutPrefix(address, guides)
	if !isGuide {
		return sentencePart{Doc: address, Text: address}
	}
	name, _, _ = strings.Cut(name, ".md")
	return sentencePart{Doc: address, Text: strings.ReplaceAll(name, "-", " ")}
}

// splitSentence returns a message of a program in parts, so that times and commits in it are as those of the rest of
// the page.
func splitSentence(message string) (parts []sentencePart) {
	add := func(p sentencePart) {
		if p != (sentencePart{}) {
			parts = append(parts, p)
		}
	}
	whole := message
	for message != "" {
		at := notable.FindStringIndex(message)
		if at == nil {
			add(sentencePart{Text: message})
			break
		}
		found := message[at[0]:at[1]]
		add(sentencePart{Text: message[:at[0]]})
		exact, err := time.Parse(time.RFC3339, found)
		switch {
		case strings.HasPrefix(found, "fairlead "):
			found = strings.TrimRight(afterCommand.ReplaceAllString(found, ""), " .)")
			if fits(found) {
				add(sentencePart{Command: found})
			} else {
				add(sentencePart{Text: found})
			}
		case strings.HasPrefix(found, "https://"):
			add(newDocPart(found))
		case err == nil && !asWritten.MatchString(whole[:len(whole)-len(message)+at[0]]):
			add(sentencePart{Time: exact})
		case len(found) == 64:
			add(sentencePart{Text: text.ShortCommit(found)})
		case len(found) == 40 || len(found) == 7 && strings.ContainsAny(found, "0123456789") && strings.ContainsAny(found, "abcdef"):
			// A number or a word is not a commit, though some commits have such an id.
			add(sentencePart{Commit: text.ShortCommit(found)})
		default: // it only looks like a time, or is an example of one
			add(sentencePart{Text: found})
		}
		message = message[at[0]+len(found):]
	}
	return parts
}

// mostArguments are how many arguments a command takes at most before its flags; those of commands that are not here are
// not counted.
var mostArguments = map[string]int{"approve": 2, "hold": 1, "promote": 2, "release": 1, "rollback": 1, "status": 1, "wait": 2}

// fits reports whether a text that begins as a command does has no more arguments than the command takes: then it goes on
// as a sentence.
func fits(command string) bool {
	words := strings.Fields(command)
	most, counted := mostArguments[words[1]]
	given := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") })
	if given < 0 {
		given = len(words)
	}
	return !counted || given-2 <= most
}

// isName matches a message that begins with what is a name wherever it stands: a command, the id of a commit, or the
// name of what letters alone cannot be.
var isName = regexp.MustCompile(`^(?:fairlead |[0-9a-f]{7}\b|\S*[0-9@/-])`)

// formatSentence returns a message of a program as a sentence. One that begins with a command, or with a name, such as
// one of those given, stays as it is typed.
func formatSentence(message string, names ...string) string {
	first, size := utf8.DecodeRuneInString(message)
	if size == 0 {
		return ""
	}
	word, _, _ := strings.Cut(message, " ")
	if !isName.MatchString(message) && !slices.Contains(names, word) {
		message = string(unicode.ToUpper(first)) + message[size:]
	}
	if strings.HasSuffix(message, "?") {
		return message
	}
	return message + "."
}

// shortID is a commit in a sentence, as templates write it. No text of others can look like this: templates escape
// it.
var shortID = regexp.MustCompile(`<f-commit>([0-9a-f]{7})</f-commit>`)

// linkCommits returns a page in which the commits in sentences lead to their pages, where they are known. Others are
// as they were written.
func linkCommits(html []byte, root string, at moment, known []status.Commit) []byte {
	return shortID.ReplaceAllFunc(html, func(found []byte) []byte {
		short := string(shortID.FindSubmatch(found)[1])
		for _, c := range known {
			if text.ShortCommit(c.ID) != short {
				continue
			}
			title := c.Subject
			if c.Author != "" {
				title += ", by " + c.Author
			}
			return []byte(`<a href="` + root + template.HTMLEscapeString(string(at.keep("commits/"+c.ID))) + `" title="` + template.HTMLEscapeString(title) + `"><code>` + short + `</code></a>`)
		}
		return []byte(short)
	})
}

// The places of what speaks of the reader of a page. No text of others can look like them: templates escape it.
const (
	nameMark    = "<f-name></f-name>"
	waitingMark = "<f-waiting></f-waiting>"
)

// Kept is a page without what speaks of its reader, so that it is the same for all who may do the same.
type Kept struct{ html []byte }

// Reader is who reads a page.
type Reader struct {
	Name    string
	Waiting string // how many things wait for the reader
}

// CountsWaiting reports whether the page says how many things wait for its reader.
func (k Kept) CountsWaiting() bool { return bytes.Contains(k.html, []byte(waitingMark)) }
