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

func (r *run) ctx() context.Context { return r.Context() }

func (r *run) check(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *run) equal(what string, got, want any) {
	r.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// none wants that nothing is found.
func (r *run) none(what string, found int) {
	r.Helper()
	r.equal(what, found, 0)
}

func (r *run) is(err, want error) {
	r.Helper()
	if !errors.Is(err, want) {
		r.Errorf("got the error %v, want %v", err, want)
	}
}

// proposal is one from head to main.
func proposal(head string) forge.Proposal {
	return forge.Proposal{Mark: "dev", Head: head, Base: "main", Title: "Update dev", Body: "Two files change.\n\n- a\n- b", Labels: []string{"promoted"}}
}

// open opens a pull request from a branch that it adds a commit to.
func (r *run) open(head string) (forge.Pull, string) {
	r.Helper()
	commit := r.Branch(head)
	r.Sync()
	pull, err := r.Forge.OpenPull(r.ctx(), proposal(head))
	r.check(err)
	return pull, commit
}

// pulls returns the pull requests from head to main.
func (r *run) pulls(head string) []forge.Pull {
	r.Helper()
	r.Sync()
	all, err := r.Forge.Pulls(r.ctx(), head, "main")
	r.check(err)
	return all
}

// last returns the newest of them, and fails without one.
func (r *run) last(head string) forge.Pull {
	r.Helper()
	all := r.pulls(head)
	if len(all) == 0 {
		r.Fatalf("no pull request from %s is found", head)
	}
	return all[0]
}

// quietly does something that must not change anything at the forge.
func (r *run) quietly(what string, do func()) {
	r.Helper()
	before := r.Writes()
	do()
	r.equal("writes of "+what, r.Writes()-before, 0)
}

func opens(r *run) {
	pull, commit := r.open("out/dev")
	r.equal("pull request", pull, forge.Pull{Proposal: proposal("out/dev"), Number: pull.Number, State: forge.Open, Commit: commit, URL: pull.URL})
	r.quietly("looking", func() { r.equal("found", r.pulls("out/dev"), []forge.Pull{pull}) })
	r.none("from another branch", len(r.pulls("out")))
	commit = r.Branch("out/dev")
	r.equal("commit after a push", r.last("out/dev").Commit, commit)
}

func exists(r *run) {
	r.open("out/dev")
	_, err := r.Forge.OpenPull(r.ctx(), proposal("out/dev"))
	r.is(err, forge.ErrExists)
	r.equal("pull requests", len(r.pulls("out/dev")), 1)
	r.Branch("out/prod")
	r.Sync()
	_, err = r.Forge.OpenPull(r.ctx(), proposal("out/prod"))
	r.check(err)
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
	r.none("of a fork, of another branch, to another base", len(r.pulls("out/dev")))
	r.Propose(false, "out/dev", "main", "no mark")
	r.none("of a person", len(r.pulls("out/dev")))
	_, err := r.Forge.OpenPull(r.ctx(), proposal("out/dev"))
	r.is(err, forge.ErrExists)
}

func edits(r *run) {
	pull, _ := r.open("out/dev")
	want := proposal("out/dev")
	want.Title, want.Body, want.Labels = "Update dev again", "One file changes.", []string{"b", "a"}
	edited, err := r.Forge.EditPull(r.ctx(), pull.Number, want)
	r.check(err)
	want.Labels = []string{"a", "b"}
	pull.Proposal = want
	r.equal("edited", edited, pull)
	r.equal("found", r.last("out/dev"), pull)
	r.quietly("editing again", func() {
		edited, err = r.Forge.EditPull(r.ctx(), pull.Number, want)
		r.check(err)
		r.equal("edited again", edited, pull)
	})
	want.Labels = nil
	pull.Proposal = want
	_, err = r.Forge.EditPull(r.ctx(), pull.Number, want)
	r.check(err)
	r.equal("without labels", r.last("out/dev"), pull)
	want.Body = ""
	pull.Proposal = want
	_, err = r.Forge.EditPull(r.ctx(), pull.Number, want)
	r.check(err)
	r.equal("without body", r.last("out/dev"), pull)
}

func keepsLabels(r *run) {
	if r.Label == nil {
		r.Skip("people give no labels here")
	}
	pull, _ := r.open("out/dev")
	r.Label(pull.Number, "urgent: a/b")
	r.equal("given", r.last("out/dev").Labels, []string{"promoted"})
	want := proposal("out/dev")
	want.Labels = []string{"group: c/d"}
	_, err := r.Forge.EditPull(r.ctx(), pull.Number, want)
	r.check(err)
	r.equal("labels", r.Labels(pull.Number), []string{"group: c/d", "urgent: a/b"})
	want.Labels = nil
	_, err = r.Forge.EditPull(r.ctx(), pull.Number, want)
	r.check(err)
	r.equal("labels", r.Labels(pull.Number), []string{"urgent: a/b"})
}

func closes(r *run) {
	pull, commit := r.open("out/dev")
	r.check(r.Forge.ClosePull(r.ctx(), pull.Number, "nothing differs any more"))
	pull.State, pull.Reason, pull.Commit = forge.Closed, "nothing differs any more", commit
	r.equal("closed", r.last("out/dev"), pull)
	r.quietly("closing again", func() { r.check(r.Forge.ClosePull(r.ctx(), pull.Number, "nothing differs any more")) })
	next, _ := r.open("out/dev")
	if next.Number == pull.Number {
		r.Errorf("pull request %d was opened again", pull.Number)
	}
	r.equal("reason of the next", next.Reason, "")
}

func closedByPerson(r *run) {
	pull, _ := r.open("out/dev")
	r.Close(pull.Number)
	last := r.last("out/dev")
	r.equal("state", last.State, forge.Closed)
	r.equal("body", last.Body, pull.Body)
	_, err := r.Forge.OpenPull(r.ctx(), proposal("out/dev"))
	r.check(err)
}

func merges(r *run) {
	pull, commit := r.open("out/dev")
	r.Merge(pull.Number)
	last := r.last("out/dev")
	r.equal("state", last.State, forge.Merged)
	r.equal("commit", last.Commit, commit)
	r.equal("labels", last.Labels, []string{"promoted"})
	r.check(r.Forge.ClosePull(r.ctx(), pull.Number, "nothing differs any more"))
	r.equal("state after closing", r.last("out/dev").State, forge.Merged)
}

func newestFirst(r *run) {
	var want []int
	for range 3 {
		pull, _ := r.open("out/dev")
		want = append([]int{pull.Number}, want...)
		r.check(r.Forge.ClosePull(r.ctx(), pull.Number, "for the next"))
	}
	pull, _ := r.open("out/dev")
	want = append([]int{pull.Number}, want...)
	var got []int
	var states []forge.State
	for _, p := range r.pulls("out/dev") {
		got, states = append(got, p.Number), append(states, p.State)
	}
	r.equal("numbers", got, want)
	r.equal("states", states, []forge.State{forge.Open, forge.Closed, forge.Closed, forge.Closed})
}

// many is more than a page has at some forges.
const many = 60

// some is more than a page has at this one.
func (r *run) some() int {
	if r.Many != 0 {
		return r.Many
	}
	return many
}

func findsMany(r *run) {
	r.Branch("out/dev")
	r.Sync()
	for i := range r.some() {
		pull, err := r.Forge.OpenPull(r.ctx(), proposal("out/dev"))
		r.check(err)
		if i < r.some()-1 {
			r.check(r.Forge.ClosePull(r.ctx(), pull.Number, "for the next"))
		}
	}
	seen := map[int]bool{}
	for _, p := range r.pulls("out/dev") {
		seen[p.Number] = true
	}
	r.equal("pull requests", len(seen), r.some())
	r.equal("state of the newest", r.last("out/dev").State, forge.Open)
}

func longTitle(r *run) {
	r.Branch("out/dev")
	r.Sync()
	want := proposal("out/dev")
	want.Title = strings.Repeat("größer ", 60)
	pull, err := r.Forge.OpenPull(r.ctx(), want)
	r.check(err)
	r.equal("title", r.last("out/dev").Title, forge.FitTitle(want.Title))
	r.quietly("editing it again", func() {
		_, err := r.Forge.EditPull(r.ctx(), pull.Number, want)
		r.check(err)
	})
}

func keepsMarkdown(r *run) {
	r.Branch("out/dev")
	r.Sync()
	want := proposal("out/dev")
	want.Title = "*a* _b_ `c` <d> & \"e\" #1 @f | \\ 😀"
	want.Body = "```diff\n- a: \"<b>\"\n+ b: 'ü' \\\n```\n\n| a | b |\n|---|---|\n| " + forge.EscapeMarkdown("@x [y](z) <!-- w -->") + " | 😀 |\n\n" +
		"<!-- fairlead: other -->\n\n    trailing  \n<details>&amp;</details>"
	_, err := r.Forge.OpenPull(r.ctx(), want)
	r.check(err)
	r.equal("found", r.last("out/dev").Proposal, want)
}

func noSuchPull(r *run) {
	r.Sync()
	_, err := r.Forge.EditPull(r.ctx(), 4711, proposal("out/dev"))
	r.is(err, forge.ErrNotFound)
	r.is(r.Forge.ClosePull(r.ctx(), 4711, ""), forge.ErrNotFound)
}

func statuses(r *run) {
	commit := r.Branch("out/dev")
	r.Sync()
	dev := forge.Status{Context: "dev environment", Outcome: forge.Pending, Description: "Promoted", URL: "https://fairlead.example/dev"}
	prod := forge.Status{Context: "prod environment", Outcome: forge.Failure, Description: "Failed to deploy"}
	r.check(r.Forge.SetStatus(r.ctx(), commit, dev))
	r.check(r.Forge.SetStatus(r.ctx(), commit, prod))
	dev.Outcome, dev.Description = forge.Success, "Deployed"
	r.check(r.Forge.SetStatus(r.ctx(), commit, dev))
	r.equal("statuses", r.Statuses(commit), []forge.Status{dev, prod})
	r.quietly("the same again", func() { r.check(r.Forge.SetStatus(r.ctx(), commit, dev)) })
}

func issue(mark string) forge.Issue {
	return forge.Issue{Mark: mark, Title: "Cannot make " + mark, Body: "`a.yaml:3`: it is *wrong*", Open: true}
}

func (r *run) issues(mark string) []forge.Issue {
	r.Helper()
	r.Sync()
	all, err := r.Forge.Issues(r.ctx(), mark)
	r.check(err)
	return all
}

func (r *run) put(i forge.Issue) forge.Issue {
	r.Helper()
	put, err := r.Forge.PutIssue(r.ctx(), i)
	r.check(err)
	if put.Number == 0 {
		r.Fatal("an issue was put and has no number")
	}
	return put
}

func issues(r *run) {
	r.Sync()
	want := r.put(issue("dev"))
	r.equal("opened", want, forge.Issue{Number: want.Number, Mark: "dev", Title: "Cannot make dev", Body: "`a.yaml:3`: it is *wrong*", Open: true, URL: want.URL})
	r.equal("found", r.issues("dev"), []forge.Issue{want})
	for _, change := range []func(){
		func() { want.Title, want.Body = "Cannot make dev still", "other" },
		func() { want.Open = false },
		func() { want.Open = true },
		func() { want.Body = "" },
	} {
		change()
		r.equal("put", r.put(want), want)
		r.equal("found", r.issues("dev"), []forge.Issue{want})
	}
}

func issueExists(r *run) {
	r.Sync()
	first := r.put(issue("dev"))
	r.Sync()
	r.equal("opened twice", r.put(issue("dev")), first)
	first.Open = false
	r.put(first)
	r.Sync()
	second := r.put(issue("dev"))
	r.equal("found", r.issues("dev"), []forge.Issue{second, first})
}

func issueMarks(r *run) {
	r.Branch("out/dev")
	r.Sync()
	noIssue := proposal("out/dev")
	noIssue.Labels = []string{"fairlead"}
	_, err := r.Forge.OpenPull(r.ctx(), noIssue)
	r.check(err)
	dev, prod := r.put(issue("dev")), r.put(issue("prod"))
	r.equal("title", dev.Title, issue("dev").Title)
	r.equal("of dev", r.issues("dev"), []forge.Issue{dev})
	r.equal("of prod", r.issues("prod"), []forge.Issue{prod})
	r.none("of de", len(r.issues("de")))
}

func findsManyIssues(r *run) {
	r.Sync()
	first := r.put(issue("first"))
	for i := range r.some() {
		r.put(issue(fmt.Sprintf("env%d", i)))
	}
	r.equal("the first", r.issues("first"), []forge.Issue{first})
}
