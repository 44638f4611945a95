package forgetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// RunProgress runs the tests of what a forge may tell and do besides:
// [forge.StatusReader], [forge.ApprovalReader], [forge.Dispatcher] and [forge.Annotator]. What a
// forge is not is skipped.
func RunProgress(t *testing.T, open func(t *testing.T) Subject) {
	runChecks(t, open, []check{
		{"statuses of ours are told", tellsOurs},
		{"statuses of others are told", tellsOthers},
		{"statuses are many", tellsMany},
		{"approval", approvals},
		{"approval is cancelled", approvalsCancelled},
		{"approval is stale", approvalsStale},
		{"approvals of nothing", approvalsOfNothing},
		{"members of a team", members},
		{"author of a commit", authors},
		{"nothing is missing", missesNothing},
		{"a status is missing", missesStatus},
		{"there is a conflict", missesMerge},
		{"dispatch", dispatches},
		{"dispatch with inputs", dispatchesInputs},
		{"dispatch to nowhere", dispatchesNowhere},
		{"runs end", endsRuns},
		{"annotations", annotates},
		{"annotations after a push", annotatesAgain},
		{"annotations have marks", annotatesByMark},
	})
}

// as returns the forge as one that can do more; the test is skipped if it cannot.
func as[T any](r *run, name string) T {
	r.Helper()
	more, ok := r.Forge.(T)
	if !ok {
		r.Skipf("the forge is no %s", name)
	}
	return more
}

func (r *run) witness() forge.StatusReader    { return as[forge.StatusReader](r, "forge.Witness") }
func (r *run) approver() forge.ApprovalReader { return as[forge.ApprovalReader](r, "forge.Approver") }
func (r *run) dispatcher() forge.Dispatcher   { return as[forge.Dispatcher](r, "forge.Dispatcher") }
func (r *run) annotator() forge.Annotator     { return as[forge.Annotator](r, "forge.Annotator") }

// said returns the statuses of a commit that count, and wants that each has a time.
func (r *run) said(commit string) (all []forge.Status, by []string) {
	r.Helper()
	r.Sync()
	told, err := r.witness().Statuses(r.context(), commit)
	r.must(err)
	for _, s := range told {
		if s.Time.IsZero() {
			r.Errorf("the status %s has no time", s.Context)
		}
		all, by = append(all, forge.Status{Context: s.Context, Outcome: s.Outcome, Description: s.Description, URL: s.URL}), append(by, s.Author)
	}
	return all, by
}

func tellsOurs(r *run) {
	r.witness()
	commit := r.Branch("out/dev")
	r.Sync()
	r.wantNone("statuses at first", len(first(r.said(commit))))
	dev := forge.Status{Context: "dev", Outcome: forge.Success, Description: "Deployed", URL: "https://fairlead.example/dev"}
	ci := forge.Status{Context: "ci", Outcome: forge.Pending, Description: "Waiting"}
	for _, s := range []forge.Status{dev, ci} {
		r.must(r.Forge.SetStatus(r.context(), commit, s))
	}
	r.wantNoRequests("looking", func() { r.wantEqual("statuses", first(r.said(commit)), []forge.Status{ci, dev}) })
	ci.Outcome, ci.Description = forge.Failure, "Broken"
	r.must(r.Forge.SetStatus(r.context(), commit, ci))
	r.wantEqual("the latest count", first(r.said(commit)), []forge.Status{ci, dev})
	other := r.Branch("out/dev")
	r.Sync()
	r.wantNone("of another commit", len(first(r.said(other))))
}

func first[A, B any](a A, _ B) A { return a }

func tellsOthers(r *run) {
	r.witness()
	if r.SayStatus == nil {
		r.Skip("nobody else sets a status here")
	}
	commit := r.Branch("out/dev")
	r.Sync()
	ci := forge.Status{Context: "ci", Outcome: forge.Pending, Description: "Running", URL: "https://ci.example/1"}
	flux := forge.Status{Context: "kustomization/apps/1234", Outcome: forge.Success, Description: "reconciliation succeeded"}
	r.SayStatus("alice", commit, ci)
	r.SayStatus("bob", commit, flux)
	ci.Outcome, ci.Description = forge.Success, "Passed"
	r.SayStatus("alice", commit, ci)
	all, by := r.said(commit)
	r.wantEqual("statuses", all, []forge.Status{ci, flux})
	for i, login := range []string{"alice", "bob"} {
		if by[i] != "" {
			r.wantEqual("by", by[i], login)
		}
	}
}

func tellsMany(r *run) {
	r.witness()
	commit := r.Branch("out/dev")
	r.Sync()
	for i := range r.wantSome() {
		r.must(r.Forge.SetStatus(r.context(), commit, forge.Status{Context: fmt.Sprintf("c%02d", i), Outcome: forge.Success, Description: "x"}))
	}
	all, _ := r.said(commit)
	r.wantEqual("statuses", len(all), r.wantSome())
	r.wantEqual("sorted", slices.IsSortedFunc(all, func(a, b forge.Status) int { return cmp.Compare(a.Context, b.Context) }), true)
}

