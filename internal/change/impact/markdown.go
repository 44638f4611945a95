package impact

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
)

// rung is a level of detail.
type rung struct {
	groups, details, examples int
	diffs                     bool
}

// rungs range from everything to the classes only.
var rungs = []rung{
	{groups: maxGroups, details: maxDetails + 2, examples: maxExamples, diffs: true},
	{groups: maxGroups, details: maxDetails + 2, examples: maxExamples},
	{groups: maxGroups, details: 1, examples: 1},
	{groups: maxGroups / 10, details: 1, examples: 1},
	{groups: maxGroups / 10},
}

// Markdown returns the report in at most limit bytes. Texts from the trees are in code,
// where forges ignore mentions, references and HTML.
func (r Report) Markdown(limit int) string {
	meaning := r.Meaning()
	if len(meaning)+len("\n") > limit {
		// The summary has no text from the trees, so it may be cut anywhere.
		summary := r.Summary()
		return summary[:min(len(summary), max(limit, 0))]
	}
	for _, n := range []int{maxStacks, 1, 0} {
		if longer := meaning + r.StacksMarkdown(n); len(longer)+len("\n") <= limit {
			meaning = longer
			break
		}
	}
	meaning += r.ClustersMarkdown((limit - len(meaning)) / 2)
	groups := r.GroupsMarkdown(limit - len(meaning) - len("\n"))
	if groups == "" {
		return meaning
	}
	return meaning + "\n" + groups
}

const maxMeaning = 300

// Meaning returns three lines of Markdown: what changes, where, and the risks.
func (r Report) Meaning() string {
	if r.IsEmpty() {
		return "- **What:** nothing changes\n"
	}
	return fmt.Sprintf("- **What:** %s\n- **Where:** %s\n- **Risk:** %s\n", r.what(), r.where(), r.riskText())
}

func (r Report) what() string {
	if len(r.phrases) == 0 {
		return r.Summary()
	}
	for n := len(r.phrases); n > 1; n-- {
		if line := r.formatPhrases(n, n, 0, codeSpan); len(line) <= maxMeaning {
			return line
		}
	}
	return r.formatPhrases(1, 1, 0, codeSpan)
}

func (r Report) where() string {
	var all, stacks, clusters, manifests scope
	for _, p := range r.phrases {
		into := map[string]*scope{stackPlace: &stacks, clusterPlace: &clusters, manifestPlace: &manifests}[p.scope.place]
		if into == nil {
			into = &all
		}
		into.merge(p.scope)
	}
	parts := slices.Concat(
		all.countedNames(), nonEmpty(r.Assignments.words("assignment")), stacks.countedNames(), nonEmpty(r.Components.words("component")),
		clusters.countedNames(), manifests.countedNames(),
	)
	parts = append(parts, r.Files.words("file"))
	if r.Objects.Total() > 0 {
		parts = append(parts, r.Objects.words("object")+" inside of sources")
	}
	return strings.Join(parts, "; ")
}

