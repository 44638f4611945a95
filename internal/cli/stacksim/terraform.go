package stacksim

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Shared reasons of tofu-controller.
const (
	plannedWithChanges = "TerraformPlannedWithChanges"
	plannedNoChanges   = "TerraformPlannedNoChanges"
	appliedSucceed     = "TerraformAppliedSucceed"
	outputsWritten     = "TerraformOutputsWritten"
)

// terraform is a Terraform object and what it made. Its status was recorded from tofu-controller
// 0.16.5.
type terraform struct {
	*object
	isDeleted bool // until finalized
	isLeaving bool // being finalized

	ready, planCondition, applyCondition condition
	isReconciling                        bool
	observed                             int
	attempted, planned, applied          string
	pending                              string // id of the plan that waits or is being applied
	lastApplied                          string // id of the last applied plan
	isDestroyPlan, isDriftPlan           bool
	hasDrifted                           bool

	work      work
	due       time.Time
	next      time.Time // next check without changes; zero for never
	begun     *object
	commit    string
	requested string

	plan     string
	readable readablePlan
	want     module
	drift    string // manual change, or ""
	said     string // plan that was reported as waiting
	told     string

	made      *module
	isPartial bool
}

type work int

const (
	idle work = iota
	checking
	planning
	applying
)

const requestedAt = "reconcile.fluxcd.io/requestedAt"

func (c *cluster) runTerraform(t *terraform, now time.Time, read readsModule) error {
	if t.work != idle && now.Before(t.due) {
		return nil
	}
	switch t.work {
	case checking:
		return c.endCheck(t, now, read)
	case planning:
		return c.endPlan(t, now, read)
	case applying:
		return c.endApply(t, now)
	}
	switch {
	case t.spec.Suspend:
		t.observed = t.generation
		c.wrote(t.object)
	case c.isDue(t, now) && (c.isBusy == nil || !c.isBusy(t)):
		c.beginTerraform(t, now, c.commitOf(t.object))
	}
	return nil
}

func (c *cluster) isDue(t *terraform, now time.Time) bool {
	commit := c.commitOf(t.object)
	isNew := t.begun == nil || t.begun.generation != t.generation || t.requested != t.notes[requestedAt] || t.isDeleted && !t.isLeaving
	return isNew || commit != "" && commit != t.attempted || !t.next.IsZero() && !now.Before(t.next)
}

// beginTerraform begins a reconciliation. A waiting plan ends it at once, unless something has
// changed; then the plan is made again, and nothing is pending meanwhile unless the object approves
// it.
func (c *cluster) beginTerraform(t *terraform, now time.Time, commit string) {
	isChanged := t.generation != t.observed || commit != t.attempted
	t.begun, t.commit, t.requested, t.next, t.isLeaving = t.object, commit, t.notes[requestedAt], time.Time{}, t.isDeleted
	if commit == "" {
		why := "Source is not ready, artifact not found"
		if c.sourceOf(t.object) == nil {
			why = "GitRepository \"" + t.spec.SourceRef.Name + "\" not found"
		}
		c.settle(t, now, "False", "ArtifactFailed", why)
		t.next = now.Add(c.every(t.spec.RetryInterval, t.spec.Interval))
		return
	}
	t.isReconciling = true
	if t.ready.status != "Unknown" {
		t.set(c, now, "Unknown", "Progressing", "Reconciliation in progress")
	}
	if t.isLeaving && (!t.spec.DestroyOnDeletion || t.made == nil) {
		c.removeTerraform(t)
		return
	}
	if t.pending != "" && !t.approves(t.pending) {
		if !isChanged && !t.isLeaving {
			return
		}
		t.pending, t.plan = "", ""
		c.wrote(t.object)
	}
	t.set(c, now, "Unknown", "Progressing", "Initializing")
	t.work, t.due = planning, now.Add(c.options.Pace)
	if !isChanged && t.pending == "" && !t.spec.Destroy && !t.isLeaving {
		t.work = checking
	}
}

func (t *terraform) approves(plan string) bool {
	approved := t.spec.ApprovePlan
	return approved == "auto" || approved != "" && strings.HasPrefix(plan, approved)
}

