package provision_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

// TestPlanFile: a plan is read from its file as it was, and leads to its lock and to no other.
func TestPlanFile(t *testing.T) {
	const rounds = 50
	none := []byte(nil)
	for i := range uint64(rounds) {
		w := newWorld(rand.New(rand.NewPCG(i, 2)))
		current, desired := w.newState(), w.newState()
		want, err := provision.NewTransition(&current, &desired, nil)
		if err != nil {
			t.Fatal(err)
		}
		from, to := encodeLock(t, &current), encodeLock(t, &desired)
		plan, err := provision.EncodePlan(want, from, to)
		if err != nil {
			t.Fatal(err)
		}
		got, err := provision.ParsePlan(plan)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%v; read from its file it differs (-want +got):\n%s", err, diff)
		}
		if !provision.IsPlanOf(plan, to) || provision.IsPlanOf(plan, from) != bytes.Equal(from, to) || provision.IsPlanOf(plan, none) {
			t.Fatalf("it does not lead to its lock alone:\n%s", plan)
		}
		if same, err := provision.EncodePlan(got, from, to); err != nil || !bytes.Equal(same, plan) {
			t.Fatalf("%v; it has another text:\n%s", err, cmp.Diff(string(plan), string(same)))
		}
	}
}

// TestEditedPlan: whichever byte of a plan somebody changes, removes or adds, it is seen.
func TestEditedPlan(t *testing.T) {
	state := newWorld(rand.New(rand.NewPCG(7, 2))).newState()
	transition, err := provision.NewTransition(&provision.State{}, &state, nil)
	if err != nil {
		t.Fatal(err)
	}
	lock := encodeLock(t, &state)
	plan, err := provision.EncodePlan(transition, nil, lock)
	if err != nil || !provision.IsPlanOf(plan, lock) || strings.Contains(string(plan), "from:") {
		t.Fatalf("%v in:\n%s", err, plan)
	}
	for i := range plan {
		other := bytes.Clone(plan)
		other[i] ^= 1
		for what, edited := range map[string][]byte{
			"changed": other,
			"removed": append(bytes.Clone(plan[:i]), plan[i+1:]...),
			"added":   append(append(bytes.Clone(plan[:i]), ' '), plan[i:]...),
			"cut":     plan[:i],
		} {
			if provision.IsPlanOf(edited, lock) {
				t.Fatalf("byte %d is %s, and it is not seen:\n%s", i, what, edited)
			}
		}
	}
	if provision.IsPlanOf(append(bytes.Clone(plan), '\n'), lock) || provision.IsPlanOf(nil, nil) {
		t.Error("a longer one is taken, or none")
	}
}

func encodeLock(t *testing.T, s *provision.State) []byte {
	t.Helper()
	text, err := provision.EncodeLock(s)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
