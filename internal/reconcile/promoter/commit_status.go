package promoter

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

// DeployContext is the context of the status in which Kalypso reports how far a commit of the base
// has got in an environment (specs: Kalypso, 14).
func DeployContext(environment string) string { return environment + " environment" }

// ProofContext is the context of the status that records a proof after the environment got another
// commit.
func ProofContext(environment string) string { return "fairlead/" + environment + "/proof" }

func laneContext(environment, lane string) string { return DeployContext(environment) + "/" + lane }

// allLanes stands for a lane in the context of the status that records whether clusters run a base with lanes of their own.
const allLanes = "*"

// Evidence is what the statuses of a commit of the base prove of it in one environment.
type Evidence string

const (
	Unproven Evidence = ""         // nothing: it was never looked at, or its proof did not end
	Verified Evidence = "verified" // it passed all gates of its proof, and has not failed since
	Failed   Evidence = "failed"   // it failed, and was not verified since
)

// ReadEvidence returns what the statuses of a commit prove of it in an environment. The status of the proof
// decides where there is one: it changes when a verified commit fails later.
func ReadEvidence(said []gate.CommitStatus, environment string) Evidence {
	outcome := func(context string) forge.Outcome {
		i := slices.IndexFunc(said, func(st gate.CommitStatus) bool { return st.Context == context })
		if i < 0 {
			return ""
		}
		return said[i].Outcome
	}
	proof := outcome(ProofContext(environment))
	switch {
	case proof == forge.Success:
		return Verified
	case proof == forge.Failure || outcome(DeployContext(environment)) == forge.Failure:
		return Failed
	}
	return Unproven
}

// The statuses of Kalypso's workflows. That of a failure goes on with its reason.
var (
	promotedStatus  = forge.Status{Outcome: forge.Pending, Description: "Promoted"}
	deployingStatus = forge.Status{Outcome: forge.Pending, Description: "Deploying"}
	deployedStatus  = forge.Status{Outcome: forge.Success, Description: "Deployed"}
	failedStatus    = forge.Status{Outcome: forge.Failure, Description: "Failed to deploy"}
)

func (m *Promoter) reportPromotion(ctx context.Context, s *stageState) error {
	if len(s.lanes) > 0 { // the commit is not what the environment has
		_, err := m.recordLane(ctx, s, allLanes, s.stage.Floor, s.stage.PromotedAt, !s.facts.DeployedAt.IsZero())
		if err == nil && m.mayWrite(ctx) {
			err = reportLaneCommits(ctx, m, s)
		}
		return err
	}
	s.memory.laneStatuses = nil
	if !m.mayWrite(ctx) {
		return nil
	}
	for _, want := range s.wantedStatuses() {
		steps, anew := statusSteps(s.facts.BaseStatuses, want, s.countsFrom)
		if anew {
			s.memory.published.ForgetStatus(m.options.Settings.ControlPlane.Repo, s.stage.Commit, want.Context)
		}
		for _, step := range steps {
			if err := m.options.Remotes.SetCommitStatus(ctx, &s.memory.published, m.options.Settings.ControlPlane.Repo, s.stage.Commit, step); err != nil {
				return err
			}
		}
		if len(steps) > 0 {
			s.memory.reported.note(want, m.now)
		}
		if want.Context == ProofContext(s.spec.Name) && want.Outcome == forge.Success && len(steps) > 0 && !anew {
			m.recordLeadTime(s)
		}
	}
	return nil
}

// reportLaneCommits reports on commits that only lanes have how far they have got. A failure need not be theirs.
func reportLaneCommits(ctx context.Context, m *Promoter, s *stageState) error {
	want := promotedStatus
	switch {
	case s.stage.Proof.Status == gate.Fail:
		return nil
	case !s.facts.DeployedAt.IsZero():
		want = deployedStatus
	case s.stage.Merged:
		want = deployingStatus
	}
	commits := slices.Sorted(maps.Values(s.lanes))
	for _, commit := range slices.Compact(commits) {
		if err := reportLaneCommit(ctx, m, s, commit, want); err != nil {
			return err
		}
	}
	return nil
}

