package loop_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// move has dev's output go to a place.
func (w *world) move(repo, branch, folder string) {
	w.Helper()
	w.people.Pull("dev")
	w.people.Write("gitops-repo.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: dev}\nspec:\n  repo: "+
		repo+"\n  branch: "+branch+"\n  path: "+folder+"\n")
	w.people.Commit("the output goes to " + branch + " " + folder)
	w.people.Push("dev")
}

// heads gives the branches of both repositories, but for those of dev in the control plane.
func (w *world) heads() map[string]string {
	all := map[string]string{}
	for _, repo := range []string{"cp", "out"} {
		for ref, id := range gittest.Refs(w, w.server.Dir(repo)) {
			removal := strings.HasPrefix(ref, "refs/heads/fairlead/change/removal/") // what is gone is proposed to be removed
			if strings.HasPrefix(ref, "refs/heads/") && !removal && (repo != "cp" || ref != "refs/heads/dev") {
				all[repo+" "+ref] = id
			}
		}
	}
	return all
}

// TestPlacesOfOthers: whoever writes dev's branch cannot have dev's output go where prod's is,
// or into the control plane, whether prod is well or not, and also after a restart.
func TestPlacesOfOthers(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	w.more += "merge: {dev: direct}\noutput: {create: true}\n"
	out, cp := w.server.URL("out"), w.server.URL("cp")
	d := w.begin(w.data)
	d.cycle()
	w.merge("prod")
	d.cycle()
	d.want(map[string]status.State{"dev": status.InSync, "prod": status.InSync})
	attacks := []struct{ name, repo, branch, folder, want string }{
		{"prod's branch", out, "prod", ".", "environment prod"},
		{"a folder of prod", out, "prod", "cloud", "environment prod"},
		{"in a folder of prod", out, "prod", "./cloud/hello-web/x", "environment prod"},
		{"beside prod's folders", out, "prod", "dev", "environment prod"},
		{"prod's branch in upper case", out, "PROD", ".", "environment prod"},
		{"prod's branch as a reference", out, "refs/heads/prod", ".", "cannot be the name of a branch"},
		{"prod's repository, spelled otherwise", strings.Replace(out, "/out", "//out", 1), "prod", ".", "environment prod"},
		{"prod's proposal", out, "fairlead/prod", ".", "output cannot go to fairlead/prod"},
		{"prod's proposal in upper case", out, "Fairlead/prod", "x", "output cannot go to Fairlead/prod"},
		{"prod's record", out, "fairlead/promotion/prod", "x", "output cannot go to fairlead/promotion/prod"},
		{"an ephemeral environment", out, "ephemeral/x", ".", "an ephemeral environment"},
		{"the base", cp, "main", "dev", "the control plane is read from"},
		{"the base without .git", strings.TrimSuffix(cp, ".git"), "main", "dev", "the control plane is read from"},
		{"the base with a slash", cp + "/", "main", "configs", "the control plane is read from"},
		{"prod's control plane", cp, "prod", "configs", "the control plane is read from"},
		{"a new branch of the control plane", cp, "new", ".", "the control plane is read from"},
	}
	try := func(how string) {
		for _, a := range attacks {
			before := w.heads()
			w.move(a.repo, a.branch, a.folder)
			d.cycle()
			after := w.heads()
			if !maps.Equal(before, after) {
				t.Errorf("%s, %s: the branches were %v and are %v", a.name, how, before, after)
			}
			if got := d.problem("dev"); !strings.Contains(got, a.want) {
				t.Errorf("%s, %s: the problem of dev is %q, want %q", a.name, how, got, a.want)
			}
			if how == "prod is well" && d.state("prod").State != status.InSync {
				t.Errorf("%s: prod is %s: %v", a.name, d.state("prod").State, d.state("prod").Problems)
			}
		}
	}
	try("prod is well")
	w.edit("prod", "cluster-types/cloud.yaml", "kind: ClusterType", "kind: ClusterTypo")
	d.Close()
	d = w.begin(t.TempDir())
	try("prod is broken, and the daemon is new")
	w.people.Pull("main")
	w.people.Remove(".environments/prod.yaml")
	w.people.Commit("prod is gone")
	w.people.Push("main")
	try("prod is gone")
	w.move(out, "dev", ".")
	d.cycle()
	d.want(map[string]status.State{"dev": status.InSync, "prod": status.Waiting})
}

// TestFirstWriteToPlace: where an environment moves to, a person says yes once, whatever merge
// says, and then no more.
func TestFirstWriteToPlace(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.more += "merge: {dev: direct}\noutput: {create: true}\n"
	d := w.begin(w.data)
	d.cycle()
	d.want(map[string]status.State{"dev": status.InSync})
	for _, place := range [][2]string{{"new", "."}, {"dev", "clusters/dev"}, {"main", "dev"}} {
		w.move(w.server.URL("out"), place[0], place[1])
		d.cycle()
		d.cycle()
		if s := d.state("dev"); s.State != status.Proposed || !strings.Contains(s.Reason, "a person merges the first change") {
			t.Fatalf("%v: it is %s: %s", place, s.State, s.Reason)
		}
		w.merge("dev")
		d.cycle()
		d.want(map[string]status.State{"dev": status.InSync})
		w.level("debug", "warning")
		d.cycle()
		w.level("warning", "debug")
		d.cycle()
		d.want(map[string]status.State{"dev": status.InSync})
	}
}

