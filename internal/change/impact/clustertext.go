package impact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

const (
	maxRows    = 40 // steps in a table
	maxReasons = 3  // fields that change in a row
)

func (c ClusterChange) describeSteps() string {
	if c.Unknown != "" {
		return "**the steps are not known**: " + codeSpan(c.Unknown)
	}
	if len(c.Steps) == 0 {
		return "no steps: no machine, version or load balancer changes"
	}
	counts := map[string]int{}
	for _, s := range c.Steps {
		counts[string(s.Disruption)]++
		if !s.Reversible {
			counts["final"]++
		}
	}
	parts := []string{text.Count(len(c.Steps), "step")}
	for _, part := range []struct{ key, words string }{
		{string(provision.Outage), "with an **outage**"}, {string(provision.Rolling), "that drain or restart nodes one after another"}, {"final", "that **cannot be reverted**, only retried"},
	} {
		if n := counts[part.key]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, part.words))
		}
	}
	return strings.Join(parts, ", ")
}

func (r Report) clusterRisks() []string {
	counts, scaled := map[provision.Kind]int{}, 0
	for _, c := range r.ClusterChanges {
		for _, s := range c.Steps {
			counts[s.Kind]++
			if s.MayRemove > 0 {
				scaled++
			}
		}
	}
	var parts []string
	if n := counts[provision.DestroyCluster]; n > 0 {
		parts = append(parts, "**destroys "+text.Count(n, "cluster")+"**")
	}
	if n := counts[provision.DetachClusterType]; n > 0 {
		parts = append(parts, "**removes all that the cluster type brought to "+text.Count(n, "cluster")+"**")
	}
	if n := counts[provision.RemoveNodes]; n > 0 {
		parts = append(parts, "removes nodes of "+text.Count(n, "pool"))
	}
	if n := counts[provision.DestroyNodes]; n > 0 {
		parts = append(parts, "**destroys machines of "+text.Count(n, "pool")+"**, whose nodes are not drained")
	}
	if n := counts[provision.ReplaceNodes]; n > 0 {
		parts = append(parts, "replaces the control nodes of "+text.Count(n, "cluster"))
	}
	if scaled > 0 {
		parts = append(parts, "may remove nodes that the autoscaler has made, of "+text.Count(scaled, "pool"))
	}
	if n := counts[provision.DeleteLB]; n > 0 {
		parts = append(parts, "**deletes "+text.Count(n, "load balancer")+"**")
	}
	return parts
}

