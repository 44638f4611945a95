package stackfiles_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// abandons is the settings with the stack among those that are abandoned.
var abandons = map[string]string{"settings.yaml": settingsText + "  abandoned: [checkout/dev]\n"}

// namespaceOf returns the namespace of the stack in an output; "" if it has none.
func namespaceOf(output tree.Tree) string {
	return textOf(output, "environments/checkout/dev/namespace.yaml")
}

// textOf returns the text of a file; "" if there is none.
func textOf(files tree.Tree, name string) string {
	e, _ := files.Lookup(name)
	return string(e.Data)
}

// replaceFile returns a tree with another text of a file.
func replaceFile(t *testing.T, files tree.Tree, name, text string) tree.Tree {
	t.Helper()
	var b tree.Builder
	for file, e := range files.Walk() {
		if file == name {
			e = tree.File(e.Name, []byte(text))
		}
		if err := b.AddEntry(file, e); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}

// TestAbandonedKept: Flux keeps what is protected or suspended of an abandoned stack, and the namespace: both say
// so while the stack has its file, or else the stack stays until they do.
func TestAbandonedKept(t *testing.T) {
	const keeps = pruneNote + ": disabled"
	for name, c := range map[string]struct {
		fields, chart string
		kept          string // "" for nothing
	}{
		"protected": {"", ", destroyProtection: true", "a-network, eks, web"}, // what it needs is protected too
		"left out":  {leavesOut, "", "web"},
		"neither":   {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			first, _, problems := keepTexts(t, map[string]string{"a.yaml": chartText(c.fields, c.chart)}, tree.Tree{})
			if problems.Stops() || !strings.Contains(namespaceOf(first), keeps) || strings.Contains(releaseOf(first), keeps) != (c.kept != "") {
				t.Fatalf("%v\n%s\n%s", problems, namespaceOf(first), releaseOf(first))
			}
			gone, _, problems := keepTexts(t, abandons, first)
			if !hasNone(gone) || problems.Stops() || strings.Contains(fmt.Sprint(problems), "which nothing manages any more: "+c.kept) != (c.kept != "") {
				t.Errorf("%v\n%s", problems, changesOf(tree.Tree{}, gone))
			}
			checkFiles(t, gone)
			if again, _, _ := keepTexts(t, abandons, gone); !tree.Equal(again, gone) {
				t.Errorf("rendered again, it differs:\n%s", changesOf(gone, again))
			}
			if c.kept == "" && !strings.Contains(fmt.Sprint(problems), "except the namespace zmart-checkout-dev and the sources of root modules in it") {
				t.Errorf("nothing says what stays: %v", problems)
			}
			// Before, Fairlead did not have Flux keep the namespace and the sources.
			source := "environments/checkout/dev/eks/objects/gitrepository.yaml"
			old := replaceFile(t, first, "environments/checkout/dev/namespace.yaml", strings.Replace(namespaceOf(first), "    "+keeps+"\n", "", 1))
			old = replaceFile(t, old, source, strings.Replace(textOf(first, source), "  annotations:\n    "+keeps+"\n", "", 1))
			marked, _, problems := keepTexts(t, abandons, old)
			if problems.Stops() || !strings.Contains(namespaceOf(marked), keeps) || textOf(marked, source) != textOf(first, source) || releaseOf(marked) != releaseOf(first) {
				t.Fatalf("%v\n%s", problems, changesOf(old, marked))
			}
			checkFiles(t, marked)
			if again, _, _ := keepTexts(t, abandons, marked); !tree.Equal(again, marked) {
				t.Errorf("rendered again, it differs:\n%s", changesOf(marked, again))
			}
			if gone, _, _ := keepTexts(t, abandons, marked, "checkout/dev"); !hasNone(gone) {
				t.Errorf("the stack is not gone:\n%s", changesOf(tree.Tree{}, gone))
			}
		})
	}
}

// TestAbandonedTeam: a stack that its Team protects is not abandoned while that would uninstall a chart.
func TestAbandonedTeam(t *testing.T) {
	texts := map[string]string{"a.yaml": chartText("", ""), "team.yaml": protectingTeam("checkout", false)}
	first, _, _ := keepTexts(t, texts, tree.Tree{})
	abandoned := map[string]string{"settings.yaml": abandons["settings.yaml"], "team.yaml": protectingTeam("checkout", true)}
	stays, _, problems := keepTexts(t, abandoned, first)
	if !tree.Equal(stays, first) || !strings.Contains(fmt.Sprint(problems), "teardownProtection of its Team keeps it") {
		t.Errorf("%v\n%s", problems, changesOf(first, stays))
	}
	abandoned["team.yaml"] = protectingTeam("checkout", false)
	if gone, _, problems := keepTexts(t, abandoned, first); !hasNone(gone) {
		t.Errorf("without the protection, it is not gone: %v", problems)
	}
}

// TestTeamProtectionEnds: components that nothing but their Team protected when the file was deleted are
// destroyed once it does so no more.
func TestTeamProtectionEnds(t *testing.T) {
	file := func(protects bool, chart string) map[string]string {
		return map[string]string{"a.yaml": chartText("", chart), "team.yaml": protectingTeam("checkout", protects)}
	}
	for chart, want := range map[string]string{"": "", ", destroyProtection: true": "its components are destroyed, except those that are protected: a-network, eks, web"} {
		first, _, _ := keepTexts(t, file(true, chart), tree.Tree{})
		held, _, _ := keepTexts(t, map[string]string{"team.yaml": protectingTeam("checkout", true)}, first)
		if !tree.Equal(held, first) {
			t.Fatalf("it does not stay:\n%s", changesOf(first, held))
		}
		ended := map[string]string{"team.yaml": protectingTeam("checkout", false)}
		after, _, problems := keepTexts(t, ended, held)
		if want != "" {
			if !strings.Contains(fmt.Sprint(problems), want) || releaseOf(after) == "" {
				t.Errorf("%v\n%s", problems, changesOf(held, after))
			}
			continue
		}
		torn, _, problems := keepTexts(t, ended, after, "checkout/dev") // it was resumed first
		alive, _, _ := keepTexts(t, file(false, ""), tree.Tree{})
		expected, _, _ := keepTexts(t, ended, alive)
		if diff := changesOf(expected, torn); diff != "" {
			t.Errorf("%v\n-never protected +protected before:\n%s", problems, diff)
		}
	}
}
