package impact

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// phraseStacks describes destruction that ends or is prepared, which differences of
// files do not show.
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

func describeEnd(kept, again []string, show func([]string) string) string {
	what := nonEmpty(show(kept))
	if len(again) > 0 {
		what = append(what, "install "+show(again))
	}
	return " (" + strings.Join(what, "; ") + ")"
}

func (c StackChange) namesOf(state ComponentState) []string {
	var names []string
	for _, one := range c.Components {
		if one.Change == state {
			names = append(names, one.Name)
		}
	}
	return names
}

func (c StackChange) scopeOf(components []string) scope {
	s := newScope(stackPlace, "component")
	s.clusterTypes[c.Stack] = true
	for _, name := range components {
		s.targets[name], s.workloads[name] = true, true
	}
	return s
}

func fewNames(names []string) string {
	all := map[string]bool{}
	for _, name := range names {
		all[strings.Map(replaceUnlabeled, name)] = true
	}
	return someNames(all, printableText)
}

func countNames(names []string) string {
	if len(names) > 1 {
		return text.Count(len(names), "component")
	}
	return fewNames(names)
}

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
