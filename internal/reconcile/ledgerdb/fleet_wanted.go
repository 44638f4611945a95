package ledgerdb

import (
	"context"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// Wants is what an environment's clusters should run.
type Wants struct {
	Outputs ledger.Outputs
	// Newest is zero if unknown.
	Newest ledger.Output
	// Base is the base commit of Newest; "" if unknown.
	Base  string
	Bases map[string]string
	// Expected is the number of clusters by type, where known.
	Expected map[string]int
}

// FindEnvironments returns the environments with outputs, in promotion order.
func (s *Store) FindEnvironments(ctx context.Context) (names []string, err error) {
	err = s.ask(ctx, "fleet_environments", nil, collectTexts(&names))
	return names, err
}

// FindObjectNames returns the sorted names of all objects.
func (s *Store) FindObjectNames(ctx context.Context) (names []string, err error) {
	err = s.ask(ctx, "fleet_names", nil, collectTexts(&names))
	return names, err
}

func collectTexts(into *[]string) func(scanFunc) error {
	return func(scan scanFunc) error {
		var text string
		err := scan(&text)
		*into = append(*into, text)
		return err
	}
}

// FindWants returns the newest output and those among revisions. Types without a folder in the
// newest output need the whole output, so that clusters of nonexistent types are not ready.
func (s *Store) FindWants(ctx context.Context, environment string, revisions, types []string) (Wants, error) {
	w := Wants{Bases: map[string]string{}, Expected: map[string]int{}}
	err := s.engine.read(ctx, func(in session) error {
		err := in.query(ctx, "fleet_types", []any{environment}, func(scan scanFunc) error {
			var name string
			var expected int
			err := scan(&name, &expected)
			if expected >= 0 {
				w.Expected[name] = expected
			}
			return err
		})
		if err != nil {
			return err
		}
		newest, base, err := findOutput(ctx, in, "fleet_output_newest", environment)
		if err != nil || newest.Revision == "" {
			return err
		}
		w.Newest, w.Base = newest, base
		missing := slices.DeleteFunc(slices.Clone(types), func(name string) bool { return newest.Folders[name] != "" })
		add := func(o ledger.Output, base string) {
			w.Bases[o.Revision] = base
			for _, name := range missing {
				o.Folders[name] = o.Revision
			}
			w.Outputs.Add(o)
		}
		for _, text := range revisions {
			commit := ledger.ParseRevision(text).Commit
			if _, known := w.Outputs.Find(commit); known || commit == "" || commit == newest.Revision {
				continue
			}
			o, base, err := findOutput(ctx, in, "fleet_output_find", environment, commit)
			if err != nil {
				return err
			}
			if o.Revision != "" {
				add(o, base)
			}
		}
		add(newest, base)
		return nil
	})
	if err != nil {
		return Wants{}, fmt.Errorf("ask the ledger: %w", err)
	}
	return w, nil
}

// findOutput returns an output with its base commit; zero for none.
func findOutput(ctx context.Context, in session, statement, environment string, args ...any) (o ledger.Output, base string, err error) {
	var seq, authored, merged int64
	abandoned := false // the branch was rewritten since
	err = in.query(ctx, statement, append([]any{environment}, args...), func(scan scanFunc) error {
		return scan(&o.Revision, &seq, &abandoned, &base, &authored, &merged)
	})
	if err != nil || o.Revision == "" {
		return o, base, err
	}
	if abandoned {
		o.Abandoned, err = findAbandoned(ctx, in, environment, seq)
		if err != nil {
			return o, base, err
		}
	}
	o.Merged, o.Folders = timeOf(merged), map[string]string{}
	err = in.query(ctx, "fleet_folders", []any{environment, seq}, func(scan scanFunc) error {
		var name, folder string
		err := scan(&name, &folder)
		o.Folders[name] = folder
		return err
	})
	return o, base, err
}

// findAbandoned returns cluster types whose folder no output of the current branch has.
func findAbandoned(ctx context.Context, in session, environment string, seq int64) (map[string]bool, error) {
	types := map[string]bool{}
	err := in.query(ctx, "fleet_abandoned", []any{environment, seq}, func(scan scanFunc) error {
		var name string
		err := scan(&name)
		types[name] = true
		return err
	})
	return types, err
}
