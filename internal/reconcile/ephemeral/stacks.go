package ephemeral

import (
	"context"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// checkStacks names all stacks if they are asked for. It refuses copies of stacks that the environment does not
// have, and such as would have a name that is too long, too many components, or the state of another stack. Where its stacks cannot be
// read, checking the copy reports the same.
func (d *Client) checkStacks(ctx context.Context, c *Creation) error {
	if len(c.Stacks) == 0 && !c.AllStacks {
		return nil
	}
	m, _, err := d.source.LoadModel(ctx, c.From, source.Revisions{})
	if err != nil {
		return err
	}
	if m == nil {
		return nil
	}
	known := list.Convert(m.Stacks.List, func(s *model.Stack) string { return s.Path() })
	if c.AllStacks {
		c.Stacks = known
	}
	components := uint(0)
	for _, name := range c.Stacks {
		if i := slices.Index(known, name); i >= 0 {
			components += uint(len(m.Stacks.List[i].Components))
		}
		if !slices.Contains(known, name) {
			hint := problem.DidYouMean(name, known)
			if hint == "" && len(known) > 0 {
				hint = "the stacks are " + strings.Join(known, ", ")
			}
			return newMisuse(hint, "%s has no stack %s", c.From, name)
		}
		if _, env, _ := strings.Cut(name, "/"); len(env)+1+len(c.Name) > kubename.MaxLabel {
			return newMisuse("shorten the name of the ephemeral environment", "the copy of %s would be named %s-%s, and %d characters are the limit", name, env, c.Name, kubename.MaxLabel)
		}
	}
	if c.MaxComponents > 0 && components > c.MaxComponents {
		return newMisuse("name the stacks that it needs with --stack, or raise --max-components", "the copies of stacks would have %d components, and %d are the limit", components, c.MaxComponents)
	}
	copies := &source.Ephemeral{Name: c.Name, Spec: &model.Ephemeral{Stacks: c.Stacks}}
	if p, stops := copies.CheckStacks(m).FirstStopping(); stops {
		return newMisuse(p.Hint, "%s", p.Summary)
	}
	return nil
}
