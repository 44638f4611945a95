package provision_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

// TestLock: a state is read from its lock as it was, and each state has one text.
func TestLock(t *testing.T) {
	zero := 0
	state := provision.State{
		Namespace: "e2e", Name: "m", Executor: "claudie",
		Spec: claudie.Spec{
			Providers:     []claudie.Provider{{Name: "1.30", Type: "aws", SecretRef: claudie.Reference{Name: "true", Namespace: "null"}}},
			NodePools:     claudie.NodePools{Dynamic: []claudie.DynamicPool{{Name: "p", Count: 1, StorageDiskSize: &zero, Labels: map[string]string{"b": "", "a": "line\nline: x"}}}},
			LoadBalancers: claudie.LoadBalancers{Roles: []claudie.Role{{Name: "r", Settings: &claudie.RoleSettings{}}}},
		},
		Templates: map[string]string{"x": "y"},
		Endpoints: map[string]provision.Endpoint{"c": {Pool: "p"}},
	}
	checkLock(t, state)
	const rounds = 50
	for i := range uint64(rounds) {
		checkLock(t, newWorld(rand.New(rand.NewPCG(i, 1))).newState())
	}
	checkLock(t, provision.State{})
}

func checkLock(t *testing.T, s provision.State) {
	t.Helper()
	text, err := provision.EncodeLock(&s)
	if err != nil {
		t.Fatal(err)
	}
	read, err := provision.ParseLock(text)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	if diff := cmp.Diff(s, read, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("read from its lock it differs (-want +got):\n%s", diff)
	}
}

// TestEditedLock: a lock that somebody edited is not trusted, whatever the edit.
func TestEditedLock(t *testing.T) {
	state := provision.State{Namespace: "e2e", Name: "m", Spec: claudie.Spec{
		NodePools: claudie.NodePools{Dynamic: []claudie.DynamicPool{{Name: "p", Count: 3}}},
	}}
	text, err := provision.EncodeLock(&state)
	if err != nil {
		t.Fatal(err)
	}
	lock := string(text)
	for name, edited := range map[string]string{
		"another value":       strings.Replace(lock, "count: 3", "count: 4", 1),
		"another digest":      strings.Replace(lock, "sha256:", "sha256:0", 1),
		"a comment":           lock + "# mine\n",
		"an unknown field":    lock + "more: 1\n",
		"another order":       strings.Replace(lock, "namespace: e2e\n  name: m\n", "name: m\n  namespace: e2e\n", 1),
		"other quotes":        strings.Replace(lock, "name: p", "name: \"p\"", 1),
		"a second document":   lock + "---\n{}\n",
		"cut":                 lock[:len(lock)/2],
		"empty":               "",
		"no YAML":             "{",
		"a conflict of Git":   "<<<<<<< HEAD\n" + lock,
		"another kind":        strings.Replace(lock, "ClusterLock", "Lock", 1),
		"a field given twice": strings.Replace(lock, "  name: m\n", "  name: m\n  name: m\n", 1),
	} {
		if edited == lock {
			t.Fatalf("%s: the test edits nothing", name)
		}
		if _, err := provision.ParseLock([]byte(edited)); !errors.Is(err, provision.ErrEdited) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