func reportLaneCommit(ctx context.Context, m *Promoter, s *stageState, commit string, want forge.Status) error {
	reported := string(want.Outcome) + " " + s.stage.PromotedAt.String() // the reason of a failure changes with each report
	if want.Outcome == forge.Pending {
		reported = want.Description + " " + reported
	}
	if s.memory.laneStatuses[commit] == reported {
		return nil
	}
	said, err := m.readStatuses(ctx, m.options.Remotes.ControlPlane(), commit)
	if err != nil {
		return err
	}
	want.Context = DeployContext(s.spec.Name)
	if err := setStatus(ctx, m, s, commit, said, want, s.stage.PromotedAt); err != nil {
		return err
	}
	if s.memory.laneStatuses == nil {
		s.memory.laneStatuses = map[string]string{}
	}
	s.memory.laneStatuses[commit] = reported
	return nil
}

func (e *laneDecider) judgeLanes(ctx context.Context, s *stageState) error {
	s.laneProofs = map[string]gate.Verdict{}
	byCommit := map[string][]gate.Verdict{}
	for _, name := range slices.Sorted(maps.Keys(s.lanes)) {
		v, known := e.evaluateProof(ctx, s.spec.Name, name)
		if !known {
			v = gate.Verdict{Gate: "proof", Status: gate.Wait}
		}
		s.laneProofs[name] = v
		byCommit[s.lanes[name]] = append(byCommit[s.lanes[name]], v)
	}
	if !e.promoter.mayWrite(ctx) {
		return nil
	}
	for _, commit := range slices.Sorted(maps.Keys(byCommit)) {
		want := deployingStatus
		switch v := gate.CombineVerdicts("proof", byCommit[commit]); v.Status {
		case gate.Pass:
			want = deployedStatus
		case gate.Fail:
			want = failedStatus
			want.Description = text.Limit(want.Description+": "+text.CleanLine(v.Reason), maxDescription)
		}
		if err := reportLaneCommit(ctx, e.promoter, s, commit, want); err != nil {
			return err
		}
	}
	return nil
}

func setStatus(ctx context.Context, m *Promoter, s *stageState, commit string, said []gate.CommitStatus, want forge.Status, since time.Time) error {
	steps, anew := statusSteps(said, want, since)
	if anew {
		s.memory.published.ForgetStatus(m.options.Settings.ControlPlane.Repo, commit, want.Context)
	}
	for _, step := range steps {
		if err := m.options.Remotes.SetCommitStatus(ctx, &s.memory.published, m.options.Settings.ControlPlane.Repo, commit, step); err != nil {
			return err
		}
	}
	return nil
}

// recordLane records on a version of a lane whether the clusters of an environment run it, and returns the time from which on they
// do, not earlier than a time; zero if they do not.
func (m *Promoter) recordLane(ctx context.Context, s *stageState, lane, version string, since time.Time, isDeployed bool) (time.Time, error) {
	if len(s.soaking.Gates) == 0 && !slices.ContainsFunc(s.running.Gates, gate.IsOfLanes) { // nobody asks for it
		return m.now, nil
	}
	said, err := m.readStatuses(ctx, m.options.Remotes.ControlPlane(), version)
	if err != nil {
		return time.Time{}, err
	}
	deployed := deployedSince(said, laneContext(s.spec.Name, lane), since)
	if isDeployed != deployed.IsZero() || !m.mayWrite(ctx) {
		return deployed, nil
	}
	want := deployingStatus
	if isDeployed {
		want, deployed = deployedStatus, m.now
	}
	want.Context = laneContext(s.spec.Name, lane)
	if err := setStatus(ctx, m, s, version, said, want, since); err != nil {
		return time.Time{}, err
	}
	return deployed, nil
}

// reportedStatuses is what this process has set on the commit of one promotion, and when. A forge
// whose clock is behind ours shows it as older than the promotion.
type reportedStatuses struct {
	commit     string
	promotedAt time.Time
	statuses   map[string]reportedStatus // by context
}

type reportedStatus struct {
	status forge.Status
	at     time.Time
}

func (r *reportedStatuses) note(s forge.Status, at time.Time) {
	r.statuses[s.Context] = reportedStatus{s, at}
}

