package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render"
)

// hostileTemplates do too much work, each in another way.
var hostileTemplates = []struct{ text, want string }{
	{`{{ range until 9999 }}{{ range until 9999 }}{{ end }}{{ end }}`, "steps"},
	{`{{ $l := .ConfigData.LIST }}{{ range until 9999 }}{{ $x := sortAlpha $l }}{{ end }}`, "steps"},
	{`{{ $t := repeat 1000000 "a" }}{{ range until 9999 }}{{ $x := sha256sum $t }}{{ end }}`, "steps"},
	{`{{ $t := repeat 1000000 "a" }}{{ range until 9999 }}{{ $x := regexReplaceAll "a" $t "b" }}{{ end }}`, "steps"},
	{`{{ if regexMatch (repeat 900 "(a{1,1000})") "a" }}{{ end }}`, "too large"},
	{`{{ $t := repeat 1000000 "a" }}{{ range until 9999 }}{{ range until 9999 }}{{ if eq $t $.ConfigData.SAME }}{{ end }}{{ end }}{{ end }}`, "steps"},
	{`{{ $t := repeat 1000000 "a" }}{{ range until 9999 }}{{ if $t | eq $.ConfigData.SAME }}{{ end }}{{ end }}`, "steps"},
	{`{{ $t := repeat 1000000 "a" }}{{ range until 9999 }}{{ if lt $t $.ConfigData.SAME }}{{ else if ge $t $.ConfigData.SAME }}{{ end }}{{ end }}`, "steps"},
	{`{{ $t := repeat 1000000 "a" }}{{ range until 9999 }}{{ with index $.ConfigData $t }}{{ end }}{{ end }}`, "steps"},
	{`{{ define "x" }}{{ template "x" . }}{{ template "x" . }}{{ end }}{{ template "x" . }}`, "maximum template depth"},
	{`{{ define "x" }}{{ if lt . 18 }}{{ template "x" add1 . }}{{ template "x" add1 . }}{{ end }}{{ end }}{{ template "x" 0 }}{{ range until 99 }}{{ template "x" 0 }}{{ end }}`, "steps"},
	{`{{ define "x" }}{{ $t := printf "%s%s" . . }}{{ template "x" $t }}{{ end }}{{ template "x" "a" }}`, "1 MiB"},
	{`{{ range until 9999 }}{{ toYaml $.ConfigData.LIST }}{{ end }}`, "steps"},
	{`{{ range until 9999 }}{{ $x := toYaml $.ConfigData.LIST }}{{ end }}`, "steps"},
	{`{{ range until 9999 }}{{ $x := uniq $.ConfigData.LIST }}{{ end }}`, "steps"},
	{`{{ $d := dict }}{{ range until 9999 }}{{ $_ := set $d (toString .) $.ConfigData.SAME }}{{ end }}`, "1 MiB"},
	{`{{ $d := dict "a" 1 }}{{ range until 9999 }}{{ $_ := set $d "self" $d }}{{ end }}{{ toYaml $d }}`, "contains itself"},
	{"{{ \"{{ range until 9999 }}{{ $x := sha256sum (repeat 100000 `a`) }}{{ end }}\" }}", "steps"},
	{`{{ range until 9999 }}{{ range until 9999 }}{{ "{{" }}{{ end }}{{ end }}`, "steps"},
}

// TestWork expands templates that do too much: each is stopped for the steps that it takes.
func TestWork(t *testing.T) {
	list := make([]any, 9_999)
	for i := range list {
		list[i] = fmt.Sprintf("word %d", i*7919%9_999)
	}
	data := &render.Data{ConfigData: map[string]any{"LIST": list, "SAME": strings.Repeat("a", 1_000_000)}}
	for _, c := range hostileTemplates {
		template, problems := render.Compile(&model.Template{
			Object: model.Object{Kind: "Template", Name: "t"}, Engine: "text", Expansions: 8, Manifests: []model.Manifest{{Text: c.text, Line: 1}},
		})
		if problems != nil {
			t.Errorf("%s: %v", c.text, problems)
			continue
		}
		pass := &render.Pass{}
		_, mistakes := template.Expand(pass, nil, data, render.Scope{}, nil)
		if len(mistakes) != 1 || !strings.Contains(mistakes[0].Summary, c.want) {
			t.Errorf("%s: %v, want %s", c.text, mistakes, c.want)
		}
		if steps := pass.Steps(template); steps > 3<<20 {
			t.Errorf("%s: stopped after %d steps", c.text, steps)
		}
	}
}
