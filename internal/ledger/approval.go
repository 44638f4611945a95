package ledger

import (
	"regexp"
	"slices"
	"strings"
)

// AwaitsApproval begins the messages of Terraform objects whose plans wait for a person; behind it is the plan.
const AwaitsApproval = "waits for approval of "

// AwaitedPlans are the Terraform objects whose plans wait for a person.
type AwaitedPlans map[Object]bool

// Add adds an object that has failed with a message, if it is such a one.
func (a AwaitedPlans) Add(o Object, message string) {
	if o.Kind() == "Terraform" && strings.HasPrefix(message, AwaitsApproval) {
		a[o] = true
	}
}

var (
	stalledObjects = regexp.MustCompile(`stalled resources: \[([^\]]+)\]`)
	stalledObject  = regexp.MustCompile(`([^\s,]+) status: '([^']*)'`)
)

// IsAwaited reports whether an object has failed with a message only because plans wait for a person: Flux says so of
// one that has applied their Terraform objects. Nothing is to be mended then.
func (a AwaitedPlans) IsAwaited(o Object, message string) bool {
	if len(a) == 0 || a[o] {
		return a[o]
	}
	listed := stalledObjects.FindStringSubmatch(message)
	if listed == nil {
		return false
	}
	all := stalledObject.FindAllStringSubmatch(listed[1], -1)
	return len(all) > 0 && !slices.ContainsFunc(all, func(one []string) bool { return !a[Object{o.Cluster, one[1]}] })
}

// listFailed returns the objects of a cluster that have failed, and those that only wait for a person to approve plans,
// by name.
func (l *Ledger) listFailed(cluster string) (failed, awaited []Object) {
	failed, plans := l.book.listFailed(cluster), AwaitedPlans{}
	for _, o := range failed {
		plans.Add(o, l.book.find(o).state().Message)
	}
	if len(plans) == 0 {
		return failed, nil
	}
	isAwaited := func(o Object) bool { return plans.IsAwaited(o, l.book.find(o).state().Message) }
	for _, o := range failed {
		if isAwaited(o) {
			awaited = append(awaited, o)
		}
	}
	return slices.DeleteFunc(failed, isAwaited), awaited
}

// isAwaited reports whether an object of a cluster only waits for a person to approve plans.
func (l *Ledger) isAwaited(o Object) bool {
	_, awaited := l.listFailed(o.Cluster)
	return slices.Contains(awaited, o)
}
