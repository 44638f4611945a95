// Package forgetest is what every forge must do, as tests.
//
// What it keeps true: the tests see a forge only as [forge.Forge] shows it; what
// people and Git do beside it is done by the [Subject], which each forge's own test
// gives. Every test has a repository of its own, whose main branch has a commit.
package forgetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// Subject is a forge to be tested, and what is done beside it.
type Subject struct {
	Forge forge.Forge
	// Sync lets the forge see what was done beside it.
	Sync func()
	// Branch adds a commit to a branch, made from main if it is not there yet, and
	// returns the commit's id.
	Branch func(name string) string
	// Merge merges a pull request in the forge's own way.
	Merge func(number int)
	// Close closes a pull request as a person does.
	Close func(number int)
	// Writes returns how many requests so far were to change something.
	Writes func() int
	// Statuses returns the statuses of a commit that count, sorted by context.
	Statuses func(commit string) []forge.Status

	// Propose opens a pull request as a person does, from a branch of a fork of the
	// repository or of itself; nil if there are none.
	Propose func(fromFork bool, head, base, body string)
	// Many is more than a page has; 0 for 60.
	Many int
	// Label and Labels give a pull request a label, as a person does, and all of
	// them, sorted; nil if people cannot.
	Label  func(number int, name string)
	Labels func(number int) []string

	// Require lets nothing be merged into main whose head lacks a status; nil if
	// there is no such rule here.
	Require func(status string)
	// NoAutoMerge is whether nothing is merged later here.
	NoAutoMerge bool
	// Until asks again and again, until it is told yes; nil if a forge has done all
	// when it has answered.
	Until func(ask func() bool)
	// Remark comments on a pull request as a person, Comments gives what was said
	// about it, oldest first; nil if people cannot.
	Remark   func(number int, body string)
	Comments func(number int) []string

	// SayStatus sets a status as another user; nil if nobody else can.
	SayStatus func(login, commit string, s forge.Status)
	// Approve and RequestChanges review a pull request as it is now; nil if people
	// cannot.
	Approve        func(login string, number int)
	RequestChanges func(login string, number int)
	// Team makes a team of some logins and gives its name, "org/team"; nil if there
	// are none.
	Team func(logins ...string) string
	// Author returns who writes the commits of Branch an account with this login; nil if
	// the forge does not know people.
	Author func(login string)
	// Workflow returns a workflow that is on main and can be dispatched; nil if there
	// are none. It has the inputs environment and commit.
	Workflow func() forge.Workflow
	// Inputs returns those of a run, FinishRun ends one; nil if a test cannot.
	Inputs    func(id string) map[string]string
	FinishRun func(id string, outcome forge.Outcome)
	// Annotations returns those of ours that a change shows, in any order; nil if it
	// shows none.
	Annotations func(number int) []forge.Annotation
}

// Run runs all tests; open makes each a subject of its own.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(&run{Subject: open(t), T: t})
		})
	}
}

var cases = []struct {
	name string
	test func(*run)
}{
	{"pull request is opened", opens},
	{"open pull request exists", exists},
	{"pull requests of others are not ours", findsOnlyOurs},
	{"edit", edits},
	{"labels of people stay", keepsLabels},
	{"close", closes},
	{"closed by a person", closedByPerson},
	{"merge", merges},
	{"newest first", newestFirst},
	{"many are all found", findsMany},
	{"long title", longTitle},
	{"Markdown", keepsMarkdown},
	{"no such pull request", noSuchPull},
	{"statuses", statuses},
	{"issues", issues},
	{"issue exists", issueExists},
	{"issues have marks", issueMarks},
	{"many issues are all found", findsManyIssues},
}

// run is one test.
type run struct {
	Subject
	*testing.T
}

func (r *run) context() context.Context { return r.Context() }