// reviewed opens a pull request of ours that people review, and returns its number.
func (r *run) reviewed() int {
	r.Helper()
	r.approver()
	if r.Approve == nil || r.RequestChanges == nil {
		r.Skip("nobody approves anything here")
	}
	pull, _ := r.openPull("out/dev")
	r.Sync()
	return pull.Number
}

// approvedBy returns who approves a pull request, and wants that each has a time.
func (r *run) approvedBy(number int) []string {
	r.Helper()
	r.Sync()
	all, err := r.approver().Approvals(r.context(), number)
	r.must(err)
	logins := []string{}
	for _, a := range all {
		if a.Time.IsZero() {
			r.Errorf("the approval of %s has no time", a.Approver)
		}
		if a.Refused == "" {
			logins = append(logins, a.Approver)
		}
	}
	return logins
}

func approvals(r *run) {
	number := r.reviewed()
	r.wantEqual("at first", r.approvedBy(number), []string{})
	r.Approve("bob", number)
	r.wantEqual("after one", r.approvedBy(number), []string{"bob"})
	r.Approve("alice", number)
	if r.Remark != nil {
		r.Remark(number, "LGTM")
	}
	r.wantNoRequests("looking", func() { r.wantEqual("after both", r.approvedBy(number), []string{"alice", "bob"}) })
}

func approvalsCancelled(r *run) {
	number := r.reviewed()
	r.Approve("alice", number)
	r.Approve("bob", number)
	r.RequestChanges("alice", number)
	r.wantEqual("after a request for changes", r.approvedBy(number), []string{"bob"})
	r.Approve("alice", number)
	r.wantEqual("after another approval", r.approvedBy(number), []string{"alice", "bob"})
}

func approvalsStale(r *run) {
	number := r.reviewed()
	r.Approve("alice", number)
	r.Approve("bob", number)
	r.Branch("out/dev")
	r.wantEqual("after a push", r.approvedBy(number), []string{})
	r.Approve("bob", number)
	r.wantEqual("after an approval of what was pushed", r.approvedBy(number), []string{"bob"})
}

func approvalsOfNothing(r *run) {
	r.Sync()
	_, err := r.approver().Approvals(r.context(), 4711)
	r.wantError(err, forge.ErrNotFound)
	_, err = r.approver().MergeBlockers(r.context(), 4711)
	r.wantError(err, forge.ErrNotFound)
}

func members(r *run) {
	r.approver()
	r.Sync()
	if r.Team == nil {
		r.Skip("there are no teams here")
	}
	team := r.Team("bob", "alice")
	got, err := r.approver().TeamMembers(r.context(), team)
	r.must(err)
	r.wantEqual("members", got, []string{"alice", "bob"})
	for _, other := range []string{team + "-not", "nobody/nothing", "notateam"} {
		_, err = r.approver().TeamMembers(r.context(), other)
		r.wantError(err, forge.ErrNotFound)
	}
}

func authors(r *run) {
	r.approver()
	commit := r.Branch("out/dev")
	r.Sync()
	if r.Author != nil {
		r.Author("alice")
		got, err := r.approver().CommitAuthor(r.context(), commit)
		r.must(err)
		r.wantEqual("author", got, "alice")
	}
	if _, err := r.approver().CommitAuthor(r.context(), "4711471147114711471147114711471147114711"); err != nil {
		r.wantError(err, forge.ErrNotFound)
	}
}

// missing returns what a pull request lacks.
func (r *run) missing(number int) []string {
	r.Helper()
	r.Sync()
	all, err := r.approver().MergeBlockers(r.context(), number)
	r.must(err)
	return all
}

// lacks waits until something is missing, or nothing, if the forge takes its time.
func (r *run) lacks(number int, something bool) {
	r.Helper()
	if r.Until != nil {
		r.Until(func() bool { return len(r.missing(number)) > 0 == something })
	}
	if all := r.missing(number); len(all) > 0 != something {
		r.Errorf("these are missing: %q", all)
	}
}

func missesNothing(r *run) {
	r.approver()
	pull, _ := r.openPull("out/dev")
	r.lacks(pull.Number, false)
}

func missesStatus(r *run) {
	r.approver()
	r.requireMerger()
	pull, commit := r.openPull("out/dev")
	r.setStatus(commit, forge.Pending)
	r.lacks(pull.Number, true)
	r.setStatus(commit, forge.Failure)
	r.lacks(pull.Number, true)
	r.setStatus(commit, forge.Success)
	r.lacks(pull.Number, false)
}

func missesMerge(r *run) {
	r.approver()
	pull, _ := r.openPull("out/dev")
	r.Branch("main")
	r.lacks(pull.Number, true)
}

func (r *run) workflow() forge.Workflow {
	r.Helper()
	r.dispatcher()
	if r.Workflow == nil {
		r.Skip("no workflows run here")
	}
	w := r.Workflow()
	r.Sync()
	return w
}

