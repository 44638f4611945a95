package rootmodule

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// generateWith generates the root module of a component with a value and a file of variables.
func generateWith(t *testing.T, value, file string) (tree.Tree, string) {
	t.Helper()
	files, err := tree.FromFiles(map[string][]byte{"a.tfvars": []byte(file)})
	if err != nil {
		t.Fatal(err)
	}
	written := &model.Stack{Object: model.Object{Kind: "Environment", Name: "a"}}
	written.Pos.Layer = "dev"
	c := &stack.Component{
		Name: "eks", Type: stack.Terraform, Stack: &stack.Stack{Stack: written, Team: "checkout", Env: "dev"},
		StackComponent: &model.StackComponent{Module: &model.StackModule{Source: model.Text{Text: "aws", Line: 1}, Name: "eks"}},
		Variables:      []stack.Variable{{Name: "a", Value: value}},
	}
	c.VariablesFile = &model.VariablesFile{Path: model.Text{Text: "a.tfvars", Line: 1}}
	m := &model.Model{Stacks: model.Stacks{Layers: map[string]model.Layer{"dev": {Files: files}}}}
	module, problems := Generate(m, c, &stack.Settings{})
	first, _ := problems.FirstStopping()
	return module.Files, first.Summary
}

// TestNesting: what would overflow the stack of the parser, and so end the program, is a problem.
func TestNesting(t *testing.T) {
	for _, unit := range []string{"[", "(", "{a=", "\"${", "-", "!", "a?", "f(", "a[", "\"%{if ", "\"%{if a}"} {
		text := strings.Repeat(unit, 300_000/len(unit))
		if _, found := generateWith(t, "", "a = "+text+"\n"); !strings.Contains(found, "is the limit") && !strings.Contains(found, "cannot be parsed") {
			t.Errorf("a file of %s: %s", unit, found)
		}
		if _, found := generateWith(t, "${"+text, ""); !strings.Contains(found, "is the limit") && !strings.Contains(found, "is not a text of Terraform") {
			t.Errorf("a value of %s: %s", unit, found)
		}
	}
	if _, found := generateWith(t, "${"+strings.Repeat("[", 100)+strings.Repeat("]", 100)+"}", "b = "+strings.Repeat("(", 150)+"1"+strings.Repeat(")", 150)+"\n"); found != "" {
		t.Errorf("what is nested less is refused: %s", found)
	}
}

func TestIsVersioned(t *testing.T) {
	for _, c := range []struct {
		source, version string
		want            bool
	}{
		{"aws", "", false}, {"aws", "v3.19.0", true}, {"https://github.com/x/y", "", false}, {"https://github.com/x/y?ref=v1.0", "", true},
		{"git@github.com:x/y.git?depth=1", "", false}, {"git@github.com:x/y.git?ref=v1.0.0&depth=1", "", true}, {"https://github.com/x/y?ref=", "", false},
		{"terraform-aws-modules/vpc/aws", "", false}, {"terraform-aws-modules/vpc/aws", "~> 5.0", false}, {"terraform-aws-modules/vpc/aws", "5.1.2", true},
		{"https://github.com/x/y?ref=main", "", false}, {"aws", "main", false}, {"github.com/x/y?ref=52a65ab1", "", false}, {"github.com/x/y?ref=52a65ab152a65ab152a65ab152a65ab152a65ab1", "", true},
		{"github.com/x/y", "", false}, {"https://example.com/vpc-1.2.zip", "", true}, {"https://github.com/x/y?ref=%zz", "", false},
		{"github.com/x/y?ref=release-1", "", false}, {"github.com/x/y?ref=feature/JIRA-12", "", false}, {"github.com/x/y?ref=2024", "", false}, {"github.com/x/y?ref=v1~0", "", false},
		{"github.com/x/y?ref=refs/heads/v1.2.3", "", false}, {"github.com/x/y?ref=heads/v1", "", false}, {"github.com/x/y?ref=HEAD~1", "", false}, {"aws", "~> 5.0", false},
		{"github.com/x/y?ref=refs/tags/release", "", true}, {"github.com/x/y?ref=net-1.4.0", "", true}, {"github.com/x/y?ref=modules/net/v2.0", "", true},
		{"github.com/x/y?ref=v5", "", false}, {"github.com/x/y?ref=modules/net/v2", "", false}, {"github.com/x/y?ref=1.4", "", false}, {"github.com/x/y?ref=v1.4.x", "", false},
		{"github.com/x/y?ref=release-1.4.0", "", false}, {"github.com/x/y?ref=release/v1.4", "", false}, {"github.com/x/y?ref=hotfix/1.2.3", "", false}, {"github.com/x/y?ref=v1.4-stable", "", false}, {"github.com/x/y?ref=v1.2.3-rc.1", "", true},
	} {
		m := &model.StackModule{Source: model.Text{Text: c.source}, Version: model.Text{Text: c.version}}
		if got := IsVersioned(m); got != c.want {
			t.Errorf("IsVersioned(%s %s) = %v", c.source, c.version, got)
		}
	}
}

// FuzzGenerate: whatever the values are, a module without problems can be parsed, and has one block.
func FuzzGenerate(f *testing.F) {
	for _, value := range []string{"", "a", "${a}", "$${a}", "%{if a}b%{endif}", "\"\\\n\r\t\x00", "${\"a${b}\"}", "}\n", "ä\u2028", "${<<A\nb\nA\n}"} {
		f.Add(value, "b = 1\n")
		f.Add("", "b = \""+value+"\"\n")
	}
	f.Fuzz(func(t *testing.T, value, file string) {
		module, found := generateWith(t, value, file)
		if found != "" {
			return
		}
		e, _ := module.Lookup("module.tf")
		parsed, diagnostics := hclsyntax.ParseConfig(e.Data, "module.tf", hcl.InitialPos)
		if diagnostics.HasErrors() {
			t.Fatalf("%q and %q: %v\n%s", value, file, diagnostics, e.Data)
		}
		body := parsed.Body.(*hclsyntax.Body)
		if len(body.Blocks) != 1 || len(body.Attributes) != 0 {
			t.Fatalf("%q and %q are not inside of the block:\n%s", value, file, e.Data)
		}
	})
}
