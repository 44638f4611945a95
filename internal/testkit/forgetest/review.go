package forgetest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// check is what forges must do with merging, or with what people propose.
type check struct {
	name string
	test func(*run)
}

// RunMerger runs the tests of a forge that is a [forge.Merger].
func RunMerger(t *testing.T, open func(t *testing.T) Subject) {
	runChecks(t, open, []check{
		{"merge", mergesNow},
		{"merge of what has moved", mergesOnlyTheCommit},
		{"merge when something is missing", mergesNotYet},
		{"merge of what is closed", mergesNothingClosed},
		{"merge of what is not ours", mergesOnlyOurs},
		{"auto-merge", mergesLater},
		{"auto-merge when nothing is missing", mergesAtOnce},
		{"auto-merge of what has moved", mergesLaterOnlyTheCommit},
		{"auto-merge is not there", mergesNeverLater},
		{"auto-merge that is cancelled", cancelsAutoMerge},
		{"cancelling what is not set", cancelsNothing},
		{"cancelling what is not ours", cancelsOnlyOurs},
	})
}

// RunReviewer runs the tests of a forge that is a [forge.Reviewer].
func RunReviewer(t *testing.T, open func(t *testing.T) Subject) {
	runChecks(t, open, []check{
		{"changes", findsChanges},
		{"changes of forks", findsForks},
		{"many changes", findsManyChanges},
		{"comment", comments},
		{"comments of others", commentsBesideOthers},
		{"comment among many", commentsAmongMany},
		{"comment that is long", commentsAtLength},
		{"comment on nothing", commentsOnNothing},
	})
}

func runChecks(t *testing.T, open func(t *testing.T) Subject, all []check) {
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(&run{Subject: open(t), T: t})
		})
	}
}

func (r *run) merger() forge.Merger {
	r.Helper()
	m, ok := r.Forge.(forge.Merger)
	if !ok {
		r.Fatal("the forge is no forge.Merger")
	}
	return m
}

func (r *run) reviewer() forge.Reviewer {
	r.Helper()
	v, ok := r.Forge.(forge.Reviewer)
	if !ok {
		r.Fatal("the forge is no forge.Reviewer")
	}
	return v
}

func (r *run) state() forge.State {
	r.Helper()
	return r.lastPull("out/dev").State
}

// becomes waits until the pull request is in a state, if the forge takes its time.
func (r *run) becomes(want forge.State) {
	r.Helper()
	if r.Until != nil {
		r.Until(func() bool { return r.state() == want })
	}
	r.wantEqual("state", r.state(), want)
}

// requireMerger lets nothing be merged into main without a status, if the forge can do that.
func (r *run) requireMerger() {
	r.Helper()
	if r.Require == nil {
		r.Skip("nothing is required here")
	}
	r.Require("ci")
}

func (r *run) setStatus(commit string, outcome forge.Outcome) {
	r.Helper()
	r.must(r.Forge.SetStatus(r.context(), commit, forge.Status{Context: "ci", Outcome: outcome, Description: "x"}))
	r.Sync()
}

func mergesNow(r *run) {
	pull, commit := r.openPull("out/dev")
	r.Sync()
	r.must(r.merger().MergePullFor(r.context(), pull.Number, commit, "the sale  is *over*"))
	r.wantEqual("state", r.state(), forge.Merged)
	r.Sync()
	e := r.lastEvent()
	r.wantEqual("what was done, and why", []string{e.Action, e.Reason, e.Mark, e.Commit}, []string{forge.MergeAction, "the sale is *over*", pull.Mark, commit})
	if e.Who == "" || e.Time.IsZero() || e.Number != pull.Number {
		r.Errorf("who merged it and when is not known: %+v", e)
	}
	r.wantNoRequests("merging again", func() { _ = r.merger().MergePull(r.context(), pull.Number, commit) }) // it may be an error
	r.wantEqual("state", r.state(), forge.Merged)
}

// lastEvent returns the last action on a pull request that the forge tells.
func (r *run) lastEvent() forge.PullEvent {
	r.Helper()
	events, err := r.Forge.(forge.Journal).PullEvents(r.context())
	r.must(err)
	if len(events) == 0 {
		r.Fatalf("the forge tells of nothing that was done")
	}
	return slices.MaxFunc(events, func(a, b forge.PullEvent) int { return a.Time.Compare(b.Time) })
}

