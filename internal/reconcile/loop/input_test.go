package loop_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// problem gives the only problem of an environment that is stopped, as people see it.
func (d *daemon) problem(environment string) string {
	d.Helper()
	s := d.state(environment)
	n, _ := s.Problems.Count()
	if s.State != status.Problems || n != 1 {
		d.Fatalf("%s is %s with the problems %v", environment, s.State, s.Problems)
	}
	for _, p := range s.Problems {
		if !p.Warning {
			return p.String() + "; " + p.Hint
		}
	}
	return ""
}

func (d *daemon) wantProblem(environment string, parts ...string) {
	d.Helper()
	got := d.problem(environment)
	for _, part := range parts {
		if !strings.Contains(got, part) {
			d.Errorf("the problem of %s is %q, without %q", environment, got, part)
		}
	}
}

func TestNoEnvironments(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.people.Pull("main")
	w.people.Remove(".environments")
	w.people.Commit("no environments")
	w.people.Push()
	d := w.begin(w.data)
	d.cycle()
	d.want(map[string]status.State{})
	if now := d.store.Snapshot(); !slices.Equal(now.Vanished, []string{"dev"}) {
		t.Errorf("the environments that vanished are %q", now.Vanished)
	} else if ready, _ := now.CheckReadiness(); ready || now.Cycle.Outcome != status.OutcomeFailed {
		t.Errorf("ready: %v, and the cycle was %s", ready, now.Cycle.Outcome)
	}
	if log := w.logs.String(); !strings.Contains(log, "the control plane has no environments") || !strings.Contains(log, "kind Environment") {
		t.Errorf("the log is %s", log)
	}
	d.quiet("cp")
}

// TestEnvironmentGoes: what is removed from the control plane is no longer reported,
// and its output stays.
func TestEnvironmentGoes(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	d := w.begin(w.data)
	d.cycle()
	before := gittest.Refs(t, w.server.Dir("out"))
	w.people.Pull("main")
	w.people.Remove(".environments/prod.yaml")
	w.people.Commit("prod goes")
	w.people.Push()
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed})
	after := gittest.Refs(t, w.server.Dir("out"))
	if ref := "refs/heads/prod"; after[ref] != before[ref] {
		t.Errorf("%s was %s and is %s", ref, before[ref], after[ref])
	}
	if ref := "refs/heads/fairlead/prod"; after[ref] != "" {
		t.Errorf("%s is still there", ref)
	}
	d.quiet("cp", "out")
}

func TestUnknownEnvironment(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	w.more += "environments: [dev, pord]\n"
	d := w.begin(w.data)
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed, "pord": status.Problems})
	d.wantProblem("pord", "Environment/pord: there is no such environment", "prod")
	d.quiet("cp", "out")
}

func TestMissingOutputBranch(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.drop("out", "dev")
	d := w.begin(w.data)
	d.cycle()
	command := "git push " + w.server.URL("out") + " $(git commit-tree -m Begin 4b825dc642cb6eb9a060e54bf8d69288fbee4904):refs/heads/dev"
	d.wantProblem("dev", "gitops-repo.yaml:", "GitOpsRepo/dev", "has no branch dev", "output.create: true", command)
	d.quiet("cp", "out")

	// A problem is written where people look: at the commit, and in an issue.
	head := gittest.Git(t, w.server.Dir("cp"), "rev-parse", "dev")
	statuses, err := w.plain("cp").Statuses(t.Context(), head)
	if err != nil || len(statuses) != 1 || statuses[0].Outcome != forge.Failure || !strings.Contains(statuses[0].Description, "has no branch dev") {
		t.Errorf("the statuses are %v: %v", statuses, err)
	}
	if issues := w.issues("dev"); len(issues) != 1 || !strings.Contains(issues[0], "has no branch dev") {
		t.Errorf("the issues are %q", issues)
	}

	d.Close()
	w.more += "output: {create: true}\n"
	d = w.begin(w.data)
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed})
	if files := gittest.Files(t, w.server.Dir("out"), "dev"); len(files) != 0 {
		t.Errorf("the new branch has %v", files)
	}
	w.merge("dev")
	d.cycle()
	d.want(map[string]status.State{"dev": status.InSync})
	d.quiet("cp", "out")
}

