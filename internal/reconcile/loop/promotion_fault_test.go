package loop_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestBranchUnreachable: an environment whose branch is in a repository that does not
// answer stays as it is, and the others go on.
func TestBranchUnreachable(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, `
    - {name: dev, merge: direct, proof: []}
    - {name: stage, after: [dev], merge: direct, proof: []}
    - {name: prod, after: [dev], merge: direct, proof: []}
`, "dev", "stage", "prod")
	other := w.server.Create("other")
	gittest.Git(t, w.server.Dir("cp"), "push", "-q", w.server.Dir("other"), "stage")
	w.edit("main", ".environments/stage.yaml", w.place, other)
	remove := w.server.Inject("other", gittest.Fault{Status: http.StatusServiceUnavailable})
	names := map[string]string{w.changeNow(1): "1"}
	d := w.begin(w.data)
	d.settle("dev", "prod")
	w.wantLine(names, "dev=1 stage=- prod=1")
	d.wantNext("stage", promote.Stopped, "cannot be read")
	remove()
	for range 4 {
		d.pass(time.Hour)
	}
	text := gittest.Show(t, w.server.Dir("other"), "stage", "base-repo.yaml")
	if commit, err := promote.RecordedCommit([]byte(text)); names[commit] != "1" {
		t.Errorf("stage has %q, %v; the log:\n%s", commit, err, w.logs.String())
	}
}

// TestRecordRefused: a record that may not be pushed is tried again, for an hour at the
// interval and then later each time, and that is said once.
func TestRecordRefused(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, two(""), "dev", "stage")
	names := map[string]string{w.changeNow(1): "1"}
	d := w.begin(w.data)
	d.settle("dev", "stage")
	second := w.changeNow(2)
	names[second] = "2"
	remove := w.server.Inject("cp", gittest.Fault{Service: "git-receive-pack", Status: http.StatusForbidden})
	tries := func() (n int) {
		for _, r := range w.server.Requests("cp") {
			if r.Service == "git-receive-pack" {
				n++
			}
		}
		return n
	}
	before := tries()
	for range 120 {
		d.pass(time.Minute)
	}
	d.wantNext("dev", promote.Waiting, "it is tried again")
	if n := tries() - before; n < 60 || n > 80 {
		t.Errorf("in two hours it was tried %d times", n)
	}
	if n := strings.Count(w.logs.String(), "could not be looked at, or done"); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, w.logs.String())
	}
	remove()
	for range 4 {
		d.pass(time.Hour)
	}
	w.wantLine(names, "dev=2 stage=2")
}

// TestGitHubAmiss: what GitHub does not tell is waited for, and said.
func TestGitHubAmiss(t *testing.T) {
	h := newHub(t, `
    - {name: dev, merge: direct, proof: []}
    - {name: stage, after: [dev], merge: direct, proof: [], gates: [approval: {by: ["team:acme/sre"]}]}
`, "dev", "stage")
	first := h.changeNow(1)
	h.looks(4, time.Minute)
	h.wantNext("stage", promote.Waiting, "there is no team acme/sre")
	h.fake.Team("acme/sre", "alice", person)
	h.commitNow("stage", "approve", map[string]string{"yes.yaml": own("Approval", "a", "{commit: \""+first+"\"}")})
	h.fake.Inject(githubfake.Fault{Method: "GET", Path: "/repos/*/*/commits/*/statuses", Status: http.StatusBadGateway, Times: 1})
	h.looks(1, time.Hour)
	h.wantNext("stage", promote.Waiting, "it cannot be found out")
	h.wantLine(map[string]string{first: "1"}, "dev=1 stage=-")
	h.looks(3, time.Hour)
	h.wantLine(map[string]string{first: "1"}, "dev=1 stage=1")
}