func mergesOnlyTheCommit(r *run) {
	pull, old := r.openPull("out/dev")
	commit := r.Branch("out/dev")
	r.Sync()
	r.wantError(r.merger().MergePull(r.context(), pull.Number, old), forge.ErrMoved)
	r.wantError(r.merger().MergePull(r.context(), pull.Number, strings.Repeat("a", 40)), forge.ErrMoved)
	r.wantEqual("state", r.state(), forge.Open)
	r.mergeWhenReady(pull.Number, commit)
	r.wantEqual("state", r.state(), forge.Merged)
}

// mergeWhenReady merges a pull request, once the forge has looked whether it can be merged.
func (r *run) mergeWhenReady(number int, commit string) {
	r.Helper()
	err := r.merger().MergePull(r.context(), number, commit)
	if r.Until != nil && errors.Is(err, forge.ErrNotReady) {
		r.Until(func() bool {
			err = r.merger().MergePull(r.context(), number, commit)
			return !errors.Is(err, forge.ErrNotReady)
		})
	}
	r.must(err)
}

func mergesNotYet(r *run) {
	r.requireMerger()
	pull, commit := r.openPull("out/dev")
	r.setStatus(commit, forge.Pending)
	r.wantError(r.merger().MergePull(r.context(), pull.Number, commit), forge.ErrNotReady)
	r.wantEqual("state", r.state(), forge.Open)
	r.setStatus(commit, forge.Success)
	r.must(r.merger().MergePull(r.context(), pull.Number, commit))
	r.wantEqual("state", r.state(), forge.Merged)
}

func mergesNothingClosed(r *run) {
	pull, commit := r.openPull("out/dev")
	r.must(r.Forge.ClosePull(r.context(), pull.Number, "x"))
	r.Sync()
	r.wantNoRequests("merging", func() {
		if r.merger().MergePull(r.context(), pull.Number, commit) == nil || r.merger().EnableAutoMerge(r.context(), pull.Number, commit) == nil {
			r.Error("a closed pull request is merged without an error")
		}
	})
	r.wantEqual("state", r.state(), forge.Closed)
}

func mergesOnlyOurs(r *run) {
	commit := r.Branch("mine")
	r.Sync()
	numbers := []int{4711}
	if r.Propose != nil {
		r.Propose(false, "mine", "main", "no mark")
		r.Sync()
		numbers = append(numbers, r.findChange("mine").Number)
	}
	r.wantNoRequests("merging", func() {
		for _, number := range numbers {
			r.wantError(r.merger().MergePull(r.context(), number, commit), forge.ErrNotFound)
			if !r.NoAutoMerge {
				r.wantError(r.merger().EnableAutoMerge(r.context(), number, commit), forge.ErrNotFound)
			}
		}
	})
}

func mergesLater(r *run) {
	if r.NoAutoMerge {
		r.Skip("nothing is merged later here")
	}
	r.requireMerger()
	pull, commit := r.openPull("out/dev")
	r.setStatus(commit, forge.Pending)
	for range 2 {
		r.must(r.merger().EnableAutoMerge(r.context(), pull.Number, commit))
		r.wantEqual("state", r.state(), forge.Open)
	}
	r.setStatus(commit, forge.Success)
	r.becomes(forge.Merged)
	r.must(r.merger().EnableAutoMerge(r.context(), pull.Number, commit))
}

func mergesAtOnce(r *run) {
	if r.NoAutoMerge {
		r.Skip("nothing is merged later here")
	}
	pull, commit := r.openPull("out/dev")
	r.Sync()
	r.must(r.merger().EnableAutoMerge(r.context(), pull.Number, commit))
	r.becomes(forge.Merged)
}

func mergesLaterOnlyTheCommit(r *run) {
	if r.NoAutoMerge {
		r.Skip("nothing is merged later here")
	}
	pull, old := r.openPull("out/dev")
	r.Branch("out/dev")
	r.Sync()
	r.wantNoRequests("merging", func() { r.wantError(r.merger().EnableAutoMerge(r.context(), pull.Number, old), forge.ErrMoved) })
	r.wantEqual("state", r.state(), forge.Open)
}