func (s scope) countedNames() []string {
	var parts []string
	for _, part := range []struct {
		names map[string]bool
		unit  string
	}{{s.clusterTypes, s.place}, {s.workloads, s.unit}} {
		if len(part.names) > 0 {
			parts = append(parts, text.Count(len(part.names), part.unit)+" ("+someNames(part.names, codeSpan)+")")
		}
	}
	return parts
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func (c Counts) words(noun string) string {
	var parts []string
	for _, of := range []struct {
		n    int
		verb string
	}{{c.Removed, "removed"}, {c.Added, "added"}, {c.Changed, "changed"}} {
		switch {
		case of.n == 0:
		case len(parts) == 0:
			parts = append(parts, text.Count(of.n, noun)+" "+of.verb)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", of.n, of.verb))
		}
	}
	return strings.Join(parts, ", ")
}

func (r Report) riskText() string {
	var deletes []string
	counts, moved, uncompared, unknown, kept := map[string]int{}, map[Unit]int{}, map[Unit]int{}, 0, 0
	for _, g := range r.Groups {
		if slices.Contains(g.Classes, StateMoved) {
			moved[g.Unit] += g.Count
		}
		if g.Uncompared {
			uncompared[g.Unit] += g.Count
		}
		if slices.Contains(g.Classes, DestroyedOnRemoval) {
			kept += g.Count
		}
		switch {
		case g.Risk == Deletes:
			if counts[g.Name] == 0 {
				deletes = append(deletes, g.Name)
			}
			counts[g.Name] += g.Count
		case g.Risk == Unknown && (slices.Contains(g.Classes, Unclassified) || !slices.Contains(g.Classes, StateMoved)):
			unknown += g.Count
		}
	}
	for i, name := range deletes {
		deletes[i] = fmt.Sprintf("%s: %d", name, counts[name])
	}
	var parts []string
	if more := len(deletes) - maxExamples; more > 0 {
		deletes = append(deletes[:maxExamples], text.Count(more, "more group"))
	}
	if len(deletes) > 0 {
		parts = append(parts, "**deletes things on clusters** ("+strings.Join(deletes, "; ")+")")
	}
	if destroyed := r.destructionText(codeSpan); destroyed != "" {
		parts = append(parts, destroyed)
	}
	if len(moved) > 0 {
		units := list.Convert(slices.Sorted(maps.Keys(moved)), func(u Unit) string { return text.Count(moved[u], string(u)) })
		part := "**the state of " + text.Join(units, " and ") + " is elsewhere**: Terraform makes again what is not in the new one, and no longer manages what it made before"
		if len(r.remade) > 0 {
			part += "; **no person approves that** for " + joinSome(list.Convert(slices.Sorted(slices.Values(r.remade)), codeSpan), "other")
		}
		parts = append(parts, part)
	}
	if kept > 0 {
		parts = append(parts, "what Terraform made of "+text.Count(kept, "assignment")+" will be destroyed when that is removed, and is not now")
	}
	if len(uncompared) > 0 {
		units := list.Convert(slices.Sorted(maps.Keys(uncompared)), func(u Unit) string { return text.Count(uncompared[u], string(u)) })
		parts = append(parts, "the content of "+text.Join(units, " and ")+" was **not compared**: it is in a chart, an artifact or another repository")
	}
	if unknown > 0 {
		parts = append(parts, text.Count(unknown, "change")+" of **unknown** kind: read the lines below")
	}
	parts = append(parts, r.stackRisks()...)
	parts = append(parts, r.clusterRisks()...)
	if len(parts) == 0 {
		return "nothing is deleted"
	}
	return strings.Join(parts, "; ")
}

// GroupsMarkdown returns the groups in at most limit bytes. Groups with a risk are
// open, the others folded.
func (r Report) GroupsMarkdown(limit int) string {
	for _, step := range rungs {
		var b strings.Builder
		for _, g := range r.Groups[:min(step.groups, len(r.Groups))] {
			g.writeMarkdown(&b, step)
		}
		if more := len(r.Groups) - step.groups; more > 0 {
			fmt.Fprintf(&b, "- and %d more groups\n", more)
		}
		if b.Len() <= limit {
			return b.String()
		}
	}
	return ""
}

func (g Group) writeMarkdown(b *strings.Builder, step rung) {
	switch {
	case step.details == 0 && g.Risk != "":
		fmt.Fprintf(b, "- **%s**\n", g.headline())
	case step.details == 0:
		fmt.Fprintf(b, "- %s\n", g.headline())
	case g.Risk != "":
		fmt.Fprintf(b, "**%s**\n\n", g.headline())
		g.writeDetails(b, step)
		b.WriteString("\n")
	default:
		fmt.Fprintf(b, "<details><summary>%s</summary>\n\n", g.headline())
		g.writeDetails(b, step)
		b.WriteString("\n</details>\n\n")
	}
}

func (g Group) writeDetails(b *strings.Builder, step rung) {
	for _, d := range g.Details[:min(step.details, len(g.Details))] {
		fmt.Fprintf(b, "- %s\n", codeSpan(d))
	}
	for _, sentence := range g.uncomparedSentences() {
		if sentence != uncomparedText { // it has names from outside
			sentence = codeSpan(sentence)
		}
		fmt.Fprintf(b, "- %s\n", sentence)
	}
	fmt.Fprintf(b, "- in %s\n", strings.Join(g.shownExamples(step.examples, codeSpan), ", "))
	if !step.diffs || g.Diff == "" {
		return
	}
	fence := strings.Repeat("`", max(3, text.LongestBackticks(g.Diff)+1))
	fmt.Fprintf(b, "\n%sdiff\n", fence)
	for l := range strings.Lines(g.Diff) {
		fmt.Fprintf(b, "%s\n", breakMentions(visibleText(l)))
	}
	fmt.Fprintf(b, "%s\n", fence)
}

func codeSpan(code string) string {
	code = breakMentions(visibleText(code))
	ticks := strings.Repeat("`", text.LongestBackticks(code)+1)
	if strings.HasPrefix(code, "`") || strings.HasSuffix(code, "`") {
		code = " " + code + " "
	}
	return ticks + code + ticks
}

// mention does not match "@" after a letter or digit, as in an image's digest or a mail
// address.
var mention = regexp.MustCompile(`(^|[^0-9A-Za-z])@(\w)`)

// breakMentions inserts a zero-width space, since some forges follow mentions in code
// as well.
func breakMentions(code string) string {
	return mention.ReplaceAllString(code, "$1@\u200b$2")
}
