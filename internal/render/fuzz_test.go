package render

import (
	"crypto/sha256"
	"regexp"
	"strings"
	"testing"

	yaml2 "gopkg.in/yaml.v2"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
)

// FuzzTemplateData expands any template with any texts in its data. Findings are a
// panic, a text without bound, another result of a second expansion, a text that is
// remembered for data that it is not the text of, and texts of one shape of which
// only one is fit to be published.
func FuzzTemplateData(f *testing.F) {
	for _, text := range []string{
		"", "plain", "{{ .Workload }}", "{{ .Manifests.key | quote }}-{{ .Labels.key }}", "{{ .ConfigData.TEXT }}", "{{ toYaml .ConfigData }}", "{{ stringify .ConfigData | nindent 4 }}",
		"{{ range $k, $v := .ConfigData.MAP }}{{ $k }}={{ $v }}{{ $.Namespace }}{{ end }}", "{{ with .ConfigData.MAP }}{{ .a }}{{ $.ClusterType }}{{ else }}{{ .Environment }}{{ end }}",
		`{{ define "a" }}{{ . }}{{ end }}{{ template "a" .Workload }}{{ template "a" .ConfigData.TEXT }}`, "{{ $x := .Workload }}{{ $x }}{{ if .Workspace }}{{ $x = .ClusterType }}{{ end }}{{ $x }}",
		`{{ $_ := set .ConfigData "TEXT" .Workload }}{{ .ConfigData.TEXT }}`, `{{ $_ := unset .ConfigData.MAP "a" }}`, `{{ merge .ConfigData (dict "x" .Workload) }}`, `{{ sortAlpha .DependsOn | join "," }}`,
		"{{ . }}", "{{ $ }}", "{{ hash . }} {{ len .Labels }}", "{{ index .Manifests .Workload }}", "{{- /* a */ -}} {{ .Nope }}", "{{ .ConfigData.NOPE.x }}", "{{ printf \"%v\" .ConfigData }}", "{{ fail .Workload }}", "{{ `{{ .Workload }}` }}",
		"{{ block \"b\" .ClusterType }}{{ . }}{{ end }}", "{{ (index .ConfigData \"LIST\") }}", "{{ .ConfigData.LIST | toJson }}", "{{ eq .ClusterType .Workload }}", "{{ break }}", "{{ tpl }}",
	} {
		f.Add(text, "value", "manifest")
		f.Add(text, "{{ .Workload }}", "{{ .ConfigData.TEXT }}")
		f.Add(text, "a: [1, {b: c}]", "{{ .Manifests.key }}")
	}
	f.Fuzz(func(t *testing.T, text, value, key string) {
		if mayTakeLong(text + " " + value + " " + key) {
			t.Skip("a loop is stopped after a million steps, which is slow here; TestMistakes has one")
		}
		m := &model.Template{Engine: "text", Expansions: 8, Manifests: []model.Manifest{{Text: text, Line: 1}, {Text: "---\n" + text, Line: 1}}}
		compiled, problems := Compile(m)
		if problems != nil {
			return
		}
		shared, shapes := &Pass{}, map[string]bool{}
		for _, c := range assignments(value, key) {
			unused, _ := Compile(m)
			fresh, _ := expandOnce(t, unused, &Pass{}, c)
			for range 2 { // the second time it is remembered
				got, shape := expandOnce(t, compiled, shared, c)
				if got != fresh {
					t.Errorf("for %s on %s with %v it gives %q, a fresh template %q", c.data.Workload, c.data.ClusterType, c.data.ConfigData, got, fresh)
				}
				checkShape(t, shapes, shape, got)
			}
		}
	})
}

// checkShape wants texts of one shape to be fit for publishing alike; shapes has
// those that were seen.
func checkShape(t *testing.T, shapes map[string]bool, shape *Shape, text string) {
	t.Helper()
	key, known := shape.Key()
	if !known || strings.HasPrefix(text, mistakeMark) {
		return
	}
	fit := manifest.Check([]byte(text)) == nil
	if before, seen := shapes[string(key)]; seen && before != fit {
		t.Errorf("of the shape %q there are texts that are fit and others; this one is %v: %q", key, fit, text)
	}
	shapes[string(key)] = fit
}

// loop finds what makes text/template go round, and longCount what may say how
// often. A few loops over the data of this test are fine.
var (
	loop      = regexp.MustCompile(`range|template|block|until|repeat|nindent|indent`)
	longCount = regexp.MustCompile(`[0-9]{4,}|0[xXbBoO]|'|[eEpP][+-]?[0-9]|_`)
)

func mayTakeLong(text string) bool {
	loops := len(loop.FindAllString(text, -1))
	return loops > 4 || loops > 0 && longCount.MatchString(text)
}

type assignmentCase struct {
	data  Data
	scope Scope
}

// assignments are data of which two differ in one thing: the cluster type, the
// target or the values.
func assignments(value, key string) []assignmentCase {
	var out []assignmentCase
	for _, clusterType := range []string{"summit", "valley"} {
		for _, workload := range []string{"tram", "cable"} {
			for _, text := range []string{value, "other"} {
				config := map[string]any{"TEXT": text, "LIST": []any{text, "b", 1}, "MAP": map[any]any{"a": text, true: nil}}
				var parsed any
				if yaml2.Unmarshal([]byte(text), &parsed) == nil {
					config["PARSED"] = parsed
				}
				out = append(out, assignmentCase{
					data: Data{
						DeploymentTargetName: workload + "-red", Namespace: "dev-" + clusterType + "-" + workload + "-red", Environment: "dev",
						Workspace: "alpine", Workload: workload, ClusterType: clusterType,
						Labels: map[string]string{"key": workload}, Manifests: map[string]string{"key": key, workload: "x"},
						ConfigData: config, DependsOn: []string{"power-grid", workload + "-blue"},
					},
					scope: Scope{ClusterType: clusterType, Target: workload, Values: digestOf(text)},
				})
			}
		}
	}
	return out
}

func digestOf(text string) values.Digest {
	sum := sha256.Sum256([]byte(text))
	return values.Digest(sum[:16])
}

// mistakeMark stands before a mistake, to tell it from a text.
const mistakeMark = "\x00mistake: "

// expandOnce gives the text of an expansion, or its mistake, and its shape.
func expandOnce(t *testing.T, compiled *Template, p *Pass, c assignmentCase) (string, *Shape) {
	t.Helper()
	shape := &Shape{}
	text, mistakes := compiled.Expand(p, []byte("before"), &c.data, c.scope, shape)
	if mistakes != nil {
		mistake := mistakes[0]
		if mistake.Summary == "" || strings.Contains(mistake.Summary, "\n") {
			t.Errorf("not one sentence: %q", mistake.Summary)
		}
		return mistakeMark + mistake.Summary, shape
	}
	if len(text) > maxOutput+len("before") {
		t.Errorf("%d bytes of text", len(text))
	}
	rest, ok := strings.CutPrefix(string(text), "before")
	if !ok {
		t.Error("it changed what was there before")
	}
	return rest, shape
}
