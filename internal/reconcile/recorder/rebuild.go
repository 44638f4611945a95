package recorder

import (
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/wanted"
)

// Rebuilt summarizes what was read from an output branch.
type Rebuilt struct {
	Environment string `json:"environment"`
	Outputs     int    `json:"outputs"`
	// ClusterTypes and Assignments are those of the newest output.
	ClusterTypes int `json:"clusterTypes"`
	Assignments  int `json:"assignments"`
}

// RebuildOutputs replaces the stored wanted state by that of the output branches, in one
// transaction. Other processes may use the store.
func RebuildOutputs(ctx context.Context, store *ledgerdb.Store, branches []wanted.Branch) ([]Rebuilt, error) {
	var all []ledgerdb.Outputs
	var done []Rebuilt
	for _, b := range branches {
		o, r, err := readOutputs(ctx, b)
		if err != nil {
			return nil, fmt.Errorf("read the output of %s: %w", b.Environment, err)
		}
		if r.Outputs > 0 {
			all = append(all, o)
		}
		done = append(done, r)
	}
	return done, store.ReplaceOutputs(ctx, all)
}

func readOutputs(ctx context.Context, b wanted.Branch) (ledgerdb.Outputs, Rebuilt, error) {
	o, r := newOutputs(b, ""), Rebuilt{Environment: b.Environment}
	head, err := b.FindHead()
	if err != nil || head == "" {
		return o, r, err
	}
	news, err := b.ListNew(head, "", func(string) (bool, error) { return false, nil })
	if err != nil {
		return o, r, err
	}
	reader := wanted.NewReader(b, wanted.Known{})
	targets := map[string]map[string]bool{}
	for _, commit := range news.Commits {
		c, err := reader.ReadChange(ctx, commit)
		if err != nil {
			return o, r, err
		}
		o.Changes = append(o.Changes, c)
		applyChange(targets, c)
	}
	r.Outputs, r.ClusterTypes = len(news.Commits), len(targets)
	for _, names := range targets {
		r.Assignments += len(names)
	}
	return o, r, nil
}

func applyChange(targets map[string]map[string]bool, c ledger.OutputChange) {
	for _, f := range c.Folders {
		switch {
		case f.ID == "":
			delete(targets, f.ClusterType)
		case f.Whole:
			targets[f.ClusterType] = map[string]bool{}
		}
	}
	for _, f := range c.Files {
		if f.Digest == "" {
			delete(targets[f.ClusterType], f.Target)
		} else {
			targets[f.ClusterType][f.Target] = true
		}
	}
}
