package stackfiles

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

// HasStacks reports whether an output has stacks, or had some: then its folders [ObjectsFolder] and
// [ModulesFolder] are of no cluster type.
func HasStacks(output tree.Tree) bool {
	objects := output.Sub(ObjectsFolder)
	if _, ours := objects.Lookup(kubeobject.KustomizationFile); !ours {
		return false
	}
	if _, none := objects.Lookup(noneFile); none {
		return true
	}
	for _, team := range objects.Entries() {
		for _, env := range team.Tree().Entries() {
			if _, ok := env.Tree().Lookup(namespaceFile); ok {
				return true
			}
		}
	}
	return false
}

// SummarizeStack returns what an output does with one stack; false if it has none of that name.
func SummarizeStack(output tree.Tree, team, env string) (Summary, bool, error) {
	s, err := readRenderedStack(output, team, env)
	if err != nil || s == nil {
		return Summary{}, false, err
	}
	return s.summarize(), true, nil
}

// ComponentFiles returns the files of a component of a stack: its objects, and its root module in a
// folder terraform. Seals are none of them: they follow from the others.
func ComponentFiles(output tree.Tree, team, env, component string) tree.Tree {
	entries := slices.DeleteFunc(slices.Clone(output.Sub(path.Join(ObjectsFolder, team, env, component)).Entries()), func(e tree.Entry) bool {
		return strings.HasPrefix(e.Name, kubeobject.SealPrefix)
	})
	module := output.Sub(path.Join(modulesOf(team, env), component, "terraform"))
	if !module.IsEmpty() {
		entries = append(entries, tree.Dir("terraform", module))
	}
	return tree.FromEntries(entries)
}

func modulesOf(team, env string) string {
	return path.Join(ModulesFolder, team+TeamSuffix, env+EnvSuffix)
}

// MermaidGraph returns the graph of the components in the words of Mermaid. Names are labels, since
// some of them are keywords.
func (s Summary) MermaidGraph(label func(ComponentSummary) string) string {
	var b strings.Builder
	ids := map[string]string{}
	b.WriteString("graph TD\n")
	for i, c := range s.Components {
		ids[c.Name] = fmt.Sprintf("c%d", i)
		fmt.Fprintf(&b, "  %s[\"%s\"]\n", ids[c.Name], label(c))
	}
	for _, c := range s.Components {
		for _, before := range c.After {
			if ids[before] != "" {
				fmt.Fprintf(&b, "  %s --> %s\n", ids[before], ids[c.Name])
			}
		}
	}
	return b.String()
}
