package status_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

var update = flag.Bool("update", false, "rewrite the wanted JSON in testdata")

// chain gives one with something in every field, which shares nothing with another.
func chain() status.Chain {
	soak := gate.Verdict{Gate: "soak", Status: gate.Wait, Reason: "it soaks for 30m", ValidUntil: noon.Add(20 * time.Minute)}
	return status.Chain{
		Inferred: "the order of the files in .environments", External: true, Head: "c4", Unconnected: true, Checked: noon,
		Problems: problem.List{{Pos: problem.Pos{Layer: "base", File: "promotion.yaml", Line: 9}, Subject: "Promotion/fleet",
			Summary: "environment edge is not in the Promotion, so no commit is promoted to it", Hint: "list it", Warning: true}},
		Stages: []status.Stage{
			{Environment: "dev", State: status.StageEmpty, Shown: status.StageEmpty},
			{
				State: status.StageRollingOut, Shown: status.StageHeld, Environment: "stage", After: []string{"dev", "test"}, Commit: "c1", Since: noon.Add(-time.Hour), Behind: 3, Merged: true,
				Deployed: noon.Add(-time.Minute), Hold: "incident 7", Action: "held: incident 7", ActionOnPage: "held: incident 7",
				Proof: gate.Verdict{Gate: "proof", Status: gate.Wait, Reason: soak.Reason, Parts: []gate.Verdict{{Gate: "all", Status: gate.Wait, Reason: soak.Reason, Parts: []gate.Verdict{soak}}}},
				Next: promote.Decision{Environment: "stage", State: promote.Held, Current: "c1", Candidate: "c4", Skipped: []string{"c3", "c2"},
					Verdict: gate.Verdict{Gate: "stage", Status: gate.Wait, Reason: "it is held: incident 7", Parts: []gate.Verdict{soak}}},
			},
		},
	}
}

// TestChainIsCopied writes into everything that a chain points to: after it was set,
// and after it was read.
func TestChainIsCopied(t *testing.T) {
	spoil := func(c status.Chain) {
		c.Problems[0].Summary = "spoilt"
		s := &c.Stages[1]
		s.After[0], s.Next.Skipped[0] = "spoilt", "spoilt"
		s.Proof.Parts[0].Parts[0].Reason, s.Next.Verdict.Parts[0].Reason = "spoilt", "spoilt"
		c.Stages[0].Environment = "spoilt"
	}
	var s status.Store
	given := chain()
	s.SetPromotions(given)
	spoil(given)
	if diff := cmp.Diff(chain(), s.Snapshot().Chain); diff != "" {
		t.Errorf("after it was set (-want +got):\n%s", diff)
	}
	spoil(s.Snapshot().Chain)
	if diff := cmp.Diff(chain(), s.Snapshot().Chain); diff != "" {
		t.Errorf("after it was read (-want +got):\n%s", diff)
	}
}

// TestChainIsReplaced keeps nothing of the chain before.
func TestChainIsReplaced(t *testing.T) {
	var s status.Store
	s.SetPromotions(chain())
	s.SetPromotions(status.Chain{Head: "c5"})
	want := status.Chain{Head: "c5", Problems: problem.List{}, Stages: []status.Stage{}}
	if diff := cmp.Diff(want, s.Snapshot().Chain); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStage(t *testing.T) {
	for name, want := range map[string]struct {
		commit string
		ok     bool
	}{"dev": {"", true}, "stage": {"c1", true}, "prod": {"", false}, "": {"", false}} {
		s, ok := chain().FindStage(name)
		if ok != want.ok || s.Commit != want.commit || ok && s.Environment != name {
			t.Errorf("%q is %q with commit %q, found %v; want commit %q, found %v", name, s.Environment, s.Commit, ok, want.commit, want.ok)
		}
	}
}

// TestChainJSON holds the shape of a chain that programs read, and of none.
func TestChainJSON(t *testing.T) {
	var full, none status.Store
	full.SetPromotions(chain())
	for path, s := range map[string]*status.Store{"testdata/chain.json": &full, "testdata/nochain.json": &none} {
		got, err := json.MarshalIndent(s.Snapshot().Chain, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got); go test -update rewrites it:\n%s", path, diff)
		}
	}
}

// TestEarlyHint: what is proposed before it is verified in the environments before is named, with them, and nothing else is.
func TestEarlyHint(t *testing.T) {
	stage := func(name, commit string, state status.StageState, after ...string) status.Stage {
		return status.Stage{Environment: name, Commit: commit, State: state, After: after}
	}
	for _, c := range []struct {
		name   string
		stages []status.Stage
		want   []string // which environments it names; nil for no hint
	}{
		{"a new control plane", []status.Stage{stage("dev", "c1", status.StageProposed), stage("stage", "c1", status.StageProposed, "dev"), stage("prod", "c1", status.StageProposed, "stage")}, []string{"stage", "prod", "dev"}},
		{"the first one rolls out", []status.Stage{stage("dev", "c1", status.StageRollingOut), stage("stage", "c1", status.StageProposed, "dev")}, []string{"stage", "dev"}},
		{"it is verified", []status.Stage{stage("dev", "c1", status.StageVerified), stage("stage", "c1", status.StageProposed, "dev")}, nil},
		{"a newer commit was verified here before", []status.Stage{stage("dev", "c2", status.StageRollingOut), stage("stage", "c1", status.StageProposed, "dev")}, nil},
		{"it is merged", []status.Stage{stage("dev", "c1", status.StageRollingOut), stage("stage", "c1", status.StageRollingOut, "dev")}, nil},
		{"no commit", []status.Stage{stage("dev", "", status.StageEmpty), stage("stage", "", status.StageEmpty, "dev")}, nil},
		{"only Git was read", []status.Stage{stage("dev", "c1", status.StagePromoted), stage("stage", "c1", status.StagePromoted, "dev")}, nil},
	} {
		hint := status.Chain{Stages: c.stages}.EarlyHint()
		if (hint == "") != (c.want == nil) {
			t.Errorf("%s: the hint is %q", c.name, hint)
		}
		for _, name := range c.want {
			if !strings.Contains(hint, name) {
				t.Errorf("%s: %q does not name %s", c.name, hint, name)
			}
		}
	}
}
