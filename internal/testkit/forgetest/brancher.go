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
	s.CommitTo(t, name, "main", "first", map[string]string{"README.md": "x\n"})
	commits := 0
	return func(branch string) string {
		t.Helper()
		commits++
		return s.CommitTo(t, name, branch, "change", map[string]string{"file.yaml": fmt.Sprintf("commit: %d\n", commits)})
	}
}
