package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStateWordsAreDocumented: docs/reference/cli.md has all words that status shows for the state of an
// environment's commit, and no others.
func TestStateWordsAreDocumented(t *testing.T) {
	var wanted, documented []string
	for file, function := range map[string]string{"../reconcile/status/promotion.go": "func (s Stage) StateWord() string {", "status_git.go": "func gitStateWord("} {
		_, body, found := strings.Cut(read(t, file), function)
		if !found {
			t.Fatalf("%s has no %s", file, function)
		}
		body, _, _ = strings.Cut(body, "\n}\n")
		for _, m := range regexp.MustCompile(`return "([a-z-]+)"`).FindAllStringSubmatch(body, -1) {
			wanted = append(wanted, m[1])
		}
	}
	_, table, found := strings.Cut(read(t, "../../docs/reference/cli.md"), "\n| state | means |\n|---|---|\n")
	if !found || len(wanted) < 10 {
		t.Fatalf("the page has a table of states: %v; the code has %v", found, wanted)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.Lines(table) {
		for _, m := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(strings.SplitN(row, "|", 3)[1], -1) {
			documented = append(documented, m[1])
		}
	}
	slices.Sort(wanted)
	slices.Sort(documented)
	if diff := cmp.Diff(slices.Compact(wanted), documented); diff != "" {
		t.Errorf("words (-code +docs):\n%s", diff)
	}
}
