package clusterfiles_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// TestTofuFiles shows the files of manifests that tofu-controller carries out, and builds each folder as
// Flux does.
func TestTofuFiles(t *testing.T) {
	golden.Run(t, "testdata/tofu/*.txtar", func(t *testing.T, c *golden.Case) {
		_, files, problems := renderCase(t, c)
		c.Want(t, "problems", golden.Problems(problems))
		c.Want(t, "files", golden.Files(files))
		if problems.Stops() {
			return
		}
		checkObjects(t, files)
		checkReached(t, files)
	})
}
