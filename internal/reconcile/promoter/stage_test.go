package promoter

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// TestCompileGates: a proof always has the merge in it, and the rollout unless another is written.
func TestCompileGates(t *testing.T) {
	specs := func(kinds ...string) []model.GateSpec {
		all := []model.GateSpec{}
		for _, kind := range kinds {
			all = append(all, model.NewGateSpec(kind, problem.Pos{}))
		}
		return all
	}
	for name, test := range map[string]struct {
		proof []model.GateSpec
		want  []string
	}{
		"none is written":       {nil, []string{"merged", "rollout"}},
		"an empty one":          {specs(), []string{"merged"}},
		"the rollout":           {specs("rollout"), []string{"merged", "rollout"}},
		"the merge":             {specs("merged"), []string{"merged"}},
		"the merge, and others": {specs("rollout", "merged"), []string{"rollout", "merged"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stageState{spec: model.Stage{Name: "dev", Proof: test.proof}}
			if problems := s.compileGates(nil); len(problems) > 0 {
				t.Fatal(problems)
			}
			var got []string
			for _, g := range s.running.Gates {
				got = append(got, g.Name())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("the proof is %v, want %v", got, test.want)
			}
			if len(s.enterGates.Gates)+len(s.soaking.Gates) != 0 {
				t.Errorf("there are other gates: %v, %v", s.enterGates.Gates, s.soaking.Gates)
			}
		})
	}
}

// TestDeployedSince: only a success that was said since the promotion counts.
func TestDeployedSince(t *testing.T) {
	said := func(context string, outcome gate.Outcome, at time.Duration) gate.CommitStatus {
		return gate.CommitStatus{Context: context, Outcome: outcome, Time: noon.Add(at)}
	}
	for name, test := range map[string]struct {
		said []gate.CommitStatus
		want time.Duration // after the promotion; 0 for never
	}{
		"nothing":                 {},
		"deployed":                {[]gate.CommitStatus{said("dev environment", forge.Success, time.Minute)}, time.Minute},
		"deploying":               {[]gate.CommitStatus{said("dev environment", forge.Pending, time.Minute)}, 0},
		"in another environment":  {[]gate.CommitStatus{said("prod environment", forge.Success, time.Minute)}, 0},
		"by an earlier promotion": {[]gate.CommitStatus{said("dev environment", forge.Success, -time.Minute)}, 0},
		"among others":            {[]gate.CommitStatus{said("ci", forge.Success, time.Second), said("dev environment", forge.Success, time.Hour)}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			if got, want := deployedSince(test.said, "dev environment", noon), fromNoon(test.want); !got.Equal(want) {
				t.Errorf("deployed since %v, want %v", got, want)
			}
		})
	}
}

// TestStopUnknown: what cannot be found out stops the stage and its proof; the first error is the
// one that is shown.
func TestStopUnknown(t *testing.T) {
	s := &stageState{stage: promote.Stage{Position: promote.Position{Proof: gate.Verdict{Status: gate.Pass}}}}
	first := errors.New("the server is down")
	s.recordError(first)
	s.stopUnknown(errors.New("another"))
	const want = "it cannot be found out: another"
	if s.err != first || s.stage.StoppedReason != want || s.stage.Proof.Status != gate.Wait || s.stage.Proof.Reason != want {
		t.Errorf("error %v, stopped %q, proof %+v", s.err, s.stage.StoppedReason, s.stage.Proof)
	}
}

// TestWasNotReverted: an earlier commit counts as proven only if everything that the record named
// since is newer.
func TestWasNotReverted(t *testing.T) {
	h := promote.NewLine([]string{"d", "c", "b", "a"})
	for name, test := range map[string]struct {
		versions []string // newest first
		want     bool
	}{
		"newer ones since":            {[]string{"d", "c", "b", "a"}, true},
		"it was the last":             {[]string{"b"}, true},
		"the same again":              {[]string{"c", "b", "c", "b"}, true},
		"an older one since":          {[]string{"d", "a", "b"}, false},
		"one of another line since":   {[]string{"d", "x", "b"}, false},
		"it never had it":             {[]string{"d", "c"}, false},
		"a broken record in between":  {[]string{"d", "{", "b"}, true},
		"an empty record in between":  {[]string{"d", "", "b"}, true},
		"older than all that is read": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			var versions [][]byte
			for _, commit := range test.versions {
				text := []byte("not: [yaml")
				if commit != "{" {
					text = promote.NewRecord("https://git.example.com/plane", "main", commit)
				}
				versions = append(versions, text)
			}
			if got := wasNotReverted(versions, "b", h); got != test.want {
				t.Errorf("not reverted: %v, want %v", got, test.want)
			}
		})
	}
}

// TestProofCandidates: of a stage, the commits are looked at that a stage after it may still get.
func TestProofCandidates(t *testing.T) {
	h := promote.NewLine([]string{"e", "d", "c", "b", "a"})
	stage := func(name, commit string, after ...string) *stageState {
		return &stageState{spec: model.Stage{Name: name, After: after}, stage: promote.Stage{Name: name, Position: promote.Position{Commit: commit}}}
	}
	stopped := stage("prod", "a", "dev")
	stopped.stage.StoppedReason = "its branch cannot be read"
	for name, test := range map[string]struct {
		commit string
		after  []*stageState
		want   []string
	}{
		"nothing comes after":           {"d", nil, nil},
		"one is behind":                 {"d", []*stageState{stage("prod", "a", "dev")}, []string{"c", "b"}},
		"one has the same":              {"d", []*stageState{stage("prod", "d", "dev")}, []string{"c", "b", "a"}}, // it may go back
		"two are behind":                {"e", []*stageState{stage("prod", "c", "dev"), stage("qa", "a", "dev")}, []string{"d", "c", "b"}},
		"one that does not come after":  {"d", []*stageState{stage("prod", "a", "qa")}, nil},
		"one is stopped":                {"d", []*stageState{stopped}, nil},
		"its commit is not on the base": {"x", []*stageState{stage("prod", "a", "dev")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := stage("dev", test.commit)
			if got := (&Promoter{}).proofCandidates(append(test.after, s), s, h); !slices.Equal(got, test.want) {
				t.Errorf("candidates %v, want %v", got, test.want)
			}
		})
	}
}