// TestSharedPlace: of two environments that write to one place the one is stopped that the
// place is not of, by its record; without a record, both are.
func TestSharedPlace(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	before := gittest.Refs(t, w.server.Dir("out"))
	const same = "has the same repository, branch and path"
	w.edit("prod", "gitops-repo.yaml", "branch: prod\n  path: .", "branch: dev\n  path: ./")
	d := w.begin(w.data)
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Problems})
	d.wantProblem("prod", "environment dev "+same, "its own branch")
	d.quiet("cp", "out")
	for _, environment := range []string{"dev", "prod"} {
		w.edit(environment, "gitops-repo.yaml", "branch: dev\n", "branch: main\n")
	}
	d.cycle()
	d.wantProblem("dev", "environment prod "+same, "its own branch")
	d.wantProblem("prod", "environment dev "+same, "its own branch")
	after := gittest.Refs(t, w.server.Dir("out"))
	for ref, id := range after {
		if strings.HasPrefix(ref, "refs/heads/") && ref != "refs/heads/fairlead/dev" && before[ref] != id {
			t.Errorf("%s was %q and is %s", ref, before[ref], id)
		}
	}
	d.quiet("cp", "out")
	w.edit("dev", "gitops-repo.yaml", "branch: main\n", "branch: dev\n")
	w.edit("prod", "gitops-repo.yaml", "branch: main\n", "branch: prod\n")
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Proposed})
}

// TestOwnBranchAsOutput: what publishing refuses is a problem of the file that says
// so.
func TestOwnBranchAsOutput(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.edit("dev", "gitops-repo.yaml", "branch: dev", "branch: fairlead/dev")
	d := w.begin(w.data)
	d.cycle()
	d.wantProblem("dev", "gitops-repo.yaml:", "GitOpsRepo/dev", "branch fairlead/dev is the one that the output of dev is proposed from")
	d.quiet("cp", "out")
}

// TestWritingIsOff: without write: true nothing changes anywhere, whatever there is
// to do.
func TestWritingIsOff(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	w.edit("prod", "configs/environment.yaml", "ENVIRONMENT: prod", "LOG_LEVEL: loud")
	w.more = "output: {create: true}\n"
	w.drop("out", "dev")
	before := []map[string]string{gittest.Refs(t, w.server.Dir("cp")), gittest.Refs(t, w.server.Dir("out"))}
	d := w.begin(w.data)
	for range 3 {
		d.cycle()
		w.level("debug", "warning")
		d.cycle()
		w.level("warning", "debug")
	}
	d.cycle()
	d.want(map[string]status.State{"dev": status.DryRun, "prod": status.Problems})
	for _, r := range append(w.server.Requests("cp"), w.server.Requests("out")...) {
		if r.Service == pushing {
			t.Errorf("there was a request to push: %v", r)
		}
	}
	if after := gittest.Refs(t, w.server.Dir("out")); !maps.Equal(before[1], after) {
		t.Errorf("the references were %v and are %v", before[1], after)
	}
	for ref := range gittest.Refs(t, w.server.Dir("cp")) {
		if before[0][ref] == "" {
			t.Errorf("there is a new reference %s", ref)
		}
	}
	if s := d.state("dev"); s.Change == "" || !strings.Contains(s.Reason, "write: true") {
		t.Errorf("the report does not say what would be done: %+v", s)
	}
	d.quiet("cp", "out")
}

// TestReadOnlyControlPlane: where no status can be set, pull requests are opened all
// the same.
func TestReadOnlyControlPlane(t *testing.T) {
	for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			w := newWorld(t, scaffold.Branches, "dev")
			w.server.Inject("cp", gittest.Fault{Service: pushing, Status: code})
			d := w.begin(w.data)
			d.cycle()
			d.want(map[string]status.State{"dev": status.Proposed})
			if !strings.Contains(w.logs.String(), "the status of a commit could not be set") {
				t.Errorf("the log does not say so: %s", w.logs.String())
			}
			d.quiet("cp", "out")
		})
	}
}

