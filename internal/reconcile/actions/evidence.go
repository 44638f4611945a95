package actions

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
)

func (d *Session) openStatuses() (forge.StatusReader, error) {
	if d.options.Statuses == nil {
		return nil, errors.New("no forge has statuses of commits")
	}
	remote, place := d.findRemote(d.options.ControlPlane)
	if remote == nil {
		return nil, errors.New("the control plane was not read")
	}
	f, err := d.options.Statuses(remote, place)
	if err != nil {
		return nil, err
	}
	reader, ok := f.(forge.StatusReader)
	if !ok {
		return nil, fmt.Errorf("%s has no statuses of commits", f.Name())
	}
	return reader, nil
}

// readEvidence returns what the statuses of a commit of the base prove of it in an environment: nothing
// where they cannot be read.
func (d *Session) readEvidence(ctx context.Context, environment, commit string) promoter.Evidence {
	reader, err := d.forge()
	if err != nil {
		return promoter.Unproven
	}
	said, known := d.statuses[commit]
	if !known && len(d.statuses) >= maxCompared {
		return promoter.Unproven
	}
	if !known {
		said, err = reader.Statuses(ctx, commit)
		if err != nil {
			d.forge = func() (forge.StatusReader, error) { return nil, err } // the others would fail as well
			return promoter.Unproven
		}
		if d.statuses == nil {
			d.statuses = map[string][]forge.CommitStatus{}
		}
		d.statuses[commit] = said
	}
	return promoter.ReadEvidence(said, environment)
}
