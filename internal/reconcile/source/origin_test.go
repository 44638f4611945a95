package source_test

import (
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// TestPreferOrigin: a branch of a clone that is behind is read as origin has it, and one with commits of its own as it is.
func TestPreferOrigin(t *testing.T) {
	cp, clone := t.TempDir(), filepath.Join(t.TempDir(), "clone")
	branch(t, cp, "dev", map[string]string{"a.yaml": "a: 1\n"})
	branch(t, cp, "main", map[string]string{"e.yaml": environment("dev", "dev")})
	run(t, cp, "clone", "-q", cp, clone)
	run(t, clone, "branch", "-q", "dev", "origin/dev")
	run(t, cp, "checkout", "-q", "dev")
	run(t, cp, "commit", "-q", "--allow-empty", "-m", "Theirs")
	run(t, cp, "checkout", "-q", "main")
	writeAll(t, cp, map[string]string{"f.yaml": environment("prod", "prod")})
	run(t, cp, "add", "-A")
	run(t, cp, "commit", "-q", "-m", "Theirs")
	run(t, clone, "fetch", "-q")
	read := func(repo string, prefers bool) (base, dev string, environments int) {
		t.Helper()
		s, err := source.Open(t.Context(), source.Options{ControlPlane: repo, PreferOrigin: prefers, Parser: model.NewParser(), CacheDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Base(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		of, err := s.Branch(t.Context(), "dev")
		if err != nil {
			t.Fatal(err)
		}
		return b.Head, of.Head, len(b.Environments)
	}
	newBase, newDev, _ := read(cp, false)
	if base, dev, n := read(clone, true); base != newBase || dev != newDev || n != 2 {
		t.Errorf("it reads %s with %d environments, and %s of dev; origin has %s and %s", base, n, dev, newBase, newDev)
	}
	if base, dev, n := read(clone, false); base == newBase || dev == newDev || n != 1 {
		t.Errorf("by default it reads %s with %d environments, and %s of dev, which are those of origin", base, n, dev)
	}
	run(t, clone, "commit", "-q", "--allow-empty", "-m", "Ours")
	if base, _, n := read(clone, true); base == newBase || n != 1 {
		t.Errorf("a branch with commits of its own is not read, but %s", base)
	}
}