func mergesNeverLater(r *run) {
	if !r.NoAutoMerge {
		r.Skip("pull requests are merged later here")
	}
	pull, commit := r.openPull("out/dev")
	r.wantNoRequests("merging", func() {
		r.wantError(r.merger().EnableAutoMerge(r.context(), pull.Number, commit), forge.ErrUnsupported)
	})
	r.wantEqual("state", r.state(), forge.Open)
}

// cancelsAutoMerge: what was to be merged later is not merged, neither as it was nor with
// what is pushed afterwards, and may be again.
func cancelsAutoMerge(r *run) {
	if r.NoAutoMerge {
		r.Skip("nothing is merged later here")
	}
	r.requireMerger()
	pull, commit := r.openPull("out/dev")
	r.setStatus(commit, forge.Pending)
	r.must(r.merger().EnableAutoMerge(r.context(), pull.Number, commit))
	r.must(r.merger().CancelAutoMerge(r.context(), pull.Number))
	r.must(r.merger().CancelAutoMerge(r.context(), pull.Number))
	r.setStatus(commit, forge.Success)
	r.wantEqual("state", r.state(), forge.Open)
	commit = r.Branch("out/dev")
	r.Sync()
	r.setStatus(commit, forge.Pending)
	r.setStatus(commit, forge.Success)
	r.wantEqual("state after a push", r.state(), forge.Open)
	r.must(r.merger().EnableAutoMerge(r.context(), pull.Number, commit))
	r.becomes(forge.Merged)
}

// cancelsNothing: to cancel what is not set, or is over, is no error and does nothing.
func cancelsNothing(r *run) {
	pull, commit := r.openPull("out/dev")
	r.Sync()
	cancel := func() {
		r.Helper()
		r.must(r.merger().CancelAutoMerge(r.context(), pull.Number))
	}
	cancel()
	r.wantEqual("state", r.state(), forge.Open)
	r.must(r.merger().MergePull(r.context(), pull.Number, commit))
	r.Sync()
	cancel()
	r.wantEqual("state", r.state(), forge.Merged)
}

func cancelsOnlyOurs(r *run) {
	if r.NoAutoMerge {
		r.Skip("nothing is merged later here")
	}
	r.Branch("mine")
	r.Sync()
	r.wantNoRequests("cancelling", func() { r.wantError(r.merger().CancelAutoMerge(r.context(), 4711), forge.ErrNotFound) })
}

func (r *run) changes(base string) []forge.Change {
	r.Helper()
	r.Sync()
	all, err := r.reviewer().Changes(r.context(), base)
	r.must(err)
	return all
}

// findChange returns the newest change from a branch to main.
func (r *run) findChange(head string) forge.Change {
	r.Helper()
	all := r.changes("main")
	i := slices.IndexFunc(all, func(c forge.Change) bool { return c.Head == head })
	if i < 0 {
		r.Fatalf("no change from %s is found", head)
	}
	return all[i]
}

// proposeChange opens a pull request to main as a person.
func (r *run) proposeChange(head string) forge.Change {
	r.Helper()
	r.Branch(head)
	r.Propose(false, head, "main", "no mark")
	return r.findChange(head)
}

func findsChanges(r *run) {
	r.wantNone("at first", len(r.changes("main")))
	r.openPull("out/dev")
	r.wantNone("of our own", len(r.changes("main")))
	commit := r.Branch("mine")
	r.Propose(false, "mine", "main", "no mark")
	first := r.findChange("mine")
	r.wantEqual("change", first, forge.Change{Number: first.Number, Head: "mine", Commit: commit, Base: "main", Title: "mine", URL: first.URL})
	second := r.proposeChange("yours")
	r.Propose(false, "mine", "yours", "no mark")
	r.wantEqual("newest first", r.changes("main"), []forge.Change{second, first})
	var bases []string
	for _, c := range r.changes("") {
		bases = append(bases, c.Base)
	}
	r.wantEqual("bases of all", bases, []string{"yours", "main", "main"})
	first.Commit = r.Branch("mine")
	r.wantEqual("after a push", r.changes("main"), []forge.Change{second, first})
	r.Close(second.Number)
	r.wantNoRequests("looking", func() { r.wantEqual("without what is closed", r.changes("main"), []forge.Change{first}) })
	r.wantNone("for another branch", len(r.changes("mine")))
}

