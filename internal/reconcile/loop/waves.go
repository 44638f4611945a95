package loop

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/wave"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

type waveDivider struct {
	orders   promoter.Policy
	promoter *promoter.Promoter
	source   *source.Source
	records  *publish.Records
}

func newWaveDivider(l *Loop) waveDivider {
	return waveDivider{l.orders, l.promoter, l.source, &l.records}
}

type waveOutput struct {
	rendered tree.Tree
	inputs   []source.Commit
	step     *publish.Step // nil if all is proposed at once
	head     string        // of the output branch
	merge    string        // of the wave; "" for that of the environment
	// waits is why no wave is proposed; "" for no reason. isUnknown means that nothing may change, isUndecided that it is unknown
	// until proofs are evaluated.
	waits                  string
	isUnknown, isUndecided bool
	advance                string // its id; "" for none
	newer                  string // which inputs wait; "" for none
	asksGates              bool   // see promoter.Environment
	// isBack means that it goes back, which passes freezes, and isBegun that an advance is under way, which passes some.
	isBack, isBegun bool
	rejected        string // why it goes back, or stays there; "" if no advance is rejected
}

func (o waveOutput) keepRestraints(all []publish.Withholding) []publish.Withholding {
	return slices.DeleteFunc(slices.Clone(all), func(w publish.Withholding) bool {
		return w.Cause == publish.CauseFreeze && (o.isBack || o.isBegun && w.PassesWaves)
	})
}

type waveTarget struct {
	from     string // the inputs, as text
	rendered tree.Tree
	inputs   []source.Commit
}

func (l waveDivider) divideOutput(ctx context.Context, e *environment, to *model.GitOpsRepo, out *repos.Remote, r source.Rendered, rendered tree.Tree, done *outcome) (waveOutput, error) {
	o := waveOutput{rendered: rendered, inputs: r.Commits}
	stage := l.orders.Waves[e.name]
	waves := stage.Waves
	head, err := out.Mirror().FindBranch(to.Branch)
	o.head = head
	if err != nil || head == "" {
		return o, err
	}
	view, err := out.Mirror().View(head)
	if err != nil {
		return o, err
	}
	now := view.Tree.Sub(publish.CleanFolder(to.Path))
	written, err := l.records.ReadWritten(now, e.name)
	if failed := view.Err(); failed != nil {
		return o, failed
	}
	if err == nil && written == nil {
		written = adoptFolders(e.name, now, rendered)
	}
	if err != nil || written == nil || written.Advance == nil && len(waves) == 0 {
		return o, nil // publishing reports an unreadable record
	}
	if written.Advance != nil && l.orders.HasProblems() {
		o.isUnknown, o.waits = true, "the output is between two waves, and what is written about promotion has problems"
		return o, nil
	}
	done.problems = append(done.problems, wave.CheckWaves(e.name, waves, wave.FindTypes(r.Model), done.hasStacks || done.hasClusters)...).Sorted()
	if done.problems.StopsEnvironment() {
		return o, nil
	}
	advance, err := l.resumeAdvance(ctx, e, r, *written, &o)
	if err != nil {
		return o, err
	}
	if isBack, err := l.followRejection(ctx, e, advance, rejection{out.Mirror(), to, *written, now, rendered.ID().String()}, &o); isBack || err != nil {
		return o, err
	}
	facts := wave.Facts{Head: findFolders(now, written.Folders), Target: findFolders(o.rendered, nil), Record: advance, From: stage.Advance.From, RemovesFirst: stage.Advance.RemovesFirst, Batches: map[string]int{}, Gated: map[string]bool{}}
	if advance == nil {
		isOlder, err := l.isOlderBase(ctx, r, *written)
		o.isBack = isOlder && len(waves) > 0
		if err != nil || isOlder || len(waves) == 0 {
			return o, err // a rollback has no waves
		}
		if written.Advance == nil && !goesByWaves(stage.Advance.Of, publish.Inputs(r.Commits), written.From, e.name) {
			return o, nil
		}
		facts.Waves, facts.Previous = l.partition(e.name, wave.NewID(e.name, o.rendered.ID().String()), r.Model), written.Advance
		for _, w := range waves {
			facts.Batches[w.Name], facts.Gated[w.Name] = w.Batch, len(w.Gates) > 0 || w.Merge != ""
		}
	}
	if written.Advance != nil {
		facts.Verdicts = promoter.WaveVerdicts(l.promoter, e.name, written.Advance)
		o.isUndecided = facts.Verdicts == nil
		o.isUnknown, o.waits = o.isUndecided, "the proofs of its waves are not evaluated yet"
	}
	d := l.decide(e.name, facts, &o)
	if d.State == wave.Idle || d.State == wave.Whole {
		return o, view.Err()
	}
	if d.State != wave.Offers && advance == nil && !o.isUnknown { // it stays as it was rendered
		target, err := l.renderTarget(ctx, e, *written)
		if err != nil {
			return o, err
		}
		o.rendered, o.inputs = target.rendered, target.inputs
	}
	applyDecision(d, facts, now, *written, &o)
	return o, view.Err()
}

