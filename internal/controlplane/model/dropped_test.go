package model_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// TestManyProblems reads repositories with more mistakes than anybody reads. What is said of
// them is bounded, and says how much there is beside.
func TestManyProblems(t *testing.T) {
	const many = 100_000
	bad := []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: A, labels: {'a b': 'c d'}}\nspec: {deploymentTargets: [{}], x: 1}\n")
	warned := []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: a}\n")
	flat := func(i int) string { return fmt.Sprintf("w%06d.yaml", i) }
	nested := func(i int) string { return fmt.Sprintf("d%03d/w%06d.yaml", i/100, i) }
	for _, c := range []struct {
		name  string
		files map[string][]byte
		want  string
		stops bool
	}{
		{"files in one folder", filesOf(many, flat, bad), "files were not read", true},
		{"files in many folders", filesOf(many, nested, bad), "files were not read", true},
		{"warnings", filesOf(5000, flat, warned), "and 4000 more", false},
		{"documents of one file", map[string][]byte{"a.yaml": []byte(strings.Repeat("---\n"+string(bad), 10_000))}, "more", true},
		{"labels of one object", map[string][]byte{"a.yaml": []byte(manyLabels(50_000))}, "more", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b tree.Builder
			for name, data := range c.files {
				if err := b.Add(name, data); err != nil {
					t.Fatal(err)
				}
			}
			layer := model.Layer{Kind: model.Workloads, Name: "team", Files: b.Tree()}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, problems := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: treeOf(t, map[string]string{"gitops.yaml": gitOpsRepo})}, layer)
			runtime.ReadMemStats(&after)
			t.Logf("%d MB allocated, %d problems", (after.TotalAlloc-before.TotalAlloc)>>20, len(problems))
			if len(problems) > 2100 {
				t.Errorf("there are %d problems", len(problems))
			}
			if problems.Stops() != c.stops {
				t.Errorf("it stops the environment: %t", problems.Stops())
			}
			if !says(problems, c.want) {
				t.Errorf("no problem says %q; the last one is %v", c.want, problems[len(problems)-1])
			}
		})
	}
}

func filesOf(n int, name func(int) string, data []byte) map[string][]byte {
	files := make(map[string][]byte, n)
	for i := range n {
		files[name(i)] = data
	}
	return files
}

// manyLabels is a Workload with so many labels that cannot be.
func manyLabels(n int) string {
	var b strings.Builder
	b.WriteString("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata:\n  name: a\n  labels:\n")
	for i := range n {
		fmt.Fprintf(&b, "    'a b%d': 'c d'\n", i)
	}
	return b.String() + "spec: {}\n"
}

func says(problems problem.List, text string) bool {
	for _, p := range problems {
		if strings.Contains(p.Summary, text) {
			return true
		}
	}
	return false
}
