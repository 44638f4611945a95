package fleetview

import (
	"context"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// wantedTargets maps objects to targets, for an output.
type wantedTargets struct {
	output  string
	targets map[assignedKey]string
	named   map[assignedKey]string // sources' targets, by cluster type and "namespace/name"
}

// find returns the target of an object, or of its source, which templates give the same name; ""
// for none.
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

// objectName matches Flux's Kind/namespace/name.
var objectName = regexp.MustCompile(`\b[A-Z][A-Za-z0-9]*/[a-z0-9][-a-z0-9]*/[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?`)

const maxNamed = 100

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

const maxKeptRefs = 100

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
		if len(found) > 0 { // a known output
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
	if err != nil || len(kept) == 0 { // it may be stored later
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
