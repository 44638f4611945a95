package forgetest

import (
	"fmt"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// Brancher makes a repository's main branch, and returns a function that adds a commit
// to a branch, which it makes from main first.
func Brancher(t *testing.T, s *gittest.Server, name string) func(string) string {
	t.Helper()
	w := s.Work(t, name)
	w.Write("README.md", "x\n")
	w.Commit("first")
	w.Push("HEAD:main")
	commits := 0
	return func(branch string) string {
		t.Helper()
		if _, ok := gittest.Refs(t, s.Dir(name))["refs/heads/"+branch]; ok {
			w.Pull(branch)
		} else {
			w.Pull("main")
			gittest.Git(t, w.Dir, "checkout", "-qB", branch)
		}
		commits++
		w.Write("file.yaml", fmt.Sprintf("commit: %d\n", commits))
		id := w.Commit("change")
		w.Push(branch)
		return id
	}
}
