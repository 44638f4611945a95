package source_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// TestHiddenRecord: an environment whose .sourceignore leaves out the record of its commit
// is stopped, and nothing is promoted to it: it would get the head of the base.
func TestHiddenRecord(t *testing.T) {
	for name, test := range map[string]struct {
		ignore, folder string
		more           map[string]string
		hidden         bool
	}{
		"its name":                       {"base-repo.yaml\n", "", nil, true},
		"all":                            {"/*\n!/gitops.yaml\n", "", nil, true},
		"in a folder":                    {"dev/base-*\n", "dev", nil, true},
		"taken back":                     {"base-repo.yaml\n!/base-repo.yaml\n", "", nil, false},
		"another file":                   {"base.yaml\n", "", nil, false},
		"the record is in another file":  {"base-repo.yaml\n", "", map[string]string{"promoted.yaml": "yes"}, false},
		"the record is in another place": {"other/base-repo.yaml\n", "", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			cp := t.TempDir()
			env := object("Environment", "dev", "{controlPlane: {repo: "+cpURL+", branch: dev, path: ./"+test.folder+"}}")
			base := branch(t, cp, "main", map[string]string{".environments/dev.yaml": env})
			record := object("BaseRepo", "main", "{repo: "+cpURL+", branch: main, path: ., commit: "+base+"}")
			at := strings.TrimPrefix(test.folder+"/", "/")
			files := map[string]string{".sourceignore": test.ignore, at + "base-repo.yaml": record}
			files[at+"gitops.yaml"] = object("GitOpsRepo", "dev", "{repo: https://git.example.com/gitops, branch: dev, path: .}")
			for file := range test.more {
				files[at+file] = record
			}
			branch(t, cp, "dev", files)
			run(t, cp, "checkout", "-q", "main")
			s, err := source.Open(t.Context(), source.Options{ControlPlane: cp, Parser: model.NewParser()})
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Render(t.Context(), "dev", source.Revisions{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := s.Branch(t.Context(), "dev")
			if err != nil {
				t.Fatal(err)
			}
			if r.Problems.Stops() != test.hidden || b.Progress.Problems.Stops() != test.hidden {
				t.Errorf("the problems are %v, those of its branch %v", r.Problems, b.Progress.Problems)
			}
			if test.hidden && !strings.Contains(r.Problems.Sorted()[0].String()+r.Problems[len(r.Problems)-1].String(), "base-repo.yaml:1: Environment/dev: .sourceignore leaves it out") {
				t.Errorf("the problems are %v", r.Problems)
			}
		})
	}
}

// TestBaseBranch: the base's branch has a name also where it is not main.
func TestBaseBranch(t *testing.T) {
	for _, name := range []string{"main", "master"} {
		cp := t.TempDir()
		head := branch(t, cp, name, map[string]string{".environments/dev.yaml": environment("dev", "dev")})
		s, err := source.Open(t.Context(), source.Options{ControlPlane: cp, Parser: model.NewParser()})
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Base(t.Context())
		if err != nil || b.Branch != name || b.Head != head {
			t.Errorf("it is %q at %s (%v), want %q at %s", b.Branch, b.Head, err, name, head)
		}
	}
}
