package loop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestUnreachableBesideProblems: a repository that cannot be reached hides nothing that people can
// fix: the status, the issue and the log have all of it, and that repository too. Nothing is
// written meanwhile. On its own it is no problem of the control plane: it is tried again.
func TestUnreachableBesideProblems(t *testing.T) {
	for repo, environment := range map[string]string{"till": "dev", "other": "prod"} {
		t.Run(repo, func(t *testing.T) {
			w := newWideWorld(t)
			const dependency = "  annotations: {fairlead.io/depends-on: shop}\n"
			if repo == "till" { // what it depends on may be in there
				w.edit("main", "workloads/hello.yaml", "  labels:", dependency+"  labels:")
			}
			w.edit(environment, "cluster-types/cloud.yaml", "kind: ClusterType", "kind: ClusterTypo")
			w.edit(environment, "cluster-types/edge.yaml", "reconciler: argocd", "reconciler: argoed")
			remove := w.server.Inject(repo, gittest.Fault{Reset: true})
			d := w.begin(w.data)
			var issue string
			for range 3 { // in some of them it is not even asked
				d.cycle()
				w.now = w.now.Add(time.Second)
				s := d.state(environment)
				if s.State != status.Problems || s.Error != "" {
					t.Fatalf("it is %s, %s", s.State, s.Error)
				}
				all := d.problems(environment)
				for _, want := range []string{"ClusterTypo", "argoed", w.server.URL(repo) + " cannot be re"} {
					if !strings.Contains(all, want) {
						t.Errorf("the problems do not have %q:\n%s", want, all)
					}
				}
				if strings.Contains(all, "it depends on") {
					t.Errorf("what could not be read is said to be missing:\n%s", all)
				}
				if s.Output.Commit != "" || w.has(map[string]string{"dev": "out", "prod": "other"}[environment], environment, 0) {
					t.Error("something was written")
				}
				if repo == "other" { // the issue is there
					continue
				}
				told := strings.Join(w.issues(environment), "\n")
				for _, want := range []string{"ClusterTypo", "argoed", strings.TrimPrefix(w.server.URL(repo), "http://")} {
					if !strings.Contains(told, want) {
						t.Errorf("the issue does not have %q:\n%s", want, told)
					}
				}
				if issue != "" && told != issue {
					t.Errorf("the issue changes from one round to the next:\n%s\n%s", issue, told)
				}
				issue = told
			}
			if log := w.logs.String(); !strings.Contains(log, "environment="+environment+" state=problems") || !strings.Contains(log, "cannot be reached") {
				t.Errorf("the log is %s", log)
			}
			remove()
			w.now = w.now.Add(time.Hour)
			d.cycle()
			if all := d.problems(environment); strings.Contains(all, w.server.URL(repo)) || !strings.Contains(all, "argoed") {
				t.Errorf("it is reached, and the problems are %s", all)
			}
			if repo == "till" {
				w.edit("main", "workloads/hello.yaml", dependency, "")
			}
			w.edit(environment, "cluster-types/cloud.yaml", "kind: ClusterTypo", "kind: ClusterType")
			w.edit(environment, "cluster-types/edge.yaml", "reconciler: argoed", "reconciler: argocd")
			d.cycle()
			d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Proposed})
		})
	}
}

// problems returns all problems of an environment that stop it.
func (d *daemon) problems(environment string) string {
	d.Helper()
	var all []string
	for _, p := range d.state(environment).Problems {
		if !p.Warning {
			all = append(all, p.String())
		}
	}
	return strings.Join(all, "\n")
}

// TestUnreachableControlPlane: while the control plane cannot be read, cycles have failed, though an old copy of
// it is used.
func TestUnreachableControlPlane(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	d := w.begin(w.data)
	d.cycle()
	remove := w.server.Inject("cp", gittest.Fault{Reset: true})
	for _, want := range []string{status.OutcomeFailed, status.OutcomeOK} {
		w.now = w.now.Add(time.Hour)
		d.cycle()
		if now := d.store.Snapshot(); now.Cycle.Outcome != want || (now.Cycle.Error == "") != (want == status.OutcomeOK) {
			t.Errorf("the cycle was %s (%s), and should be %s", now.Cycle.Outcome, now.Cycle.Error, want)
		}
		remove()
	}
}