// TestControlPlaneByPath: a control plane on disk is not looked for at the URLs that
// its files give it.
func TestControlPlaneByPath(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.place = w.server.Dir("cp")
	d := w.begin(w.data)
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed})
	head := gittest.Git(t, w.server.Dir("cp"), "rev-parse", "dev")
	if statuses, err := w.plain("cp").Statuses(t.Context(), head); err != nil || len(statuses) != 1 {
		t.Errorf("the statuses are %v: %v", statuses, err)
	}
	d.quiet("out")
	if n := len(w.server.Requests("cp")); n != 0 {
		t.Errorf("its URL was asked %d times", n)
	}
}

// TestForcedControlPlane: history that is rewritten is followed.
func TestForcedControlPlane(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	d := w.begin(w.data)
	w.level("debug", "error")
	d.cycle()
	first := w.open("dev")
	w.people.Pull("dev")
	gittest.Git(t, w.people.Dir, "checkout", "-q", "--orphan", "fresh")
	text := gittest.Show(t, w.people.Dir, "dev", "configs/environment.yaml")
	w.people.Write("configs/environment.yaml", strings.Replace(text, "LOG_LEVEL: error", "LOG_LEVEL: warning", 1))
	w.people.Commit("begin anew")
	w.people.Push("+HEAD:dev")
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed})
	second := w.open("dev")
	if text := gittest.Show(t, w.server.Dir("out"), "fairlead/dev", "edge/hello-web/platform-config.yaml"); second.Number != first.Number || !strings.Contains(text, "LOG_LEVEL: warning") {
		t.Errorf("pull request %d (was %d) has\n%s", second.Number, first.Number, text)
	}
	d.quiet("cp", "out")
}

// TestDeletedBranches: a branch that is removed is a problem, and no more than that;
// everything goes on when it is back.
func TestDeletedBranches(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	d := w.begin(w.data)
	d.cycle()
	for _, repo := range []string{"cp", "out"} {
		head := gittest.Refs(t, w.server.Dir(repo))["refs/heads/dev"]
		proposed := gittest.Refs(t, w.server.Dir("out"))["refs/heads/fairlead/dev"]
		w.drop(repo, "dev")
		d.cycle()
		d.want(map[string]status.State{"dev": status.Problems, "prod": status.Proposed})
		d.wantProblem("dev", "branch")
		d.quiet("cp", "out")
		if now := gittest.Refs(t, w.server.Dir("out"))["refs/heads/fairlead/dev"]; now != proposed {
			t.Errorf("what is proposed was %s and is %s", proposed, now)
		}
		gittest.Git(t, w.server.Dir(repo), "update-ref", "refs/heads/dev", head)
		d.cycle()
		d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Proposed})
		for _, issue := range w.issues("dev") {
			if !strings.HasPrefix(issue, "closed") {
				t.Errorf("there is an issue still: %s", issue)
			}
		}
		d.quiet("cp", "out")
	}
}

// issues gives the state, title and body of an environment's issues, newest first.
func (w *world) issues(environment string) []string {
	w.Helper()
	all, err := w.plain("out").Issues(w.Context(), "problems of "+environment)
	if err != nil {
		w.Fatal(err)
	}
	var texts []string
	for _, i := range all {
		state := "closed"
		if i.Open {
			state = "open"
		}
		texts = append(texts, fmt.Sprintf("%s %d %s\n%s", state, i.Number, i.Title, i.Body))
	}
	return texts
}

// TestDeletedRepository: a GitOps repository that goes takes its environment with it,
// and no other.
func TestDeletedRepository(t *testing.T) {
	w := newWideWorld(t)
	d := w.begin(w.data)
	d.cycle()
	s := w.save()
	if err := os.RemoveAll(w.server.Dir("out")); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Hour)
	w.level("debug", "error")
	d.cycle()
	d.want(map[string]status.State{"dev": status.Failed, "prod": status.Proposed})
	if e := d.state("dev"); !strings.Contains(e.Error, "no such repository") {
		t.Errorf("the error is %s", e.Error)
	}
	w.copy(s.servers+"/out.git", w.server.Dir("out"))
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Proposed})
	d.quiet("cp", "out", "other", "till")
}
