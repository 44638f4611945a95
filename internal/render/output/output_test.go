package output_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// TestEnvironment renders the control planes in testdata. Where a problem stops
// the environment there are no files.
func TestEnvironment(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, c *golden.Case) {
		m, problems := model.Parse(c.Environment(), c.Layers(t)...)
		files, more := output.Render(m, nil, output.Options{})
		problems = append(problems, more...).Sorted()
		c.Want(t, "problems", golden.Problems(problems))
		if problems.Stops() {
			c.Want(t, "files", "")
			return
		}
		c.Want(t, "files", golden.Files(files))
	})
}
