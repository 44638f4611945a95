package stacksim

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// plannedWithChanges is the reason of tofu-controller for a plan that waits.
const plannedWithChanges = "TerraformPlannedWithChanges"

// terraform is a Terraform object, and what it has made.
type terraform struct {
	*object
	isDeleted bool // it goes once it is finalized
	isLeaving bool // what it made is being destroyed, since it is deleted

	ready    condition
	observed int // the generation that was looked at

	attempted attempt // that the last plan was made of
	work      work
	due       time.Time // when the work ends
	pending   string    // the id of the plan that waits
	plan      string    // that plan, for people
	planned   module
	drift     string // what somebody has changed; "" for nothing

	made    *module // what was made; nil for nothing
	applied string  // the commit that it was made at
}

// attempt is what a plan is made of.
type attempt struct {
	commit  string
	destroy bool
	inputs  string // of a deployment target: what a plan is made from besides the commit
}

// work is what tofu-controller does with an object.
type work int

const (
	idle work = iota
	planning
	applying
)

// runTerraform does what tofu-controller does with an object.
func (c *cluster) runTerraform(t *terraform, now time.Time, read readsModule) error {
	if t.isDeleted {
		c.finalize(t, now)
		return nil
	}
	wanted := attempt{commit: c.commitOf(t.object), destroy: t.spec.Destroy}
	if source := c.sourceOf(t.object); source != nil && !t.isOfStack() {
		m := t.module(source)
		wanted.inputs, read = m.digest, func(string, string) (module, error) { return m, nil }
	}
	switch {
	case wanted.commit == "" || t.spec.Suspend || t.work != idle && now.Before(t.due):
		return nil
	case t.work == applying:
		c.endApply(t, now)
		return c.removeDrift(t)
	case t.attempted != wanted: // also while it plans something else
		m, err := read(wanted.commit, t.spec.Path)
		if err != nil {
			return err
		}
		t.attempted, t.planned, t.pending, t.plan = wanted, m, "", ""
		c.begin(t, planning, now, "Terraform Planning")
	case t.work == planning:
		if err := c.readDrift(t); err != nil {
			return err
		}
		c.endPlan(t, now)
	case t.isApproved():
		c.begin(t, applying, now, "Applying")
	case t.pending == "":
		t.observed = t.generation
		return c.detectDrift(t, now)
	default:
		t.observed = t.generation
	}
	return nil
}

// finalize lets a deleted Terraform object go. tofu-controller needs its source for that, also if it destroys
// nothing, and does nothing while it is suspended.
func (c *cluster) finalize(t *terraform, now time.Time) {
	switch {
	case t.spec.Suspend:
	case c.sourceOf(t.object) == nil:
		t.ready.set(now, "False", "ArtifactFailed", "GitRepository \""+t.spec.SourceRef.Name+"\" not found")
	case t.spec.DestroyOnDeletion && t.made != nil && !t.isLeaving:
		t.isLeaving = true
		c.begin(t, applying, now, "Destroying")
	case t.isLeaving && now.Before(t.due):
	default:
		delete(c.terraforms, t.objectKey)
		if t.isLeaving {
			c.addEvent(t.object, false, "is destroyed")
		}
	}
}

func (c *cluster) begin(t *terraform, w work, now time.Time, message string) {
	t.work, t.due, t.observed = w, now.Add(c.options.Pace), t.generation
	t.ready.set(now, "Unknown", "Progressing", message)
}

// endPlan ends a plan: it is applied, or waits for approval, if it changes something.
func (c *cluster) endPlan(t *terraform, now time.Time) {
	t.work, t.observed = idle, t.generation
	t.plan = t.describePlan()
	if t.plan == "" {
		t.ready.set(now, "True", "TerraformPlannedNoChanges", "Plan no changes")
		return
	}
	t.pending = "plan-" + c.branchOf(t.object) + "-" + t.attempted.commit[:10]
	if t.isApproved() { // tofu-controller applies it in the same reconciliation
		c.begin(t, applying, now, "Applying")
		return
	}
	t.ready.set(now, "Unknown", plannedWithChanges, fmt.Sprintf("Plan generated: set approvePlan: %q to approve this plan.", t.pending))
	c.addEvent(t.object, true, fmt.Sprintf("waits for the approval of %s, which is to %s", t.pending, t.verb()))
}

// isApproved reports whether the plan that is there may be applied.
func (t *terraform) isApproved() bool {
	return t.pending != "" && (t.spec.ApprovePlan == t.pending || t.spec.ApprovePlan == "auto")
}

