package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// answer is what one look finds.
type answer struct {
	state, reason string
	err           error
}

// waitFor waits with a clock that is always there, and gives how it has ended, how often
// it looked, and what it said meanwhile.
func waitFor(t *testing.T, timeout time.Duration, answers ...answer) (a arrival, looks int, said string, err error) {
	t.Helper()
	var errs bytes.Buffer
	ticks := make(chan time.Time, len(answers))
	for range answers[1:] {
		ticks <- now
	}
	w := &waitCommand{timeout: timeout, interval: time.Second, context: &commandContext{
		app:   &app{stderr: display.NewStream(&errs)},
		ticks: func(time.Duration) (<-chan time.Time, func()) { return ticks, func() {} },
	}}
	a, err = w.waitUntilArrived(t.Context(), arrival{Environment: "stage", Commit: newCommit}, func(context.Context) (string, string, error) {
		one := answers[min(looks, len(answers)-1)]
		looks++
		return one.state, one.reason, one.err
	})
	return a, looks, errs.String(), err
}

// askChain returns the error of a daemon that is asked how far commits have got.
func askChain(t *testing.T, address string) error {
	t.Helper()
	_, err := daemonClient{address}.Chain(t.Context())
	if err == nil {
		t.Fatal("it answers")
	}
	return err
}

func TestUntil(t *testing.T) {
	waiting, done := answer{state: isWaiting, reason: "Deploying"}, answer{state: hasDeployed, reason: "Deployed"}
	down, limited := answer{err: errors.New("the server is down")}, answer{err: &forge.RateLimit{Until: now}}
	failing := answer{err: &problem.Refusal{Operation: "look", Reason: "502"}}
	server := httptest.NewServer(http.NotFoundHandler())
	stranger := answer{err: askChain(t, server.URL)}
	server.Close()
	restarting, behindProxy := answer{err: askChain(t, server.URL)}, answer{err: daemonClient{server.URL}.newAnswerError("the daemon", http.StatusBadGateway)}
	for _, test := range []struct {
		name    string
		answers []answer
		state   string
		looks   int
		said    string
		fails   string
	}{
		{"at once", []answer{done}, hasDeployed, 1, "", ""},
		{"said once", []answer{waiting, waiting, waiting, done}, hasDeployed, 4, "stage, commit 2222222: Deploying\n", ""},
		{"failed", []answer{waiting, {state: hasFailed, reason: "a \x1b[31mcrash"}}, hasFailed, 2, "Deploying\n", ""},
		{"a server that comes back", []answer{down, down, down, down, waiting, down, done}, hasDeployed, 7, "the server is down\n", ""},
		{"a server that does not", []answer{down, down, down, down, down, done}, "", 5, "the server is down\n", "the server is down"},
		{"a server that is worked on", []answer{failing, failing, failing, done}, hasDeployed, 4, "look: 502\n", ""},
		{"a daemon that starts again", []answer{waiting, restarting, behindProxy, restarting, restarting, done}, hasDeployed, 6, "connection refused", ""},
		{"what is no daemon", []answer{stranger, done}, "", 1, "", "404"},
		{"a limit", []answer{limited, limited, limited, limited, limited, limited, limited, done}, hasDeployed, 8, "takes no more requests until", ""},
		{"refused", []answer{{err: &problem.Refusal{Operation: "look", Reason: "no", Advice: "another token"}}, done}, "", 1, "", "look: no"},
		{"no access", []answer{{err: git.ErrAccess}, done}, "", 1, "", "access was refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, looks, said, err := waitFor(t, time.Hour, test.answers...)
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) || looks != test.looks {
					t.Errorf("%d looks, and %v", looks, err)
				}
				return
			}
			if err != nil || a.State != test.state || looks != test.looks || !strings.Contains(said, test.said) || strings.Contains(said, "\x1b") {
				t.Errorf("%+v after %d looks (%v); it said\n%s", a, looks, err, said)
			}
			if strings.Contains(said, display.SanitizeLine(a.Reason)) {
				t.Errorf("the end, which the caller reports, is said twice:\n%s", said)
			}
		})
	}
	a, looks, said, err := waitFor(t, 0, waiting)
	if err != nil || a.State != isTimedOut || a.Reason != "Deploying" || looks != 1 || said != "" {
		t.Errorf("without time: %+v after %d looks (%v); it said %q", a, looks, err, said)
	}
}

