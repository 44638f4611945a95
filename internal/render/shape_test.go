package render_test

import (
	"math/rand/v2"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/render"
)

// Pieces of templates and of data that are easy to take for harmless.
var (
	shapeLines = []string{
		"name: {{ .Workload }}\n", "name: \"{{ .Workload }}\"\n", "name: {{ .Workload | quote }}\n", "- {{ .Workload }}\n", "- name: {{ .Workload }}\n",
		"{{ .Workload }}: a\n", "\"{{ .Workload }}\": a\n", "kind: {{ .Workload }}\n", "kind: Se{{ .Workload }}\n", "kind: Secret\n", "apiVersion: {{ .Workspace }}\n",
		"apiVersion: v1\n", "data:\n  key: {{ .Workload }}\n", "data:\n  key: \"{{ .Workload }}\"\n", "stringData: {a: {{ .Workload }}}\n", "name: a{{ .Workload }}\n",
		"other: {{ .Workload }}b\n", "other: '{{ .Workload }}'\n", "text: |\n  {{ .Workload }}\n", "  indented: {{ .Workload }}\n", "sops: {{ .Workload }}\n", "---\n",
		"metadata:\n  name: {{ .Namespace }}\n", "{{ with .DependsOn }}deps: {{ . }}\n{{ end }}", "# {{ .Workload }}\n", "{{ .Workload }}\n", "a: &x {{ .Workload }}\n", "b: *{{ .Workload }}\n",
	}
	shapeWords = []string{
		"gull", "name", "kind", "true", "y", "null", "v1", "Secret", "cret", "", "a: b", "a b", "x#y", "#x", "a/b-c.d", "{", "[a", "&a", "*a", "!a", "|", "- a", "a\nb", "\"", "'", "@a", "~", "1", "1e3", "data", "x", "sops", "a\\", "ENC[x]", "---", "...", "other",
	}
)

// TestShape makes random templates and data: texts of one shape are all fine, or
// none of them is.
func TestShape(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	compared := 0
	for range 4000 {
		text := ""
		for range 1 + random.IntN(5) {
			text += pick(shapeLines)
		}
		m := &model.Template{Engine: "text", Expansions: 1, Manifests: []model.Manifest{{Text: text, Line: 1}}}
		compiled, problems := render.Compile(m)
		if problems != nil {
			t.Fatal(problems)
		}
		fine := map[string]bool{}
		for range 12 {
			d := render.Data{Workload: pick(shapeWords), Workspace: pick(shapeWords), Namespace: pick(shapeWords)}
			if random.IntN(2) == 0 {
				d.DependsOn = []string{pick(shapeWords)}
			}
			var shape render.Shape
			out, mistake := compiled.Expand(&render.Pass{}, nil, &d, render.Scope{ClusterType: 1, Target: d.Workload + d.Workspace, Values: values.Digest{}}, &shape)
			key, known := shape.Key()
			if mistake != nil || !known {
				continue
			}
			is := manifest.Check(out) == nil
			was, seen := fine[string(key)]
			if seen && was != is {
				t.Fatalf("the template\n%s\nmakes, with %+v,\n%s\nfine: %v, but another text of this shape is %v", text, d, out, is, was)
			}
			if seen {
				compared++
			}
			fine[string(key)] = is
		}
	}
	if compared < 1000 {
		t.Errorf("only %d texts were compared with another of their shape", compared)
	}
}