// verb returns what the plan is to do.
func (t *terraform) verb() string {
	if t.attempted.destroy {
		return "destroy"
	}
	return "apply"
}

// findChange returns what a plan does with a component, in Terraform's word, and its inputs before and after; "" for
// nothing.
func (t *terraform) findChange() (action string, before, after map[string]string) {
	before, after = map[string]string{}, t.planned.inputs
	if t.made != nil {
		before = t.made.inputs
	}
	switch {
	case t.attempted.destroy && t.made == nil:
		return "", nil, nil
	case t.attempted.destroy:
		return "delete", before, map[string]string{}
	case t.made != nil && t.made.digest == t.planned.digest && t.drift == "":
		return "", nil, nil
	case t.made != nil:
		return "update", before, after
	}
	return "create", before, after
}

// describePlan returns what a plan changes, for people; "" for nothing.
func (t *terraform) describePlan() string {
	action, before, after := t.findChange()
	verb, counts := "created", "1 to add, 0 to change, 0 to destroy"
	switch action {
	case "":
		return ""
	case "delete":
		verb, counts = "destroyed", "0 to add, 0 to change, 1 to destroy"
	case "update":
		verb, counts = "updated in-place", "0 to add, 1 to change, 0 to destroy"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  # module.%s will be %s\n", path.Base(t.component()), verb)
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		switch old, now := before[name], after[name]; {
		case old == now:
		case old == "":
			fmt.Fprintf(&b, "  + %s = %s\n", name, now)
		case now == "":
			fmt.Fprintf(&b, "  - %s = %s\n", name, old)
		default:
			fmt.Fprintf(&b, "  ~ %s = %s -> %s\n", name, old, now)
		}
	}
	if t.drift != "" && !t.attempted.destroy {
		fmt.Fprintf(&b, "  ~ %s\n", t.drift)
	}
	fmt.Fprintf(&b, "\nPlan: %s.\n", counts)
	return b.String()
}

// endApply ends the applying of a plan, and writes the outputs.
func (c *cluster) endApply(t *terraform, now time.Time) {
	t.work, t.pending, t.plan, t.drift, t.observed, t.applied = idle, "", "", "", t.generation, t.attempted.commit
	if t.attempted.destroy {
		t.made = nil
		t.ready.set(now, "True", "TerraformAppliedSucceed", "Destroy applied successfully")
		c.addEvent(t.object, false, "is destroyed")
		return
	}
	made := t.planned
	t.made = &made
	if o := t.spec.Outputs; o != nil {
		values := map[string]string{}
		for _, name := range o.Outputs {
			values[name] = t.name + "-" + name
		}
		c.secrets[objectKey{"Secret", t.namespace, o.Name}] = values
	}
	t.ready.set(now, "True", "TerraformOutputsWritten", "Outputs written: "+c.branchOf(t.object)+"@sha1:"+t.applied)
	c.addEvent(t.object, false, "is applied")
}

// driftFile returns the file that says what somebody has changed of what an object has made.
func (c *cluster) driftFile(t *terraform) string {
	return filepath.Join(c.options.Folder, t.name+".drift")
}

// readDrift reads what somebody has changed of what an object has made.
func (c *cluster) readDrift(t *terraform) error {
	text, err := os.ReadFile(c.driftFile(t))
	if os.IsNotExist(err) || t.made == nil {
		t.drift = ""
		return nil
	}
	t.drift = strings.Join(strings.Fields(string(text)), " ")
	return err
}

// removeDrift mends what somebody has changed of what an object has made.
func (c *cluster) removeDrift(t *terraform) error {
	if err := os.Remove(c.driftFile(t)); !os.IsNotExist(err) {
		return err
	}
	return nil
}

// detectDrift looks for drift. It is corrected if all plans are approved; otherwise tofu-controller says
// so, and offers no plan.
func (c *cluster) detectDrift(t *terraform, now time.Time) error {
	before := t.drift
	if err := c.readDrift(t); err != nil || t.attempted.destroy {
		return err
	}
	switch {
	case t.drift == "" && before != "":
		t.ready.set(now, "True", "NoDrift", "No drift")
		c.addEvent(t.object, false, "has no drift any more")
	case t.drift == "" || t.drift == before:
	case t.spec.ApprovePlan == "auto":
		c.begin(t, applying, now, "Applying")
	default:
		t.ready.set(now, "False", "DriftDetected", "Drift detected.\n"+t.drift)
		c.addEvent(t.object, true, "has drifted: "+t.drift)
	}
	return nil
}
