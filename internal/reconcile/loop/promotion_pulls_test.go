package loop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// stageRecord is where the record of stage is proposed from.
const stageRecord = "fairlead/promotion/stage"

// newRecord begins a hub in which a commit waits for approvals in stage, and gives the
// number of the pull request of its record.
func newRecord(t *testing.T, gates string) (*hub, int, map[string]string) {
	t.Helper()
	h := newHub(t, "    - {name: dev, merge: direct, proof: []}\n    - {name: stage, after: [dev], record: pull-request, proof: [], gates: ["+gates+"]}\n", "dev", "stage")
	names := map[string]string{h.changeNow(1): "1"}
	h.looks(4, time.Minute)
	open := h.records(t)
	if len(open) != 1 {
		t.Fatalf("the pull requests of records are %v; %s", open, reasons(h.stage("stage").Next))
	}
	return h, open[0], names
}

// TestApprovalIsPerson: who reviews and has an approval in a file besides is one person, and
// the commit of the file leaves the reviews that there are.
func TestApprovalIsPerson(t *testing.T) {
	h, number, names := newRecord(t, "approval: {count: 2}")
	h.fake.Account("alice", person)
	head := h.head(githubCP, stageRecord)
	h.fake.Review(githubCP, "alice", number, "APPROVED")
	var commit string
	for id := range names {
		commit = id
	}
	h.commitNow("stage", "approve", map[string]string{".fairlead/approvals/a.yaml": own("Approval", "a", "{commit: "+commit+"}")})
	h.looks(2, 10*time.Minute)
	h.wantNext("stage", promote.Waiting, "1 approval missing; approved by a@example.com")
	if now := h.head(githubCP, stageRecord); now != head || !slices.Equal(h.records(t), []int{number}) {
		t.Errorf("the approval in a file has moved the pull request from %s to %s: %v", head, now, h.records(t))
	}
	h.fake.Review(githubCP, "bob", number, "APPROVED")
	h.looks(3, 10*time.Minute)
	h.wantLine(names, "dev=1 stage=1")
}

// TestApprovalIsNamed: who is not counted is named, with the reason.
func TestApprovalIsNamed(t *testing.T) {
	h, number, _ := newRecord(t, "approval: {count: 2}")
	h.fake.Review(githubCP, "alice", number, "APPROVED")
	h.fake.Review(githubCP, "bob", number, "APPROVED")
	h.fake.Dismiss(githubCP, "bob", number)
	h.looks(1, 10*time.Minute)
	h.wantNext("stage", promote.Waiting, "approved by alice", "the approval of bob was dismissed")
	h.commitNow("stage", "what is approved is another thing now", map[string]string{"configs/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"})
	h.looks(4, 10*time.Minute)
	h.wantNext("stage", promote.Waiting, "2 approvals missing", "the approval of alice is of an older commit")
}

// TestRecordPulls: what people do to the pull request of a record is seen by the next poll,
// and it goes when records are no longer proposed.
func TestRecordPulls(t *testing.T) {
	h, number, _ := newRecord(t, "approval: {}")
	h.fake.SetOpen(githubCP, number, false)
	h.looks(1, time.Minute)
	h.wantNext("stage", promote.Waiting, fmt.Sprintf("pull request %d, which proposes", number), "was closed")
	h.fake.SetOpen(githubCP, number, true)
	h.looks(1, time.Minute)
	h.wantNext("stage", promote.Waiting, "1 approval missing")

	gittest.Git(t, h.server.Dir(githubCP), "branch", "other", "stage")
	h.fake.Retarget(githubCP, number, "other")
	h.looks(1, time.Minute)
	f, err := h.forge(githubCP)
	if err != nil {
		t.Fatal(err)
	}
	moved, err := f.Pulls(t.Context(), stageRecord, "other")
	if err != nil {
		t.Fatal(err)
	}
	if len(moved) != 1 || moved[0].State != forge.Closed || !strings.Contains(moved[0].Reason, "for `stage` alone") {
		t.Errorf("the one that was moved is %+v", moved)
	}
	open := h.records(t)
	if len(open) != 1 || open[0] == number {
		t.Errorf("the open ones are %v", open)
	}

	h.commitNow("main", "direct", map[string]string{
		promotionFile: chainOf("    - {name: dev, merge: direct, proof: []}\n    - {name: stage, after: [dev], proof: [], gates: [approval: {}]}\n"),
	})
	h.looks(2, time.Minute)
	if open := h.records(t); len(open) != 0 {
		t.Errorf("records are written directly, and the open pull requests are %v", open)
	}
	if gittest.Refs(t, h.server.Dir(githubCP))["refs/heads/"+stageRecord] != "" {
		t.Error("the branch is still there")
	}
}
