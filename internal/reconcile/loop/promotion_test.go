package loop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// fleetOf makes a world whose base says in which order commits go, and a daemon that
// promotes.
func fleetOf(t *testing.T, layout scaffold.Layout, promotion string, environments ...string) *world {
	t.Helper()
	w := newWorld(t, layout, environments...)
	w.more = "write: true\n"
	w.people.Pull("main")
	w.people.Write(promotionFile, "apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: fleet}\nspec:\n  environments:\n"+promotion)
	w.people.Commit("say in which order commits go")
	w.people.Push("main")
	return w
}

// change commits a change of the base that all environments show, and gives its id.
func (w *world) change(level int) string {
	w.Helper()
	w.people.Pull("main")
	w.people.Write("configs/level.yaml", fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: level, labels: {platform-config: \"true\"}}\ndata: {LEVEL: \"%d\"}\n", level))
	id := w.people.Commit(fmt.Sprintf("level %d", level))
	w.people.Push("main")
	return id
}

// head gives the commit of a branch.
func (w *world) head(repo, branch string) string {
	w.Helper()
	return gittest.Commit(w, w.server.Dir(repo), branch)
}

// says has a cluster's reconciler say something of the output of an environment, as
// Flux's notification-controller does.
func (w *world) says(branch, context string, outcome forge.Outcome, text string) {
	w.Helper()
	err := w.plain("out").SetStatus(w.Context(), w.head("out", branch), forge.Status{Context: context, Outcome: outcome, Description: text})
	if err != nil {
		w.Fatal(err)
	}
}

// told gives what was said of a commit of the control plane, a line for each context.
func (w *world) told(commit string) string {
	w.Helper()
	said, err := w.plain("cp").Statuses(w.Context(), commit)
	if err != nil {
		w.Fatal(err)
	}
	var lines []string
	for _, s := range said {
		if !strings.HasPrefix(s.Context, "fairlead/") {
			lines = append(lines, fmt.Sprintf("%s: %s %s", s.Context, s.Outcome, s.Description))
		}
	}
	return strings.Join(lines, "\n")
}

// record gives the commit that an environment was given.
func (w *world) record(environment string) string {
	w.Helper()
	commit, err := promote.RecordedCommit([]byte(gittest.Show(w, w.server.Dir(w.cp()), environment, "base-repo.yaml")))
	if err != nil {
		w.Fatal(err)
	}
	return commit
}

// stage gives what is known of an environment's promotions.
func (d *daemon) stage(environment string) status.Stage {
	d.Helper()
	chain := d.store.Snapshot().Chain
	if len(chain.Problems) > 0 {
		d.Logf("the chain has problems: %v", chain.Problems)
	}
	s, ok := chain.FindStage(environment)
	if !ok {
		d.Fatalf("nothing is known of %s; the log:\n%s", environment, d.logs.String())
	}
	return s
}

// wantRecords checks which commit each environment has.
func (w *world) wantRecords(want map[string]string) {
	w.Helper()
	got := map[string]string{}
	for environment := range want {
		got[environment] = w.record(environment)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Fatalf("records (-want +got):\n%s\nthe log:\n%s", diff, w.logs.String())
	}
}

// TestPromotion takes a commit through three environments.
func TestPromotion(t *testing.T) {
	for name, layout := range map[string]scaffold.Layout{"branches": scaffold.Branches, "folders": scaffold.Folders} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, layout, `
    - name: dev
    - name: stage
      after: [dev]
      proof: [rollout, soak: 90m]
    - name: prod
      after: [stage]
      gates:
        - approval: {by: [a@example.com]}
`, "dev", "prod", "stage")
			branch := func(environment string) string {
				if layout == scaffold.Folders {
					return "main"
				}
				return environment
			}
			first := w.change(1)
			d := w.begin(w.data)
			d.cycle()
			w.wantRecords(map[string]string{"dev": first, "stage": "", "prod": ""})
			d.cycle()
			w.merge("dev")
			d.cycle()
			// What nobody has promoted to an environment is not proposed to it.
			d.want(map[string]status.State{"dev": status.InSync, "stage": status.Waiting, "prod": status.Waiting})
			if got, want := d.state("prod").Reason, "no commit was promoted to it yet; it comes after stage"; got != want {
				t.Errorf("of prod is said %q, want %q", got, want)
			}
			if got, want := w.told(first), "dev environment: pending Deploying"; got != want {
				t.Fatalf("of the commit is said %q, want %q", got, want)
			}
			w.says(branch("dev"), "kustomization/dev-apps/1111", forge.Success, "reconciled")
			d.cycle()
			w.wantRecords(map[string]string{"dev": first, "stage": first, "prod": ""})
			if got := d.stage("stage").Next.State; got != promote.Promotes {
				t.Errorf("stage is said to be %s", got)
			}
			d.cycle()
			w.merge("stage")
			w.says(branch("stage"), "kustomization/stage-apps/2222", forge.Success, "reconciled")
			d.cycle()
			if got, want := w.told(first), "dev environment: success Deployed\nstage environment: success Deployed"; got != want {
				t.Fatalf("of the commit is said\n%s\nwant\n%s", got, want)
			}
			d.cycle() // an hour later, it still soaks
			w.wantRecords(map[string]string{"dev": first, "stage": first, "prod": ""})
			next := d.stage("prod").Next
			if next.State != promote.Waiting || !strings.Contains(next.Verdict.Reason, "soaks") {
				t.Errorf("prod is %s: %s", next.State, next.Verdict.Reason)
			}
			if next.Verdict.NextChange().Sub(w.now) > 30*time.Minute {
				t.Errorf("it is looked at again at %s, and now is %s", next.Verdict.NextChange(), w.now)
			}
			d.cycle()
			next = d.stage("prod").Next
			if next.Candidate != first || !strings.Contains(next.Verdict.Reason, "approv") {
				t.Errorf("prod is %s for %s: %s", next.State, next.Candidate, next.Verdict.Reason)
			}
			w.approve("prod", first)
			d.cycle()
			w.wantRecords(map[string]string{"dev": first, "stage": first, "prod": first})
		})
	}
}

// approve has a person approve a commit in an environment's branch.
func (w *world) approve(environment, commit string) {
	w.Helper()
	w.people.Pull(environment)
	w.people.Write(".fairlead/approvals/person.yaml", "apiVersion: fairlead.io/v1alpha1\nkind: Approval\nmetadata: {name: person}\nspec: {commit: \""+commit+"\"}\n")
	w.people.Commit("approve")
	w.people.Push(environment)
}