// correctTimes returns the statuses of a commit with the times at which those were set that this
// process has set since the commit was promoted. It forgets those of other promotions.
func (r *reportedStatuses) correctTimes(said []gate.CommitStatus, commit string, promotedAt time.Time) []gate.CommitStatus {
	if r.commit != commit || !r.promotedAt.Equal(promotedAt) {
		*r = reportedStatuses{commit, promotedAt, map[string]reportedStatus{}}
	}
	said = slices.Clone(said) // other environments read them too
	for i, st := range said {
		own, set := r.statuses[st.Context]
		if set && st.Time.Before(promotedAt) && st.Outcome == own.status.Outcome && st.Description == own.status.Description {
			said[i].Time = own.at
		}
	}
	return said
}

// recordLeadTime counts how long the current commit took to be verified, once: it is recorded on
// the commit for the first time.
func (m *Promoter) recordLeadTime(s *stageState) {
	if s.memory.countedCommit == s.stage.Commit {
		return
	}
	s.memory.countedCommit = s.stage.Commit
	info, err := s.base.Repo.Commit(s.stage.Commit)
	if err == nil {
		m.options.Metrics.RecordLeadTime(s.spec.Name, m.now.Sub(info.When))
	}
}

// wantedStatuses returns the statuses that the current commit should have: how far it has got, and,
// once it was proven, the last verdict on its proof, which counts when the environment has another
// commit.
func (s *stageState) wantedStatuses() []forge.Status {
	deploy := promotedStatus
	switch {
	case s.stage.Proof.Status == gate.Fail:
		deploy = s.failureStatus()
	case !s.facts.DeployedAt.IsZero():
		deploy = deployedStatus
	case s.stage.Merged:
		deploy = deployingStatus
	}
	deploy.Context = DeployContext(s.spec.Name)
	proof := forge.Status{Context: ProofContext(s.spec.Name), Outcome: forge.Success, Description: "Verified in " + s.spec.Name}
	switch status := s.stage.Proof.Status; {
	case status != gate.Pass && !isProofRecorded(s.facts.BaseStatuses, s.spec.Name):
		return []forge.Status{deploy}
	case status == gate.Fail:
		proof.Outcome, proof.Description = forge.Failure, "Failed in "+s.spec.Name+" since"
	case status != gate.Pass:
		proof.Outcome, proof.Description = forge.Pending, "To be verified again in "+s.spec.Name
	}
	return []forge.Status{deploy, proof}
}

// failureKept is for how long a status keeps the reason of a failure, which changes with each cluster
// that reports: a forge takes 1,000 statuses of one context on a commit.
const failureKept = 10 * time.Minute

// maxDescription is how many characters of a description all forges show.
const maxDescription = 140

// failureStatus returns the status of a commit whose proof has failed, with the reason: in part it is text
// from clusters, and others may read statuses than those who may read the page.
func (s *stageState) failureStatus() forge.Status {
	failed := failedStatus
	for _, st := range s.facts.BaseStatuses {
		isFailure := st.Context == DeployContext(s.spec.Name) && st.Outcome == failed.Outcome && strings.HasPrefix(st.Description, failed.Description)
		if isFailure && !st.Time.Before(s.stage.PromotedAt) && s.facts.Now.Before(st.Time.Add(failureKept)) {
			failed.Description = st.Description
			return failed
		}
	}
	reason := text.CleanLine(s.stage.Proof.Reason)
	if reason != "" {
		failed.Description = text.Limit(failed.Description+": "+reason, maxDescription)
	}
	return failed
}

// statusSteps returns the statuses to set, one after the other, so that a commit has one that it
// should have; none if it has. A status from before the promotion belongs to an earlier one. anew
// reports whether the commit has a status of that context.
func statusSteps(said []gate.CommitStatus, want forge.Status, promotedAt time.Time) (steps []forge.Status, anew bool) {
	i := slices.IndexFunc(said, func(st gate.CommitStatus) bool { return st.Context == want.Context })
	if i < 0 {
		return []forge.Status{want}, false
	}
	same := said[i].Outcome == want.Outcome && said[i].Description == want.Description
	switch {
	case same && !said[i].Time.Before(promotedAt):
		return nil, false
	case same && want.Outcome != forge.Pending: // a status that is set again may keep its time
		begun := promotedStatus
		begun.Context = want.Context
		return []forge.Status{begun, want}, true
	}
	return []forge.Status{want}, true
}
