package actions

import (
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// CloneStack writes a copy of a stack, under another name and with some values set, to the branch of its
// environment.
func (d *Session) CloneStack(ctx context.Context, environment, from, to string, set []stack.Setting, reason string) (Result, error) {
	return d.perform(ctx, environment, func(snapshot) (change, error) {
		m, err := d.loadSoundModel(ctx, environment)
		if err != nil {
			return change{}, err
		}
		copied, err := stack.Clone(m, from, to, set)
		return change{
			action: cloneAction, environment: environment, part: to, reason: reason, files: copied.Files, notes: copied.Notes,
			title:   fmt.Sprintf("Clone the stack %s as %s in %s", from, to, environment),
			summary: fmt.Sprintf("%s is a copy of %s, in %s", to, from, copied.File),
		}, err
	})
}

// loadSoundModel returns the model of an environment that no problem stops.
func (d *Session) loadSoundModel(ctx context.Context, environment string) (*model.Model, error) {
	m, problems, err := d.source.LoadModel(ctx, environment, source.Revisions{})
	if err != nil {
		return nil, err
	}
	if p, stops := problems.FirstStopping(); stops {
		return nil, problem.Refusef("mend it first", "%s has problems: %s", environment, p)
	}
	if m == nil {
		return nil, fmt.Errorf("read %s: %w", environment, git.ErrNoRevision)
	}
	return m, nil
}
