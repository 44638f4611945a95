package kubestatus

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
)

type terraform struct {
	phase ledger.Phase
	// isBehind is set if its source has a newer revision than it attempted.
	isBehind bool
}

type kustomization struct {
	phase   ledger.Phase
	unready []ledger.UnreadyObject
	applies []string // names of Terraform objects and Kustomizations
	waits   bool     // for the applied objects to become ready
	checks  bool     // is checking the health of the applied objects
}

const deepestHealth = 5

// readInventory returns the Terraform objects and Kustomizations among inventory ids:
// "namespace_name_group_Kind".
func readInventory(ids []string) (names []string) {
	for _, id := range ids {
		parts := strings.Split(id, "_")
		if len(parts) == 4 && (parts[3] == "Terraform" || parts[3] == "Kustomization") {
			names = append(names, agentapi.Entry{Kind: parts[3], Namespace: parts[0], Name: parts[1]}.ObjectName())
		}
	}
	return names
}

// correctKustomizations corrects phases by the applied objects. While a plan waits, a Kustomization
// is not ready, and has not failed for that alone.
func (r *reader) correctKustomizations(all []agentapi.Entry) {
	for i := range all {
		known, ok := r.kustomizations[all[i].ObjectName()]
		if !ok {
			continue
		}
		phase, _ := r.judge(known, deepestHealth)
		if phase != known.phase {
			all[i].Phase = phase.String()
			if !phase.IsFailure() {
				all[i].Message = ""
			}
		}
	}
}

func (r *reader) judge(k kustomization, depth int) (phase ledger.Phase, byTerraform bool) {
	if depth == 0 {
		return k.phase, false
	}
	switch {
	case k.phase == ledger.Failed && len(k.unready) > 0:
		phase = ledger.JudgeHealth(k.unready, func(name string) (ledger.Known, bool) { return r.findKnown(name, depth-1) })
	case k.phase == ledger.Ready && k.waits, k.phase == ledger.Progressing && k.checks:
		phase = r.judgeApplied(k, depth-1)
	default:
		return k.phase, false
	}
	return phase, phase != k.phase
}

func (r *reader) judgeApplied(k kustomization, depth int) ledger.Phase {
	phase := k.phase
	for _, name := range k.applies {
		found, byTerraform := ledger.Unstated, true
		if t, ok := r.terraforms[name]; ok {
			found = t.phase
			if t.isBehind && found != ledger.Waiting {
				found = ledger.Progressing
			}
		} else if nested, ok := r.kustomizations[name]; ok {
			found, byTerraform = r.judge(nested, depth)
		}
		switch {
		case !byTerraform:
		case found == ledger.Waiting:
			return ledger.Waiting
		case found == ledger.Progressing, found == ledger.Drifted && k.phase == ledger.Progressing:
			phase = found
		}
	}
	return phase
}

func (r *reader) findKnown(name string, depth int) (ledger.Known, bool) {
	if t, ok := r.terraforms[name]; ok {
		return ledger.Known{Phase: t.phase, RunsTerraform: true}, true
	}
	k, ok := r.kustomizations[name]
	if !ok {
		return ledger.Known{}, false
	}
	phase, byTerraform := r.judge(k, depth)
	applies := func(name string) bool { return strings.HasPrefix(name, "Terraform/") }
	return ledger.Known{Phase: phase, RunsTerraform: byTerraform || slices.ContainsFunc(k.applies, applies)}, true
}
