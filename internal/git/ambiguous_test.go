package git_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestAmbiguousID: of a short id that several commits begin with, the hint names them.
func TestAmbiguousID(t *testing.T) {
	dir := t.TempDir()
	gittest.Git(t, dir, "init", "-q", "--bare", ".")
	var stream strings.Builder
	for i := range 1500 { // of so many, the ids of some begin with the same four digits
		text := fmt.Sprint(i)
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter a <a@git.example> %d +0000\ndata %d\n%s\n", 1000000000+i, len(text), text)
	}
	load := exec.CommandContext(t.Context(), "git", "fast-import", "--quiet")
	load.Dir, load.Stdin = dir, strings.NewReader(stream.String())
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	first := map[string]string{}
	for _, id := range strings.Fields(gittest.Git(t, dir, "rev-list", "main")) {
		other := first[id[:4]]
		first[id[:4]] = id
		if other == "" {
			continue
		}
		repo, err := git.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = repo.Resolve(id[:4])
		var several *git.AmbiguousError
		if !errors.As(err, &several) || !strings.Contains(err.Error(), "commits begin with these digits") || !strings.Contains(several.Hint(), id) || !strings.Contains(several.Hint(), other) {
			t.Errorf("%s gives %v", id[:4], err)
		}
		if got, err := repo.Resolve(id[:12]); err != nil || got != id {
			t.Errorf("%s gives %s, %v", id[:12], got, err)
		}
		return
	}
	t.Fatal("no two ids begin alike")
}