func (l waveDivider) decide(environment string, f wave.Facts, o *waveOutput) wave.Decision {
	d := wave.Decide(f)
	if d.Waves != nil {
		o.advance = wave.NewID(environment, o.rendered.ID().String())
	}
	switch d.State {
	case wave.Idle, wave.Whole:
		o.isUnknown, o.isUndecided, o.waits = false, false, ""
	case wave.Offers:
		name := d.Waves[d.Next].Name
		o.isUnknown, o.isBegun = false, f.Record != nil
		l.findWait(environment, name, o)
		if o.waits != "" {
			d.State = wave.Proving
		}
		for _, w := range l.orders.Waves[environment].Waves {
			if w.Name == wave.BaseName(name) {
				o.merge = w.Merge
			}
		}
	default:
		if !o.isUnknown {
			o.waits = explainWait(d)
			if why := l.orders.Paused[environment]; why != "" {
				o.waits += ", and is paused: " + why
			}
		}
	}
	return d
}

func applyDecision(d wave.Decision, f wave.Facts, now tree.Tree, written publish.Written, o *waveOutput) {
	target := o.rendered
	o.rendered = d.Mix(now, target, func(folder string) bool { return slices.Contains(written.Folders, folder) })
	o.step = &publish.Step{Head: o.head, Target: target.ID().String(), Waves: d.Waves, Number: d.Next + 1, Older: written.Older, Advance: written.Advance}
	if d.State == wave.Offers {
		o.step.Advance, o.step.Older = d.NewRecord(f.Record, written.Environment, o.step.Target, o.head), nil
		if o.step.Advance != nil {
			o.step.Older = written.OlderThan(target, o.rendered)
		}
	}
}

func (l waveDivider) findWait(environment, name string, o *waveOutput) {
	o.waits, o.isUndecided = "", false
	if why := l.orders.Paused[environment]; why != "" {
		o.waits = fmt.Sprintf("wave %s is paused: %s", name, why)
		return
	}
	for _, w := range o.keepRestraints(l.orders.Withheld[environment]) {
		if w.Cause == publish.CauseFreeze {
			o.waits = fmt.Sprintf("wave %s waits: %s", name, w.Reason)
			return
		}
	}
	o.asksGates = slices.ContainsFunc(l.orders.Waves[environment].Waves, func(w model.Wave) bool { return w.Name == wave.BaseName(name) && len(w.Gates) > 0 })
	if !o.asksGates {
		return
	}
	v, known := promoter.WaveEntry(l.promoter, environment, o.advance, name)
	switch {
	case !known:
		o.waits, o.isUndecided = fmt.Sprintf("the gates of wave %s are not evaluated yet", name), true
	case v.Status != gate.Pass:
		o.waits = fmt.Sprintf("wave %s waits: %s", name, v.Reason)
	}
}

func explainWait(d wave.Decision) string {
	next := fmt.Sprintf("wave %s (%d of %d)", d.Waves[d.Next].Name, d.Next+1, len(d.Waves))
	if d.State == wave.Halted {
		return fmt.Sprintf("%s is halted: wave %s failed: %s", next, d.Earlier, d.Verdict.Reason)
	}
	return fmt.Sprintf("%s waits for the proof of wave %s", next, d.Earlier)
}

