package output_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestTeamData writes templates into all that a workload's repository may write, and prints it in every
// way that templates have. What the payload prints must never be there.
func TestTeamData(t *testing.T) {
	values := []string{
		`{{ printf "PW%s" "NED" }}`, `x{{ printf "PW%s" "NED" }}y`, `{{- printf "PW%s" "NED" -}}`, "`}}{{ printf `PW%s` `NED` }}", `{{/* */}}{{ printf "PW%s" "NED" }}`,
		`" | printf "PW%sD" "NE`, `x" (printf "PW%s" "NED") "`, "\" }}{{ printf \"PW%s\" \"NED\" }}{{ \"", `{{ define "T" }}PWNED{{ end }}`, `{{ template "T" }}`,
		"{", "}", "{{", "}}", `{ printf "PW%s" "NED" }}`, `{{ printf "PW%s" "NED" }`, ` printf "PW%s" "NED" `, `e3sgcHJpbnRmICJQVyVzIiAiTkVEIiB9fQ==`,
		"PNNSA4DSNFXHIZRAEJIFOJLTEIQCETSFIQRCA7L5", "http://h/%7B%7B%20printf%20%22PW%25s%22%20%22NED%22%20%7D%7D",
		"\x01\x01 printf", `"; printf "PW%s" "NED`, `$x`, "x\ny: {{ printf \"PW%s\" \"NED\" }}", "{{ printf \"PW%s\"\n\"NED\" }}",
	}
	ways := []string{
		`{{ .Manifests.path }}`, `{{ .Manifests.path | quote }}`, `{{ .Manifests.path | squote }}`, `{{ .Manifests.path | toYaml }}`, `{{ toYaml .Manifests }}`, `{{ toJson .Manifests }}`,
		`{{ .Manifests }}`, `{{ toYaml . }}`, `{{ printf "%s" .Manifests.path }}`, `{{ printf "%q" .Manifests.path }}`, `{{ join "" (list .Manifests.path .Manifests.repo) }}`,
		`{{ .Manifests.path }}{{ .Manifests.repo }}`, `{{ "{" }}{{ .Manifests.path }}`, `{{ "{{" }}{{ .Manifests.path }}{{ "}}" }}`, `{{ "{{ \"" }}{{ .Manifests.path }}{{ "\" }}" }}`,
		`{{ "{{ index .ConfigData \"" }}{{ .Manifests.path }}{{ "\" }}" }}`, `{{ range $k, $v := .Manifests }}{{ $k }}={{ $v }} {{ end }}`, `{{ .ConfigData.PLAIN }}`, `{{ .ConfigData.TWICE }}`,
		`{{ .ConfigData.ASKS }}{{ .Manifests.path }}`, `{{ .Manifests.path | b64dec }}`, `{{ .Manifests.path | b32dec }}`, `{{ (urlParse .Manifests.path).path }}`, `{{ .Manifests.path | trunc 20 }}`,
		`{{ .Manifests.path | upper | lower }}`, `{{ .Manifests.path | replace " " "" }}`, `{{ $_ := set .ConfigData "LATER" .Manifests.path }}{{ .ConfigData.LATER }}`,
		`{{ .ConfigData.TWICE }}{{ .Manifests.path | quote }}{{ .Manifests.path | trunc 9 }}`, `{{ define "x" }}{{ .Manifests.path }}{{ end }}{{ template "x" . }}`,
	}
	for _, way := range ways {
		for _, value := range values {
			files := controlPlane()
			const head = "apiVersion: scheduler.kalypso.io/v1alpha1\n"
			files["base/template.yaml"] = head + fmt.Sprintf("kind: Template\nmetadata: {name: own}\nspec: {type: config, contentType: sh, manifests: [%q, %q]}\n", way, "later: {{ .ConfigData.LATER }}")
			files["env/type.yaml"] = head + "kind: ClusterType\nmetadata: {name: edge}\nspec: {reconciler: argocd, namespaceService: default, configType: own}\n"
			files["env/config.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, labels: {platform-config: \"true\"}}\ndata:\n" +
				"  PLAIN: west\n  LATER: nothing\n  TWICE: '{{ .ClusterType }} {{ .Manifests.path }}'\n  ASKS: '{{ .Manifests.repo }} {{ '\n"
			files["team/app.yaml"] = head + fmt.Sprintf("kind: Workload\nmetadata: {name: app}\nspec:\n  deploymentTargets:\n    - name: web\n      environment: dev\n"+
				"      manifests: {repo: %q, branch: main, path: %q, %q: x}\n", value, value, value)
			delete(files, "team/target.yaml")
			out, problems := rendered(t, "dev", files)
			if problems.Stops() {
				continue
			}
			for path, text := range out.All() {
				if strings.Contains(string(text), "PWNED") && !strings.Contains(value, "PWNED") {
					t.Errorf("%s: what a team wrote was expanded by %s:\n%s\n%s", path, way, value, text)
				}
			}
		}
	}
}

// TestTeamDataIsKept prints what a team wrote beside what the platform team has expanded
// twice: nothing of either is lost.
func TestTeamDataIsKept(t *testing.T) {
	const head = "apiVersion: scheduler.kalypso.io/v1alpha1\n"
	for _, c := range []struct{ template, path, want string }{
		{`{{ .Manifests.path }}`, `{{ .Nothing }}`, ""}, // a problem: Kalypso would expand it
		{`{{ .ConfigData.REGION }} {{ .Manifests.path }}`, `a b`, `edge a b`},
		{`{{ .ConfigData.REGION }} {{ .Manifests.path }}`, `{"a": {"b": "}}"}}`, `edge {"a": {"b": "}}"}}`},
		{`{{ .ConfigData.REGION }} {{ .ConfigData.PATH }}`, `{{ x }}`, ""},
		{`{{ .ConfigData.REGION }} {{ .ConfigData.PATH }}`, `{ x }`, `edge <{ x }>`},
		{`{{ .Manifests.path | upper }}{{ .ConfigData.REGION }}`, `{{ x`, ""},
		{`{{ .Manifests.path | upper }}{{ .ConfigData.REGION }}`, `{ x`, `{ Xedge`},
		{`{{ .Manifests.path | b64enc }} {{ .ConfigData.REGION }}`, `west`, `d2VzdA== edge`},
		{`{{ "{{" }} "{{ .Manifests.path }}" {{ "}}" }}`, `west`, `west`},
	} {
		files := controlPlane()
		files["base/template.yaml"] = head + fmt.Sprintf("kind: Template\nmetadata: {name: own}\nspec: {type: config, contentType: sh, manifests: [%q]}\n", c.template)
		files["env/config.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, labels: {platform-config: \"true\"}}\ndata: {REGION: '{{ .ClusterType }}', PATH: '<{{ .Manifests.path }}>'}\n"
		files["team/app.yaml"] = head + fmt.Sprintf("kind: Workload\nmetadata: {name: app}\nspec:\n  deploymentTargets:\n    - name: web\n      environment: dev\n      manifests: {repo: r, branch: main, path: %q}\n", c.path)
		delete(files, "team/target.yaml")
		out, problems := rendered(t, "dev", files)
		got, _ := out.Lookup("edge/app-web/platform-config.sh")
		if string(got.Data) != c.want {
			t.Errorf("%s of %s is %q, want %q: %v", c.template, c.path, got.Data, c.want, problems)
		}
	}
}
