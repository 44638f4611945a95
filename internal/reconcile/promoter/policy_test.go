package promoter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/sign"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// TestApplyChain: a written Promotion says who merges, and whose output waits for a first
// promotion; while it has problems, people merge, and everything waits.
func TestApplyChain(t *testing.T) {
	wrong := problem.List{{Summary: "there is no environment prd"}}
	const first = "no commit was promoted to it yet; it comes after dev, qa"
	const broken = "no commit was promoted to it yet, and what is written about promotion has problems"
	for name, test := range map[string]struct {
		written  bool
		chain    model.Chain
		problems problem.List
		inBase   problem.List // in what the base says about promotion
		merge    map[string]string
		waits    map[string]string
	}{
		"nothing is written": {chain: model.Chain{Stages: []model.Stage{{Name: "prod", After: []string{"dev"}}}}},
		"external":           {written: true, chain: model.Chain{External: true}},
		"written": {
			written: true, chain: model.Chain{Stages: []model.Stage{{Name: "dev"}, {Name: "prod", After: []string{"dev", "qa"}, Merge: "direct"}}},
			merge: map[string]string{"prod": "direct"}, waits: map[string]string{"prod": first},
		},
		"with problems": {
			written: true, problems: wrong, merge: map[string]string{"dev": "manual", "prod": "manual"}, waits: map[string]string{"dev": broken, "prod": broken},
		},
		"unreadable": {
			problems: wrong, inBase: wrong, merge: map[string]string{"dev": "manual", "prod": "manual"}, waits: map[string]string{"dev": broken, "prod": broken},
		},
		"with warnings": {written: true, problems: problem.List{{Summary: "unused", Warning: true}}, chain: model.Chain{Stages: []model.Stage{{Name: "dev"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			o := Policy{Merge: map[string]string{}, chain: test.chain, problems: test.problems}
			o.base = source.Base{Environments: []*model.Environment{environmentNamed("dev"), environmentNamed("prod")}, Progress: &model.Progress{Problems: test.inBase}}
			if test.written {
				o.base.Progress.Promotions = []*model.Promotion{{}}
			}
			waits := o.applyChain()
			if diff := cmp.Diff(orEmpty(test.waits), waits); diff != "" {
				t.Errorf("what waits (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(orEmpty(test.merge), o.Merge); diff != "" {
				t.Errorf("who merges (-want +got):\n%s", diff)
			}
		})
	}
}

func environmentNamed(name string) *model.Environment {
	return &model.Environment{Object: model.Object{Name: name}}
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// TestPolicyLimits: before the base was read, the limits are those of an environment without any.
func TestPolicyLimits(t *testing.T) {
	if got := (Policy{}).Limits("dev"); got != model.DefaultLimits() {
		t.Errorf("the limits are %+v", got)
	}
}

// TestAuthors: each author counts once, and one without a name is nobody; who made a commit at the page is known by the
// sign-in, and a login is added where the forge knows it.
func TestAuthors(t *testing.T) {
	commit := func(name, email string) git.CommitInfo {
		return git.CommitInfo{Author: git.Signature{Name: name, Email: email}}
	}
	signedIn := commit("Cy", "cy@example.com")
	signedIn.ID, signedIn.Message = "3", "Freeze\n\nFairlead-Via: web\nFairlead-Actor: https://issuer.example.com#7\nFairlead-Alias: cyrus\n"
	forged := commit("Di", "di@example.com")
	forged.Message = "Fix\n\nFairlead-Actor: https://issuer.example.com#7\n"
	all := []git.CommitInfo{commit("Bo", "bo@example.com"), commit("Bo", "bo@example.com"), commit("Bo", ""), commit("", ""), signedIn, forged}
	got, err := (&Promoter{}).readAuthors(all, func(commit string) (string, error) { return map[string]string{"3": "cy"}[commit], nil })
	want := []gate.Person{
		{Names: []string{"bo@example.com", "Bo"}}, {Names: []string{"", "Bo"}}, {Actor: "https://issuer.example.com#7", Login: "cy", Names: []string{"cy@example.com", "Cy"}},
		{Names: []string{"di@example.com", "Di"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"cyrus", "Cy"}, ReadPerson(signedIn, sign.Keys{}).Claims); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

// TestUnreadableRestraints: what has problems may be a hold or a freeze; a warning is neither, and
// neither is a problem of one environment's file.
func TestUnreadableRestraints(t *testing.T) {
	at := func(file, subject string) problem.Problem {
		return problem.Problem{Pos: problem.Pos{File: file}, Subject: subject, Summary: "wrong"}
	}
	warning := at(".fairlead/freezes/a.yaml", "Freeze/a")
	warning.Warning = true
	for name, test := range map[string]struct {
		base, branch problem.List
		want         []string
	}{
		"nothing":                       {},
		"a freeze":                      {base: problem.List{at(".fairlead/freezes/a.yaml", "Freeze/a")}, want: []string{"freeze"}},
		"a freeze beside environments":  {base: problem.List{at(".environments/all.yaml", "Freeze/a")}, want: []string{"freeze"}},
		"one environment of the base":   {base: problem.List{at(".environments/dev.yaml", "Environment/dev")}},
		"a hold":                        {branch: problem.List{at(".fairlead/hold.yaml", "Hold/hold")}, want: []string{"hold"}},
		"both":                          {base: problem.List{at("a.yaml", "")}, branch: problem.List{at("b.yaml", "")}, want: []string{"freeze", "hold"}},
		"a warning":                     {base: problem.List{warning}, branch: problem.List{warning}},
		"a warning, and then a problem": {branch: problem.List{warning, at("b.yaml", "")}, want: []string{"hold"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range unreadableRestraints(source.Base{Progress: &model.Progress{Problems: test.base}}, source.Branch{Progress: &model.Progress{Problems: test.branch}}) {
				if !r.scope.Restrains("a", "b") {
					t.Errorf("%s lets something pass", r.withholding.Cause)
				}
				got = append(got, string(r.withholding.Cause))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
