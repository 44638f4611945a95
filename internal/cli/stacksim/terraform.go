package stacksim

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The reasons of tofu-controller that more than one place needs.
const (
	plannedWithChanges = "TerraformPlannedWithChanges"
	plannedNoChanges   = "TerraformPlannedNoChanges"
	appliedSucceed     = "TerraformAppliedSucceed"
	outputsWritten     = "TerraformOutputsWritten"
)

// terraform is a Terraform object, and what it has made. What of it is in its status is as tofu-controller 0.16.5 was
// recorded to have it.
type terraform struct {
	*object
	isDeleted bool // it goes once it is finalized
	isLeaving bool // that is being done

	ready, planCondition, applyCondition condition
	isReconciling                        bool
	observed                             int
	attempted, planned, applied          string // commits
	pending                              string // the id of the plan that waits, or is applied
	lastApplied                          string // the id of the plan that was applied last
	isDestroyPlan, isDriftPlan           bool
	hasDrifted                           bool // since it was applied

	work      work
	due       time.Time // when the work ends
	next      time.Time // when it is looked at again if nothing changes; zero for never
	begun     *object   // as it was when the work began; nil before the first
	commit    string    // of the source at that time
	requested string    // the last request to look at it that was seen

	plan  string // the plan of pending, for people
	want  module // that it was made of
	drift string // what somebody has changed; "" for nothing
	said  string // the plan that people were told to approve
	told  string // the drift that they were told of

	made      *module // what was made; nil for nothing
	isPartial bool    // its apply has failed half way
}

// work is what tofu-controller does with an object.
type work int

const (
	idle work = iota
	checking
	planning
	applying
)

// requestedAt asks a controller to look at an object.
const requestedAt = "reconcile.fluxcd.io/requestedAt"

// runTerraform does what tofu-controller does with an object.
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

// isDue reports whether tofu-controller has a reason to look at an object.
func (c *cluster) isDue(t *terraform, now time.Time) bool {
	commit := c.commitOf(t.object)
	isNew := t.begun == nil || t.begun.generation != t.generation || t.requested != t.notes[requestedAt] || t.isDeleted && !t.isLeaving
	return isNew || commit != "" && commit != t.attempted || !t.next.IsZero() && !now.Before(t.next)
}

// beginTerraform begins a reconciliation. A plan that waits for approval ends it at once, unless something has changed:
// then it is made again, and what is pending meanwhile is nothing if the object does not approve it.
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
			return // without an end
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

// approves reports whether the object approves a plan, as far as it keeps what is pending.
func (t *terraform) approves(plan string) bool {
	approved := t.spec.ApprovePlan
	return approved == "auto" || approved != "" && strings.HasPrefix(plan, approved)
}

// set sets whether the object is ready.
func (t *terraform) set(c *cluster, now time.Time, status, reason, message string) {
	t.ready.set(now, status, reason, message)
	c.wrote(t.object)
}

// settle ends a reconciliation.
func (c *cluster) settle(t *terraform, now time.Time, status, reason, message string) {
	t.work, t.isReconciling = idle, false
	t.next = now.Add(c.every(t.spec.Interval, ""))
	t.set(c, now, status, reason, message)
}

// readWanted reads the root module of the commit that the work began with; it settles that it cannot be planned.
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

// endCheck ends a check for drift. What has drifted is planned again only if all plans are approved.
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

// endPlan ends a plan: it is applied, or waits for approval, if it changes something.
func (c *cluster) endPlan(t *terraform, now time.Time, read readsModule) error {
	if ok, err := c.readWanted(t, now, read); !ok {
		return err
	}
	t.attempted, t.planned, t.observed = t.commit, t.commit, t.begun.generation
	t.isDestroyPlan = t.begun.spec.Destroy
	before := t.pending
	t.pending, t.plan = "", t.describePlan()
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
	case approved == t.pending && t.pending != before && !t.isLeaving: // approved before it was there
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
		c.addEvent(t.object, true, fmt.Sprintf("waits for the approval of %s, which is to %s", t.pending, t.verb()))
	}
	t.said = t.pending + t.plan
	return nil
}

// verb returns what the plan is to do.
func (t *terraform) verb() string {
	if t.isDestroyPlan {
		return "destroy"
	}
	return "apply"
}

// endApply ends the applying of a plan, and writes the outputs.
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

// writeOutputs writes the outputs of what an object has made to its Secret, if it has one.
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

// removeTerraform lets a deleted object go. tofu-controller needs its source for that, also if it destroys nothing,
// and does nothing while it is suspended.
func (c *cluster) removeTerraform(t *terraform) {
	delete(c.terraforms, t.objectKey)
	c.wrote(t.object)
}

// driftFile returns the file that says what somebody has changed of what an object has made.
func (c *cluster) driftFile(t *terraform) string {
	return filepath.Join(c.options.Folder, t.name+".drift")
}

// readDrift reads what somebody has changed of what an object has made.
func (c *cluster) readDrift(t *terraform) (err error) {
	t.drift, err = readWords(c.driftFile(t))
	if t.made == nil {
		t.drift = ""
	}
	return err
}

// readFailure reads what fails of an object: "init", "plan", "apply", or "" for nothing.
func (c *cluster) readFailure(t *terraform) (string, error) {
	return readWords(filepath.Join(c.options.Folder, t.name+".fails"))
}

// readWords returns the words of a file, which may be missing.
func readWords(file string) (string, error) {
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return "", nil
	}
	return strings.Join(strings.Fields(string(text)), " "), err
}

// removeDrift mends what somebody has changed of what an object has made.
func (c *cluster) removeDrift(t *terraform) error {
	if err := os.Remove(c.driftFile(t)); !os.IsNotExist(err) {
		return err
	}
	return nil
}
