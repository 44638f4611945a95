package actions

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// CloneStack writes a copy of a stack, under another name and with some values set, to the branch of its
// environment.
func (d *Session) CloneStack(ctx context.Context, environment, from, to string, set []stack.Setting, reason string) (Result, error) {
	return d.perform(ctx, environment, func(snapshot) (change, error) {
		m, err := d.loadSoundModel(ctx, environment, from)
		if err != nil {
			return change{}, err
		}
		copied, err := stack.Clone(m, from, to, set, func(m *model.Model) problem.List {
			_, problems := stackfiles.Render(m)
			return problems
		})
		return change{
			action: cloneAction, environment: environment, part: to, reason: reason, files: copied.Files, notes: copied.Notes,
			title:   fmt.Sprintf("Clone the stack %s as %s in %s", from, to, environment),
			summary: fmt.Sprintf("%s is a copy of %s, in %s", to, from, copied.File),
		}, err
	})
}

// TearDownStack has a stack torn down, by its file on the branch of its environment. Approvals of plans go with it:
// they are of plans that are not made any more, and would stop it.
func (d *Session) TearDownStack(ctx context.Context, environment, name, reason string) (Result, error) {
	return d.perform(ctx, environment, func(v snapshot) (change, error) {
		m, err := d.loadSoundModel(ctx, environment, name)
		if err != nil {
			return change{}, err
		}
		t, err := stack.TearDown(m, name)
		done := change{
			action: tearDownAction, environment: environment, part: name, reason: reason, notes: t.Notes,
			title:   fmt.Sprintf("Tear down the stack %s in %s", name, environment),
			summary: fmt.Sprintf("%s is torn down once the change of the output is merged: remove %s when clusters have destroyed it", name, t.File),
		}
		if t.Text == nil {
			done.summary = name + " is torn down already"
			return done, err
		}
		done.files = map[string][]byte{t.File: t.Text}
		for _, a := range m.Stacks.Approvals {
			switch {
			case a.Stack != name:
			case a.Pos.File == source.PlanFile(v.branch.Folder, stackfiles.FlatName(name+"/"+a.Component)):
				done.files[a.Pos.File] = nil
			default:
				done.notes = append(done.notes, fmt.Sprintf("%s in %s stops the stack until it is removed: it approves a plan that is not made any more", a.Subject(), a.Pos.File))
			}
		}
		return done, err
	})
}

// FindStack returns the environment that has a stack, and the name of that in full, as "team/environment": the
// team may be left out of what is asked for. Environments that cannot be read are passed over.
func (d *Session) FindStack(ctx context.Context, name string) (environment, stack string, err error) {
	environments, err := d.Environments(ctx)
	if err != nil {
		return "", "", err
	}
	var found, known []string
	for _, e := range environments {
		m, _, err := d.source.LoadModel(ctx, e, source.Revisions{})
		if err != nil {
			return "", "", err
		}
		if m == nil {
			continue
		}
		for _, s := range m.Stacks.List {
			full := s.TeamName.Text + "/" + s.EnvName.Text
			known = append(known, full)
			if full == name || s.EnvName.Text == name {
				environment, stack = e, full
				found = append(found, full+" in "+e)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", "", problem.Refusef(cmp.Or(problem.DidYouMean(name, known), "fairlead stack list lists the stacks"), "no environment has a stack %s", name)
	case 1:
		return environment, stack, nil
	}
	return "", "", problem.Refusef("name the environment too, and the stack as TEAM/STACK", "there are several stacks %s: %s", name, text.Join(found, " and "))
}

// loadSoundModel returns the model of an environment in which no problem stops a stack.
func (d *Session) loadSoundModel(ctx context.Context, environment, stack string) (*model.Model, error) {
	m, problems, err := d.source.LoadModel(ctx, environment, source.Revisions{})
	if err != nil {
		return nil, err
	}
	if p, stops := problems.FindStopping(stack).FirstStopping(); stops {
		return nil, problem.Refusef("mend it first", "%s has problems: %s", environment, p)
	}
	if m == nil {
		return nil, fmt.Errorf("read %s: %w", environment, git.ErrNoRevision)
	}
	return m, nil
}
