package rootmodule

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// TestVersions: versions of Terraform and of providers that the module of a component, or one that it calls, requires are
// compared with those of the root module.
func TestVersions(t *testing.T) {
	aws := func(versions string) string {
		return "terraform {\n  required_providers {\n    aws = {\n      source = \"hashicorp/aws\"\n      version = \"" + versions + "\"\n    }\n  }\n}\n"
	}
	terraform := func(versions string) string { return "terraform {\n  required_version = \"" + versions + "\"\n}\n" }
	const fine, none, runner = "", "no version of ", "is unknown here"
	for _, c := range []struct{ settings, module, called, want string }{
		{">= 5.8.0", aws(">= 6"), "", fine},
		{">= 5.8.0", aws("~> 6.0, != 6.1.0"), aws("< 6.4"), fine},
		{">= 5.8.0", aws("< 5"), "", none + `hashicorp/aws satisfies ">= 5.8.0" of the root module and "< 5" of the module`},
		{"< 5", aws(">= 6"), "", none},
		{">= 5.8.0, < 6.0.0", aws(">= 6.0.0"), "", none},
		{">= 5.8.0, < 6.0.0", aws(">= 5.9"), aws("~> 6.2"), none + `hashicorp/aws satisfies ">= 5.8.0, < 6.0.0" of the root module, ">= 5.9" of the module and "~> 6.2" of the module/vpc`},
		{"~> 5.8", aws("~> 5.9.1"), "", fine},
		{"~> 5.8.0", aws("~> 5.9.1"), "", none},
		{"5.8.0", aws("!= 5.8.0"), "", none},
		{"<= 5.8.0", aws("> 5.8.0"), "", none},
		{"~> 5", aws("= 7.1"), "", fine},
		{">= 5.8.0", aws("6.0.0-beta1"), "", fine}, // only Terraform knows which there are
		{">= 5.8.0", aws("soon"), "", fine},
		{">= 5.8.0", strings.ReplaceAll(aws("< 5"), "hashicorp/aws", "registry.terraform.io/hashicorp/aws"), "", none},
		{">= 5.8.0", strings.ReplaceAll(aws("< 5"), "hashicorp/aws", "acme/aws"), "", fine},
		{">= 5.8.0", "terraform {\n  required_providers {\n    aws = \"< 5\"\n  }\n}\n", "", none},
		{">= 5.8.0", "terraform {\n  required_providers {\n    aws = \"< 5\"\n", "", fine}, // Terraform says that it cannot be parsed
		{">= 5.8.0", terraform(">= 1.3"), terraform("~> 1.0"), fine},
		{">= 5.8.0", terraform(">= 1.6"), "", runner},
		{">= 5.8.0", terraform("~> 1.5.0"), "", runner},
		{">= 5.8.0", terraform(">= 1.6"), terraform("< 1.6"), none + `Terraform satisfies ">= 1.6" of the module and "< 1.6" of the module/vpc`},
	} {
		files, err := tree.FromFiles(map[string][]byte{
			"net/main.tf": []byte("module \"vpc\" {\n  source = \"./vpc\"\n}\n"), "net/versions.tf": []byte(c.module), "net/vpc/versions.tf": []byte(c.called), "net/other/versions.tf": []byte(aws("< 1")),
		})
		if err != nil {
			t.Fatal(err)
		}
		net := files.Sub("net")
		component := &stack.Component{
			Name: "net", Type: stack.Terraform, Stack: &stack.Stack{Stack: &model.Stack{Object: model.Object{Kind: "Environment", Name: "a"}}, Team: "checkout", Env: "dev"},
			StackComponent: &model.StackComponent{Module: &model.StackModule{Source: model.Text{Text: "./net", Line: 7}}},
		}
		g := newGenerator(&model.Model{}, component, &stack.Settings{AWS: model.StackAWS{Version: c.settings}})
		g.addFile("versions.tf", g.writeVersions)
		g.module = &net
		g.checkVersions()
		var got []string
		for _, p := range g.problems {
			if p.Warning != (c.want == runner) || p.Hint == "" {
				t.Errorf("%s: %s; %s", c.settings, p, p.Hint)
			}
			got = append(got, p.Summary)
		}
		if (len(got) == 0) != (c.want == fine) || !strings.Contains(strings.Join(got, "\n"), c.want) || len(got) > 1 {
			t.Errorf("%s with %s: %q, want %q", c.settings, c.module, got, c.want)
		}
	}
}
