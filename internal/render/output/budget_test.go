package output_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// TestBudget renders an environment that is too much work: it is one problem, at the template
// that has most of it, and nothing is published. With more steps the same cache has the tree.
func TestBudget(t *testing.T) {
	files := controlPlane()
	files["base/template.yaml"] = strings.Replace(files["base/template.yaml"], "a: {{ .ClusterType }}", "a: {{ range until 900 }}{{ $x := sha256sum (repeat 900 $.Workload) }}{{ end }}{{ .Workload }}", 1)
	m, problems := parsed(t, "dev", files)
	if problems.Stops() {
		t.Fatal(problems)
	}
	want, problems := output.Render(m, nil, output.Options{})
	if problems.Stops() || want.IsEmpty() {
		t.Fatal(problems)
	}
	cache := &output.Cache{}
	out, problems := output.Render(m, cache, output.Options{MaxSteps: 10_000})
	stops, _ := problems.Count()
	if !out.IsEmpty() || stops != 1 || problems[0].Subject != "Template/own" || !strings.Contains(problems[0].Summary, "work") || problems[0].Hint == "" {
		t.Errorf("%d files, %v", out.Count(), problems)
	}
	m, _ = parsed(t, "dev", files)
	if out, problems = output.Render(m, cache, output.Options{}); !tree.Equal(out, want) || problems.Stops() {
		t.Errorf("with more steps it has %d files: %v", out.Count(), problems)
	}
	for path, text := range out.All() { // made again, when the pass is over
		if entry, _ := want.Lookup(path); string(entry.Data) != string(text) {
			t.Errorf("%s differs", path)
		}
	}
}

// TestBudgetOfValues: what is merged from configs counts as work, ends when nobody wants it any
// more, and without a bound it is as it was.
func TestBudgetOfValues(t *testing.T) {
	files := controlPlane()
	m, _ := parsed(t, "dev", files)
	want, _ := output.Render(m, nil, output.Options{})
	const enough = 50_000
	if out, problems := output.Render(m, nil, output.Options{MaxSteps: enough}); problems.Stops() || !tree.Equal(out, want) {
		t.Fatal(problems)
	}
	var many strings.Builder
	for i := range 300 {
		fmt.Fprintf(&many, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: many-%d, labels: {platform-config: 'true'}}\ndata:\n", i)
		for j := range 50 {
			fmt.Fprintf(&many, "  KEY_%d_%d: x\n", i, j)
		}
		many.WriteString("---\n")
	}
	files["base/many.yaml"] = many.String()
	m, problems := parsed(t, "dev", files)
	if problems.Stops() {
		t.Fatal(problems)
	}
	out, problems := output.Render(m, nil, output.Options{MaxSteps: enough})
	if stops, _ := problems.Count(); !out.IsEmpty() || stops != 1 || !strings.Contains(problems[0].Hint, "configs") {
		t.Errorf("%d files, %v", out.Count(), problems)
	}
	asked := 0
	canceled := output.Options{Canceled: func() bool { asked++; return asked > 1 }}
	if out, problems = output.Render(m, nil, canceled); !out.IsEmpty() || !problems.Stops() || asked > 2 {
		t.Errorf("asked %d times, %d files, %v", asked, out.Count(), problems)
	}
	if out, problems = output.Render(m, nil, output.Options{}); problems.Stops() || out.IsEmpty() {
		t.Errorf("with more steps: %v", problems)
	}
}
