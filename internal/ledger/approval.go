package ledger

import (
	"regexp"
	"slices"
	"strings"
)

// AwaitsApproval begins the messages of Terraform objects whose plans wait for a person; behind it is the plan.
const AwaitsApproval = "waits for approval of "

// HasDrift begins the messages of Terraform objects whose resources differ from what was applied.
const HasDrift = "drift: "

// StallCauses are the Terraform objects that stall what applies them, as Flux calls it: those whose plans wait for a
// person, or whose resources have drifted.
type StallCauses map[Object]bool

// AddAwaited adds an object that has failed with a message, if its plan waits for a person.
func (c StallCauses) AddAwaited(o Object, message string) {
	if o.Kind() == "Terraform" && strings.HasPrefix(message, AwaitsApproval) {
		c[o] = true
	}
}

var (
	stalledObjects = regexp.MustCompile(`stalled resources: \[([^\]]+)\]`)
	stalledObject  = regexp.MustCompile(`([^\s,]+) status: '([^']*)'`)
)

// Explain reports whether an object has failed with a message only because of them: it is one, or Flux names no others
// as stalled.
func (c StallCauses) Explain(o Object, message string) bool {
	if len(c) == 0 || c[o] {
		return c[o]
	}
	listed := stalledObjects.FindStringSubmatch(message)
	if listed == nil {
		return false
	}
	all := stalledObject.FindAllStringSubmatch(listed[1], -1)
	return len(all) > 0 && !slices.ContainsFunc(all, func(one []string) bool { return !c[Object{o.Cluster, one[1]}] })
}

// listFailed returns the objects of a cluster that have failed, and those that only wait for a person to approve plans,
// by name.
func (l *Ledger) listFailed(cluster string) (failed, awaited []Object) {
	failed, plans := l.book.listFailed(cluster), StallCauses{}
	for _, o := range failed {
		plans.AddAwaited(o, l.book.find(o).state().Message)
	}
	if len(plans) == 0 {
		return failed, nil
	}
	isAwaited := func(o Object) bool { return plans.Explain(o, l.book.find(o).state().Message) }
	for _, o := range failed {
		if isAwaited(o) {
			awaited = append(awaited, o)
		}
	}
	return slices.DeleteFunc(failed, isAwaited), awaited
}

// findDrift returns the first of the objects of a cluster whose resources differ from what was applied, and false if
// others have failed for another reason than that.
func (l *Ledger) findDrift(failed, awaited []Object) (first Object, ok bool) {
	stopped := StallCauses{} // what applies them is stopped by both
	for _, o := range awaited {
		stopped[o] = true
	}
	for _, o := range failed {
		if IsDrift(o, l.book.find(o).state().Message) {
			if !ok {
				first, ok = o, true
			}
			stopped[o] = true
		}
	}
	return first, ok && !slices.ContainsFunc(failed, func(o Object) bool { return !stopped.Explain(o, l.book.find(o).state().Message) })
}

// IsDrift reports whether an object that has failed with a message is a Terraform object which has drifted.
func IsDrift(o Object, message string) bool {
	return o.Kind() == "Terraform" && strings.HasPrefix(message, HasDrift)
}

// isAwaited reports whether an object of a cluster only waits for a person to approve plans.
func (l *Ledger) isAwaited(o Object) bool {
	_, awaited := l.listFailed(o.Cluster)
	return slices.Contains(awaited, o)
}

// isStall reports whether a failure is a plan that waits or drift: once there is an approval, the object goes on at the same
// revision.
func isStall(message string) bool {
	return strings.HasPrefix(message, AwaitsApproval) || strings.HasPrefix(message, HasDrift)
}