// TestRead: what statuses of the commit say, of its environment and of no other.
func TestRead(t *testing.T) {
	say := func(context string, outcome forge.Outcome, text string, after int) forge.CommitStatus {
		return forge.CommitStatus{Context: context, Outcome: outcome, Description: text, Time: now.Add(time.Duration(after) * time.Minute)}
	}
	for _, test := range []struct {
		name          string
		said          []forge.CommitStatus
		state, reason string
	}{
		{"nothing", nil, isWaiting, "it was not promoted to stage yet"},
		{"of another", []forge.CommitStatus{say("dev environment", forge.Success, "Deployed", 1)}, isWaiting, "it was not promoted to stage yet; dev: Deployed"},
		{"on its way", []forge.CommitStatus{say("stage environment", forge.Pending, "Deploying", 1)}, isWaiting, "Deploying"},
		{"there", []forge.CommitStatus{say("stage environment", forge.Success, "Deployed", 1)}, hasDeployed, "Deployed"},
		{"failed", []forge.CommitStatus{say("fairlead/stage/proof", forge.Success, "Proven", 2), say("stage environment", forge.Failure, "", 1)}, hasFailed, "the status is failure"},
		{"verified", []forge.CommitStatus{say("fairlead/stage/proof", forge.Success, "Verified in stage", 1), say("stage environment", forge.Pending, "Deploying", 1)}, hasDeployed, "Verified in stage"},
		{"verified before", []forge.CommitStatus{say("fairlead/stage/proof", forge.Success, "Verified in stage", 1), say("stage environment", forge.Pending, "Promoted", 2)}, isWaiting, "Promoted"},
		{"verified alone", []forge.CommitStatus{say("fairlead/stage/proof", forge.Success, "Verified in stage", 1)}, isWaiting, "it was not promoted to stage yet"},
		{"failed before", []forge.CommitStatus{say("dev environment", forge.Failure, "Failed to deploy: a crash", 1)}, hasFailed, "it cannot come, because it failed in dev: Failed to deploy: a crash"},
		{"failed before, and verified since", []forge.CommitStatus{say("dev environment", forge.Failure, "Failed to deploy", 1), say("fairlead/dev/proof", forge.Success, "Verified in dev", 2)}, isWaiting, "it was not promoted to stage yet; dev: verified"},
		{"on its way before", []forge.CommitStatus{say("dev environment", forge.Pending, "Deploying", 1)}, isWaiting, "it was not promoted to stage yet; dev: Deploying"},
		{"failed elsewhere", []forge.CommitStatus{say("canary environment", forge.Failure, "Failed to deploy", 1)}, isWaiting, "it was not promoted to stage yet"},
	} {
		if state, reason := readStatuses(test.said, "stage", predecessors{[]string{"dev"}, false}); state != test.state || reason != test.reason {
			t.Errorf("%s: %s, %q", test.name, state, reason)
		}
	}
	failed := []forge.CommitStatus{say("dev environment", forge.Failure, "Failed to deploy", 1)}
	if state, reason := readStatuses(failed, "stage", predecessors{[]string{"dev"}, true}); state != isWaiting || !strings.Contains(reason, "dev: failed as a whole") {
		t.Errorf("with lanes: %s, %q", state, reason)
	}
	failed = append(failed, say("stage environment", forge.Success, "Deployed", 2))
	if state, _ := readStatuses(failed, "stage", predecessors{[]string{"dev"}, true}); state != hasDeployed {
		t.Errorf("a lane that has arrived: %s", state)
	}
}

