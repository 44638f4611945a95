package stack

import (
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// CheckEnvironments reports stacks that an earlier environment has too, with their state in the same bucket:
// two clusters would run one state.
func CheckEnvironments(models []*model.Model) map[string]problem.List {
	type owner struct {
		environment string
		pos         problem.Pos
	}
	owners, found := map[string]owner{}, map[string]problem.List{}
	for _, m := range models {
		if len(m.Stacks.Settings) == 0 { // which is reported
			continue
		}
		for _, s := range m.Stacks.List {
			name := m.Stacks.Settings[0].State.Bucket + " " + strings.ToLower(s.Path())
			first, taken := owners[name]
			if !taken {
				owners[name] = owner{m.Environment, s.Pos}
				continue
			}
			if first.environment != m.Environment {
				problems := found[m.Environment]
				problems.Addf(s.PositionAt(s.EnvName.Line), s.Subject(), "give it another envName, or its environment another bucket; to move a stack, see docs/how-to/from-cloudknit.md",
					"the environment %s has the stack %s too, at %s: they would share their state", first.environment, s.Path(), first.pos)
				found[m.Environment] = problems
			}
		}
	}
	return found
}
