package drift

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
)

type assignmentGrid struct {
	side Side
	plan *schedule.Plan
}

func newGrid(s Side) assignmentGrid { return assignmentGrid{s, schedule.NewPlan(s.Model, nil)} }

// findAssignment returns the indexes of an assignment by name; known is false if the
// side lacks its cluster type or target.
func (g assignmentGrid) findAssignment(a schedule.Assignment) (i, j int, known bool) {
	i, one := model.IndexOf(g.side.Model.ClusterTypes, a.ClusterType.Name)
	j, two := model.IndexOf(g.side.Model.Targets, a.Target.Name)
	return i, j, one && two
}

func (c *comparison) compareAssignments(f *findings) {
	from, to := newGrid(c.from), newGrid(c.to)
	for _, sides := range [][2]assignmentGrid{{from, to}, {to, from}} {
		has, lacks := sides[0], sides[1]
		for a := range has.plan.All() {
			i, j, known := lacks.findAssignment(a)
			switch {
			case !known:
				f.add(Finding{Only: has.side.name(), Because: "the cluster type or the deployment target is in " + has.side.name() + " only"}, "")
			case !lacks.plan.Targets(i).Has(j):
				there := schedule.Assignment{ClusterType: lacks.side.Model.ClusterTypes[i], Target: lacks.side.Model.Targets[j]}
				f.add(Finding{Only: has.side.name(), Because: whyNotAssigned(has, a, lacks, there)}, assignmentPath(a))
			}
		}
	}
}

func assignmentPath(a schedule.Assignment) string { return a.ClusterType.Name + "/" + a.Target.Name }

// whyNotAssigned explains, for each policy that makes an assignment on one side, why
// the other side lacks it.
func whyNotAssigned(has assignmentGrid, a schedule.Assignment, lacks assignmentGrid, there schedule.Assignment) string {
	opinions := lacks.plan.EvaluatePolicies(there)
	var reasons []string
	for _, o := range has.plan.EvaluatePolicies(a) {
		if !o.Selected {
			continue
		}
		i := slices.IndexFunc(opinions, func(other schedule.PolicyVerdict) bool { return other.Policy.Name == o.Policy.Name })
		if i < 0 {
			reasons = append(reasons, fmt.Sprintf("policy %s is in %s only", o.Policy.Name, has.side.name()))
			continue
		}
		var misses []string
		if miss := opinions[i].ClusterType; miss != "" {
			misses = append(misses, "the cluster type "+miss)
		}
		if miss := opinions[i].Target; miss != "" {
			misses = append(misses, "the deployment target "+miss)
		}
		reasons = append(reasons, fmt.Sprintf("for policy %s in %s %s", o.Policy.Name, lacks.side.name(), strings.Join(misses, ", and ")))
	}
	return strings.Join(reasons, "; ")
}

func (c *comparison) eachShared(do func(a schedule.Assignment, from, to [2]int)) {
	from, to := newGrid(c.from), newGrid(c.to)
	for a := range from.plan.All() {
		if i, j, known := to.findAssignment(a); known && to.plan.Targets(i).Has(j) {
			x, y, _ := from.findAssignment(a)
			do(a, [2]int{x, y}, [2]int{i, j})
		}
	}
}

func (c *comparison) countShared() (all, same int) {
	differs := map[string]bool{}
	for was, is := range tree.ZipChanged(c.from.Tree, c.to.Tree) {
		for a, b := range tree.ZipChanged(was.Tree(), is.Tree()) {
			differs[cmp.Or(was.Name, is.Name)+"/"+cmp.Or(a.Name, b.Name)] = true
		}
	}
	c.eachShared(func(a schedule.Assignment, _, _ [2]int) {
		all++
		if !differs[assignmentPath(a)] {
			same++
		}
	})
	return all, same
}

// compareValues compares the values of shared assignments, once per pair of classes.
func (c *comparison) compareValues(f *findings) {
	from, _ := values.NewResolver(c.from.Model, &values.Cache{})
	to, _ := values.NewResolver(c.to.Model, &values.Cache{})
	known := map[[2]*values.Values][]Finding{}
	c.eachShared(func(a schedule.Assignment, x, y [2]int) {
		class := [2]*values.Values{from.ValuesOf(x[0], x[1]), to.ValuesOf(y[0], y[1])}
		changes, seen := known[class]
		if !seen && class[0].Digest != class[1].Digest {
			was, is := byKey(from.ExplainValues(x[0], x[1])), byKey(to.ExplainValues(y[0], y[1]))
			for _, key := range keysOf(was, is) {
				changes = append(changes, c.compareLeaves(was[key], is[key], leaf{name: key})...)
			}
		}
		known[class] = changes
		for _, change := range changes {
			f.add(change, assignmentPath(a))
		}
	})
}
