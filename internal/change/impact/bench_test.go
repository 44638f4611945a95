package impact

import (
	"fmt"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// assignmentFiles renders the files of one assignment as a control plane does.
func assignmentFiles(clusterType, target, image, checksum string) map[string][]byte {
	namespace := fmt.Sprintf("dev-%s-%s", clusterType, target)
	file := func(format string, args ...any) []byte { return fmt.Appendf(nil, format, args...) }
	return map[string][]byte{
		"namespace.yaml": file("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %[1]s\n  labels:\n    environment: dev\n    target: %[2]s\n    sum: %[3]s\n",
			namespace, target, checksum),
		"platform-config.yaml": file("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: platform-config\n  namespace: %[1]s\ndata:\n"+
			"  CLUSTER: %[2]s\n  REGION: West US\n  DATABASE_URL: mysql://west:8806/mysql2\n  A: a\n  B: b\n  C: c\n  D: d\n  E: e\n  F: f\n", namespace, clusterType),
		"reconciler.yaml": file("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: %[1]s\n  labels:\n    app: %[2]s\nspec:\n  replicas: 2\n"+
			"  template:\n    spec:\n      containers:\n      - name: web\n        image: %[3]s\n        args:\n        - --cluster=%[4]s\n---\n"+
			"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: %[2]s\n  namespace: flux-system\nspec:\n  interval: 30s\n"+
			"  targetNamespace: %[1]s\n  path: ./main\n  prune: true\n", namespace, target, image, clusterType),
	}
}

// fleet is a tree of so many assignments, 100 on each cluster type. checksum
// gives each one a label.
func fleet(tb testing.TB, assignments int, image string, checksum func(i int) string) tree.Tree {
	var types []tree.Entry
	for ct := 0; ct*100 < assignments; ct++ {
		name := fmt.Sprintf("cluster-%d", ct)
		var targets []tree.Entry
		for i := range min(100, assignments-ct*100) {
			target := fmt.Sprintf("gull%d-main", i)
			files, err := tree.FromFiles(assignmentFiles(name, target, image, checksum(ct*100+i)))
			if err != nil {
				tb.Fatal(err)
			}
			targets = append(targets, tree.Dir(target, files))
		}
		types = append(types, tree.Dir(name, tree.FromEntries(targets)))
	}
	return tree.FromEntries(types)
}

func constant(int) string { return "1" }

func BenchmarkOf(b *testing.B) {
	for _, n := range []int{200, 10_000, 100_000} {
		old := fleet(b, n, "nginx:1.25", constant)
		for _, bench := range []struct {
			name string
			new  tree.Tree
		}{
			{"image", fleet(b, n, "nginx:1.27", constant)},
			{"checksums", fleet(b, n, "nginx:1.27", func(i int) string { return fmt.Sprintf("x%dx", i) })},
			{"removed", tree.Tree{}},
		} {
			b.Run(fmt.Sprintf("%s/%d", bench.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if Compare(old, bench.new, Options{}).Assignments.Total() != n {
						b.Fatal("not all assignments were found")
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/assignment")
			})
		}
	}
}