// TestReadLanes: what a daemon says of a commit that a lane brings.
func TestReadLanes(t *testing.T) {
	pass := gate.Verdict{Status: gate.Pass}
	chain := status.Chain{Stages: []status.Stage{
		{Environment: "dev", Commit: "ccccccc3", Proof: gate.Verdict{Status: gate.Fail, Reason: "hello"}},
		{Environment: "stage", After: []string{"dev"}, Commit: "aaaaaaa1", Merged: true, Proof: pass, Lanes: []status.Lane{
			{Name: "hello", Next: "bbbbbbb2", Reason: "it failed in dev"}, {Name: "shop", Commit: "ccccccc3"},
		}},
	}}
	for commit, want := range map[string]string{"ccccccc3": hasDeployed + " Deployed", "bbbbbbb": isWaiting + " lane hello waits: it failed in dev", "aaaaaaa": hasDeployed + " Deployed"} {
		if state, reason := readChain(chain, chain.Stages[1], commit); state+" "+reason != want {
			t.Errorf("%s: %s, %q", commit, state, reason)
		}
	}
	failed := chain.Stages[1]
	failed.Proof = gate.Verdict{Status: gate.Fail, Reason: "hello is broken"}
	for lane, want := range map[status.Lane]string{
		{}:                              hasFailed + " hello is broken",
		{State: status.StageVerified}:   hasDeployed + " Deployed",
		{State: status.StageRollingOut}: isWaiting + " lane shop: rolling-out",
		{State: status.StageFailed, Failure: "shop is broken"}: hasFailed + " shop is broken",
	} {
		lane.Name, lane.Commit = "shop", "ccccccc3"
		failed.Lanes = []status.Lane{lane}
		if state, reason := readChain(chain, failed, "ccccccc3"); state+" "+reason != want {
			t.Errorf("%+v: %s %s, want %s", lane, state, reason, want)
		}
	}
}

// TestOvertaken: what has come to its end meanwhile counts, and a newer commit ends the
// waiting only for what has not.
func TestOvertaken(t *testing.T) {
	for _, test := range []struct {
		name    string
		answers []string // of the looks
		newer   string
		state   string
	}{
		{"nothing newer", []string{isWaiting}, "", isWaiting},
		{"deployed", []string{hasDeployed}, newCommit, hasDeployed},
		{"deployed before the other one came", []string{isWaiting, hasDeployed}, newCommit, hasDeployed},
		{"superseded", []string{isWaiting, isWaiting}, newCommit, isSuperseded},
	} {
		looks := 0
		ask := func(context.Context) (string, string, error) {
			looks++
			return test.answers[looks-1], "Promoted", nil
		}
		state, reason, err := withSuperseded("stage", ask, func(context.Context) string { return test.newer })(t.Context())
		if err != nil || state != test.state || looks != len(test.answers) {
			t.Errorf("%s: %s after %d looks, %v", test.name, state, looks, err)
		}
		if want := "stage has a newer commit, 2222222, which took its place"; state == isSuperseded && reason != want {
			t.Errorf("it says %q", reason)
		}
	}
}

// TestReadStage: what a daemon knows of the commit that an environment has.
func TestReadStage(t *testing.T) {
	stage, _ := shown().FindStage("stage")
	dev, _ := shown().FindStage("dev")
	canary, _ := shown().FindStage("canary")
	for _, test := range []struct {
		name, commit  string
		stage         status.Stage
		state, reason string
	}{
		{"another commit", newCommit, stage, isWaiting, "it has another commit; next: 2222222 waits: 1111111 is not verified yet"},
		{"deployed, and not verified yet", oldCommit[:7], stage, hasDeployed, "Deployed"},
		{"verified", newCommit, dev, hasDeployed, "Deployed"},
		{"failed", oldCommit, canary, hasFailed, "it failed"},
		{"none", oldCommit, status.Stage{}, isWaiting, "it has another commit"},
		{"under way", newCommit, status.Stage{Commit: newCommit, Proof: gate.Verdict{Status: gate.Wait, Reason: "it is rolling out"}}, isWaiting, "it is rolling out"},
	} {
		state, reason := readStage(test.stage, test.commit)
		if state != test.state || reason != test.reason {
			t.Errorf("%s: %s, %q", test.name, state, reason)
		}
	}
}

