package doctor_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/git/lock"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// wantFinding checks that one of the findings begins so, and says so.
func wantFinding(t *testing.T, got, start, says string) {
	t.Helper()
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, start) && strings.Contains(line, says) {
			return
		}
	}
	t.Errorf("no line begins with %q and has %q:\n%s", start, says, got)
}

// TestSaysWhatDaemonSays: what would stop an environment in the daemon fails here, in its words.
func TestSaysWhatDaemonSays(t *testing.T) {
	const plain = "write: true\nforges: [{host: \"GITHOST\", kind: git}]\n"
	output := func(repo, branch string) string {
		return "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: '" + repo + "', branch: " + branch + ", path: .}\n"
	}
	for _, test := range []struct {
		name, settings           string
		repo, branch, file, text string // what a person writes; CP is the control plane
		start, says              string
	}{
		{
			"output in the control plane", plain, "acme/cp", "dev", "gitops-repo.yaml", output("CP", "output"),
			"fail  environment dev  dev/gitops-repo.yaml:1: GitOpsRepo/dev: ", "output does not go there (branch output) unless the settings say so",
		},
		{
			"output on a branch of the control plane that is read", plain, "acme/cp", "dev", "gitops-repo.yaml", output("CP", "dev"),
			"fail  environment dev  dev/gitops-repo.yaml:1: GitOpsRepo/dev: ", "the output would be read as a part of it",
		},
		{
			"a place of somebody else", plain, "acme/out", "dev", ".fairlead/output.yaml", "apiVersion: fairlead.io/v1alpha1\nkind: Output\nenvironments:\n- environment: prod\n",
			"fail  environment dev  ", "prod",
		},
		{
			"a place without a record, where we merge", plain + "merge: {dev: direct}\n", "acme/cp", "dev", "gitops-repo.yaml", output("OUT", "fresh"),
			"warn  environment dev: merge  ", "a person merges the first change",
		},
		{
			"a kind that is not known", plain, "acme/cp", "dev", "cluster-types/edge.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterTypo\nmetadata: {name: edge}\n",
			"fail  environment dev  dev/cluster-types/edge.yaml:1: ClusterTypo/edge: ", "unknown kind ClusterTypo",
		},
		{
			"a scheduler that the settings lack", plain, "acme/cp", "dev", "policy.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: far, annotations: {fairlead.io/choose: \"{pick: 1, by: acme}\"}}\nspec:\n  deploymentTargetSelector: {labelSelector: {matchLabels: {app: hello}}}\n  clusterTypeSelector: {labelSelector: {matchLabels: {location: edge}}}\n",
			"fail  environment dev  dev/policy.yaml:3: SchedulingPolicy/far: ", "do not name a scheduler acme",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(string) string { return "" }, "dev")
			people := w.git.Work(t, test.repo)
			people.Switch(test.branch)
			people.Write(test.file, strings.NewReplacer("CP", w.git.URL("acme/cp"), "OUT", w.git.URL("acme/out")).Replace(test.text))
			people.Commit("as people do")
			people.Push(test.branch)
			wantFinding(t, w.examine("output: {create: true}\n"+test.settings), test.start, test.says)
		})
	}
}

// TestSaysWhatStopsPromotion: an environment that can be rendered, and cannot be promoted any more,
// fails with what stops it: here main was rewritten, and lacks the commit that dev has.
func TestSaysWhatStopsPromotion(t *testing.T) {
	w := newWorld(t, func(string) string { return "" }, "dev")
	dir := w.git.Dir("acme/cp")
	before := gittest.Git(t, dir, "rev-parse", "main")
	gittest.Git(t, dir, "update-ref", "refs/heads/old", before)
	people := w.git.Work(t, "acme/cp")
	people.Switch("dev")
	people.Write(promote.RecordFile, string(promote.NewRecord(w.git.URL("acme/cp"), "main", before)))
	people.Commit("promote")
	people.Push("dev")
	rewritten := gittest.Git(t, dir, "-c", "user.name=a", "-c", "user.email=a@git.example", "commit-tree", "-m", "rewritten", "main^{tree}")
	gittest.Git(t, dir, "update-ref", "refs/heads/main", rewritten)
	got := w.examine("write: true\nforges: [{host: \"GITHOST\", kind: git}]\n")
	wantFinding(t, got, "fail  environment dev: promotion  ", before[:7])
	wantFinding(t, got, "      hint: ", "mend what this names; fairlead explain promotion dev shows the whole of it")
	wantFinding(t, got, "ok    environment dev  ", "its output goes to branch dev")
}

// TestPlacesOfDaemon: the data folder and the address are looked at as the daemon would, and nothing
// is left there; a daemon that runs is no mistake.
func TestPlacesOfDaemon(t *testing.T) {
	w := newWorld(t, func(string) string { return "" }, "dev")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	const plain = "write: true\nforges: [{host: \"GITHOST\", kind: git}]\n"
	inUse := plain + "listen: " + taken.Addr().String() + "\n"

	got := w.examine(inUse)
	wantFinding(t, got, "fail  settings: listen  ", "address already in use")
	wantFinding(t, got, "      hint: another program has that port", "write another port into listen of the settings")
	if left, err := os.ReadDir(w.data); err != nil || len(left) > 0 {
		t.Errorf("the data folder has %v (%v)", left, err)
	}

	unlock, err := lock.AcquireWithPID(t.Context(), filepath.Join(w.data, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	wantFinding(t, w.examine(inUse), "ok    settings: dataDir  ", "a fairlead serve most likely")
	unlock()
	wantFinding(t, w.examine(inUse), "fail  settings: listen  ", "address already in use")

	if err := os.WriteFile(filepath.Join(w.data, "control-plane"), []byte("https://git.example.com/other/fleet\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantFinding(t, w.examine(plain), "fail  settings: dataDir  ", "is that of another control plane, https://git.example.com/other/fleet")

	file := filepath.Join(w.data, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{file, filepath.Join(file, "data")} {
		w.data = folder
		got = w.examine(plain)
		wantFinding(t, got, "fail  settings: dataDir  ", "not a directory")
		wantFinding(t, got, "      hint: ", "let the user who runs fairlead write there, or write another dataDir into the settings")
	}
}
