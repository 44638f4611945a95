package answer

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// maxIssueFindings is how many findings the text for an issue has.
const maxIssueFindings = 40

// IssueText returns how Fairlead itself is, as a text for a public issue: without the URLs of repositories and
// servers, and without names of people and environments.
func (s Status) IssueText() string {
	clean := s.newAnonymizer()
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("Fairlead %s: %s", s.Version, s.State.Word)
	for _, reason := range s.Reasons {
		line("- %s", clean(reason))
	}
	failed, longest := 0, time.Duration(0)
	for _, c := range s.Cycles {
		longest = max(longest, c.Took)
		if c.Outcome != status.OutcomeOK {
			failed++
		}
	}
	line("cycles: %d of the last %d failed, the longest took %s, the last was number %d", failed, len(s.Cycles), longest.Round(time.Millisecond), s.Cycle.Number)
	if s.Cycle.Error != "" {
		line("- %s", clean(s.Cycle.Error))
	}
	states := map[string]int{}
	for _, e := range s.Environments {
		states[e.StateWord()]++
	}
	line("environments: %d%s, overdue %d", len(s.Environments), formatCounts(states), len(s.Overdue))
	silent := slices.DeleteFunc(slices.Clone(s.Remotes), func(r status.Remote) bool { return r.Error == "" })
	line("repositories: %d of %d answer", len(s.Remotes)-len(silent), len(s.Remotes))
	for _, r := range silent {
		line("- failed %s: %s", text.Count(r.Failures, "time"), clean(r.Error))
	}
	line("credentials: %d", len(s.Credentials))
	for _, c := range s.Credentials {
		limits := list.Convert(c.Limits, func(l RequestLimit) string {
			return strings.TrimSpace(fmt.Sprintf("%s %d of %d", l.Name, l.Remaining, l.Limit))
		})
		line("- %s: %s; requests left: %s; expiry: %s", c.Forge, c.State.Word, cmp.Or(strings.Join(limits, ", "), "not known"), c.Expiry.Word)
	}
	line("checks of the set-up: %d", len(s.Examination.Findings))
	for _, f := range s.Examination.Findings[:min(len(s.Examination.Findings), maxIssueFindings)] {
		line("- %s %s: %s", f.Level, clean(f.Subject), clean(f.Message))
	}
	return b.String()
}

// formatCounts returns how many there are of each word, sorted by word, after a space and in brackets; "" of none.
func formatCounts(counts map[string]int) string {
	var all []string
	for word, n := range counts {
		all = append(all, fmt.Sprintf("%s %d", word, n))
	}
	slices.Sort(all)
	if all == nil {
		return ""
	}
	return " (" + strings.Join(all, ", ") + ")"
}

// traces match what names a server, a folder or a person in a message of a program, whatever is known.
var traces = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\b[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]*[^\s"'<>.,:;)]`), "URL"},
	{regexp.MustCompile(`[^\s"'<>:,;(=]+@[^\s"'<>,;)]*[^\s"'<>.,:;)]`), "ADDRESS"},
	{regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[[0-9a-fA-F:]*:[0-9a-fA-F:]*\](?::\d+)?`), "ADDRESS"},
	{regexp.MustCompile(`(?:^|[\s"'(])(/[^\s"'<>:,;)]+)`), " PATH"},
}

// newAnonymizer returns a function that leaves out of a message what says whose Fairlead it is.
func (s Status) newAnonymizer() func(string) string {
	known := map[string]string{}
	add := func(what, name string) {
		if len(what) > 1 && what != "Fairlead" {
			known[what] = name
		}
	}
	places := list.Convert(s.Remotes, func(r status.Remote) string { return r.URL })
	for _, c := range s.Credentials {
		places = append(append(places, c.URL), c.Repositories...)
	}
	for _, e := range s.Environments {
		add(e.Name, "ENVIRONMENT")
		places = append(places, e.Output.Repo)
		places = append(places, list.Convert(e.Inputs, func(in status.Input) string { return in.Repo })...)
	}
	for _, place := range places {
		add(place, "REPOSITORY")
		if u, err := url.Parse(place); err == nil {
			add(u.Hostname(), "HOST")
		}
		if host, _, isSSH := strings.Cut(place[strings.LastIndexByte(place, '@')+1:], ":"); isSSH && strings.Contains(place, "@") {
			add(host, "HOST")
		}
	}
	for _, stage := range s.Chain.Stages {
		add(stage.Environment, "ENVIRONMENT")
		for _, turn := range stage.Turns {
			add(turn.Who, "PERSON")
		}
	}
	for _, c := range s.Chain.Commits {
		add(c.Author, "PERSON")
	}
	return anonymizer(known)
}

// anonymizer returns a function that replaces what is known, as whole words and the longest first, and then all
// that looks like a trace.
func anonymizer(known map[string]string) func(string) string {
	var words []string
	for what := range known {
		words = append(words, what)
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	for i, what := range words {
		words[i] = edgeOf(what[0]) + regexp.QuoteMeta(what) + edgeOf(what[len(what)-1])
	}
	all := regexp.MustCompile(cmp.Or(strings.Join(words, "|"), `^\b\B`)) // or nothing
	return func(message string) string {
		message = all.ReplaceAllStringFunc(text.CleanLine(message), func(what string) string { return known[what] })
		for _, t := range traces {
			message = t.pattern.ReplaceAllString(message, t.name)
		}
		return message
	}
}

// edgeOf returns the pattern of the edge of a word beside a byte of it; "" beside what is in no word.
func edgeOf(b byte) string {
	if b == '_' || '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z' {
		return `\b`
	}
	return ""
}
