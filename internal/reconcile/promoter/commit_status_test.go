package promoter

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

func statusOf(s forge.Status, context string) forge.Status {
	s.Context = context
	return s
}

// TestWantedStatuses: how far a commit has got is Kalypso's status; a proof is on record once it was
// one, with what has become of it.
func TestWantedStatuses(t *testing.T) {
	recorded := []gate.CommitStatus{{Context: "fairlead/dev/proof", Outcome: forge.Success}}
	revoked := []gate.CommitStatus{{Context: "fairlead/dev/proof", Outcome: forge.Pending}}
	other := []gate.CommitStatus{{Context: "fairlead/prod/proof", Outcome: forge.Success}}
	proof := func(outcome forge.Outcome, text string) []forge.Status {
		return []forge.Status{{Context: "fairlead/dev/proof", Outcome: outcome, Description: text}}
	}
	for name, test := range map[string]struct {
		proof    gate.Status
		merged   bool
		deployed time.Time
		said     []gate.CommitStatus
		want     forge.Status
		proofs   []forge.Status
	}{
		"promoted":                 {proof: gate.Wait, want: promotedStatus},
		"merged":                   {proof: gate.Wait, merged: true, want: deployingStatus},
		"soaking":                  {proof: gate.Wait, merged: true, deployed: noon, want: deployedStatus},
		"proven":                   {proof: gate.Pass, merged: true, deployed: noon, want: deployedStatus, proofs: proof(forge.Success, "Verified in dev")},
		"failed":                   {proof: gate.Fail, merged: true, want: failedStatus},
		"failed after the rollout": {proof: gate.Fail, merged: true, deployed: noon, want: failedStatus},
		"failed since":             {proof: gate.Fail, merged: true, said: recorded, want: failedStatus, proofs: proof(forge.Failure, "Failed in dev since")},
		"to be proven anew":        {proof: gate.Wait, merged: true, said: recorded, want: deployingStatus, proofs: proof(forge.Pending, "To be verified again in dev")},
		"was revoked":              {proof: gate.Wait, merged: true, said: revoked, want: deployingStatus},
		"proven elsewhere":         {proof: gate.Wait, merged: true, said: other, want: deployingStatus},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stageState{spec: model.Stage{Name: "dev"}, stage: promote.Stage{Position: promote.Position{Merged: test.merged, Proof: gate.Verdict{Status: test.proof}}}}
			s.facts.DeployedAt, s.facts.BaseStatuses = test.deployed, test.said
			want := append([]forge.Status{statusOf(test.want, "dev environment")}, test.proofs...)
			if diff := cmp.Diff(want, s.wantedStatuses()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFailureStatus: the status of a failure says why, and is not set anew for each cluster that reports.
func TestFailureStatus(t *testing.T) {
	const reason = "2 of 40 clusters failed, and 2% may: c23: no image, c7"
	said := func(context, description string, at time.Time) gate.CommitStatus {
		return gate.CommitStatus{Context: context, Outcome: forge.Failure, Description: description, Time: at}
	}
	for name, test := range map[string]struct {
		said         gate.CommitStatus
		promoted     time.Duration // ago
		reason, want string
	}{
		"the first":               {reason: reason, want: "Failed to deploy: " + reason},
		"without a reason":        {want: "Failed to deploy"},
		"of several lines":        {reason: "c7:\n  no image", want: "Failed to deploy: c7: no image"},
		"with a password":         {reason: "c7: cannot clone https://x:hunter2@git.example.com/a", want: "Failed to deploy: c7: cannot clone https://***@git.example.com/a"},
		"a long one":              {reason: strings.Repeat("é", 140), want: "Failed to deploy: " + strings.Repeat("é", 121) + "…"},
		"said lately":             {said("dev environment", "Failed to deploy: c7", noon.Add(time.Second-failureKept)), time.Hour, reason, "Failed to deploy: c7"},
		"said a while ago":        {said("dev environment", "Failed to deploy: c7", noon.Add(-failureKept)), time.Hour, reason, "Failed to deploy: " + reason},
		"of an earlier promotion": {said("dev environment", "Failed to deploy: c7", noon.Add(-2*time.Minute)), time.Minute, reason, "Failed to deploy: " + reason},
		"of another environment":  {said("prod environment", "Failed to deploy: c7", noon), time.Hour, reason, "Failed to deploy: " + reason},
		"of other people":         {said("dev environment", "It burns", noon), time.Hour, reason, "Failed to deploy: " + reason},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stageState{spec: model.Stage{Name: "dev"}, stage: promote.Stage{Position: promote.Position{PromotedAt: noon.Add(-test.promoted), Proof: gate.Verdict{Status: gate.Fail, Reason: test.reason}}}}
			s.facts.Now, s.facts.BaseStatuses = noon, []gate.CommitStatus{test.said}
			want := forge.Status{Outcome: forge.Failure, Description: test.want}
			if diff := cmp.Diff(want, s.failureStatus()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestStatusSteps: a status is set if the commit has not got it, or got it before the promotion;
// then it begins anew, since a forge may keep the time of one that is set again.
func TestStatusSteps(t *testing.T) {
	const context = "dev environment"
	deployed, deploying, begun := statusOf(deployedStatus, context), statusOf(deployingStatus, context), statusOf(promotedStatus, context)
	said := func(s forge.Status, at time.Duration) []gate.CommitStatus {
		return []gate.CommitStatus{
			{Context: "ci/test", Outcome: forge.Success, Time: noon},
			{Context: s.Context, Outcome: s.Outcome, Description: s.Description, Time: noon.Add(at)},
		}
	}
	for name, test := range map[string]struct {
		said []gate.CommitStatus
		want forge.Status
		step []forge.Status
		anew bool
	}{
		"none":                               {nil, deployed, []forge.Status{deployed}, false},
		"only another context":               {said(deployed, 0)[:1], deployed, []forge.Status{deployed}, false},
		"the same":                           {said(deployed, time.Second), deployed, nil, false},
		"the same, as old as the promotion":  {said(deployed, 0), deployed, nil, false},
		"another":                            {said(deploying, time.Second), deployed, []forge.Status{deployed}, true},
		"of an earlier promotion":            {said(deployed, -time.Second), deployed, []forge.Status{begun, deployed}, true},
		"of an earlier one, and not the end": {said(deploying, -time.Second), deploying, []forge.Status{deploying}, true},
		"another of an earlier promotion":    {said(deployed, -time.Second), deploying, []forge.Status{deploying}, true},
	} {
		t.Run(name, func(t *testing.T) {
			steps, anew := statusSteps(test.said, test.want, noon)
			if diff := cmp.Diff(test.step, steps); diff != "" || anew != test.anew {
				t.Errorf("anew %v, want %v (-want +got):\n%s", anew, test.anew, diff)
			}
		})
	}
}

// TestCorrectTimes: a status that was set for this promotion is not older than it, whatever time the
// forge shows; any other keeps its time.
func TestCorrectTimes(t *testing.T) {
	const context = "dev environment"
	behind, after := noon.Add(-time.Hour), noon.Add(time.Minute)
	shown := gate.CommitStatus{Context: context, Outcome: forge.Success, Description: "Deployed", Time: behind}
	for name, test := range map[string]struct {
		set    forge.Status
		commit string
		given  time.Time // when the commit was promoted that the status was set for
		shown  func(s *gate.CommitStatus)
		want   time.Time
	}{
		"the clock is behind": {statusOf(deployedStatus, context), "c1", noon, func(*gate.CommitStatus) {}, after},
		"the clock is right":  {statusOf(deployedStatus, context), "c1", noon, func(s *gate.CommitStatus) { s.Time = noon.Add(time.Second) }, noon.Add(time.Second)},
		"another status":      {statusOf(deployingStatus, context), "c1", noon, func(*gate.CommitStatus) {}, behind},
		"another context":     {statusOf(deployedStatus, "prod environment"), "c1", noon, func(*gate.CommitStatus) {}, behind},
		"another commit":      {statusOf(deployedStatus, context), "c2", noon, func(*gate.CommitStatus) {}, behind},
		"an earlier turn":     {statusOf(deployedStatus, context), "c1", behind, func(*gate.CommitStatus) {}, behind},
	} {
		t.Run(name, func(t *testing.T) {
			var r reportedStatuses
			r.correctTimes(nil, test.commit, test.given)
			r.note(test.set, after)
			said := shown
			test.shown(&said)
			before := []gate.CommitStatus{said}
			got := r.correctTimes(before, "c1", noon)
			if !got[0].Time.Equal(test.want) {
				t.Errorf("the time is %s, want %s", got[0].Time, test.want)
			}
			if before[0] != said {
				t.Error("what others read has changed")
			}
		})
	}
}
