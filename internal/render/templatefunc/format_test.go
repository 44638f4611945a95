package templatefunc

import (
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

func TestToTfvars(t *testing.T) {
	for _, test := range []struct {
		name  string
		value any
		want  string
	}{
		{"an empty map", map[string]any{}, ""},
		{"sorted texts", map[string]any{"b": "8080", "a": "x", "B-2": ""}, "B-2 = \"\"\na   = \"x\"\nb   = \"8080\""},
		{"what must be escaped", map[string]any{"a": "\"${b}\" %{if}\n\\ é"}, `a = "\"$${b}\" %%{if}\n\\ é"`},
		{"scalars", parsed(t, "{n: ~, i: 12, f: 0.1, b: yes, big: 18446744073709551615, neg: -9223372036854775808}"),
			"b     = true\nbig   = 18446744073709551615\nf     = 0.1\nfalse = null\ni     = 12\nneg   = -9223372036854775808"},
		{"labels", map[string]string{"region": "north"}, `region = "north"`},
		{"structures", map[string]any{"l": parsed(t, "[1, two, [], {}]"), "m": parsed(t, "{z: 1, 2: {no: x}, 'a b': [{k: v}]}"), "s": []string{"a"}, "i": []int{1}},
			"i = [1]\nl = [1, \"two\", [], {}]\nm = {\n  \"2\" = {\n    false = \"x\"\n  }\n  \"a b\" = [{\n    k = \"v\"\n  }]\n  z = 1\n}\ns = [\"a\"]"},
		{"words of HCL", map[string]any{"for": parsed(t, "{for: 1}"), "m": parsed(t, "{null: 1, 'true': 2, if: 3}"), "null": "x"},
			"for = {\n  \"for\" = 1\n}\nm = {\n  if     = 3\n  \"null\" = 1\n  true   = 2\n}\nnull = \"x\""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := toTfvars(test.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			readsBack(t, got)
		})
	}
}

// readsBack checks that Terraform's parser takes a .tfvars text.
func readsBack(t *testing.T, text string) {
	t.Helper()
	file, diags := hclsyntax.ParseConfig([]byte(text), "test.tfvars", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	attributes, diags := file.Body.JustAttributes()
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for name, attribute := range attributes {
		if _, diags := attribute.Expr.Value(nil); diags.HasErrors() {
			t.Errorf("the value of %s: %v", name, diags)
		}
	}
}

func TestToEnv(t *testing.T) {
	for _, test := range []struct {
		name  string
		value any
		want  string
	}{
		{"an empty map", map[string]any{}, ""},
		{"sorted texts", map[string]any{"b": "8080", "A": "x y", "_": ""}, "A='x y'\n_=''\nb='8080'"},
		{"what must be quoted", map[string]any{"A": "it's $HOME `x` \\ \"q\"\nline"}, `A='it'\''s $HOME ` + "`x` \\ \"q\"\nline'"},
		{"scalars", map[string]any{"A": nil, "B": 12, "C": 1e6, "D": true}, "A=''\nB='12'\nC='1000000'\nD='true'"},
		{"structures", map[string]any{"A": parsed(t, "[1, <two>, {3: it's}]"), "B": parsed(t, "{b: {~: 1}, a: []}"), "C": []string{"x"}},
			`A='[1,"<two>",{"3":"it'\''s"}]'` + "\n" + `B='{"a":[],"b":{"null":1}}'` + "\n" + `C='["x"]'`},
		{"labels", map[string]string{"region": "north"}, "region='north'"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := toEnv(test.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestToEnvInAShell(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	want := "it's $HOME `x` \\ \"q\" $(y) '' \n\tline!"
	env, err := toEnv(map[string]any{"A": want})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(shell, "-c", env+"\nprintf %s \"$A\"").Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Errorf("what a shell reads (-want +got):\n%s", diff)
	}
}

func TestFormatErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		format func(any) (string, error)
		value  any
		want   string
	}{
		{"tfvars of a list", toTfvars, []any{1}, "the value is not a map"},
		{"tfvars of nothing", toTfvars, nil, "the value is not a map"},
		{"tfvars key", toTfvars, map[string]any{"a": "", "2 b": ""}, `the key "2 b" cannot be the name of a Terraform variable`},
		{"tfvars number", toTfvars, map[string]any{"a": []any{math.Inf(1)}}, `the value of "a" is or holds +Inf, which Terraform cannot read`},
		{"tfvars keys", toTfvars, map[string]any{"a": map[any]any{"1": 1, 1: 2}}, `the value of "a" has or holds a map with the key "1" twice, once as another type than text`},
		{"tfvars type", toTfvars, map[string]any{"a": struct{}{}}, `the value of "a" is or holds a struct {}, which cannot be written`},
		{"env of a text", toEnv, "x", "the value is not a map"},
		{"env key", toEnv, map[string]any{"A": "", "B-C": ""}, `the key "B-C" cannot be the name of a shell variable`},
		{"env key with a newline", toEnv, map[string]any{"A\n": ""}, `the key "A\n" cannot be the name of a shell variable`},
		{"env number", toEnv, map[string]any{"A": math.NaN()}, `the value of "A" cannot be written as JSON: json: unsupported value: NaN`},
		{"env zero byte", toEnv, map[string]any{"A": "a\x00b"}, `the value of "A" has a zero byte, which a shell variable cannot hold`},
		{"env keys", toEnv, map[any]any{"true": 1, true: 2}, `the value has or holds a map with the key "true" twice, once as another type than text`},
	} {
		got, err := test.format(test.value)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %q and error %v, want %q", test.name, got, err, test.want)
		}
	}
}