func (t *terraform) set(c *cluster, now time.Time, status, reason, message string) {
	t.ready.set(now, status, reason, message)
	c.wrote(t.object)
}

func (c *cluster) settle(t *terraform, now time.Time, status, reason, message string) {
	t.work, t.isReconciling = idle, false
	t.next = now.Add(c.every(t.spec.Interval, ""))
	t.set(c, now, status, reason, message)
}

func (c *cluster) readWanted(t *terraform, now time.Time, read readsModule) (ok bool, err error) {
	if err := c.readDrift(t); err != nil {
		return false, err
	}
	source := c.sourceOf(t.object)
	if source != nil && !t.isOfStack() {
		read = func(string, string) (module, error) { return t.module(source.fetched), nil }
	}
	t.want, err = read(t.commit, t.begun.spec.Path)
	if err != nil {
		return false, err
	}
	fails, err := c.readFailure(t)
	if err != nil {
		return false, err
	}
	reason := map[string]string{"init": "TFExecInitFailed", "plan": "TFExecPlanFailed"}[fails]
	if reason == "" {
		return true, nil
	}
	t.attempted, t.observed = t.commit, t.begun.generation
	c.settle(t, now, "False", reason, "error running "+fails+": rpc error: code = Internal desc = exit status 1\n\nError: it fails\n")
	return false, nil
}

// endCheck ends a drift check. Drift is planned again only if all plans are approved.
func (c *cluster) endCheck(t *terraform, now time.Time, read readsModule) error {
	if ok, err := c.readWanted(t, now, read); !ok {
		return err
	}
	if action, _, _ := t.findChange(); action == "" {
		c.settle(t, now, "True", "NoDrift", "No drift: "+c.revisionOf(t, t.commit))
		if t.told != "" {
			c.addEvent(t.object, false, "has no drift any more")
		}
		t.told = ""
		return nil
	}
	t.hasDrifted = true
	c.settle(t, now, "False", "DriftDetected", "\nTerraform will perform the following actions:\n\n"+t.describePlan())
	if t.begun.spec.ApprovePlan == "auto" {
		t.set(c, now, "Unknown", "Progressing", "Initializing")
		t.work, t.due, t.next = planning, now.Add(c.options.Pace), time.Time{}
		return nil
	}
	if t.drift != t.told {
		c.addEvent(t.object, true, "has drifted: "+t.drift)
	}
	t.told = t.drift
	return nil
}

func (c *cluster) endPlan(t *terraform, now time.Time, read readsModule) error {
	if ok, err := c.readWanted(t, now, read); !ok {
		return err
	}
	t.attempted, t.planned, t.observed = t.commit, t.commit, t.begun.generation
	t.isDestroyPlan = t.begun.spec.Destroy
	before := t.pending
	t.pending, t.plan = "", t.describePlan()
	t.storeReadable()
	if t.plan == "" {
		t.planCondition.set(now, "False", plannedNoChanges, "Plan no changes")
		c.settle(t, now, "True", plannedNoChanges, "Plan no changes")
		c.writeOutputs(t, now)
		return nil
	}
	t.pending = "plan-" + c.branchOf(t.object) + "-" + t.commit[:10]
	t.isDriftPlan = t.hasDrifted && t.applyCondition.status == "True" && !t.isDestroyPlan
	t.planCondition.set(now, "True", plannedWithChanges, "Plan generated")
	t.set(c, now, "Unknown", plannedWithChanges, fmt.Sprintf("Plan generated: set approvePlan: %q to approve this plan.", t.pending))
	switch approved := t.begun.spec.ApprovePlan; {
	case approved == t.pending && t.pending != before && !t.isLeaving: // approved before it existed
		t.set(c, now, "Unknown", "Progressing", "Terraform Planning")
		t.work, t.due = planning, now.Add(c.options.Pace)
		return nil
	case t.isLeaving || approved == "auto" || approved == t.pending:
		t.set(c, now, "Unknown", "Progressing", "Applying")
		t.applyCondition.set(now, "Unknown", "Progressing", "Applying")
		c.wrote(t.object)
		t.work, t.due = applying, now.Add(c.options.Pace)
		return nil
	}
	t.work = idle
	if t.made != nil { // without outputs, it stays in progress
		c.writeOutputs(t, now)
	}
	t.next = time.Time{}
	if t.said != t.pending+t.plan {
		c.addEvent(t.object, true, fmt.Sprintf("%s for the approval of %s, which is to %s", t.waits(), t.pending, t.verb()))
	}
	t.said = t.pending + t.plan
	return nil
}

