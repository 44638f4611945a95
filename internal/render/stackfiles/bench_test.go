package stackfiles_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// BenchmarkRender renders 200 components in 50 stacks.
func BenchmarkRender(b *testing.B) {
	files := map[string][]byte{"settings.yaml": []byte(settingsText)}
	for s := range 50 {
		var text strings.Builder
		fmt.Fprintf(&text, "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: s%d}\nspec:\n  teamName: checkout\n  envName: s%[1]d\n  components:\n", s)
		for c := range 4 {
			needs := ""
			if c > 0 {
				needs = fmt.Sprintf("c%d", c-1)
			}
			fmt.Fprintf(&text, "    - {name: c%d, type: terraform, dependsOn: [%s], module: {source: aws, name: vpc}, outputs: [{name: a}], variables: [{name: a, value: b}]}\n", c, needs)
		}
		files[fmt.Sprintf("s%d.yaml", s)] = []byte(text.String())
	}
	all, err := tree.FromFiles(files)
	if err != nil {
		b.Fatal(err)
	}
	m, problems := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: all})
	if problems.Stops() {
		b.Fatal(problems)
	}
	for b.Loop() {
		if _, problems := stackfiles.Render(m); problems.Stops() {
			b.Fatal(problems)
		}
	}
}