func (r *run) runs(w forge.Workflow, since time.Time) []forge.Run {
	r.Helper()
	r.Sync()
	all, err := r.dispatcher().WorkflowRuns(r.context(), w, since)
	r.must(err)
	return all
}

func dispatches(r *run) {
	w := r.workflow()
	r.wantNone("at first", len(r.runs(w, time.Time{})))
	r.must(r.dispatcher().DispatchWorkflow(r.context(), w))
	all := r.runs(w, time.Time{})
	if len(all) != 1 {
		r.Fatalf("there are %d runs, want one", len(all))
	}
	one := all[0]
	if one.ID == "" || one.Started.IsZero() {
		r.Errorf("the run %+v has no id or no time", one)
	}
	r.wantEqual("outcome", []any{one.Outcome, one.Reason}, []any{forge.Pending, ""})
	r.must(r.dispatcher().DispatchWorkflow(r.context(), w))
	r.wantNoRequests("looking", func() { all = r.runs(w, one.Started) })
	r.wantEqual("runs", len(all), 2)
	r.wantEqual("the oldest", all[len(all)-1], one)
	r.wantNone("later", len(r.runs(w, all[0].Started.Add(time.Hour))))
	r.Branch("other")
	w.Ref = "other"
	r.wantNone("of another ref", len(r.runs(w, time.Time{})))
}

func dispatchesInputs(r *run) {
	w := r.workflow()
	if r.Inputs == nil {
		r.Skip("nobody sees the inputs of a run here")
	}
	w.Inputs = map[string]string{"environment": "dev", "commit": "a b\n\"c\""}
	r.must(r.dispatcher().DispatchWorkflow(r.context(), w))
	got := r.Inputs(r.runs(w, time.Time{})[0].ID)
	for name, want := range w.Inputs {
		r.wantEqual(name, got[name], want)
	}
}

func dispatchesNowhere(r *run) {
	w := r.workflow()
	w.Ref = "nowhere"
	if err := r.dispatcher().DispatchWorkflow(r.context(), w); err == nil {
		r.Error("a workflow runs at a branch that is not there")
	}
}

func endsRuns(r *run) {
	w := r.workflow()
	if r.FinishRun == nil {
		r.Skip("no run ends here")
	}
	for _, outcome := range []forge.Outcome{forge.Success, forge.Failure} {
		r.must(r.dispatcher().DispatchWorkflow(r.context(), w))
		id := r.runs(w, time.Time{})[0].ID
		r.FinishRun(id, outcome)
		last := r.runs(w, time.Time{})[0]
		r.wantEqual("run", []any{last.ID, last.Outcome, last.Reason != ""}, []any{id, outcome, true})
	}
}

// annotated opens a change that adds file.yaml, as a person.
func (r *run) annotated() forge.Change {
	r.Helper()
	r.annotator()
	if r.Annotations == nil {
		r.Skip("nothing is shown at lines here")
	}
	return r.proposeChange("mine")
}

// annotate makes these the annotations of a change, and wants them to be shown, or
// given back. mark "other" stands there as well.
func (r *run) annotate(c forge.Change, mark string, notes []forge.Annotation, others ...forge.Annotation) {
	r.Helper()
	left, err := r.annotator().AnnotateChange(r.context(), c, mark, notes)
	if errors.Is(err, forge.ErrUnsupported) {
		r.Skipf("this forge shows nothing at lines: %v", err)
	}
	r.must(err)
	r.Sync()
	got := slices.Concat(r.Annotations(c.Number), left)
	want := slices.Concat(notes, others)
	byText := func(a, b forge.Annotation) int { return cmp.Compare(a.Text, b.Text) }
	slices.SortFunc(got, byText)
	slices.SortFunc(want, byText)
	r.wantEqual("annotations", append([]forge.Annotation{}, got...), append([]forge.Annotation{}, want...))
	r.wantNoRequests("annotating again", func() {
		again, err := r.annotator().AnnotateChange(r.context(), c, mark, notes)
		r.must(err)
		r.wantEqual("given back again", again, left)
	})
}

var (
	wrong = forge.Annotation{File: "file.yaml", Line: 1, Text: "a: it is wrong"}
	odd   = forge.Annotation{File: "file.yaml", Line: 1, Warning: true, Text: "it is odd"}
	far   = forge.Annotation{File: "README.md", Line: 1, Text: "a line that is not changed"}
)

func annotates(r *run) {
	c := r.annotated()
	for _, notes := range [][]forge.Annotation{nil, {wrong}, {wrong, odd, far}, {odd}, nil, {wrong}} {
		r.annotate(c, "preview", notes)
	}
}

func annotatesAgain(r *run) {
	r.annotate(r.annotated(), "preview", []forge.Annotation{wrong, odd})
	r.Branch("mine")
	r.annotate(r.findChange("mine"), "preview", []forge.Annotation{odd})
}

func annotatesByMark(r *run) {
	c := r.annotated()
	r.annotate(c, "preview", []forge.Annotation{wrong})
	r.annotate(c, "other", []forge.Annotation{odd}, wrong)
	r.annotate(c, "preview", nil, odd)
}
