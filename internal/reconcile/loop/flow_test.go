package loop_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestFlow is the life of a change: watch, pull request, edit, the pull request
// updated in place, merge, quiet.
func TestFlow(t *testing.T) {
	layouts := map[string]struct {
		layout         scaffold.Layout
		branch, folder func(environment string) string
	}{
		"branches": {scaffold.Branches, func(e string) string { return e }, func(string) string { return "" }},
		"folders":  {scaffold.Folders, func(string) string { return "main" }, func(e string) string { return "clusters/" + e }},
	}
	for name, l := range layouts {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, l.layout, "dev", "prod")
			w.server.LeaveToGit()
			d := w.begin(w.data)
			d.cycle()
			d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Proposed})
			first := w.open("dev")
			if first.Base != l.branch("dev") {
				t.Errorf("the pull request is for %s", first.Base)
			}
			d.quiet("cp", "out")

			w.edit("dev", "configs/environment.yaml", "LOG_LEVEL: debug", "LOG_LEVEL: warning")
			d.cycle()
			second := w.open("dev")
			if second.Number != first.Number || second.Commit == first.Commit {
				t.Errorf("the pull request is %d at %s, and was %d at %s", second.Number, second.Commit, first.Number, first.Commit)
			}
			if n := w.above("fairlead/dev", l.branch("dev")); n != "1" {
				t.Errorf("the branch has %s commits", n)
			}
			d.quiet("cp", "out")

			w.merge("dev")
			d.cycle()
			d.want(map[string]status.State{"dev": status.InSync, "prod": status.Proposed})
			if n := w.above("fairlead/prod", l.branch("prod")); n != "1" {
				t.Errorf("the branch has %s commits", n)
			}
			d.quiet("cp", "out")

			w.merge("prod")
			d.cycle()
			d.want(map[string]status.State{"dev": status.InSync, "prod": status.InSync})
			d.quiet("cp", "out")
			for env, level := range map[string]string{"dev": "warning", "prod": "info"} {
				file := path.Join(l.folder(env), "edge/hello-web/platform-config.yaml")
				if text := gittest.Show(t, w.server.Dir("out"), l.branch(env), file); !strings.Contains(text, "LOG_LEVEL: "+level) {
					t.Errorf("%s of %s is\n%s", file, env, text)
				}
			}
			if readme := gittest.Show(t, w.server.Dir("out"), l.branch("dev"), path.Join(l.folder("dev"), "README.md")); readme == "" {
				t.Error("the README that was there is empty")
			}
		})
	}
}

// workload is a workload that the policy of the sample selects.
const workload = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata:
  name: till
  labels: {app: hello}
spec:
  deploymentTargets:
    - name: shop
      environment: dev
      manifests: {repo: https://git.example.com/till, branch: main, path: ./v1}
`

// register adds the repository of a workload to a branch of the control plane.
func (w *world) register(repo, branch string) {
	w.Helper()
	w.people.Pull(branch)
	w.people.Write("workloads/till.yaml", fmt.Sprintf(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata:
  name: till
spec:
  workload: {repo: %s, branch: main, path: ./deploy}
  workspace: shop
`, repo))
	w.people.Commit("register till")
	w.people.Push(branch)
}

func TestWorkloadInAnotherRepository(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	w.register(w.server.Create("till"), "main")
	team := w.server.Work(t, "till")
	team.Write("deploy/till.yaml", workload)
	team.Commit("begin")
	team.Push()

	d := w.begin(w.data)
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Proposed})
	first := w.open("dev")
	files := gittest.Files(t, w.server.Dir("out"), "fairlead/dev")
	if !strings.Contains(files["cloud/till-shop/reconciler.yaml"], "./v1") {
		t.Fatalf("the workload is not in %v", files)
	}
	d.quiet("cp", "out", "till")

	team.Write("deploy/till.yaml", strings.Replace(workload, "v1}", "v2}", 1))
	commit := team.Commit("release v2")
	team.Push()
	d.cycle()
	second := w.open("dev")
	if text := gittest.Show(t, w.server.Dir("out"), "fairlead/dev", "cloud/till-shop/reconciler.yaml"); second.Number != first.Number || !strings.Contains(text, "./v2") {
		t.Errorf("pull request %d (was %d) has\n%s", second.Number, first.Number, text)
	}
	if message := gittest.Git(t, w.server.Dir("out"), "log", "-1", "--format=%B", "fairlead/dev"); !strings.Contains(message, "Fairlead-Workload: till@"+commit) {
		t.Errorf("the commit does not say where it came from:\n%s", message)
	}
	if second.Title == first.Title && second.Body == first.Body {
		t.Error("the pull request says nothing of it")
	}
	d.quiet("cp", "out", "till")
}

func TestPassword(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.server.RequirePassword("cp", "s3cret")
	w.server.RequirePassword("out", "s3cret")

	d := w.begin(w.data)
	w.now = w.now.Add(1)
	if err := d.Cycle(t.Context()); err == nil || !strings.Contains(err.Error(), "access was refused") {
		t.Fatalf("without the password: %v", err)
	}
	d.Close()

	w.secret = map[string]string{"TOKEN": "s3cret"}
	w.more += "remotes: [{url: " + strings.TrimSuffix(w.server.URL("cp"), "cp.git") + ", token: {env: TOKEN}}]\n"
	d = w.begin(w.data)
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed})
	w.merge("dev")
	d.cycle()
	d.want(map[string]status.State{"dev": status.InSync})
	d.quiet("cp", "out")
	if strings.Contains(w.logs.String(), "s3cret") {
		t.Error("the password is in the log")
	}
}

// TestPromotionAlone: another base commit that changes nothing is promoted, and
// nobody is asked to merge it.
func TestPromotionAlone(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	d := w.begin(w.data)
	w.pin()
	d.cycle()
	w.merge("dev")
	d.cycle()

	w.people.Pull("main")
	w.people.Write("notes.txt", "nothing that is rendered\n")
	w.people.Commit("notes")
	w.people.Push("main")
	w.pin()
	d.cycle()
	d.want(map[string]status.State{"dev": status.InSync})
	all, err := w.plain("out").Pulls(t.Context(), "fairlead/dev", "dev")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].State != forge.Merged {
		t.Errorf("the pull requests are %v", all)
	}
	d.quiet("cp", "out")
}

// pin promotes the head of the base to dev.
func (w *world) pin() {
	w.Helper()
	commit := gittest.Git(w, w.server.Dir("cp"), "rev-parse", "main")
	w.people.Pull("dev")
	text := gittest.Show(w, w.people.Dir, "HEAD", "base-repo.yaml")
	head, _, _ := strings.Cut(text, "  commit:")
	w.people.Write("base-repo.yaml", strings.TrimRight(head, "\n")+"\n  commit: \""+commit+"\"\n")
	w.people.Commit("promote")
	w.people.Push("dev")
}
