package promoter

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// readPlans reads the plans of the stacks of an environment: at the output of the commit that it has,
// or, for a commit that it may get, at the head of the output branch. They stay unknown while the output
// of the commit is not merged.
func (s *stageState) readPlans(f *gate.Facts) error {
	output := f.OutputCommit
	if f.Commit != s.stage.Commit {
		output = s.output.head
		f.Plans = &gate.Plans{}
	}
	if output == "" {
		return nil
	}
	f.Plans = nil
	seen, err := s.output.remote.Mirror().View(output)
	if err != nil {
		return err
	}
	stacks, err := stackfiles.Summarize(seen.Tree.Sub(s.output.folder))
	if failed := seen.Err(); failed != nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("read the stacks in the output of %s: %w", s.spec.Name, err)
	}
	f.Plans = &gate.Plans{Output: output, Stacks: stacks}
	return nil
}
