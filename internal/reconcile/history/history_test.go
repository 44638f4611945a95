package history_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestRead reads what people and Fairlead did from a real repository: in the messages that they write, and
// in no other.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	gittest.Git(t, dir, "init", "--quiet", "--initial-branch=prod")
	const zero, one, two = "0000000000000000000000000000000000000000", "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	for _, message := range []string{
		"Write the first policy\n\nFairlead-Promoted is a word, and no trailer",
		"Promote 1111111 to prod\n\nLess noise\n\nafter: 1111111 was verified in stage\ngates: all gates passed\n\nFairlead-Promoted: " + one + "\nFairlead-Promotion: prod",
		"Hold prod\n\nthe sale https://bot:hunter2@example.com/ ends on Monday\n\nFairlead-Action: hold",
		"Promote 2222222 to prod\n\nLess noise\n\nOverrides: prod is held: the sale\nOverrides: it is not verified in stage\n\nFairlead-Promoted: " + two + "\nFairlead-Promotion: prod\nFairlead-Forced: fix of the outage\nFairlead-Action: promote",
		"Promote 1111111 of lane shop to prod\n\n1111111 of lane shop: Less noise\n\nFairlead-Lane: shop@" + one + "\nFairlead-Promoted: " + two + "\nFairlead-Promotion: prod",
		"Hold lane shop in prod\n\nthe sale\n\nFairlead-Lane: shop\nFairlead-Action: hold",
		"Freeze prod, stage: q4\n\nthe books\n\nFairlead-Freezes: prod\nFairlead-Freezes: stage\nFairlead-Action: freeze",
		"Let 2222222 pass the freeze q4\n\nthe fix\n\nFairlead-Commit: " + two + "\nFairlead-Freezes: prod\nFairlead-Action: freeze",
		"End the freeze q4\n\nFairlead-Freezes: prod\nFairlead-Freezes: stage\nFairlead-Ends: q4\nFairlead-Action: freeze",
		"Approve 2222222 for prod\n\nFairlead-Via: web\nFairlead-Approval: prod\nFairlead-Commit: " + two + "\nFairlead-Action: approve",
		"Roll prod back to 1111111\n\nLess noise\n\nit fails\n\nFairlead-Promoted: " + one + "\nFairlead-Promotion: prod\nFairlead-Action: rollback",
	} {
		gittest.Git(t, dir, "commit", "--quiet", "--allow-empty", "--message", message)
	}
	repo, err := git.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	head, err := repo.Resolve("prod")
	if err != nil {
		t.Fatal(err)
	}
	got, err := history.Read(history.Branch{Environment: "prod", Repo: repo, URL: "https://git.example.com/fleet", Head: head, CommitAt: func(string) (string, error) { return zero, nil }}, 100, func(string) string { return "Less noise" })
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range got {
		if e.Who == "" || e.Time.IsZero() || len(e.Commit) != 40 || e.Repo != "https://git.example.com/fleet" {
			t.Errorf("who did it, when and where, is not known of %+v", e)
		}
	}
	want := []history.Entry{
		{Environment: "prod", Action: "rollback", Title: "Roll prod back to 1111111", From: two, To: one, Reason: "it fails"},
		{Environment: "prod", Via: "web", Action: "approve", Title: "Approve 2222222 for prod", To: two},
		{Environment: "prod", Environments: []string{"prod", "stage"}, Action: "end-freeze", Title: "End the freeze q4"},
		{Environment: "prod", Environments: []string{"prod"}, Action: "freeze-exception", Title: "Let 2222222 pass the freeze q4", To: two, Reason: "the fix"},
		{Environment: "prod", Environments: []string{"prod", "stage"}, Action: "freeze", Title: "Freeze prod, stage: q4", Reason: "the books"},
		{Environment: "prod", Action: "hold", Title: "Hold lane shop in prod", Reason: "the sale", Lanes: []history.LaneVersion{{Lane: "shop"}}},
		{Environment: "prod", Action: "promote", Title: "Promote 1111111 of lane shop to prod", Reason: "1111111 of lane shop: Less noise", Lanes: []history.LaneVersion{{Lane: "shop", Commit: one}}},
		{Environment: "prod", Action: "promote", Title: "Promote 2222222 to prod", From: one, To: two, Forced: "fix of the outage", Overrides: []string{"prod is held: the sale", "it is not verified in stage"}},
		{Environment: "prod", Action: "hold", Title: "Hold prod", Reason: "the sale https://***@example.com/ ends on Monday"},
		{Environment: "prod", Action: "promote", Title: "Promote 1111111 to prod", From: zero, To: one, Reason: "after: 1111111 was verified in stage; gates: all gates passed"},
		{Environment: "prod", Action: "change", Title: "Write the first policy"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(history.Entry{}, "Time", "Who", "Commit", "Repo")); diff != "" {
		t.Error(diff)
	}
	commits, err := repo.ListCommits(head, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commits {
		if want := strings.HasPrefix(c.Subject(), "Promote "); history.IsPromotion(c) != want {
			t.Errorf("%q is a promotion: %t, want %t", c.Subject(), !want, want)
		}
	}
	gone := forge.Pull{Number: 10, State: forge.Closed, Commit: strings.Repeat("f", 40), Reason: "not today"}
	if read, err := history.ReadPull(repo, gone, ".", impact.Options{}); err != nil || !read.Lost || read.Reason != "not today" {
		t.Errorf("a pull request whose commit the repository has no longer is %+v, %v", read, err)
	}
	stopped := forge.Pull{Proposal: forge.Proposal{Mark: "prod", Body: "> [!WARNING]\n> Fairlead does not update this pull request: problems stop its environment. It proposes what was.\n\nText"}, Number: 5}
	against := []string{"problems stopped prod, and it proposed what the files said before"}
	pulls, err := history.ListPullActions(repo, "https://git.example.com/out", []forge.PullEvent{
		{Pull: forge.Pull{Proposal: forge.Proposal{Mark: "prod", Title: "prod: less noise"}, Number: 3, URL: "https://git.example.com/out/pull/3"}, Action: forge.MergeAction, Time: time.Unix(1, 0), Who: "alice", Via: "web", Reason: "go on"},
		{Pull: forge.Pull{Proposal: forge.Proposal{Mark: "prod", Title: "prod: noise"}, Number: 2, Commit: one}, Action: forge.CloseAction, Time: time.Unix(1, 0), Reason: "not now (by bob)"},
		{Pull: forge.Pull{Proposal: forge.Proposal{Mark: "removal of old", Title: "Remove old"}, Number: 1}, Action: forge.CloseAction, Time: time.Unix(1, 0), Who: "Fairlead", Reason: "moved (by design)", Record: two},
		{Pull: forge.Pull{Number: 4}, Action: forge.CloseAction}, // the forge does not tell when
		{Pull: stopped, Action: forge.MergeAction, Time: time.Unix(1, 0), Who: "alice"},
		{Pull: stopped, Action: forge.MergeAction, Time: time.Unix(1, 0), Who: "alice", Reason: "we know"},
		{Pull: stopped, Action: forge.CloseAction, Time: time.Unix(1, 0), Who: "alice", Reason: "not so"},
	}, []string{"prod"})
	if err != nil {
		t.Fatal(err)
	}
	want = []history.Entry{
		{Environment: "prod", Action: "merge", Title: "prod: less noise", Who: "alice", Via: "web", Reason: "go on", Pull: 3, URL: "https://git.example.com/out/pull/3"},
		{Environment: "prod", Action: "close", Title: "prod: noise", Who: "bob", Reason: "not now", Commit: one, Pull: 2},
		{Action: "close", Title: "Remove old", Who: "Fairlead", Reason: "moved (by design)", Commit: two, Pull: 1},
		{Environment: "prod", Action: "merge", Who: "alice", Forced: "no reason was given", Overrides: against, Pull: 5},
		{Environment: "prod", Action: "merge", Who: "alice", Forced: "we know", Overrides: against, Pull: 5},
		{Environment: "prod", Action: "close", Who: "alice", Reason: "not so", Pull: 5},
	}
	if diff := cmp.Diff(want, pulls, cmpopts.IgnoreFields(history.Entry{}, "Time", "Repo")); diff != "" {
		t.Errorf("what was done to pull requests:\n%s", diff)
	}
	second := time.Unix(5, 0)
	both := []history.Entry{{Time: second, Environment: "dev", Action: "promote"}, {Time: second, Environment: "dev", Action: "merge", Pull: 1}}
	history.Sort(both)
	if both[0].Action != "merge" {
		t.Errorf("an output is merged before the promotion that it is of: %+v", both)
	}
	history.Sort(got)
	if got[0].Time.Before(got[len(got)-1].Time) {
		t.Errorf("the newest is not first: %+v", got)
	}
}
