package text_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// The messages are those of tofu-controller 0.16.5, recorded.
func TestShortenTerraform(t *testing.T) {
	const plan = "\nTerraform used the selected providers to generate the following execution\nplan. Resource actions are indicated with the following symbols:\n" +
		"  + create\n\nTerraform will perform the following actions:\n\n  # module.database.terraform_data.node[1] will be created\n" +
		"  + resource \"terraform_data\" \"node\" {\n      + id     = (known after apply)\n      + input  = \"small 1\"\n    }\n\nPlan: 1 to add, 0 to change, 0 to destroy.\n"
	const short = "module.database.terraform_data.node[1] will be created. Plan: 1 to add, 0 to change, 0 to destroy."
	many := strings.Replace(plan, "\nPlan:", strings.Repeat("  # a.b is tainted, so must be replaced\n", 4)+"\nPlan:", 1)
	for _, c := range []struct{ name, message, want string }{
		{"a condition", plan, short},
		{"an event", "Drift detected.\n" + plan, "Drift detected. " + short},
		{"with our mark", "drift: " + strings.TrimSpace(plan), "drift: " + short},
		{"OpenTofu", strings.Replace(plan, "Terraform used", "OpenTofu used", 1), short},
		{"many resources", many, "module.database.terraform_data.node[1] will be created, a.b is tainted, so must be replaced, a.b is tainted, so must be replaced, and 2 more. " +
			"Plan: 1 to add, 0 to change, 0 to destroy."},
		{"a plan that fails", "error running Plan: rpc error: code = Internal desc = exit status 1\n\nError: Reference to undeclared resource\n\n  on bad.tf line 2\n",
			"Error: Reference to undeclared resource\n\n  on bad.tf line 2\n"},
		{"an event of an apply that fails", "Apply error: rpc error: code = Internal desc = exit status 1\n\nError: local-exec provisioner error\n", "Error: local-exec provisioner error\n"},
		{"init fails", "error running Init: rpc error: code = Internal desc = \nError: Failed to query available provider packages\n", "Error: Failed to query available provider packages\n"},
		{"something else", "Source is not ready, artifact not found", "Source is not ready, artifact not found"},
		{"no resource", "Terraform used the selected providers to generate the following execution\nplan.", "Terraform used the selected providers to generate the following execution\nplan."},
		{"nothing", "", ""},
	} {
		if got := text.ShortenTerraform(c.message); got != c.want {
			t.Errorf("%s: it is\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
