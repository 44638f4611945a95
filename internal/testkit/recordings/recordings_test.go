package recordings_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/testkit/recordings"
)

// TestLoad: every recording is replayed in full, and each object is whole after each step.
func TestLoad(t *testing.T) {
	steps, deletions := 0, 0
	names := recordings.Names(t)
	for _, name := range names {
		r := recordings.Load(t, name)
		if r.Scenario == "" || r.Start.IsZero() {
			t.Errorf("%s: it has no beginning: %q, %s", name, r.Scenario, r.Start)
		}
		for i, s := range r.Steps {
			steps++
			if i > 0 && s.Time.Before(r.Steps[i-1].Time.Add(-100*time.Millisecond)) { // as exact as the order of events is
				t.Errorf("%s: step %d is before the one before", name, i)
			}
			if s.Object == "" {
				if s.Did == "" && s.Event == nil {
					t.Errorf("%s: nothing happens in step %d", name, i)
				}
				continue
			}
			raw := s.Find(s.Object)
			if raw == nil {
				deletions++
				continue
			}
			checkObject(t, name, s.Object, raw)
		}
	}
	if len(names) != 28 || steps != 3836 || deletions != 8 {
		t.Errorf("%d recordings with %d steps and %d deletions", len(names), steps, deletions)
	}
}

// checkObject reports an object that an API server would not have returned.
func checkObject(t *testing.T, recording, name string, raw json.RawMessage) {
	t.Helper()
	var o struct {
		APIVersion, Kind string
		Metadata         struct {
			Name, Namespace, UID string
			Generation           int64
		}
		Spec map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatalf("%s: %s: %s", recording, name, err)
	}
	if strings.Join([]string{o.Kind, o.Metadata.Namespace, o.Metadata.Name}, "/") != name || o.APIVersion == "" || len(o.Metadata.UID) != 36 || o.Metadata.Generation == 0 || len(o.Spec) == 0 {
		t.Errorf("%s: %s is not whole: %s", recording, name, raw)
	}
}