func findsForks(r *run) {
	commit := r.Branch("mine")
	r.Branch("out/dev")
	r.Propose(true, "mine", "main", "no mark")
	first := r.findChange("mine")
	r.wantEqual("change", first, forge.Change{Number: first.Number, Head: "mine", Commit: commit, Base: "main", Fork: true, Title: "mine", URL: first.URL})
	r.Propose(true, "out/dev", "main", "x\n\n<!-- fairlead: dev -->")
	r.wantEqual("a mark in a fork", []any{len(r.changes("main")), r.findChange("out/dev").Fork}, []any{2, true})
}

func findsManyChanges(r *run) {
	for i := range r.wantSome() {
		head := "head" + strings.Repeat("x", i)
		r.Branch(head)
		r.Propose(false, head, "main", "no mark")
	}
	r.wantEqual("changes", len(r.changes("main")), r.wantSome())
}

func comments(r *run) {
	number := r.proposeChange("mine").Number
	comment := func(mark, body string) {
		r.Helper()
		r.must(r.reviewer().PutComment(r.context(), number, mark, body))
	}
	const odd = "# Preview\n\n/close\n```diff\n- a\n+ <b> & \"c\" \\ 😀\n```\n<details><summary>x</summary>\n\n| a | b |\n|---|---|\n\n</details>"
	for _, body := range []string{"first", odd, "third"} {
		comment("preview", body)
		r.wantEqual("comments", r.visible(number), []string{body})
		r.wantNoRequests("saying it again", func() { comment("preview", body) })
	}
	comment("other", "with another mark")
	comment("preview", "fourth")
	r.wantEqual("comments", r.visible(number), []string{"fourth", "with another mark"})
	r.wantEqual("state", r.findChange("mine").Number, number)
}

// visible returns what is seen of the comments.
func (r *run) visible(number int) (all []string) {
	r.Helper()
	for _, text := range r.Comments(number) {
		text, _, _ = strings.Cut(text, "\n\n<!-- fairlead-comment: ")
		all = append(all, strings.ReplaceAll(text, "\n\\/", "\n/")) // so that it is no command
	}
	return all
}

func commentsBesideOthers(r *run) {
	number := r.proposeChange("mine").Number
	theirs := "spoofed\n\n<!-- fairlead-comment: preview -->"
	r.Remark(number, theirs)
	for _, body := range []string{"first", "second"} {
		r.must(r.reviewer().PutComment(r.context(), number, "preview", body))
		r.wantEqual("comments", r.visible(number), []string{"spoofed", body})
	}
	r.wantEqual("theirs", r.Comments(number)[0], theirs)
}

func commentsAmongMany(r *run) {
	number := r.proposeChange("mine").Number
	for range r.wantSome() {
		r.Remark(number, "LGTM")
	}
	r.must(r.reviewer().PutComment(r.context(), number, "preview", "first"))
	for range r.wantSome() {
		r.Remark(number, "> first\n\nLGTM")
	}
	r.must(r.reviewer().PutComment(r.context(), number, "preview", "second"))
	all := r.visible(number)
	r.wantEqual("comments", len(all), 2*r.wantSome()+1)
	r.wantEqual("ours", all[r.wantSome()], "second")
}

func commentsAtLength(r *run) {
	number := r.proposeChange("mine").Number
	body := "<details>\n\n```\n" + strings.Repeat("ü /x\n", 300_000) + "```\n\n</details>"
	r.must(r.reviewer().PutComment(r.context(), number, "preview", body))
	all := r.Comments(number)
	r.wantEqual("comments", len(all), 1)
	if n := len([]rune(all[0])); n < 60_000 || n > 1_000_000 || !strings.Contains(all[0], "\n```\n\n</details>\n\n*The rest is cut off") {
		r.Errorf("the comment has %d characters and ends with %q", n, all[0][len(all[0])-100:])
	}
	r.wantNoRequests("saying it again", func() { r.must(r.reviewer().PutComment(r.context(), number, "preview", body)) })
}

func commentsOnNothing(r *run) {
	r.Sync()
	r.wantError(r.reviewer().PutComment(r.context(), 4711, "preview", "x"), forge.ErrNotFound)
	number := r.proposeChange("mine").Number
	for _, mark := range []string{"", "a --> b"} {
		if err := r.reviewer().PutComment(r.context(), number, mark, "x"); err == nil {
			r.Errorf("%q is a mark", mark)
		}
	}
	r.wantNone("comments", len(r.Comments(number)))
}
