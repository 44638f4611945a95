package impact

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// phraseStacks returns the phrases for stacks whose destruction ends, or is prepared: what differs in their files
// does not say so.
func phraseStacks(changes []StackChange) []phrase {
	var all []phrase
	for _, c := range changes {
		kept, again, resumed := c.namesOf(ComponentKept), c.namesOf(ComponentReinstalled), c.namesOf(ComponentResumed)
		if ended := slices.Concat(kept, again); len(ended) > 0 {
			p := phrase{form: clustersChange, verb: "keep %s of", note: ": end the destruction", names: []string{fewNames(ended)}}
			p.shorter = []phrase{{verb: p.verb, note: p.note, names: []string{countNames(ended)}}, {verb: p.verb, names: []string{countNames(ended)}}}
			if c.EndsTeardown {
				const note = ": end its teardown"
				p = phrase{form: clustersChange, verb: "keep", note: note + describeEnd(kept, again, fewNames)}
				p.shorter = []phrase{{verb: p.verb, note: note + describeEnd(kept, again, countNames)}, {verb: p.verb, note: note}}
			}
			p.scope = c.scopeOf(ended)
			all = append(all, p)
		}
		if len(resumed) > 0 {
			p := phrase{form: clustersChange, verb: "resume %s of", names: []string{fewNames(resumed)}, note: ", to uninstall it", scope: c.scopeOf(resumed)}
			if len(resumed) > 1 {
				p.note = ", to uninstall them"
			}
			if c.Deleted {
				p.note += ": its file was deleted"
			}
			all = append(all, p)
		}
	}
	return all
}

// describeEnd returns in parentheses which components the end of a teardown keeps, and which are installed again.
func describeEnd(kept, again []string, show func([]string) string) string {
	what := nonEmpty(show(kept))
	if len(again) > 0 {
		what = append(what, "install "+show(again))
	}
	return " (" + strings.Join(what, "; ") + ")"
}

// namesOf returns the components of a state.
func (c StackChange) namesOf(state ComponentState) []string {
	var names []string
	for _, one := range c.Components {
		if one.Change == state {
			names = append(names, one.Name)
		}
	}
	return names
}

// scopeOf returns the scope of a phrase about components of the stack.
func (c StackChange) scopeOf(components []string) scope {
	s := newScope(stackPlace, "component")
	s.clusterTypes[c.Stack] = true
	for _, name := range components {
		s.targets[name], s.workloads[name] = true, true
	}
	return s
}

// fewNames returns the first names of components, and how many more there are.
func fewNames(names []string) string {
	all := map[string]bool{}
	for _, name := range names {
		all[strings.Map(replaceUnlabeled, name)] = true
	}
	return someNames(all, printableText)
}

// countNames returns the name of a component, or the number of several ones.
func countNames(names []string) string {
	if len(names) > 1 {
		return text.Count(len(names), "component")
	}
	return fewNames(names)
}

// stackRisks returns what the change prepares for the next one, and what Terraform makes again.
func (r Report) stackRisks() []string {
	var parts []string
	kept := 0
	for _, c := range r.StackChanges {
		kept += len(c.namesOf(ComponentKept))
		resumed := c.namesOf(ComponentResumed)
		switch {
		case len(resumed) == 0:
		case c.Deleted:
			parts = append(parts, "**the next pull request destroys** "+codeSpan(c.Stack)+", whose file was deleted")
		default:
			parts = append(parts, "the next pull request **uninstalls** "+codeSpan(fewNames(resumed))+" of "+codeSpan(c.Stack))
		}
	}
	if kept > 0 {
		parts = append(parts, "Terraform makes again what is destroyed already of "+text.Count(kept, "component"))
	}
	return parts
}