// TestReadChain: a commit that has failed in an environment before, or has problems there, does not come any more.
func TestReadChain(t *testing.T) {
	stages := func(proof gate.Verdict, commit string) status.Chain {
		return status.Chain{Stages: []status.Stage{{Environment: "dev", Commit: commit, Proof: proof}, {Environment: "stage", After: []string{"dev"}, Commit: oldCommit}, {Environment: "prod", After: []string{"stage"}, Commit: oldCommit}}}
	}
	for _, test := range []struct {
		name  string
		chain status.Chain
		state string
	}{
		{"it is rolled out in dev", stages(gate.Verdict{Status: gate.Wait, Reason: "it is rolling out"}, newCommit), isWaiting},
		{"it failed in dev", stages(gate.Verdict{Status: gate.Fail, Reason: "a crash"}, newCommit), hasFailed},
		{"another one failed in dev", stages(gate.Verdict{Status: gate.Fail, Reason: "a crash"}, oldCommit), isWaiting},
	} {
		prod, _ := test.chain.FindStage("prod")
		state, reason := readChain(test.chain, prod, newCommit[:9])
		if state != test.state || strings.Contains(reason, test.chain.Stages[0].Proof.Reason) != (test.chain.Stages[0].Commit == newCommit) {
			t.Errorf("%s: %s, %q", test.name, state, reason)
		}
	}
}

// TestWaitCommit: what is a commit for wait, with a daemon and with a control plane alike.
func TestWaitCommit(t *testing.T) {
	url := serveChain(t, func(w http.ResponseWriter) {
		store := &status.Store{}
		store.SetPromotions(shown())
		_ = json.NewEncoder(w).Encode(store.Snapshot())
	})
	t.Chdir(t.TempDir())
	for _, test := range []struct {
		environment, revision string
		code                  int
		prints                string
	}{
		{"dev", newCommit, exitOK, "dev has deployed 2222222\n"},
		{"dev", newCommit[:7], exitOK, "dev has deployed 2222222\n"},
		{"dev", newCommit[:6], exitUsage, "fairlead: hint: git rev-parse 222222 prints the id"},
		{"dev", "HEAD", exitUsage, "fairlead: error: HEAD is not a commit id, and there is no Git repository here that has a revision of that name\n"},
		{"dev", "", exitUsage, "fairlead: error: '' is not a commit id"},
		{"dev", "no such", exitUsage, "fairlead: hint: git rev-parse 'no such' prints the id"},
		{"dve", newCommit, exitUsage, "fairlead: error: there is no environment dve\nfairlead: hint: did you mean \"dev\"?\n"},
	} {
		var out bytes.Buffer
		code := Main(t.Context(), []string{"wait", test.environment, test.revision, "--url", url, "--timeout", "5m"}, &out, &out)
		if code != test.code || !strings.Contains(out.String(), test.prints) {
			t.Errorf("wait %s %q: %d\n%s", test.environment, test.revision, code, &out)
		}
	}
}