// TestAllowedPlaces: the settings bound where output goes, and let it go to the control plane.
func TestAllowedPlaces(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	out, cp := w.server.URL("out"), w.server.URL("cp")
	w.people.Pull("main")
	w.people.Write(".sourceignore", "/x/\n")
	w.people.Commit("what is in x is no part of the control plane")
	w.people.Push("main")
	for _, test := range []struct{ allow, repo, branch, want string }{
		{"{repo: " + out + ", branches: [main]}", out, "dev", "the settings do not let output go to branch dev"},
		{"{repo: " + out + ", branches: [\"d*\"]}", out, "dev", ""},
		{"{repo: " + cp + "}", out, "dev", "the settings do not let output go to branch dev"},
		{"{repo: " + cp + "}", cp, "output", ""},
		{"{repo: " + cp + "}", cp, "main", "the control plane is read from"},
		{"{repo: " + cp + ", branches: [\"*\"]}", cp, "main", "the control plane is read from"},
		{"{repo: " + cp + ", branches: [main]}", cp, "main", ""},
		{"{repo: " + strings.TrimSuffix(cp, "/cp.git") + "}", cp, "output", "the control plane is read from"},
		{"{repo: " + strings.TrimSuffix(cp, "/cp.git") + "}", out, "dev", ""},
	} {
		w.more = "write: false\npromotion: external\noutput: {create: true, allow: [" + test.allow + "]}\n"
		w.move(test.repo, test.branch, "x")
		d := w.begin(t.TempDir())
		d.cycle()
		s := d.state("dev")
		switch {
		case test.want == "" && s.State != status.DryRun:
			t.Errorf("%v: it is %s: %v", test, s.State, s.Problems)
		case test.want != "" && (s.State != status.Problems || !strings.Contains(d.problem("dev"), test.want) || !strings.Contains(d.problem("dev"), "output.allow")):
			t.Errorf("%v: it is %s: %v", test, s.State, s.Problems)
		}
		d.Close()
	}
}

// TestEnvironmentNamedPromotion: an environment of this name is stopped only where its branch
// would be in the way of those that propose records.
func TestEnvironmentNamedPromotion(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "promotion")
	out, cp := w.server.URL("out"), w.server.URL("cp")
	w.more = "write: false\noutput: {create: true, allow: [{repo: " + cp + ", branches: [output]}, {repo: " + out + "}]}\n"
	for _, test := range []struct {
		repo string
		want status.State
	}{{out, status.DryRun}, {cp, status.Problems}} {
		w.people.Pull("promotion")
		w.people.Write("gitops-repo.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: promotion}\nspec: {repo: "+test.repo+", branch: output, path: .}\n")
		w.people.Commit("elsewhere")
		w.people.Push("promotion")
		d := w.begin(t.TempDir())
		d.cycle()
		s := d.state("promotion")
		if s.State != test.want || s.State == status.Problems && !strings.Contains(d.problem("promotion"), "no branch fairlead/promotion beside fairlead/promotion/") {
			t.Errorf("with its output in %s it is %s: %v", test.repo, s.State, s.Problems)
		}
		d.Close()
	}
}

// TestWorkloadRepositoryAsOutput: output does not go where workloads are read from; an
// environment that has a place there goes on.
func TestWorkloadRepositoryAsOutput(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	w.more += "merge: {dev: direct, prod: direct}\n"
	w.people.Pull("dev")
	w.people.Write("app.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: WorkloadRegistration\nmetadata: {name: app}\nspec:\n  workload: {repo: "+
		w.server.URL("out")+", branch: main, path: .}\n  workspace: team\n")
	w.people.Commit("register the GitOps repository as a workload")
	w.people.Push("dev")
	d := w.begin(w.data)
	d.cycle()
	if s := d.state("prod"); s.State != status.InSync {
		t.Errorf("prod, whose place has its record, is %s: %v", s.State, s.Problems)
	}
	w.move(w.server.URL("out"), "main", "dev")
	d.cycle()
	d.wantProblem("dev", "the control plane is read from", "output.allow")
}

// TestEphemeralOfUnsettled: an ephemeral environment does not get output where the environment
// that it is made from has never been.
func TestEphemeralOfUnsettled(t *testing.T) {
	for name, test := range map[string]struct{ repo, branch, folder, want string }{
		"in the base":  {"cp", "main", "clusters/dev", "the control plane is read from"},
		"on a branch":  {"out", "main", "clusters/dev", "a person merges the first change"},
		"of a foreign": {"other", "main", "content/dev", "a person merges the first change"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scaffold.Branches, "dev")
			w.server.Create("other")
			people := w.server.Work(t, "other")
			people.Switch("main")
			people.Write("README.md", "a site\n")
			people.Commit("begin")
			people.Push("main")
			w.more += "merge: {dev: direct}\noutput: {create: true}\n"
			w.move(w.server.URL(test.repo), test.branch, test.folder)
			w.clone("pr-7", 24*time.Hour)
			before := gittest.Refs(t, w.server.Dir(test.repo))["refs/heads/main"]
			d := w.begin(w.data)
			d.cycle()
			d.cycle()
			s := d.state("pr-7")
			if got := s.Reason + fmt.Sprint(s.Problems); !strings.Contains(got, test.want) {
				t.Errorf("pr-7 is %s: %s", s.State, got)
			}
			if after := gittest.Refs(t, w.server.Dir(test.repo))["refs/heads/main"]; after != before {
				t.Errorf("main was %s and is %s", before, after)
			}
		})
	}
}
