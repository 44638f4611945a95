package actions

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// What counts as proven before prod, which comes after stage and canary, which come
// after dev.
func TestUnproven(t *testing.T) {
	v := snapshot{
		history: promote.NewLine([]string{"d4", "c3", "b2", "a1"}),
		chain: model.Chain{Stages: []model.Stage{
			{Name: "dev"}, {Name: "stage", After: []string{"dev"}}, {Name: "canary", After: []string{"dev"}}, {Name: "prod", After: []string{"stage", "canary"}},
		}},
	}
	v.stage = *v.chain.Stage("prod")
	proven := gate.Verdict{Status: gate.Pass, Reason: "it is proven"}
	at := func(name, commit string, proof gate.Verdict, merged bool) status.Stage {
		return status.Stage{Environment: name, Commit: commit, Merged: merged, Proof: proof}
	}
	next := func(to string, after gate.Status, drops ...string) status.Stage {
		return status.Stage{Environment: "prod", Next: promote.Decision{Candidate: to, Skipped: drops, Verdict: gate.Verdict{Parts: []gate.Verdict{{Gate: "after", Status: after}}}}}
	}
	all := []status.Stage{at("dev", "c3", proven, true), at("stage", "c3", proven, true), at("canary", "c3", proven, true)}
	with := func(s status.Stage) []status.Stage {
		out := []status.Stage{s}
		for _, o := range all {
			if o.Environment != s.Environment {
				out = append(out, o)
			}
		}
		return out
	}
	for _, test := range []struct {
		name, commit string
		stages       []status.Stage
		want         string
	}{
		{"in both", "c3", all, ""},
		{"in one of them not yet", "c3", with(at("canary", "c3", gate.Verdict{Status: gate.Wait, Reason: "it soaks"}, true)), "c3 is not verified in canary yet: it soaks"},
		{"a proof of what is not merged", "c3", with(at("stage", "c3", proven, false)), "c3 is not verified in stage yet: it is proven"},
		{"a verdict that nobody has given", "c3", with(at("stage", "c3", gate.Verdict{}, true)), "c3 is not verified in stage yet: "},
		{"it failed", "c3", with(at("stage", "c3", gate.Verdict{Status: gate.Fail, Reason: "no"}, true)), "c3 failed in stage: no"},
		{"one has none", "c3", with(at("stage", "", proven, true)), "stage has no commit yet"},
		{"one has an older one", "c3", with(at("stage", "b2", proven, true)), "stage has an older commit, b2"},
		{"one has a newer one", "b2", all, "there is no record that b2 was verified in stage, which has c3 now"},
		{"one that went back further up", "c3", with(at("dev", "b2", proven, true)), "dev is behind it, with b2"},
		{"one is not known", "c3", all[:2], "it is not known whether c3 was verified in canary"},
		{"the daemon would promote it", "b2", append(all, next("b2", gate.Pass)), ""},
		{"the daemon would leave it out for a newer one", "a1", append(all, next("b2", gate.Pass, "a1")), ""},
		{"the daemon waits for it", "b2", append(all, next("b2", gate.Wait)), "there is no record that b2 was verified in stage, which has c3 now"},
	} {
		if got := v.proofObjection(&status.Chain{Stages: test.stages}, test.commit); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	v.stage = *v.chain.Stage("dev")
	if got := v.proofObjection(nil, "d4"); got != "" {
		t.Errorf("the first environment: %q", got)
	}
}

func TestUngated(t *testing.T) {
	v := snapshot{stage: model.Stage{Name: "prod", Gates: []model.GateSpec{{Kind: "approval"}}}}
	decided := func(to string, gates ...gate.Verdict) *status.Chain {
		return &status.Chain{Stages: []status.Stage{{Environment: "prod", Next: promote.Decision{Candidate: to, Verdict: gate.Verdict{Parts: gates}}}}}
	}
	for _, test := range []struct {
		name  string
		known *status.Chain
		want  string
	}{
		{"they pass", decided("c3", gate.Verdict{Gate: "gates", Status: gate.Pass}), ""},
		{"they wait", decided("c3", gate.Verdict{Gate: "gates", Status: gate.Wait, Reason: "1 approval missing"}), "c3 may not enter prod: 1 approval missing"},
		{"they were asked about another", decided("d4", gate.Verdict{Gate: "gates", Status: gate.Pass}), "the gates of prod have not evaluated c3 yet"},
		{"they were not asked", decided("c3"), "the gates of prod have not evaluated c3 yet"},
		{"nobody knows", nil, "the verdict of the gates of prod is not known"},
	} {
		if got := strings.Join(v.findGateObjections(test.known, "c3"), "; "); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