// resumeAdvance returns the advance of the output branch, and sets its target. It returns nil if the
// environment has another base: people decided that, or it follows a failure.
func (l waveDivider) resumeAdvance(ctx context.Context, e *environment, r source.Rendered, written publish.Written, o *waveOutput) (*wave.Advance, error) {
	if written.Advance == nil || len(l.orders.Waves[e.name].Waves) == 0 {
		return nil, nil
	}
	newest := publish.Inputs(r.Commits)
	base, _ := (publish.Written{From: newest}).Input(publish.BaseLayer)
	recorded, _ := written.Input(publish.BaseLayer)
	if base.Commit != recorded.Commit || !maps.Equal(base.Lanes, recorded.Lanes) {
		return nil, nil
	}
	if !isSameInputs(newest, written.From) || o.rendered.ID().String() != written.Tree {
		replaced := wave.FindDecision(l.orders.WaveDecisions[e.name], model.ReplaceAdvance, written.Advance.ID, "") != nil
		if (replaced || l.orders.Waves[e.name].Advance.Restarts) && o.rendered.ID().String() != written.Tree {
			return nil, nil
		}
		target, err := l.renderTarget(ctx, e, written)
		if err != nil {
			return nil, err
		}
		if o.rendered.ID() != target.rendered.ID() {
			layers := list.Convert(listMissing(newest, written.From), func(in publish.Input) string { return in.Layer })
			o.newer = "what is newer of " + text.Join(layers, " and ") + " waits for the last wave"
		}
		o.rendered, o.inputs = target.rendered, target.inputs
	}
	if o.rendered.ID().String() != written.Tree { // this version of Fairlead renders something else
		return nil, nil
	}
	return written.Advance, nil
}

func adoptFolders(environment string, now, rendered tree.Tree) *publish.Written {
	folders := slices.Sorted(maps.Keys(findFolders(now, slices.Collect(maps.Keys(findFolders(rendered, nil))))))
	if len(folders) == 0 {
		return nil
	}
	return &publish.Written{Environment: environment, Folders: folders}
}

type rejection struct {
	output  *git.Repository
	to      *model.GitOpsRepo
	written publish.Written
	now     tree.Tree // the output
	wanted  string    // id of the tree that is rendered from the newest inputs
}

// followRejection goes back to before a rejected advance, or stays there. It returns false if none is rejected.
func (l waveDivider) followRejection(ctx context.Context, e *environment, advance *wave.Advance, r rejection, o *waveOutput) (bool, error) {
	find := func(target string) *model.WaveDecision {
		return wave.FindDecision(l.orders.WaveDecisions[e.name], model.RejectAdvance, wave.NewID(e.name, target), "")
	}
	before := &r.written
	rejected, began := find(r.wanted), r.now
	switch {
	case advance != nil && find(r.written.Tree) != nil:
		rejected = find(r.written.Tree)
		var err error
		before, began, err = l.findBegin(advance, r, e.name)
		if err != nil {
			return true, err
		}
		if before == nil {
			o.isUnknown, o.waits = true, "it cannot go back: its branch does not have the output of before the first wave, with a record"
			return true, nil
		}
	case rejected == nil || advance != nil || r.written.Advance == nil && r.written.Tree == r.wanted:
		return false, nil
	}
	target, err := l.renderTarget(ctx, e, *before)
	if err != nil {
		return true, err
	}
	o.rendered, o.inputs = target.rendered, target.inputs
	if before.Advance != nil {
		o.rendered = wave.Decision{State: wave.Halted}.Mix(began, target.rendered, func(folder string) bool { return slices.Contains(before.Folders, folder) })
	}
	o.isBack = true
	if advance != nil || before.Advance != nil {
		o.step = &publish.Step{Head: o.head, Target: target.rendered.ID().String(), Older: before.Older, Advance: before.Advance}
	}
	o.rejected = fmt.Sprintf("advance %s is rejected: %s", rejected.Advance, cmp.Or(rejected.Reason, "no reason is given"))
	o.waits = o.rejected
	return true, nil
}

