package source_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// TestInTurns: an environment and an ephemeral one that was made from it are read in turns,
// also with the base at two commits, and neither has the other's parts be read again: each
// has the model that it had.
func TestInTurns(t *testing.T) {
	cp := withEphemerals(t)
	later := run(t, cp, "rev-parse", "main")
	for name, at := range map[string]source.Revisions{"one base": {}, "two bases": {Base: later}} {
		s, err := source.Open(t.Context(), source.Options{ControlPlane: cp, CacheDir: t.TempDir(), Parser: model.NewParser(), Map: map[string]string{appsURL: t.TempDir()}})
		if err != nil {
			t.Fatal(err)
		}
		var dev, pr *model.Model
		for round := range 6 {
			if err := s.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := s.OutputOf(t.Context(), "dev"); err != nil {
				t.Fatal(err)
			}
			lasting, err := s.Render(t.Context(), "dev", source.Revisions{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			made, err := s.Render(t.Context(), "pr-7", at, nil)
			if err != nil {
				t.Fatal(err)
			}
			if round > 0 && (lasting.Model != dev || made.Model != pr) {
				t.Errorf("%s, round %d: dev has the model it had: %v; pr-7: %v", name, round, lasting.Model == dev, made.Model == pr)
			}
			dev, pr = lasting.Model, made.Model
		}
	}
}
