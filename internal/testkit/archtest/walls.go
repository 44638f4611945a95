package archtest

import "github.com/fairlead-io/fairlead/internal/base/problem"

// A wall keeps the words of a dependency inside one package: the rest of the
// program speaks our own.
type wall struct {
	dependency string
	inside     string // the folder, with all below it, that may import it
	server     string // the folder of a server for tests that may too; "" for none
}

var walls = []wall{
	{"github.com/go-git", "internal/git", "internal/testkit/gittest"},
	{"sigs.k8s.io/kustomize", "internal/kube/kustomize", ""},
	{"github.com/spf13/cobra", "internal/cli", ""},
	{"github.com/Masterminds/sprig", "internal/render/templatefunc", ""},
	{"github.com/google/go-github", "internal/forge/github", ""},
	{"gitlab.com/gitlab-org/api/client-go", "internal/forge/gitlab", ""},
	{"code.gitea.io/sdk", "internal/forge/gitea", ""},
	{"k8s.io/client-go", "internal/config/kubeclient", ""},
	{"github.com/prometheus/client_golang", "internal/reconcile/metrics", ""},
}

// checkWalls reports an import of a dependency outside of its package. Tests may
// use what they like to make what they read.
func checkWalls(src *source) problem.List {
	var l problem.List
	src.eachFile(func(p *pkg, f *file) {
		for _, i := range f.imports() {
			for _, w := range walls {
				if isWithin(i.path, w.dependency) && !isWithin(p.dir, w.inside) && (w.server == "" || !isWithin(p.dir, w.server)) {
					l.Addf(f.pos(i.spec), "", "say it in our own words, and translate in "+w.inside,
						"%s imports %s, which only %s may", p.dir, i.path, w.inside)
				}
			}
		}
	})
	return l
}
