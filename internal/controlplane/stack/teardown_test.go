package stack

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// TestSetTeardown: the text of a stack stays as it is, but for the one field.
func TestSetTeardown(t *testing.T) {
	const flow = "the spec is not written line by line"
	for _, c := range []struct{ name, text, want, fails string }{
		{"no field", "kind: Environment\nspec:\n  # who it is of\n  teamName: shop # the team\n\n  envName: dev\n", "kind: Environment\nspec:\n  # who it is of\n  teardown: true\n  teamName: shop # the team\n\n  envName: dev\n", ""},
		{"a field that says no", "spec:\n  teamName: shop\n  teardown:   false   # keep it\n  envName: dev", "spec:\n  teamName: shop\n  teardown:   true   # keep it\n  envName: dev", ""},
		{"lines of Windows", "spec:\r\n    teamName: shop\r\n", "spec:\r\n    teardown: true\r\n    teamName: shop\r\n", ""},
		{"braces", "spec: {teamName: shop}\n", "", flow},
		{"a text", "spec:\n  teardown: \"false\"\n", "", "the value of teardown is not a plain one"},
		{"an anchor", "spec:\n  teardown: &no false\n", "", "the value of teardown is not a plain one"},
		{"nothing", "spec: {}\n", "", flow},
		{"a key behind another", "? spec\n: teamName: shop\n", "", "the first field of the spec is not on a line of its own"},
	} {
		documents, err := yamldoc.Parse([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := setTeardown([]byte(c.text), yamldoc.FindValue(yamldoc.RootOf(documents[0]), "spec"))
		if string(got) != c.want || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %q (%v), want %q (%s)", c.name, got, err, c.want, c.fails)
		}
	}
}