// TestWaitGone: a control plane that is removed while it is waited for, as by the end of the demo, is said to
// be gone, and not to be looked for elsewhere.
func TestWaitGone(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	var out bytes.Buffer
	if code := Main(t.Context(), []string{"init", dir, "--sample"}, &out, &out); code != exitOK {
		t.Fatal(&out)
	}
	w := &waitCommand{context: newCommandContext(&app{stderr: display.NewStream(&out)})}
	w.context.settingsFile = filepath.Join(dir, defaultSettingsFile)
	if err := w.locate(); err != nil {
		t.Fatal(err)
	}
	look, err := w.newArrivalReader("dev", newCommit, func() (*actions.Session, error) { return nil, git.ErrNotFound })
	if err != nil {
		t.Fatal(err)
	}
	if state, _, err := look(t.Context()); err != nil || state != isWaiting {
		t.Fatal(state, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	_, _, err = look(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "the control plane is gone: ") || !strings.Contains(findHint(err), "fairlead demo removes its own") || !isRefused(err) {
		t.Errorf("%v; hint: %s", err, findHint(err))
	}
}

// TestJobHere: what the variables of a job say, and to whom its token is shown.
func TestJobHere(t *testing.T) {
	for _, test := range []struct {
		name      string
		variables map[string]string
		place     string // of the control plane
		forge     config.Forge
		token     string // the variable that is shown there
	}{
		{"none", nil, "https://github.com/acme/cp", config.Forge{}, ""},
		{"GitHub", map[string]string{"GITHUB_REPOSITORY": "acme/cp", "GITHUB_TOKEN": "x", "GITHUB_API_URL": "https://api.github.com"},
			"https://github.com/acme/cp", config.Forge{Host: "github.com", Kind: "github", API: "https://api.github.com"}, "GITHUB_TOKEN"},
		{"another server", map[string]string{"GITHUB_REPOSITORY": "acme/cp", "GITHUB_TOKEN": "x"},
			"https://other.example/acme/cp", config.Forge{Host: "github.com", Kind: "github"}, ""},
		{"in the clear", map[string]string{"GITHUB_REPOSITORY": "acme/cp", "GITHUB_TOKEN": "x"},
			"http://github.com/acme/cp", config.Forge{Host: "github.com", Kind: "github"}, ""},
		{"a token of one's own", map[string]string{"GITHUB_REPOSITORY": "acme/cp", "GITHUB_TOKEN": "x", "FAIRLEAD_GIT_TOKEN": "y"},
			"https://other.example/acme/cp", config.Forge{Host: "github.com", Kind: "github"}, "FAIRLEAD_GIT_TOKEN"},
		{"Gitea", map[string]string{"GITHUB_REPOSITORY": "acme/cp", "GITHUB_SERVER_URL": "https://tea.example", "GITEA_ACTIONS": "true", "GITHUB_TOKEN": "x", "GITHUB_API_URL": "https://tea.example/api/v1"},
			"https://tea.example/acme/cp", config.Forge{Host: "tea.example", Kind: "gitea"}, "GITHUB_TOKEN"},
		{"GitLab", map[string]string{"CI_PROJECT_URL": "https://lab.example/acme/cp", "CI_API_V4_URL": "https://lab.example/api/v4", "FAIRLEAD_GIT_TOKEN": "y"},
			"https://lab.example/acme/cp", config.Forge{Host: "lab.example", Kind: "gitlab", API: "https://lab.example/api/v4"}, "FAIRLEAD_GIT_TOKEN"},
		{"a path", map[string]string{"GITHUB_REPOSITORY": "acme/cp", "GITHUB_TOKEN": "x"}, "/srv/cp.git", config.Forge{Host: "github.com", Kind: "github"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, name := range []string{"GITHUB_REPOSITORY", "GITHUB_SERVER_URL", "GITHUB_API_URL", "GITHUB_TOKEN", "GITEA_ACTIONS", "CI_PROJECT_URL", "CI_API_V4_URL", "FAIRLEAD_GIT_TOKEN", "FAIRLEAD_GIT_USERNAME"} {
				t.Setenv(name, test.variables[name])
			}
			got := readJob().newSettings(test.place)
			var forge config.Forge
			token := ""
			if len(got.Forges) > 0 {
				forge = got.Forges[0]
			}
			if len(got.Remotes) > 0 {
				token = got.Remotes[0].Token.Env
			}
			if diff := cmp.Diff(test.forge, forge); diff != "" || token != test.token {
				t.Errorf("%s is shown %q (-want +got):\n%s", test.place, token, diff)
			}
		})
	}
}

// TestTell: an output is a line, whatever others have said.
func TestTell(t *testing.T) {
	file := filepath.Join(t.TempDir(), "output")
	t.Setenv("GITHUB_OUTPUT", file)
	for range 2 {
		if err := writeJobOutput([2]string{"state", "failed"}, [2]string{"reason", "it\nstate=deployed\r\n is"}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if want := strings.Repeat("state=failed\nreason=it state=deployed is\n", 2); err != nil || string(text) != want {
		t.Errorf("the outputs are %q (%v)", text, err)
	}
	t.Setenv("GITHUB_OUTPUT", "")
	if err := writeJobOutput([2]string{"state", "failed"}); err != nil {
		t.Error(err)
	}
}