// waits tells a plan from those before it, which people have seen.
func (t *terraform) waits() string {
	switch {
	case t.isDestroyPlan:
		return "is to be destroyed, and waits"
	case t.lastApplied != "":
		return "waits again"
	}
	return "waits"
}

func (t *terraform) verb() string {
	if t.isDestroyPlan {
		return "destroy"
	}
	return "apply"
}

func (c *cluster) endApply(t *terraform, now time.Time) error {
	fails, err := c.readFailure(t)
	if err != nil {
		return err
	}
	if fails == "apply" {
		t.applyCondition.set(now, "False", "TerraformAppliedFail", "error running Apply: rpc error: code = Internal desc = exit status 1\n\nError: it fails\n")
		t.pending, t.plan, t.lastApplied, t.isDriftPlan, t.isPartial = "", "", "", false, true
		made := t.want
		t.made = &made
		c.settle(t, now, "False", "TFExecApplyFailed", t.applyCondition.message)
		return nil
	}
	t.applyCondition.set(now, "True", appliedSucceed, "Applied successfully: "+c.revisionOf(t, t.planned))
	t.lastApplied, t.applied = t.pending, t.planned
	t.pending, t.plan, t.drift, t.isDriftPlan, t.isPartial, t.hasDrifted, t.said, t.told = "", "", "", false, false, false, "", ""
	if err := c.removeDrift(t); err != nil {
		return err
	}
	made, isDestroyed := t.want, t.isDestroyPlan || t.isLeaving
	t.made = &made
	if isDestroyed {
		t.made = nil
	}
	t.set(c, now, "Unknown", appliedSucceed, t.applyCondition.message)
	switch {
	case isDestroyed:
		c.addEvent(t.object, false, "is destroyed")
		if t.isLeaving {
			c.removeTerraform(t)
			return nil
		}
		c.settle(t, now, "True", appliedSucceed, "Destroy applied successfully")
		return nil
	case t.spec.Outputs == nil:
		c.settle(t, now, "True", appliedSucceed, t.applyCondition.message)
	}
	c.writeOutputs(t, now)
	c.addEvent(t.object, false, "is applied")
	return nil
}

func (c *cluster) writeOutputs(t *terraform, now time.Time) {
	o := t.spec.Outputs
	if o == nil || t.made == nil {
		return
	}
	if t.isDestroyPlan {
		c.settle(t, now, "True", outputsWritten, "No Outputs written: "+c.revisionOf(t, t.attempted))
		return
	}
	if t.pending == "" {
		values := map[string]string{}
		for _, name := range o.Outputs {
			values[name] = t.name + "-" + name
		}
		c.secrets[objectKey{"Secret", t.namespace, o.Name}] = values
	}
	c.settle(t, now, "True", outputsWritten, "Outputs written: "+c.revisionOf(t, t.attempted))
}

// removeTerraform removes a deleted object. tofu-controller needs its source for that even without
// destroying, and does nothing while suspended.
func (c *cluster) removeTerraform(t *terraform) {
	delete(c.terraforms, t.objectKey)
	c.wrote(t.object)
}

func (c *cluster) driftFile(t *terraform) string {
	return filepath.Join(c.options.Folder, t.name+".drift")
}

func (c *cluster) readDrift(t *terraform) (err error) {
	t.drift, err = readWords(c.driftFile(t))
	if t.made == nil {
		t.drift = ""
	}
	return err
}

func (c *cluster) readFailure(t *terraform) (string, error) {
	return readWords(filepath.Join(c.options.Folder, t.name+".fails"))
}

func readWords(file string) (string, error) {
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return "", nil
	}
	return strings.Join(strings.Fields(string(text)), " "), err
}

func (c *cluster) removeDrift(t *terraform) error {
	if err := os.Remove(c.driftFile(t)); !os.IsNotExist(err) {
		return err
	}
	return nil
}
