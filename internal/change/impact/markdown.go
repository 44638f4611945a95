package impact

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// rung is a level of detail: how many groups, and how much of each.
type rung struct {
	groups, details, examples int
	diffs                     bool
}

// rungs are the levels of detail, from everything to the classes only.
var rungs = []rung{
	{groups: maxGroups, details: maxDetails + 2, examples: maxExamples, diffs: true},
	{groups: maxGroups, details: maxDetails + 2, examples: maxExamples},
	{groups: maxGroups, details: 1, examples: 1},
	{groups: maxGroups / 10, details: 1, examples: 1},
	{groups: maxGroups / 10},
}

// Markdown returns the report for the body of a pull request, in at most limit bytes and
// with as much detail as fits: from every group with an example of its lines down to the
// summary. Texts from the trees are in code, where forges ignore mentions, references and
// HTML.
func (r Report) Markdown(limit int) string {
	for _, step := range rungs {
		if report, ok := r.renderMarkdown(step, limit); ok {
			return report
		}
	}
	// The summary has no text from the trees; it may be cut anywhere.
	summary := r.Summary()
	return summary[:min(len(summary), max(limit, 0))]
}

func (r Report) renderMarkdown(step rung, limit int) (string, bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n", r.Summary())
	if !r.IsEmpty() {
		fmt.Fprintf(&b, "\n%s\n\n", r.totals())
	}
	for _, g := range r.Groups[:min(step.groups, len(r.Groups))] {
		g.writeMarkdown(&b, step)
	}
	if more := len(r.Groups) - step.groups; more > 0 {
		fmt.Fprintf(&b, "- and %d more groups\n", more)
	}
	return b.String(), b.Len() <= limit
}

func (g Group) writeMarkdown(b *strings.Builder, step rung) {
	headline := g.headline()
	if g.Risk != "" {
		headline = "**" + headline + "**"
	}
	fmt.Fprintf(b, "- %s\n", headline)
	for _, d := range g.Details[:min(step.details, len(g.Details))] {
		fmt.Fprintf(b, "  - %s\n", codeSpan(d))
	}
	if step.examples > 0 {
		fmt.Fprintf(b, "  - in %s\n", strings.Join(g.shownExamples(step.examples, codeSpan), ", "))
	}
	if !step.diffs || g.Diff == "" {
		return
	}
	fence := strings.Repeat("`", max(3, text.LongestBackticks(g.Diff)+1))
	fmt.Fprintf(b, "\n  <details><summary>example</summary>\n\n  %sdiff\n", fence)
	for l := range strings.Lines(g.Diff) {
		fmt.Fprintf(b, "  %s\n", breakMentions(visibleText(l)))
	}
	fmt.Fprintf(b, "  %s\n\n  </details>\n\n", fence)
}

// codeSpan returns any text as a code span.
func codeSpan(code string) string {
	code = breakMentions(visibleText(code))
	ticks := strings.Repeat("`", text.LongestBackticks(code)+1)
	if strings.HasPrefix(code, "`") || strings.HasSuffix(code, "`") {
		code = " " + code + " "
	}
	return ticks + code + ticks
}

// mention matches "@" and a name. After a letter or digit, as in an image's digest or a mail
// address, that is not a mention.
var mention = regexp.MustCompile(`(^|[^0-9A-Za-z])@(\w)`)

// breakMentions inserts a character of no width between the "@" and the name of a mention,
// since some forges follow mentions in code as well.
func breakMentions(code string) string {
	return mention.ReplaceAllString(code, "$1@\u200b$2")
}
