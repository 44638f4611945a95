package observe

import (
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/kubestatus"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

// AwaitedPlans are the Terraform objects whose plans wait for a person.
type AwaitedPlans map[ledger.Object]bool

// FindAwaited returns the Terraform objects whose plans wait for a person.
func FindAwaited(events []Event) AwaitedPlans {
	all := AwaitedPlans{}
	for _, e := range events {
		if e.Phase == rollout.Failed && strings.HasPrefix(e.Object, "Terraform/") && strings.HasPrefix(e.Message, kubestatus.AwaitsApproval) {
			all[e.objectKey()] = true
		}
	}
	return all
}

var (
	stalledObjects = regexp.MustCompile(`stalled resources: \[([^\]]+)\]`)
	stalledObject  = regexp.MustCompile(`([^\s,]+) status: '([^']*)'`)
)

// IsAwaited reports whether an event says that an object failed only because plans wait for a person: Flux says so
// of one that has applied their Terraform objects. Nothing is to be mended then.
func (a AwaitedPlans) IsAwaited(e Event) bool {
	if e.Phase != rollout.Failed || len(a) == 0 {
		return false
	}
	if a[e.objectKey()] {
		return true
	}
	listed := stalledObjects.FindStringSubmatch(e.Message)
	if listed == nil {
		return false
	}
	all := stalledObject.FindAllStringSubmatch(listed[1], -1)
	return len(all) > 0 && !slices.ContainsFunc(all, func(one []string) bool {
		return !a[ledger.Object{Cluster: e.Cluster, Name: one[1]}]
	})
}
