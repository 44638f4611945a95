package forgetest

import (
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
	return r.last("out/dev").State
}

// becomes waits until the pull request is in a state, if the forge takes its time.
func (r *run) becomes(want forge.State) {
	r.Helper()
	if r.Until != nil {
		r.Until(func() bool { return r.state() == want })
	}
	r.equal("state", r.state(), want)
}

// needs lets nothing be merged into main without a status, if the forge can do that.
func (r *run) needs() {
	r.Helper()
	if r.Require == nil {
		r.Skip("nothing is required here")
	}
	r.Require("ci")
}

func (r *run) say(commit string, outcome forge.Outcome) {
	r.Helper()
	r.check(r.Forge.SetStatus(r.ctx(), commit, forge.Status{Context: "ci", Outcome: outcome, Description: "x"}))
	r.Sync()
}

func mergesNow(r *run) {
	pull, commit := r.open("out/dev")
	r.Sync()
	r.check(r.merger().MergePull(r.ctx(), pull.Number, commit))
	r.equal("state", r.state(), forge.Merged)
	r.quietly("merging again", func() { _ = r.merger().MergePull(r.ctx(), pull.Number, commit) }) // it may be an error
	r.equal("state", r.state(), forge.Merged)
}

func mergesOnlyTheCommit(r *run) {
	pull, old := r.open("out/dev")
	commit := r.Branch("out/dev")
	r.Sync()
	r.is(r.merger().MergePull(r.ctx(), pull.Number, old), forge.ErrMoved)
	r.is(r.merger().MergePull(r.ctx(), pull.Number, strings.Repeat("a", 40)), forge.ErrMoved)
	r.equal("state", r.state(), forge.Open)
	r.check(r.merger().MergePull(r.ctx(), pull.Number, commit))
	r.equal("state", r.state(), forge.Merged)
}

func mergesNotYet(r *run) {
	r.needs()
	pull, commit := r.open("out/dev")
	r.say(commit, forge.Pending)
	r.is(r.merger().MergePull(r.ctx(), pull.Number, commit), forge.ErrNotReady)
	r.equal("state", r.state(), forge.Open)
	r.say(commit, forge.Success)
	r.check(r.merger().MergePull(r.ctx(), pull.Number, commit))
	r.equal("state", r.state(), forge.Merged)
}

func mergesNothingClosed(r *run) {
	pull, commit := r.open("out/dev")
	r.check(r.Forge.ClosePull(r.ctx(), pull.Number, "x"))
	r.Sync()
	r.quietly("merging", func() {
		if r.merger().MergePull(r.ctx(), pull.Number, commit) == nil || r.merger().EnableAutoMerge(r.ctx(), pull.Number, commit) == nil {
			r.Error("a closed pull request is merged without an error")
		}
	})
	r.equal("state", r.state(), forge.Closed)
}

func mergesOnlyOurs(r *run) {
	commit := r.Branch("mine")
	r.Sync()
	numbers := []int{4711}
	if r.Propose != nil {
		r.Propose(false, "mine", "main", "no mark")
		r.Sync()
		numbers = append(numbers, r.change("mine").Number)
	}
	r.quietly("merging", func() {
		for _, number := range numbers {
			r.is(r.merger().MergePull(r.ctx(), number, commit), forge.ErrNotFound)
			if !r.NoAutoMerge {
				r.is(r.merger().EnableAutoMerge(r.ctx(), number, commit), forge.ErrNotFound)
			}
		}
	})
}

func mergesLater(r *run) {
	if r.NoAutoMerge {
		r.Skip("nothing is merged later here")
	}
	r.needs()
	pull, commit := r.open("out/dev")
	r.say(commit, forge.Pending)
	for range 2 {
		r.check(r.merger().EnableAutoMerge(r.ctx(), pull.Number, commit))
		r.equal("state", r.state(), forge.Open)
	}
	r.say(commit, forge.Success)
	r.becomes(forge.Merged)
	r.check(r.merger().EnableAutoMerge(r.ctx(), pull.Number, commit))
}

func mergesAtOnce(r *run) {
	if r.NoAutoMerge {
		r.Skip("nothing is merged later here")
	}
	pull, commit := r.open("out/dev")
	r.Sync()
	r.check(r.merger().EnableAutoMerge(r.ctx(), pull.Number, commit))
	r.becomes(forge.Merged)
}