func (l waveDivider) findBegin(advance *wave.Advance, r rejection, environment string) (*publish.Written, tree.Tree, error) {
	head, err := r.output.FindBranch(r.to.Branch)
	if err != nil {
		return nil, tree.Tree{}, err
	}
	has, err := r.output.Contains(head, advance.Begin)
	if err != nil || !has {
		return nil, tree.Tree{}, err
	}
	view, err := r.output.View(advance.Begin)
	if err != nil {
		return nil, tree.Tree{}, err
	}
	began := view.Tree.Sub(publish.CleanFolder(r.to.Path))
	before, err := l.records.ReadWritten(began, environment)
	if err == nil {
		err = view.Err()
	}
	return before, began, err
}

func (l waveDivider) describeDecisions(environment string) string {
	var b strings.Builder
	for _, d := range l.orders.WaveDecisions[environment] {
		fmt.Fprintln(&b, d.Action, d.Advance, d.Wave, d.Reason)
	}
	return b.String()
}

func isSameInputs(a, b []publish.Input) bool { return len(a) == len(b) && len(listMissing(a, b)) == 0 }

func listMissing(all, from []publish.Input) []publish.Input {
	return slices.DeleteFunc(slices.Clone(all), func(in publish.Input) bool {
		return slices.ContainsFunc(from, func(o publish.Input) bool { return fmt.Sprint(o) == fmt.Sprint(in) })
	})
}

func (l waveDivider) renderTarget(ctx context.Context, e *environment, written publish.Written) (waveTarget, error) {
	from := fmt.Sprint(written.From)
	if e.waveTarget.from == from {
		return e.waveTarget, nil
	}
	rendered, err := l.source.Render(ctx, e.name, publish.Revisions(e.name, written.From), &output.Cache{})
	if err != nil {
		return waveTarget{}, fmt.Errorf("render the target of the waves again: %w", err)
	}
	e.waveTarget = waveTarget{from, rendered.Tree, rendered.Commits}
	return e.waveTarget, nil
}

func (l waveDivider) isOlderBase(ctx context.Context, r source.Rendered, written publish.Written) (bool, error) {
	base, _ := (publish.Written{From: publish.Inputs(r.Commits)}).Input(publish.BaseLayer)
	recorded, _ := written.Input(publish.BaseLayer)
	if base.Commit == recorded.Commit || base.Commit == "" || recorded.Commit == "" {
		return false, nil
	}
	from, err := l.source.Base(ctx)
	if err != nil || from.Repo == nil {
		return false, err
	}
	if _, err := from.Repo.Commit(recorded.Commit); err != nil { // the history was rewritten
		return false, nil
	}
	return from.Repo.Contains(recorded.Commit, base.Commit)
}

func (l waveDivider) partition(environment, advance string, m *model.Model) []wave.Members {
	return wave.Partition(environment, advance, l.orders.Waves[environment].Waves, wave.FindTypes(m))
}

func goesByWaves(of []string, newest, recorded []publish.Input, environment string) bool {
	changed := append(listMissing(newest, recorded), listMissing(recorded, newest)...)
	for _, in := range changed {
		kind := model.InputWorkloads
		switch in.Layer {
		case publish.BaseLayer:
			kind = model.InputBase
		case environment:
			kind = model.InputEnvironment
		}
		if of == nil || slices.Contains(of, kind) {
			return true
		}
	}
	return len(changed) == 0
}

func findFolders(t tree.Tree, owned []string) wave.Folders {
	all := wave.Folders{}
	for _, e := range t.Entries() {
		if e.IsDir() && e.Name[0] != '.' && (owned == nil || slices.Contains(owned, e.Name)) {
			all[e.Name] = e.ID
		}
	}
	return all
}

func (l waveDivider) digestWaves(e *environment, m *model.Model) string {
	stage := l.orders.Waves[e.name]
	if len(stage.Waves) == 0 || m == nil {
		return ""
	}
	return fmt.Sprint(l.partition(e.name, "", m), stage.Advance, promoter.DescribeWaves(l.promoter, e.name), l.orders.Paused[e.name], l.describeDecisions(e.name))
}

func listUndecided(all []*environment) []*environment {
	return slices.DeleteFunc(slices.Clone(all), func(e *environment) bool {
		return !e.outcome.isUndecided || e.attempt.rendered.Model == nil
	})
}