// Markdown returns at most steps rows of the plan, and the node counts. A whole plan is
// followed by its graph.
func (c ClusterChange) Markdown(steps int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### Clusters of %s\n\n%s\n", codeSpan(c.Manifest), c.describeSteps())
	if c.restored {
		fmt.Fprintf(&b, "\n%s\n", restoredText)
	}
	if c.Rollout != "" {
		fmt.Fprintf(&b, "\n%s\n", c.Rollout)
	}
	c.writeParts(&b)
	if len(c.Steps) == 0 || steps == 0 {
		return b.String()
	}
	b.WriteString("\n| # | cluster | step | why | disruption | reversible |\n|---|---|---|---|---|---|\n")
	for i, s := range c.Steps[:min(steps, len(c.Steps))] {
		reversible := "yes"
		if !s.Reversible {
			reversible = "**no**"
		}
		disruption := string(s.Disruption)
		if s.Disruption == provision.Outage {
			disruption = "**" + disruption + "**"
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s |\n", i+1, tableCell(s.Cluster), tableCell(s.Sentence()), describeReason(s.Reason), disruption, reversible)
	}
	if more := len(c.Steps) - steps; more > 0 {
		fmt.Fprintf(&b, "\nand %s\n", text.Count(more, "more step"))
	}
	if len(c.Clouds) > 0 {
		b.WriteString("\n| cloud | nodes before | nodes after |\n|---|---|---|\n")
	}
	for _, cloud := range c.Clouds {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", tableCell(cloud.Cloud), countNodes(cloud.Before), countNodes(cloud.After))
	}
	if len(c.Steps) <= steps {
		fmt.Fprintf(&b, "\n```mermaid\n%s```\n", c.MermaidGraph())
	}
	return b.String()
}

func (c ClusterChange) writeParts(b *strings.Builder) {
	var lines strings.Builder
	c.changedParts().writeLines(&lines)
	for _, line := range c.otherLines() {
		fmt.Fprintf(&lines, "- %s: %s\n", strings.ToUpper(line.what[:1])+line.what[1:], strings.Join(list.Convert(line.names, codeSpan), ", "))
	}
	if lines.Len() == 0 {
		return
	}
	if len(c.Parts)+len(c.Approved) > 0 {
		fmt.Fprintf(b, "\nParts, as `fairlead approve-plan` names them in %s:\n", codeSpan(c.parts.Stack))
	}
	b.WriteString("\n" + lines.String())
}

func (c ClusterChange) otherLines() []stackLine {
	var all []stackLine
	for _, line := range []stackLine{{"approves the plan of", false, c.Approved}, {"attaches in another way", false, c.Rebound}, {"gives the kubeconfig's Secret another owner, and makes it anew, for", false, c.recopied}, {"lets the next commit remove", false, c.Released}} {
		if more := len(line.names) - maxComponents; more > 0 {
			line.names = append(line.names[:maxComponents:maxComponents], fmt.Sprintf("%d more", more))
		}
		if len(line.names) > 0 {
			all = append(all, line)
		}
	}
	return all
}

func tableCell(s string) string {
	if s == "" {
		return ""
	}
	return strings.ReplaceAll(codeSpan(printableText(s)), "|", `\|`)
}

func describeReason(reason []provision.Change) string {
	cells := list.Convert(reason[:min(maxReasons, len(reason))], func(c provision.Change) string { return tableCell(c.String()) })
	if more := len(reason) - maxReasons; more > 0 {
		cells = append(cells, text.Count(more, "more change"))
	}
	return strings.Join(cells, "<br>")
}

func countNodes(c provision.CloudCount) string {
	if c.Fewest == c.Most {
		return fmt.Sprint(c.Fewest)
	}
	return fmt.Sprintf("%d to %d", c.Fewest, c.Most)
}

// MermaidGraph returns the graph of the steps. Arrows lead to steps that wait; outages
// have thick borders.
func (c ClusterChange) MermaidGraph() string {
	var b strings.Builder
	b.WriteString("graph TD\n")
	number := map[string]int{}
	for i, s := range c.Steps {
		number[s.ID] = i + 1
		fmt.Fprintf(&b, "  s%d[\"%d. %s\"]\n", i+1, i+1, strings.Map(replaceUndrawn, s.Sentence()))
	}
	for i, s := range c.Steps {
		for _, id := range s.After {
			fmt.Fprintf(&b, "  s%d --> s%d\n", number[id], i+1)
		}
	}
	var outages []string
	for i, s := range c.Steps {
		if s.Disruption == provision.Outage {
			outages = append(outages, fmt.Sprintf("s%d", i+1))
		}
	}
	if len(outages) > 0 {
		fmt.Fprintf(&b, "  classDef outage stroke-width:4px\n  class %s outage\n", strings.Join(outages, ","))
	}
	return b.String()
}

func replaceUndrawn(r rune) rune {
	if slices.Contains([]rune(" ,()"), r) {
		return r
	}
	return replaceUnlabeled(r)
}

// ClustersMarkdown returns the cluster changes in at most limit bytes, with as much
// detail as fits.
func (r Report) ClustersMarkdown(limit int) string {
	if len(r.ClusterChanges) == 0 {
		return ""
	}
	for _, rows := range []int{maxRows, maxRows / 4, 0} {
		var b strings.Builder
		for _, c := range r.ClusterChanges {
			b.WriteString(c.Markdown(rows))
		}
		if b.Len() <= limit {
			return b.String()
		}
	}
	line := fmt.Sprintf("\n%s with changes of clusters\n", text.Count(len(r.ClusterChanges), "manifest"))
	return line[:min(len(line), max(limit, 0))]
}

const restoredText = "It restores the folder of the manifest, which somebody edited or deleted in the output."

func (c ClusterChange) terminalText() string {
	var b strings.Builder
	if c.Unknown != "" {
		fmt.Fprintf(&b, "clusters of %s: the steps are not known: %s\n", printableText(c.Manifest), printableText(c.Unknown))
		return b.String()
	}
	fmt.Fprintf(&b, "clusters of %s: %s\n", printableText(c.Manifest), text.Count(len(c.Steps), "step"))
	if c.restored {
		fmt.Fprintf(&b, "  %s\n", restoredText)
	}
	if c.Rollout != "" {
		fmt.Fprintf(&b, "  %s\n", printableText(c.Rollout))
	}
	for _, line := range append(c.changedParts().lines(), c.otherLines()...) {
		fmt.Fprintf(&b, "  %s: %s\n", line.what, strings.Join(list.Convert(line.names, printableText), ", "))
	}
	for line := range strings.Lines(provision.Plan{Steps: c.Steps[:min(maxRows, len(c.Steps))]}.Text()) {
		b.WriteString("  " + printableText(strings.TrimSuffix(line, "\n")) + "\n")
	}
	if more := len(c.Steps) - maxRows; more > 0 {
		fmt.Fprintf(&b, "  and %s\n", text.Count(more, "more step"))
	}
	return b.String()
}
