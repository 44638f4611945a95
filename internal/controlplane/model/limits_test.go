package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// TestLimitsOf: each row is what is written of limits, and those of dev and of an
// environment that no Promotion names, as percentage, few, last, changes.
func TestLimitsOf(t *testing.T) {
	const none = "10 3 false 100"
	for _, test := range []struct {
		name, spec string
		dev, other string
		problem    string
	}{
		{"nothing", "", none, none, ""},
		{"an empty one", "limits: {}\n", none, none, ""},
		{"for all", "limits: {removals: 0 %, few: 0, last: allow, changes: 5%}\n", "0 0 true 5", "0 0 true 5", ""},
		{"of one", "environments: [{name: dev, limits: {removals: 50%}}]\n", "50 3 false 100", none, ""},
		{"of one, over those for all", "limits: {few: 7, changes: 20%}\n  environments: [{name: dev, limits: {changes: 90%, last: withhold}}]\n", "10 7 false 90", "10 7 false 20", ""},
		{"no percentage", "limits: {removals: 110%}\n", none, none, `limits.removals cannot be "110%"`},
		{"no number", "limits: {changes: some}\n", none, none, `limits.changes cannot be "some"`},
		{"neither yes nor no", "environments: [{name: dev, limits: {last: maybe}}]\n", none, none, `limits.last cannot be "maybe"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := ""
			if test.spec != "" {
				text = "apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: main}\nspec:\n  " + test.spec
			}
			p := model.NewParser().Progress("", model.Layer{Kind: model.Base, Name: "base", Files: tree.FromEntries([]tree.Entry{tree.File("a.yaml", []byte(text))})})
			for name, want := range map[string]string{"dev": test.dev, "other": test.other} {
				l := p.LimitsOf(name)
				if got := fmt.Sprintln(l.Removals, l.Few, l.Last, l.Changes); got != want+"\n" {
					t.Errorf("those of %s are %swant %s", name, got, want)
				}
			}
			if got := fmt.Sprint(p.Problems); (test.problem == "") != (len(p.Problems) == 0) || !strings.Contains(got, test.problem) {
				t.Errorf("the problems are %s", got)
			}
		})
	}
}