func (r *run) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *run) wantEqual(what string, got, want any) {
	r.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (r *run) wantNone(what string, found int) {
	r.Helper()
	r.wantEqual(what, found, 0)
}

func (r *run) wantError(err, want error) {
	r.Helper()
	if !errors.Is(err, want) {
		r.Errorf("got the error %v, want %v", err, want)
	}
}

func proposal(head string) forge.Proposal {
	return forge.Proposal{Mark: "dev", Head: head, Base: "main", Title: "Update dev", Body: "Two files change.\n\n- a\n- b", Labels: []string{"promoted"}}
}

// openPull opens a pull request from a branch that it adds a commit to.
func (r *run) openPull(head string) (forge.Pull, string) {
	r.Helper()
	commit := r.Branch(head)
	r.Sync()
	pull, err := r.Forge.OpenPull(r.context(), proposal(head))
	r.must(err)
	return pull, commit
}

// pulls returns the pull requests from head to main.
func (r *run) pulls(head string) []forge.Pull {
	r.Helper()
	r.Sync()
	all, err := r.Forge.Pulls(r.context(), head, "main")
	r.must(err)
	return all
}

// lastPull returns the newest of them, and fails without one.
func (r *run) lastPull(head string) forge.Pull {
	r.Helper()
	all := r.pulls(head)
	if len(all) == 0 {
		r.Fatalf("no pull request from %s is found", head)
	}
	return all[0]
}

// wantNoRequests does something that must not change anything at the forge.
func (r *run) wantNoRequests(what string, do func()) {
	r.Helper()
	before := r.Writes()
	do()
	r.wantEqual("writes of "+what, r.Writes()-before, 0)
}

func opens(r *run) {
	pull, commit := r.openPull("out/dev")
	r.wantEqual("pull request", pull, forge.Pull{Proposal: proposal("out/dev"), Number: pull.Number, State: forge.Open, Commit: commit, URL: pull.URL})
	r.wantNoRequests("looking", func() { r.wantEqual("found", r.pulls("out/dev"), []forge.Pull{pull}) })
	r.wantNone("from another branch", len(r.pulls("out")))
	commit = r.Branch("out/dev")
	r.wantEqual("commit after a push", r.lastPull("out/dev").Commit, commit)
}

func exists(r *run) {
	r.openPull("out/dev")
	_, err := r.Forge.OpenPull(r.context(), proposal("out/dev"))
	r.wantError(err, forge.ErrExists)
	r.wantEqual("pull requests", len(r.pulls("out/dev")), 1)
	r.Branch("out/prod")
	r.Sync()
	_, err = r.Forge.OpenPull(r.context(), proposal("out/prod"))
	r.must(err)
}

func findsOnlyOurs(r *run) {
	if r.Propose == nil {
		r.Skip("only Fairlead opens pull requests here")
	}
	r.Branch("out/dev")
	r.Branch("mine")
	r.Branch("other")
	r.Propose(true, "out/dev", "main", "<!-- fairlead: dev -->")
	r.Propose(false, "mine", "main", "<!-- fairlead: dev -->")
	r.Propose(false, "out/dev", "other", "<!-- fairlead: dev -->")
	r.Propose(false, "out/dev", "mine", "no mark")
	r.wantNone("of a fork, of another branch, to another base", len(r.pulls("out/dev")))
	r.Propose(false, "out/dev", "main", "no mark")
	r.wantNone("of a person", len(r.pulls("out/dev")))
	_, err := r.Forge.OpenPull(r.context(), proposal("out/dev"))
	r.wantError(err, forge.ErrExists)
}

func edits(r *run) {
	pull, _ := r.openPull("out/dev")
	want := proposal("out/dev")
	want.Title, want.Body, want.Labels = "Update dev again", "One file changes.", []string{"b", "a"}
	edited, err := r.Forge.EditPull(r.context(), pull.Number, want)
	r.must(err)
	want.Labels = []string{"a", "b"}
	pull.Proposal = want
	r.wantEqual("edited", edited, pull)
	r.wantEqual("found", r.lastPull("out/dev"), pull)
	r.wantNoRequests("editing again", func() {
		edited, err = r.Forge.EditPull(r.context(), pull.Number, want)
		r.must(err)
		r.wantEqual("edited again", edited, pull)
	})
	want.Labels = nil
	pull.Proposal = want
	_, err = r.Forge.EditPull(r.context(), pull.Number, want)
	r.must(err)
	r.wantEqual("without labels", r.lastPull("out/dev"), pull)
	want.Body = ""
	pull.Proposal = want
	_, err = r.Forge.EditPull(r.context(), pull.Number, want)
	r.must(err)
	r.wantEqual("without body", r.lastPull("out/dev"), pull)
}

func keepsLabels(r *run) {
	if r.Label == nil {
		r.Skip("people give no labels here")
	}
	pull, _ := r.openPull("out/dev")
	r.Label(pull.Number, "urgent: a/b")
	r.wantEqual("given", r.lastPull("out/dev").Labels, []string{"promoted"})
	want := proposal("out/dev")
	want.Labels = []string{"group: c/d"}
	_, err := r.Forge.EditPull(r.context(), pull.Number, want)
	r.must(err)
	r.wantEqual("labels", r.Labels(pull.Number), []string{"group: c/d", "urgent: a/b"})
	want.Labels = nil
	_, err = r.Forge.EditPull(r.context(), pull.Number, want)
	r.must(err)
	r.wantEqual("labels", r.Labels(pull.Number), []string{"urgent: a/b"})
}

func closes(r *run) {
	pull, commit := r.openPull("out/dev")
	r.must(r.Forge.ClosePull(r.context(), pull.Number, "nothing differs any more"))
	pull.State, pull.Reason, pull.Commit = forge.Closed, "nothing differs any more", commit
	last := r.lastPull("out/dev")
	last.By = "" // not every forge tells it
	r.wantEqual("closed", last, pull)
	e := r.lastEvent()
	r.wantEqual("what was done, and why", []string{e.Action, e.Reason, e.Mark}, []string{forge.CloseAction, "nothing differs any more", pull.Mark})
	r.wantNoRequests("closing again", func() { r.must(r.Forge.ClosePull(r.context(), pull.Number, "nothing differs any more")) })
	next, _ := r.openPull("out/dev")
	if next.Number == pull.Number {
		r.Errorf("pull request %d was opened again", pull.Number)
	}
	r.wantEqual("reason of the next", next.Reason, "")
}

func closedByPerson(r *run) {
	pull, _ := r.openPull("out/dev")
	r.Close(pull.Number)
	last := r.lastPull("out/dev")
	r.wantEqual("state", last.State, forge.Closed)
	r.wantEqual("body", last.Body, pull.Body)
	_, err := r.Forge.OpenPull(r.context(), proposal("out/dev"))
	r.must(err)
}

func merges(r *run) {
	pull, commit := r.openPull("out/dev")
	r.Merge(pull.Number)
	last := r.lastPull("out/dev")
	r.wantEqual("state", last.State, forge.Merged)
	r.wantEqual("commit", last.Commit, commit)
	r.wantEqual("labels", last.Labels, []string{"promoted"})
	r.must(r.Forge.ClosePull(r.context(), pull.Number, "nothing differs any more"))
	r.wantEqual("state after closing", r.lastPull("out/dev").State, forge.Merged)
}

func newestFirst(r *run) {
	var want []int
	for range 3 {
		pull, _ := r.openPull("out/dev")
		want = append([]int{pull.Number}, want...)
		r.must(r.Forge.ClosePull(r.context(), pull.Number, "for the next"))
	}
	pull, _ := r.openPull("out/dev")
	want = append([]int{pull.Number}, want...)
	var got []int
	var states []forge.State
	for _, p := range r.pulls("out/dev") {
		got, states = append(got, p.Number), append(states, p.State)
	}
	r.wantEqual("numbers", got, want)
	r.wantEqual("states", states, []forge.State{forge.Open, forge.Closed, forge.Closed, forge.Closed})
}

// many is more than a page has at some forges.
const many = 60

// wantSome is more than a page has at this one.
func (r *run) wantSome() int {
	if r.Many != 0 {
		return r.Many
	}
	return many
}

func findsMany(r *run) {
	r.Branch("out/dev")
	r.Sync()
	for i := range r.wantSome() {
		pull, err := r.Forge.OpenPull(r.context(), proposal("out/dev"))
		r.must(err)
		if i < r.wantSome()-1 {
			r.must(r.Forge.ClosePull(r.context(), pull.Number, "for the next"))
		}
	}
	seen := map[int]bool{}
	for _, p := range r.pulls("out/dev") {
		seen[p.Number] = true
	}
	r.wantEqual("pull requests", len(seen), r.wantSome())
	r.wantEqual("state of the newest", r.lastPull("out/dev").State, forge.Open)
}

func longTitle(r *run) {
	r.Branch("out/dev")
	r.Sync()
	want := proposal("out/dev")
	want.Title = strings.Repeat("größer ", 60)
	pull, err := r.Forge.OpenPull(r.context(), want)
	r.must(err)
	r.wantEqual("title", r.lastPull("out/dev").Title, forge.FitTitle(want.Title))
	r.wantNoRequests("editing it again", func() {
		_, err := r.Forge.EditPull(r.context(), pull.Number, want)
		r.must(err)
	})
}

func keepsMarkdown(r *run) {
	r.Branch("out/dev")
	r.Sync()
	want := proposal("out/dev")
	want.Title = "*a* _b_ `c` <d> & \"e\" #1 @f | \\ 😀"
	want.Body = "```diff\n- a: \"<b>\"\n+ b: 'ü' \\\n```\n\n| a | b |\n|---|---|\n| " + forge.EscapeMarkdown("@x [y](z) <!-- w -->") + " | 😀 |\n\n" +
		"<!-- fairlead: other -->\n\n    trailing  \n<details>&amp;</details>"
	_, err := r.Forge.OpenPull(r.context(), want)
	r.must(err)
	r.wantEqual("found", r.lastPull("out/dev").Proposal, want)
}

func noSuchPull(r *run) {
	r.Sync()
	_, err := r.Forge.EditPull(r.context(), 4711, proposal("out/dev"))
	r.wantError(err, forge.ErrNotFound)
	r.wantError(r.Forge.ClosePull(r.context(), 4711, ""), forge.ErrNotFound)
}

func statuses(r *run) {
	commit := r.Branch("out/dev")
	r.Sync()
	dev := forge.Status{Context: "dev environment", Outcome: forge.Pending, Description: "Promoted", URL: "https://fairlead.example/dev"}
	prod := forge.Status{Context: "prod environment", Outcome: forge.Failure, Description: "Failed to deploy"}
	r.must(r.Forge.SetStatus(r.context(), commit, dev))
	r.must(r.Forge.SetStatus(r.context(), commit, prod))
	dev.Outcome, dev.Description = forge.Success, "Deployed"
	r.must(r.Forge.SetStatus(r.context(), commit, dev))
	r.wantEqual("statuses", r.Statuses(commit), []forge.Status{dev, prod})
	r.wantNoRequests("the same again", func() { r.must(r.Forge.SetStatus(r.context(), commit, dev)) })
}

func issue(mark string) forge.Issue {
	return forge.Issue{Mark: mark, Title: "Cannot make " + mark, Body: "`a.yaml:3`: it is *wrong*", Open: true}
}

func (r *run) issues(mark string) []forge.Issue {
	r.Helper()
	r.Sync()
	all, err := r.Forge.Issues(r.context(), mark)
	r.must(err)
	return all
}

func (r *run) put(i forge.Issue) forge.Issue {
	r.Helper()
	put, err := r.Forge.PutIssue(r.context(), i)
	r.must(err)
	if put.Number == 0 {
		r.Fatal("an issue was put and has no number")
	}
	return put
}

func issues(r *run) {
	r.Sync()
	want := r.put(issue("dev"))
	r.wantEqual("opened", want, forge.Issue{Number: want.Number, Mark: "dev", Title: "Cannot make dev", Body: "`a.yaml:3`: it is *wrong*", Open: true, URL: want.URL})
	r.wantEqual("found", r.issues("dev"), []forge.Issue{want})
	for _, change := range []func(){
		func() { want.Title, want.Body = "Cannot make dev still", "other" },
		func() { want.Open = false },
		func() { want.Open = true },
		func() { want.Body = "" },
	} {
		change()
		r.wantEqual("put", r.put(want), want)
		r.wantEqual("found", r.issues("dev"), []forge.Issue{want})
	}
}

func issueExists(r *run) {
	r.Sync()
	first := r.put(issue("dev"))
	r.Sync()
	r.wantEqual("opened twice", r.put(issue("dev")), first)
	first.Open = false
	r.put(first)
	r.Sync()
	second := r.put(issue("dev"))
	r.wantEqual("found", r.issues("dev"), []forge.Issue{second, first})
}

func issueMarks(r *run) {
	r.Branch("out/dev")
	r.Sync()
	noIssue := proposal("out/dev")
	noIssue.Labels = []string{"fairlead"}
	_, err := r.Forge.OpenPull(r.context(), noIssue)
	r.must(err)
	dev, prod := r.put(issue("dev")), r.put(issue("prod"))
	r.wantEqual("title", dev.Title, issue("dev").Title)
	r.wantEqual("of dev", r.issues("dev"), []forge.Issue{dev})
	r.wantEqual("of prod", r.issues("prod"), []forge.Issue{prod})
	r.wantNone("of de", len(r.issues("de")))
	long := r.put(issue("problems of main in git.example.com:8443/acme/control-plane_2 for dev, prod"))
	r.wantEqual("of a mark with other characters", r.issues(long.Mark), []forge.Issue{long})
}

func findsManyIssues(r *run) {
	r.Sync()
	first := r.put(issue("first"))
	for i := range r.wantSome() {
		r.put(issue(fmt.Sprintf("env%d", i)))
	}
	r.wantEqual("the first", r.issues("first"), []forge.Issue{first})
}
