package source_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// TestMissingRevision: without an option the base is main, or else the default branch; in a clone, where
// that is what is checked out, master comes before it. What is not there is an error that says what
// is there instead.
func TestMissingRevision(t *testing.T) {
	const rest = "; controlPlane.branch in the settings, or --base, names the branch of the base"
	for _, test := range []struct {
		name     string
		branches []string // the last one is checked out
		clone    bool
		options  source.Options
		want     string // the branch whose environment is found
		fails    string // after the repository's location
		hint     string
	}{
		{name: "main", branches: []string{"master", "main", "dev"}, want: "main"},
		{name: "default", branches: []string{"master", "trunk"}, want: "trunk"},
		{name: "clone with dev checked out", branches: []string{"master", "dev"}, clone: true, want: "master"},
		{name: "clone without main and master", branches: []string{"dev", "trunk"}, clone: true, want: "trunk"},
		{name: "master and not main", branches: []string{"dev", "master"}, options: source.Options{BaseBranch: "main"},
			fails: ` has no branch or commit "main"`, hint: "its branches are dev and master" + rest},
		{name: "one branch", branches: []string{"trunk"}, options: source.Options{BaseBranch: "main"},
			fails: ` has no branch or commit "main"`, hint: "its only branch is trunk" + rest},
		{name: "many branches", branches: []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "fairlead/dev"}, options: source.Options{Base: "nosuch"},
			fails: ` has no branch or commit "nosuch"`, hint: "its branches are a, b, c, d, e, f, g, h and 2 more"},
		{name: "typo", branches: []string{"main", "my-change"}, options: source.Options{Base: "my-chnage"},
			fails: ` has no branch or commit "my-chnage"`, hint: `did you mean "my-change"?`},
		{name: "typo in a clone", branches: []string{"main"}, clone: true, options: source.Options{Base: "mian"},
			fails: ` has no branch or commit "mian"`, hint: `did you mean "main"?; git fetch gets those that are newer`},
		{name: "empty", fails: " is empty: it has no commits",
			hint: "push a first commit to its branch main; fairlead init fills an empty control plane"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cp := t.TempDir()
			if test.branches == nil {
				run(t, cp, "init", "-q", "-b", "main")
			}
			for _, name := range test.branches {
				branch(t, cp, name, map[string]string{"e.yaml": environment("of-"+name, name)})
			}
			if test.clone {
				from := cp
				cp = filepath.Join(t.TempDir(), "clone")
				run(t, from, "clone", "-q", from, cp)
			}
			o := test.options
			o.ControlPlane, o.Parser, o.CacheDir = cp, model.NewParser(), t.TempDir()
			s, err := source.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			found, _, err := s.Environments(t.Context())
			if test.fails == "" {
				if err != nil || len(found) != 1 || found[0].Name != "of-"+test.want {
					t.Errorf("environments %v (%v), want that of %s", found, err, test.want)
				}
				return
			}
			var refusal *problem.Refusal
			if !errors.As(err, &refusal) || !errors.Is(err, git.ErrNoRevision) || err.Error() != cp+test.fails || refusal.Hint() != test.hint {
				t.Errorf("error %v with hint %q, want %q with hint %q", err, refusal.Hint(), cp+test.fails, test.hint)
			}
		})
	}
}

// TestUnreachableRepository: a repository that cannot be reached is a problem beside all others; for
// the daemon it is an error too, which is tried again.
func TestUnreachableRepository(t *testing.T) {
	cp := t.TempDir()
	branch(t, cp, "dev", map[string]string{"g.yaml": object("GitOpsRepo", "dev", "{repo: "+appsURL+", branch: dev, path: .}")})
	branch(t, cp, "main", map[string]string{
		"e.yaml": environment("dev", "dev"),
		"r.yaml": object("WorkloadRegistration", "shop", "{workspace: shop, workload: {repo: 'http://127.0.0.1:1/shop', branch: main, path: .}}"),
		"t.yaml": object("ClusterType", "large", "{reconcilr: x}"),
	})
	for name, report := range map[string]bool{"once": true, "again and again": false} {
		t.Run(name, func(t *testing.T) {
			s, err := source.Open(t.Context(), source.Options{ControlPlane: cp, Parser: model.NewParser(), CacheDir: t.TempDir(), ReportUnreachable: report})
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Render(t.Context(), "dev", source.Revisions{}, nil)
			var unreachable *source.UnreachableError
			switch {
			case report && err != nil:
				t.Fatal(err)
			case !report && (!errors.Is(err, git.ErrUnreachable) || !errors.As(err, &unreachable) || !unreachable.Beside):
				t.Errorf("the error is %v", err)
			}
			subjects := map[string]bool{}
			for _, p := range r.Problems {
				subjects[p.Subject] = subjects[p.Subject] || !p.Warning && p.Pos.Line > 0
			}
			if !subjects["WorkloadRegistration/shop"] || !subjects["ClusterType/large"] {
				t.Errorf("the problems are %v", r.Problems)
			}
		})
	}
}
