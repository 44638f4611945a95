package plaintext

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// TestPages: pages that no command prints are texts that people read, whatever names and messages have in them.
func TestPages(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	bad := answer.State{Tone: answer.Bad, Word: "failed"}
	part := stackfiles.ComponentSummary{Name: "database", Type: "tofu", After: []string{"network"}}
	for _, c := range []struct {
		of   any
		want string
	}{
		{answer.Found{}, "write what to search for: /search?q=TEXT\n"},
		{answer.Found{Text: "x\x1b[2J"}, "nothing is called \"x\\x1b[2J\"\n"},
		{answer.Found{Workloads: []string{"web"}, Clusters: []string{"eu/1"}}, "WHAT      NAME  PAGE\nworkload  web   /workloads/web\ncluster   eu/1  /clusters/eu%2F1\n"},
		{answer.Inbox{For: "me"}, "it is not known who you are: sign in, or send a bearer token\n"},
		{answer.Inbox{For: "me", SignedIn: true, Total: 2}, "nothing waits for you; 2 things in all\n"},
		{answer.Inbox{Items: []answer.InboxItem{{Need: answer.Need{State: bad, Environment: "prod", Reason: "shop/dev: broke\nit", Stack: "shop/dev", Levers: []string{"hold"}}, Done: "held"}}}, "ENVIRONMENT  STATE   WHY                       ACTIONS\nprod         failed  shop/dev: broke it; held  hold\n"},
		{answer.Me{}, "you have not signed in\n"},
		{answer.Me{SignedIn: true, Name: "alice", Email: "a@example.com", Issuer: "proxy", Subject: "1", Permissions: []answer.Permission{{Environment: "dev", Levers: []string{"hold"}, Refused: []string{"only sre may freeze"}}}},
			"alice <a@example.com>, known to proxy as 1\ngroups that count: -\n\nENVIRONMENT  MAY   MAY NOT\ndev          hold  only sre may freeze\n"},
		{answer.Lever{Question: "Hold prod?", Effects: []string{"nothing goes on"}, Impact: "1 change\n\n", Command: "fairlead hold prod"}, "Hold prod?\n- nothing goes on\n\n1 change\n\nfairlead hold prod\n"},
		{answer.Lever{Question: "Hold prod?", Refusal: "it is held", Hint: "release it", Nothing: "it is held", Unknown: "no output", Asks: []answer.LeverField{{Name: "to", Title: "To"}}}, "Hold prod?\nasks for to: To\nit is held\nhint: release it\nthere is nothing to do: it is held\nwhat changes in the output is not known: no output\n"},
		{answer.Stacks{Total: 1}, "no stack is like that\n"},
		{answer.Stack{StackPart: answer.StackPart{Environment: "dev", Stack: "shop/dev", State: bad, Reason: "it broke"}, Parts: []answer.StackComponent{{ComponentSummary: part, State: &bad, Reported: &stackview.Status{Message: "quota"}, WaitsFor: []string{"network"}}}, Problems: []answer.Problem{{Kind: answer.Mistake, Place: "base/stack.yaml:3", Summary: "no module"}}},
			"shop/dev in dev: failed, it broke\n\nCOMPONENT  TYPE  STATE   AGE  PLAN  AFTER    WAITS FOR  MESSAGE\ndatabase   tofu  failed  -    -     network  network    quota\n\nmistake: base/stack.yaml:3: no module\n"},
		{answer.Workload{Late: []answer.AssignmentPart{{Environment: "prod", ClusterType: "large", Target: "web", State: &bad, Reason: "OOM"}}, MoreLate: 3, Releases: []fleetview.Release{{Target: "web", Environment: "prod", Version: "1.5", Since: now, Clusters: 2}}},
			"nothing is assigned\n\nNOT READY        STATE   RUNS  WANTS  WHY\nprod: large/web  failed  -     -      OOM\nand 3 more\n\nit has no deployment target\n\nSINCE                 VERSION  TARGET  ENVIRONMENT  UNTIL  CLUSTERS  FAILED\n2026-11-21T12:00:00Z  1.5      web     prod         -      2         0\n"},
		{answer.Cluster{Name: "eu-7"}, "eu-7\nit has not reported\n"},
		{answer.Cluster{Name: "eu-7", Standings: []answer.ClusterStanding{{Cluster: fleetview.Cluster{Name: "eu-7", Environment: "prod", Revision: "prod@sha1:c1d1e1f1a1b1c1d1e1f1a1b1c1d1e1f1a1b1c1d1", LastSeen: now.Add(-time.Minute)}, State: bad}}, Objects: []fleetview.ClusterObject{{Object: "Kustomization/a/b", Phase: "failed", Message: "no"}}},
			"eu-7\n\nCLUSTER  ENVIRONMENT  STATE   RUNS            LAST SEEN  WHY\neu-7     prod         failed  output c1d1e1f  1m         -\n\nOBJECT             PHASE   RUNS  MESSAGE\nKustomization/a/b  failed  -     no\n"},
		{answer.Assignment{AssignmentPart: answer.AssignmentPart{Environment: "prod", ClusterType: "large", Target: "web", State: &bad, Wanted: "2", Reason: "OOM"}, Assigned: true, Versions: []answer.ClusterVersion{{Version: "1", Clusters: 2}, {Clusters: 1}}},
			"large/web in prod: failed\nwanted: 2\nruns: 1 on 2 clusters, nothing yet on 1 cluster\nOOM\n\nthe environment has no policy\n"},
	} {
		got, err := FormatAnswer(c.of, Facts{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%T (-want +got):\n%s", c.of, diff)
		}
	}
	if got, err := FormatAnswer(answer.Fleet{}, Facts{Filtered: true}); err != nil || got != "nothing that is assigned is like that\n" {
		t.Errorf("a filter that nothing is like has %q, %v", got, err)
	}
	if _, err := FormatAnswer(0, Facts{}); err == nil {
		t.Error("a number is a page")
	}
}
