package kustomize

import (
	"strings"
	"testing"
)

// FuzzBuild builds a kustomization beside a file and another kustomization. A
// panic is a finding, and so is a result with objects in spite of problems; the
// fuzzer itself finds builds that do not end.
func FuzzBuild(f *testing.F) {
	for _, test := range refused {
		if len(test.kustomization) < 4096 {
			f.Add(test.kustomization, configMap("a"), "resources: [b.yaml]")
		}
	}
	for _, place := range places {
		f.Add(strings.ReplaceAll(place, "X", "a.yaml"), configMap("a"), place)
	}
	for _, name := range []string{"transformer.yaml", "hidden.yaml", "self.yaml", "crd-loop.json", "schema-loop.json", "schema-deep.json"} {
		for _, place := range places {
			f.Add(strings.ReplaceAll(place, "X", "a.yaml"), surroundings["app/"+name], "resources: []")
		}
	}
	f.Fuzz(func(t *testing.T, kustomization, file, below string) {
		objects, problems := Build(treeOf(t, map[string]string{
			"kustomization.yaml":       kustomization,
			"a.yaml":                   file,
			"below/kustomization.yaml": below,
			"below/b.yaml":             file,
		}), "")
		if len(objects) > 0 && problems.Stops() {
			t.Errorf("%d objects in spite of %v", len(objects), problems)
		}
		for _, p := range problems {
			if p.Summary == "" || p.Hint == "" || p.Subject == "" || strings.Contains(p.Summary, "\n") {
				t.Errorf("a problem that is of no use: %+v", p)
			}
		}
	})
}
