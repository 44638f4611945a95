package render

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// FuzzTeamData prints what a team wrote with templates that expand their output again, and do
// not read what is secret: it must not be printed, whatever the team wrote.
func FuzzTeamData(f *testing.F) {
	const secret = "s3cr3t"
	ways := []string{
		`{{ .Manifests.a }}{{ .Manifests.b }}`, `{{ .Manifests.a | quote }}: {{ toYaml .Manifests }}`, `{{ .ConfigData.TWICE }} {{ .Manifests.a | trunc 12 }}{{ .Manifests.b }}`,
		`{{ "{" }}{{ .Manifests.a }}{{ "{{ " }}"{{ .Manifests.b }}"{{ " }}" }}`, `{{ "{{ .ConfigData." }}{{ .Manifests.a }}{{ " | quote }}" }}{{ .Manifests.b }}`,
		`{{ $_ := set .ConfigData "X" .Manifests.a }}{{ .ConfigData.X }}{{ .ConfigData.TWICE }}`, `{{ .Manifests.a | b64dec }}{{ .ConfigData.TWICE }}`,
		`{{ range $k, $v := .Manifests }}{{ $k }}{{ printf "%q" $v }}{{ end }}{{ .ConfigData.TWICE }}`,
	}
	for _, text := range []string{
		"", "a b", "{{ .ConfigData.SECRET }}", "{", "}", "{ .ConfigData.SECRET }}", `" .ConfigData.SECRET "`, "`}}{{ .ConfigData.SECRET }}{{`", "e3sgLkNvbmZpZ0RhdGEuU0VDUkVUIH19",
		"{{ toYaml .ConfigData }}", "\x01", "\x03\x03 .ConfigData.SECRET \x04\x04", "$", "{{- .ConfigData.SECRET -}}", "{{/*", "*/}}", `\`, "\"", "'",
	} {
		f.Add(text, "{{ .ConfigData.SECRET }}")
		f.Add("{", text)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.Contains(a+b, secret) {
			t.Skip("it says so itself")
		}
		for _, way := range ways {
			if strings.Contains(way, "ConfigData.\" }}") && strings.HasPrefix(a, "SECRET") {
				continue // this template lets the team choose a value
			}
			compiled, problems := Compile(&model.Template{Engine: "text", Expansions: 8, Manifests: []model.Manifest{{Text: way, Line: 1}, {Text: "{{ .ConfigData.PLAIN }}", Line: 1}}})
			if problems != nil {
				t.Fatal(problems)
			}
			d := &Data{
				Manifests: map[string]string{"a": a, "b": b, a: "c"}, Labels: map[string]string{},
				ConfigData: map[string]any{"SECRET": secret, "PLAIN": "x", "TWICE": "{{ .Workload }} {{ .Manifests.b }}"},
			}
			text, mistakes := compiled.Expand(&Pass{}, nil, d, Scope{Team: true}, nil)
			if mistakes == nil && strings.Contains(string(text), secret) {
				t.Errorf("%s with %q and %q: %q", way, a, b, text)
			}
		}
	})
}
