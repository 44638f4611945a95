package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
	"github.com/fairlead-io/fairlead/internal/render"
)

var data = render.Data{
	DeploymentTargetName: "gull-main", Namespace: "dev-pier-gull-main", Environment: "dev", Workspace: "dock", Workload: "gull",
	Labels: map[string]string{"tier": "gold"}, Manifests: map[string]string{"repo": "https://example.com/gull", "nested": "{{ .Workload }}"},
	ClusterType: "pier", DependsOn: []string{"crane-main"},
	ConfigData: map[string]any{
		"REGION": "North", "LOOP": "{{ .ConfigData.LOOP }}", "DEEP": `{{ "{{ .Workload }}" }}`,
		"MAP": map[any]any{"k": "v", "none": nil}, "LIST": []any{"b", "a"},
	},
}

// expand compiles and expands the manifests of one template.
func expand(t *testing.T, engine string, expansions int, manifests ...string) (string, problem.List) {
	t.Helper()
	m := &model.Template{Engine: engine, Expansions: expansions}
	m.Kind, m.Name = "Template", "own"
	m.Pos = problem.Pos{Layer: "base", File: "t.yaml", Line: 1}
	for i, text := range manifests {
		m.Manifests = append(m.Manifests, model.Manifest{Text: text, Line: 10 * (i + 1)})
	}
	compiled, problems := render.Compile(m)
	if problems != nil {
		return "", problems
	}
	var pass render.Pass
	scope := render.Scope{ClusterType: "pier", Target: "gull-main", Values: values.Digest{1}}
	first, second := data, data
	fresh, mistakes := compiled.Expand(&pass, nil, &first, scope, nil)
	for _, m := range mistakes {
		problems = append(problems, compiled.Problem(&m))
	}
	if problems != nil {
		return "", problems
	}
	again, _ := compiled.Expand(&pass, []byte("before"), &second, scope, nil)
	if diff := cmp.Diff("before"+string(fresh), string(again)); diff != "" {
		t.Errorf("a second expansion with the same data differs:\n%s", diff)
	}
	return string(fresh), nil
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		name      string
		manifests []string
		want      string
	}{
		{"fields", []string{"{{ .DeploymentTargetName }} {{.Namespace}} {{ .Environment }} {{ .Workspace }} {{ .Workload }} {{ .ClusterType }}"}, "gull-main dev-pier-gull-main dev dock gull pier"},
		{"quoted", []string{"{{ .Workload | quote }} {{ .Manifests.repo | quote }} {{ .Manifests.nope | quote }}|"}, `"gull" "https://example.com/gull" |`},
		{"keys", []string{"{{ .Manifests.repo }} {{ .Labels.tier }} {{ .ConfigData.REGION }}"}, "https://example.com/gull gold North"},
		{"blocks", []string{"{{ range .ConfigData.LIST }}[{{ . }}]{{ end }}{{ with .ConfigData.MAP }}{{ .k }} in {{ $.Workload }}{{ end }}"}, "[b][a]v in gull"},
		{"variables", []string{"{{ $x := .Workload }}a{{ $x }}{{ $y := 2 }}{{ $y }}"}, "agull2"},
		{"trimming", []string{"a \n{{- .Workload -}}\n b"}, "agullb"},
		{"definitions", []string{`{{ define "n" }}<{{ .Workload }}>{{ end }}{{ template "n" . }}`}, "<gull>"},
		{"depends on", []string{"{{ range .DependsOn }}- {{ . }}{{ end }}"}, "- crane-main"},
		{"joined", []string{"a: 1\n", "", "b: 2\n"}, "a: 1\n---\nb: 2\n"},
		{"joined without newline", []string{"a: 1", "b: 2"}, "a: 1\n---\nb: 2"},
		{"joined with a separator of its own", []string{"a: 1\n", "---\nb: 2\n"}, "a: 1\n---\n---\nb: 2\n"},
		{"white space is text", []string{"a: 1\n", " \n"}, "a: 1\n---\n \n"},
		{"expanded again", []string{"{{ .Manifests.nested }}"}, "gull"},
		{"and again", []string{"{{ .ConfigData.DEEP }}"}, "gull"},
		{"mutation stays inside", []string{`{{ $_ := set .ConfigData "REGION" "South" }}{{ .ConfigData.REGION }}`, "{{ .ConfigData.REGION }}"}, "South\n---\nSouth"},
		{"default", []string{`{{ .ConfigData.NOPE | default "none" }}{{ with .Manifests.nope }}x{{ end }}`}, "none"},
	} {
		got, problems := expand(t, "text", 8, c.manifests...)
		if problems != nil {
			t.Errorf("%s: %v", c.name, problems)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if data.ConfigData["REGION"] != "North" {
		t.Error("a template changed the data of others")
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct{ name, manifest, want, hint string }{
		{"field", "a\nb {{ .Repo }}", "base/t.yaml:11: Template/own: there is no field .Repo", "the fields are"},
		{"misspelt field", "{{ .Manifest }}", "base/t.yaml:10: Template/own: there is no field .Manifest", `did you mean "Manifests"?`},
		{"missing key", "a\n\n{{ .Manifests.nope }}", "base/t.yaml:12: Template/own: .Manifests.nope has no value", "default"},
		{"missing value", "\n{{ .ConfigData.NOPE }}", `base/t.yaml:11: Template/own: .ConfigData.NOPE has no value (there is no key "NOPE")`, "default"},
		{"null", "{{ .ConfigData.MAP.none }}", `base/t.yaml:10: Template/own: a value is null or missing, and would show as "<no value>"`, "default"},
		{"syntax", "a\n{{ if }}", "base/t.yaml:11: Template/own: missing value for if", ""},
		{"removed function", `{{ env "HOME" }}`, `base/t.yaml:10: Template/own: there is no function "env"`, "templates are hermetic"},
		{"misspelt function", "{{ .Workload | uper }}", `base/t.yaml:10: Template/own: there is no function "uper"`, `did you mean "upper"?`},
		{"fail", `{{ fail "not here" }}`, "base/t.yaml:10: Template/own: not here", ""},
		{"loop", "{{ .ConfigData.LOOP }}", `base/t.yaml:1: Template/own: the output still contains "{{" after 8 expansions`, "contains itself"},
		{"in output", `{{ "{{ env }}" }}`, `base/t.yaml:1: Template/own: in line 1 of the output, which is expanded again: there is no function "env"`, "templates are hermetic"},
		{"too long", `{{ range until 5000 }}{{ repeat 1000 "x" }}{{ end }}`, "base/t.yaml:10: Template/own: the template makes more than 4 MiB of text", ""},
		{"a long loop", "a\n{{ range 100000000 }}{{ end }}", "base/t.yaml:11: Template/own: the template was stopped after 1048576 steps", "a loop in it is too long"},
		{"doubling", `{{ define "a" }}{{ end }}` + doubling(30) + `{{ template "a30" }}`, "base/t.yaml:10: Template/own: the template was stopped after", "calls itself"},
		{"endless", `{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`, "base/t.yaml:10: Template/own: at {{", ""},
	} {
		got, problems := expand(t, "text", 8, c.manifest)
		if len(problems) != 1 {
			t.Errorf("%s: %q and problems %v, want one problem", c.name, got, problems)
			continue
		}
		if text := problems[0].String(); !strings.HasPrefix(text, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.name, text, c.want)
		}
		if !strings.Contains(problems[0].Hint, c.hint) {
			t.Errorf("%s: the hint is %q, want %q in it", c.name, problems[0].Hint, c.hint)
		}
	}
}

// doubling defines templates of which each calls the one before twice.
func doubling(n int) string {
	text := `{{ define "a0" }}{{ end }}`
	for i := 1; i <= n; i++ {
		text += fmt.Sprintf(`{{ define "a%d" }}{{ template "a%d" }}{{ template "a%d" }}{{ end }}`, i, i-1, i-1)
	}
	return text
}

func TestOneExpansion(t *testing.T) {
	got, problems := expand(t, "text", 1, `{{ "{{" }} $labels.instance }}`)
	if want := "{{ $labels.instance }}"; got != want || problems != nil {
		t.Errorf("got %q and %v, want %q", got, problems, want)
	}
}

func TestKustomize(t *testing.T) {
	got, problems := expand(t, "kustomize", 8,
		"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamePrefix: {{ .ClusterType }}-\nresources: [1.yaml, app.yaml]\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n",
		"# file: app.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n",
	)
	want := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: pier-one\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: pier-two\n"
	if diff := cmp.Diff(want, got); diff != "" || problems != nil {
		t.Errorf("%v (-want +got):\n%s", problems, diff)
	}
}

func TestKustomizeRefuses(t *testing.T) {
	const head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
	for _, c := range []struct{ name, kustomization string }{
		{"a URL", head + "resources: [\"https://example.com/x.yaml\"]\n"},
		{"a repository", head + "resources: [github.com/example/repo//path?ref=main]\n"},
		{"another folder", head + "resources: [../secret.yaml]\n"},
		{"an absolute path", head + "configMapGenerator: [{name: x, files: [/etc/passwd]}]\n"},
		{"a chart", head + "helmCharts: [{name: x, repo: https://example.com}]\n"},
	} {
		got, problems := expand(t, "kustomize", 8, c.kustomization)
		if len(problems) != 1 || problems[0].Pos.Line < 10 {
			t.Errorf("%s: %q and %v, want a problem with its line", c.name, got, problems)
		}
	}
}
