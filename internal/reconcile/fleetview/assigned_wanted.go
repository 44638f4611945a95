package fleetview

import (
	"context"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// wantedTargets are the targets that objects are of, by an output.
type wantedTargets struct {
	output  string
	targets map[assignedKey]string // by cluster type and object
	named   map[assignedKey]string // by cluster type and "namespace/name", for the sources of such objects
}

// find returns the target that an object of the clusters of a type is of: one of its own, or the source of
// one, which templates give the same name; "" for none.
func (w wantedTargets) find(clusterType, object string) string {
	if target := w.targets[assignedKey{clusterType, object}]; target != "" {
		return target
	}
	kind, name, _ := strings.Cut(object, "/")
	if !ledger.IsSourceKind(kind) {
		return ""
	}
	return w.named[assignedKey{clusterType, name}]
}

// objectName is how Flux names an object in a message: Kind/namespace/name.
var objectName = regexp.MustCompile(`\b[A-Z][A-Za-z0-9]*/[a-z0-9][-a-z0-9]*/[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?`)

// maxNamed is how many objects of a message are looked at.
const maxNamed = 100

// findNamed returns the targets whose objects a message of the clusters of a type names; nil for none.
func (w wantedTargets) findNamed(clusterType, message string) map[string]bool {
	var named map[string]bool
	for _, object := range objectName.FindAllString(message, maxNamed) {
		target := w.find(clusterType, object)
		if target == "" {
			continue
		}
		if named == nil {
			named = map[string]bool{}
		}
		named[target] = true
	}
	return named
}

// findWantedTargets returns which target each object is of, by an output of an environment.
func (v *View) findWantedTargets(ctx context.Context, environment, output string) (wantedTargets, error) {
	v.memory.mu.Lock()
	kept := v.memory.wanted[environment]
	v.memory.mu.Unlock()
	if kept.targets != nil && kept.output == output {
		return kept, nil
	}
	kept = wantedTargets{output, map[assignedKey]string{}, map[assignedKey]string{}}
	err := v.Ask(ctx, func(s *ledgerdb.Store) error {
		wanted, err := s.FindWantedObjects(ctx, environment)
		for _, w := range wanted {
			if !w.Dropped {
				_, name, _ := strings.Cut(w.Name, "/")
				kept.targets[assignedKey{w.ClusterType, w.Name}], kept.named[assignedKey{w.ClusterType, name}] = w.Target, w.Target
			}
		}
		return err
	})
	if err != nil {
		return wantedTargets{}, err
	}
	v.memory.mu.Lock()
	defer v.memory.mu.Unlock()
	if v.memory.wanted == nil {
		v.memory.wanted = map[string]wantedTargets{}
	}
	v.memory.wanted[environment] = kept
	return kept, nil
}

// maxKeptRefs bounds the outputs of which it is kept what they ask for.
const maxKeptRefs = 100

// findRefs returns what targets ask for in the outputs that clusters run, and in the newest, by output.
func (v *View) findRefs(ctx context.Context, environment string, of *AssignedRuns) (map[string]map[assignedKey]string, error) {
	outputs, refs := map[string]bool{of.newest: of.newest != ""}, map[string]map[assignedKey]string{}
	for _, t := range of.types {
		for output := range t.outputs {
			outputs[output] = true
		}
	}
	for output, asked := range outputs {
		if !asked {
			continue
		}
		found, err := v.findOutputRefs(ctx, environment, output)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 { // it is one of ours
			refs[output] = found
		}
	}
	return refs, nil
}

func (v *View) findOutputRefs(ctx context.Context, environment, output string) (map[assignedKey]string, error) {
	key := [2]string{environment, output}
	v.memory.mu.Lock()
	kept, known := v.memory.refs[key]
	v.memory.mu.Unlock()
	if known {
		return kept, nil
	}
	kept = map[assignedKey]string{}
	err := v.Ask(ctx, func(s *ledgerdb.Store) error {
		all, err := s.FindTargetRefs(ctx, environment, output)
		for _, r := range all {
			key := assignedKey{r.ClusterType, r.Target}
			if kept[key] == "" {
				kept[key] = r.Ref
			}
		}
		return err
	})
	if err != nil || len(kept) == 0 { // it may be known later
		return nil, err
	}
	v.memory.mu.Lock()
	defer v.memory.mu.Unlock()
	if v.memory.refs == nil || len(v.memory.refs) >= maxKeptRefs {
		v.memory.refs = map[[2]string]map[assignedKey]string{}
	}
	v.memory.refs[key] = kept
	return kept, nil
}