func mergesLaterOnlyTheCommit(r *run) {
	if r.NoAutoMerge {
		r.Skip("nothing is merged later here")
	}
	pull, old := r.open("out/dev")
	r.Branch("out/dev")
	r.Sync()
	r.quietly("merging", func() { r.is(r.merger().EnableAutoMerge(r.ctx(), pull.Number, old), forge.ErrMoved) })
	r.equal("state", r.state(), forge.Open)
}

func mergesNeverLater(r *run) {
	if !r.NoAutoMerge {
		r.Skip("pull requests are merged later here")
	}
	pull, commit := r.open("out/dev")
	r.quietly("merging", func() { r.is(r.merger().EnableAutoMerge(r.ctx(), pull.Number, commit), forge.ErrUnsupported) })
	r.equal("state", r.state(), forge.Open)
}

// cancelsAutoMerge: what was to be merged later is not merged, neither as it was nor with
// what is pushed afterwards, and may be again.
func cancelsAutoMerge(r *run) {
	if r.NoAutoMerge {
		r.Skip("nothing is merged later here")
	}
	r.needs()
	pull, commit := r.open("out/dev")
	r.say(commit, forge.Pending)
	r.check(r.merger().EnableAutoMerge(r.ctx(), pull.Number, commit))
	r.check(r.merger().CancelAutoMerge(r.ctx(), pull.Number))
	r.check(r.merger().CancelAutoMerge(r.ctx(), pull.Number))
	r.say(commit, forge.Success)
	r.equal("state", r.state(), forge.Open)
	commit = r.Branch("out/dev")
	r.Sync()
	r.say(commit, forge.Pending)
	r.say(commit, forge.Success)
	r.equal("state after a push", r.state(), forge.Open)
	r.check(r.merger().EnableAutoMerge(r.ctx(), pull.Number, commit))
	r.becomes(forge.Merged)
}

// cancelsNothing: to cancel what is not set, or is over, is no error and does nothing.
func cancelsNothing(r *run) {
	pull, commit := r.open("out/dev")
	r.Sync()
	cancel := func() {
		r.Helper()
		r.check(r.merger().CancelAutoMerge(r.ctx(), pull.Number))
	}
	cancel()
	r.equal("state", r.state(), forge.Open)
	r.check(r.merger().MergePull(r.ctx(), pull.Number, commit))
	r.Sync()
	cancel()
	r.equal("state", r.state(), forge.Merged)
}

func cancelsOnlyOurs(r *run) {
	if r.NoAutoMerge {
		r.Skip("nothing is merged later here")
	}
	r.Branch("mine")
	r.Sync()
	r.quietly("cancelling", func() { r.is(r.merger().CancelAutoMerge(r.ctx(), 4711), forge.ErrNotFound) })
}

func (r *run) changes(base string) []forge.Change {
	r.Helper()
	r.Sync()
	all, err := r.reviewer().Changes(r.ctx(), base)
	r.check(err)
	return all
}

// change returns the newest change from a branch to main.
func (r *run) change(head string) forge.Change {
	r.Helper()
	all := r.changes("main")
	i := slices.IndexFunc(all, func(c forge.Change) bool { return c.Head == head })
	if i < 0 {
		r.Fatalf("no change from %s is found", head)
	}
	return all[i]
}

// propose opens a pull request to main as a person.
func (r *run) propose(head string) forge.Change {
	r.Helper()
	r.Branch(head)
	r.Propose(false, head, "main", "no mark")
	return r.change(head)
}

func findsChanges(r *run) {
	r.none("at first", len(r.changes("main")))
	r.open("out/dev")
	r.none("of our own", len(r.changes("main")))
	commit := r.Branch("mine")
	r.Propose(false, "mine", "main", "no mark")
	first := r.change("mine")
	r.equal("change", first, forge.Change{Number: first.Number, Head: "mine", Commit: commit, Base: "main", Title: "mine", URL: first.URL})
	second := r.propose("yours")
	r.Propose(false, "mine", "yours", "no mark")
	r.equal("newest first", r.changes("main"), []forge.Change{second, first})
	var bases []string
	for _, c := range r.changes("") {
		bases = append(bases, c.Base)
	}
	r.equal("bases of all", bases, []string{"yours", "main", "main"})
	first.Commit = r.Branch("mine")
	r.equal("after a push", r.changes("main"), []forge.Change{second, first})
	r.Close(second.Number)
	r.quietly("looking", func() { r.equal("without what is closed", r.changes("main"), []forge.Change{first}) })
	r.none("for another branch", len(r.changes("mine")))
}

