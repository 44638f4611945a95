package stackfiles_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// TestMistypedGroup: a stack whose apiVersion is mistyped is stopped, and stays as it is: it does not count as
// deleted, which would destroy it. A mistyped Team, which might protect its stacks, stops them.
func TestMistypedGroup(t *testing.T) {
	const group = "stable.cloudknit.io/v1"
	text, team := stackText("checkout", "", ""), protectingTeam("checkout", true)
	first, _, problems := keepTexts(t, map[string]string{"a.yaml": text, "team.yaml": team}, tree.Tree{})
	if problems.Stops() {
		t.Fatal(problems)
	}
	for _, mistyped := range []string{"stable.cloudknit.org/v1", "stabel.cloudknit.io/v1", "cloudknit.io/v1", "stable.cloudknit.io/v2", "example.com/v1"} {
		t.Run(mistyped, func(t *testing.T) {
			got, deleted, problems := keepTexts(t, map[string]string{"a.yaml": strings.Replace(text, group, mistyped, 1), "team.yaml": team}, first)
			if !tree.Equal(got, first) || deleted != nil {
				t.Errorf("it does not stay as it is: %v\n%s", deleted, changesOf(first, got))
			}
			isSaid := func(l problem.List) bool {
				return strings.Contains(fmt.Sprint(l), "apiVersion "+mistyped+" is not known")
			}
			if !isSaid(problems) || problems.StopsEnvironment() || !problems.StopsStack("checkout/dev") {
				t.Errorf("problems of the stack: %v", problems)
			}
			if mistyped == "example.com/v1" { // has Teams of its own
				return
			}
			got, deleted, problems = keepTexts(t, map[string]string{"team.yaml": strings.Replace(team, group, mistyped, 1)}, first)
			if deleted != nil || !isSaid(problems) || problems.StopsEnvironment() || !problems.StopsStack("checkout/dev") || !tree.Equal(got, first) {
				t.Errorf("problems of the Team: %v %v", deleted, problems)
			}
		})
	}
}

// TestForeignEnvironment: the Environment of another project is none of ours.
func TestForeignEnvironment(t *testing.T) {
	foreign := "apiVersion: environments.example.com/v1\nkind: Environment\nmetadata: {name: a}\nspec: {teamName: x}\n"
	if _, _, problems := keepTexts(t, map[string]string{"a.yaml": stackText("checkout", "", ""), "b.yaml": foreign}, tree.Tree{}); problems.Stops() {
		t.Error(problems)
	}
}
