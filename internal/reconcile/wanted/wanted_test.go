package wanted_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/wanted"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// branch is an output branch that a test writes.
type branch struct {
	*testing.T
	dir string
}

// commit writes files of the environment and commits them.
func (b branch) commit(files map[string]string) string {
	b.Helper()
	for name, text := range files {
		path := filepath.Join(b.dir, "prod", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	gittest.Git(b, b.dir, "add", "-A")
	gittest.Git(b, b.dir, "commit", "-q", "--allow-empty", "-m", "output")
	return gittest.Git(b, b.dir, "rev-parse", "HEAD")
}

func (b branch) read(head string, known *ledger.Outputs) {
	b.Helper()
	repo, err := git.Open(b.dir)
	if err == nil {
		err = wanted.ReadOutputs(repo, head, "prod", known)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// holds reports of each cluster type whether two outputs hold the same for it.
func (b branch) holds(known *ledger.Outputs, one, other string) map[string]bool {
	b.Helper()
	a, ok := known.Find(one)
	c, found := known.Find("main@sha1:" + other)
	if !ok || !found {
		b.Fatalf("%s is known: %t, %s: %t", one, ok, other, found)
	}
	same := map[string]bool{}
	for _, name := range []string{"large", "small"} {
		same[name] = a.Holds(c, name)
	}
	return same
}

// TestReadOutputs: the outputs of a branch that grew are those of the whole branch; cluster types are
// told apart; a branch that was rewritten goes on, and what was before stays known.
func TestReadOutputs(t *testing.T) {
	b := branch{t, t.TempDir()}
	gittest.Git(t, b.dir, "init", "-q", "-b", "main")
	first := b.commit(map[string]string{"large/api/reconciler.yaml": "1", "small/api/reconciler.yaml": "1", "README.md": "of no cluster type"})
	var grown ledger.Outputs
	b.read(first, &grown)
	second := b.commit(map[string]string{"large/api/reconciler.yaml": "2"})
	b.read(second, &grown)
	b.read(second, &grown)
	third := b.commit(map[string]string{"large/api/reconciler.yaml": "1"})
	b.read(third, &grown)

	var whole ledger.Outputs
	b.read(third, &whole)
	for _, known := range []*ledger.Outputs{&grown, &whole} {
		if diff := cmp.Diff(map[string]bool{"large": false, "small": true}, b.holds(known, first, second)); diff != "" {
			t.Error(diff)
		}
		if back := known.FindRolledBack(third); len(back) != 1 || back[0].Revision != second {
			t.Errorf("%s takes back %v", third, back)
		}
		newest, ok := known.Newest()
		if !ok || newest.Revision != third || newest.Merged.IsZero() || len(newest.Folders) != 2 {
			t.Errorf("the newest is %+v", newest)
		}
	}

	gittest.Git(t, b.dir, "reset", "-q", "--hard", first)
	rewritten := b.commit(map[string]string{"small/api/reconciler.yaml": "2"})
	b.read(rewritten, &grown)
	if newest, _ := grown.Newest(); newest.Revision != rewritten {
		t.Errorf("the newest is %s", newest.Revision)
	}
	if diff := cmp.Diff(map[string]bool{"large": false, "small": false}, b.holds(&grown, second, rewritten)); diff != "" {
		t.Error(diff)
	}
}

// TestReadOutputsFails: of a branch that cannot be read, nothing is added.
func TestReadOutputsFails(t *testing.T) {
	b := branch{t, t.TempDir()}
	gittest.Git(t, b.dir, "init", "-q", "-b", "main")
	head := b.commit(map[string]string{"large/api/reconciler.yaml": "1"})
	folder := gittest.Git(t, b.dir, "rev-parse", head+":prod")
	if err := os.Remove(filepath.Join(b.dir, ".git", "objects", folder[:2], folder[2:])); err != nil {
		t.Fatal(err)
	}
	repo, err := git.Open(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	var known ledger.Outputs
	err = wanted.ReadOutputs(repo, head, "prod", &known)
	if _, any := known.Newest(); err == nil || any {
		t.Errorf("%v, and something is known: %t", err, any)
	}
}