func findsForks(r *run) {
	commit := r.Branch("mine")
	r.Branch("out/dev")
	r.Propose(true, "mine", "main", "no mark")
	first := r.change("mine")
	r.equal("change", first, forge.Change{Number: first.Number, Head: "mine", Commit: commit, Base: "main", Fork: true, Title: "mine", URL: first.URL})
	r.Propose(true, "out/dev", "main", "x\n\n<!-- fairlead: dev -->")
	r.equal("a mark in a fork", []any{len(r.changes("main")), r.change("out/dev").Fork}, []any{2, true})
}

func findsManyChanges(r *run) {
	for i := range r.some() {
		head := "head" + strings.Repeat("x", i)
		r.Branch(head)
		r.Propose(false, head, "main", "no mark")
	}
	r.equal("changes", len(r.changes("main")), r.some())
}

func comments(r *run) {
	number := r.propose("mine").Number
	comment := func(mark, body string) {
		r.Helper()
		r.check(r.reviewer().PutComment(r.ctx(), number, mark, body))
	}
	const odd = "# Preview\n\n/close\n```diff\n- a\n+ <b> & \"c\" \\ 😀\n```\n<details><summary>x</summary>\n\n| a | b |\n|---|---|\n\n</details>"
	for _, body := range []string{"first", odd, "third"} {
		comment("preview", body)
		r.equal("comments", r.visible(number), []string{body})
		r.quietly("saying it again", func() { comment("preview", body) })
	}
	comment("other", "with another mark")
	comment("preview", "fourth")
	r.equal("comments", r.visible(number), []string{"fourth", "with another mark"})
	r.equal("state", r.change("mine").Number, number)
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
	number := r.propose("mine").Number
	theirs := "spoofed\n\n<!-- fairlead-comment: preview -->"
	r.Remark(number, theirs)
	for _, body := range []string{"first", "second"} {
		r.check(r.reviewer().PutComment(r.ctx(), number, "preview", body))
		r.equal("comments", r.visible(number), []string{"spoofed", body})
	}
	r.equal("theirs", r.Comments(number)[0], theirs)
}

func commentsAmongMany(r *run) {
	number := r.propose("mine").Number
	for range r.some() {
		r.Remark(number, "LGTM")
	}
	r.check(r.reviewer().PutComment(r.ctx(), number, "preview", "first"))
	for range r.some() {
		r.Remark(number, "> first\n\nLGTM")
	}
	r.check(r.reviewer().PutComment(r.ctx(), number, "preview", "second"))
	all := r.visible(number)
	r.equal("comments", len(all), 2*r.some()+1)
	r.equal("ours", all[r.some()], "second")
}

func commentsAtLength(r *run) {
	number := r.propose("mine").Number
	body := "<details>\n\n```\n" + strings.Repeat("ü /x\n", 300_000) + "```\n\n</details>"
	r.check(r.reviewer().PutComment(r.ctx(), number, "preview", body))
	all := r.Comments(number)
	r.equal("comments", len(all), 1)
	if n := len([]rune(all[0])); n < 60_000 || n > 1_000_000 || !strings.Contains(all[0], "\n```\n\n</details>\n\n*The rest is cut off") {
		r.Errorf("the comment has %d characters and ends with %q", n, all[0][len(all[0])-100:])
	}
	r.quietly("saying it again", func() { r.check(r.reviewer().PutComment(r.ctx(), number, "preview", body)) })
}

func commentsOnNothing(r *run) {
	r.Sync()
	r.is(r.reviewer().PutComment(r.ctx(), 4711, "preview", "x"), forge.ErrNotFound)
	number := r.propose("mine").Number
	for _, mark := range []string{"", "a --> b"} {
		if err := r.reviewer().PutComment(r.ctx(), number, mark, "x"); err == nil {
			r.Errorf("%q is a mark", mark)
		}
	}
	r.none("comments", len(r.Comments(number)))
}
