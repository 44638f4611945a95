package stackfiles_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// BenchmarkRender renders 200 components in 50 stacks: all of them, and after a change of one.
func BenchmarkRender(b *testing.B) {
	models := [2]*model.Model{manyStacks(b, "b"), manyStacks(b, "c")}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			renderModel(b, models[0], nil)
		}
	})
	b.Run("one", func(b *testing.B) {
		cache, n := &stackfiles.Cache{}, 0
		renderModel(b, models[n], cache)
		for b.Loop() {
			n = 1 - n
			renderModel(b, models[n], cache)
		}
	})
}

func renderModel(b *testing.B, m *model.Model, cache *stackfiles.Cache) {
	b.Helper()
	if _, problems := stackfiles.RenderCached(m, cache, nil); problems.Stops() {
		b.Fatal(problems)
	}
}

// manyStacks returns 200 components in 50 stacks, of which one has a value.
func manyStacks(b *testing.B, value string) *model.Model {
	b.Helper()
	files := map[string][]byte{"settings.yaml": []byte(settingsText)}
	for s := range 50 {
		var text strings.Builder
		fmt.Fprintf(&text, "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: s%d}\nspec:\n  teamName: checkout\n  envName: s%[1]d\n  components:\n", s)
		for c := range 4 {
			needs := ""
			if c > 0 {
				needs = fmt.Sprintf("c%d", c-1)
			}
			fmt.Fprintf(&text, "    - {name: c%d, type: terraform, dependsOn: [%s], module: {source: aws, name: vpc}, outputs: [{name: a}], variables: [{name: a, value: %s}]}\n", c, needs, valueOf(s, c, value))
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
	return m
}

func valueOf(s, c int, value string) string {
	if s == 7 && c == 3 {
		return value
	}
	return "b"
}
