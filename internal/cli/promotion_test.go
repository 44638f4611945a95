package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

var now = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

const (
	oldCommit = "1111111000000000000000000000000000000000"
	newCommit = "2222222000000000000000000000000000000000"
)

// shown is a chain with a bit of everything.
func shown() status.Chain {
	pass := gate.Verdict{Gate: "proof", Status: gate.Pass, Reason: "2222222 is verified"}
	soak := gate.Verdict{Gate: "soak", Status: gate.Wait, Reason: "it soaks for 1h, until Mon 2026-01-05 12:30 UTC", NamesTime: true, ValidUntil: now.Add(30 * time.Minute)}
	return status.Chain{Head: newCommit, Checked: now, Stages: []status.Stage{
		{Environment: "dev", Commit: newCommit, Since: now.Add(-90 * time.Second), Merged: true, Proof: pass,
			Next: promote.Decision{State: promote.Current, Verdict: gate.Verdict{Status: gate.Pass, Reason: "up to date"}}},
		{Environment: "stage", After: []string{"dev"}, Commit: oldCommit, Since: now.Add(-50 * time.Hour), Behind: 2, Merged: true, Deployed: now.Add(-30 * time.Minute),
			Proof: gate.CombineVerdicts("proof", []gate.Verdict{{Gate: "merged", Status: gate.Pass, Reason: "the output is merged"}, soak}),
			Next: promote.Decision{State: promote.Waiting, Candidate: newCommit, Skipped: []string{"333333300000"}, Verdict: gate.CombineVerdicts("stage", []gate.Verdict{
				{Gate: "after", Status: gate.Pass, Reason: "2222222 was verified in dev"},
				{Gate: "settled", Status: gate.Wait, Reason: "1111111 is not verified yet", ValidUntil: soak.ValidUntil},
			})}},
		{Environment: "canary", After: []string{"dev"}, Commit: oldCommit, Merged: true, Proof: gate.Verdict{Status: gate.Fail, Reason: "it failed"},
			Next: promote.Decision{State: promote.Promotes, Candidate: newCommit}},
		{Environment: "prod", After: []string{"stage", "canary"}, Hold: "a \x1b[31mload test", Next: promote.Decision{State: promote.Held, Verdict: gate.Verdict{
			Status: gate.Wait, Reason: "it is held: a \x1b[31mload test"}}},
	}}
}

// chainText returns what status prints to a terminal of a width, without colours; 0 is no terminal.
func chainText(c status.Chain, width int) string {
	var out bytes.Buffer
	a := &app{stdout: display.NewStream(&out), format: "text"}
	if width > 0 {
		a.stdout = display.NewTerminal(&out, width)
	}
	_ = (&commandContext{app: a, now: func() time.Time { return now }}).printChain(c)
	return out.String()
}

func TestChainText(t *testing.T) {
	want := `ENVIRONMENT  COMMIT   AGE  STATE        BEHIND  NEXT
dev          2222222  1m   verified     0       up to date
stage        1111111  2d   rolling-out  2       2222222 waits: 1111111 is not verified yet
canary       1111111  -    failed       0       gets 2222222 now
prod         -        -    held         0       held: a ·[31mload test
`
	got := chainText(shown(), 0)
	if diff := cmp.Diff(want, strings.Map(plain, got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	unconnected := shown()
	unconnected.Unconnected = true
	if hint, ok := strings.CutPrefix(chainText(unconnected, 0), got); !ok || hint != "\nNo cluster has reported yet, so nothing goes on to the next environment. https://github.com/fairlead-io/fairlead/blob/main/docs/how-to/bootstrap-a-cluster.md says how to connect one. To promote without clusters, write proof: [merged] in each environment of .fairlead/promotion.yaml.\n" {
		t.Errorf("without reports it ends with %q", hint)
	}
	if got := chainText(status.Chain{External: true}, 0); got != "Others promote commits here; fairlead only renders.\n" {
		t.Errorf("an external one is %q", got)
	}
}

// plain writes what stands for a character that is not shown as a dot.
func plain(r rune) rune {
	if r == '\ufffd' || r == '\u241b' {
		return '·'
	}
	return r
}

// TestChainWidth: what is not for a terminal is never cut. On a terminal the long sentences, which
// say what to do, go on below themselves, and commands in them stay whole.
func TestChainWidth(t *testing.T) {
	t.Setenv("COLUMNS", "")
	reason := "base/configs/level.yaml:3: ConfigMap/level: " + strings.Repeat("it is wrong ", 30) + "fairlead-rollback-dev-mends-it"
	c := status.Chain{Stages: []status.Stage{{
		Environment: "dev", Commit: newCommit,
		Proof: gate.CombineVerdicts("proof", []gate.Verdict{{Gate: "problems", Kind: gate.KindProblems, Status: gate.Fail, Reason: reason}}),
		Next:  promote.Decision{State: promote.Current, Verdict: gate.Verdict{Reason: "up to date"}},
	}}}
	if _, line, _ := strings.Cut(chainText(c, 0), "\n"); line != "dev          2222222  -    problems  0       fix: "+reason+"\n" {
		t.Errorf("a pipe gets\n%s", line)
	}
	check := func(text string, width int) {
		t.Helper()
		for line := range strings.SplitSeq(text, "\n") {
			if n := len([]rune(colours.ReplaceAllString(line, ""))); n > width {
				t.Errorf("a line has %d characters, and the terminal %d:\n%s", n, width, line)
			}
		}
		if got := strings.Join(strings.Fields(text), " "); !strings.HasSuffix(got, strings.Join(strings.Fields(reason), " ")) {
			t.Errorf("the sentence is not whole:\n%s", text)
		}
	}
	check(chainText(c, 100), 100)
	t.Setenv("COLUMNS", "80")
	check(chainText(c, 200), 80)
	if text := chainText(c, 80); !strings.Contains(text, display.Red+"problems") {
		t.Errorf("the state has no colour: %q", text)
	}
}

// colours are the escape sequences that change a colour.
var colours = regexp.MustCompile("\x1b\\[[0-9]*m")

// TestChainTextOfRemovals: what an environment has left behind is said below the table, whole.
func TestChainTextOfRemovals(t *testing.T) {
	got := chainText(status.Chain{Stages: []status.Stage{{Environment: "dev", Removals: []status.Removal{
		{Repo: "https://git.example.com/out", Branch: "old", Reason: "pull request 7 removes its output; a person merges it, or closes it to keep the files"},
	}}}}, 0)
	want := "\ndev: its old output in branch old, folder . of https://git.example.com/out is to be removed: pull request 7 removes its output; a person merges it, or closes it to keep the files\n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("it says\n%s\nwant at the end%s", got, want)
	}
}

func TestStageText(t *testing.T) {
	s, _ := shown().FindStage("stage")
	want := `stage, which comes after dev

It has 1111111 since Sat 2026-01-03 10:00 UTC, for 2d; the base has had 2 commits since.
It is merged since Mon 2026-01-05 11:30 UTC, for 30m.
Next: 2222222 waits: 1111111 is not verified yet

Verification of 1111111:
  wait  proof
    yes   merged: the output is merged
    wait  soak: it soaks for 1h, until Mon 2026-01-05 12:30 UTC (30m more)

What 2222222 is waiting for:
  wait  stage
    yes   after: 2222222 was verified in dev
    wait  settled: 1111111 is not verified yet (until Mon 2026-01-05 12:30 UTC, 30m more)
  Between the two, one is left out: 3333333.

Next check: Mon 2026-01-05 12:30 UTC, in 30m.
`
	if diff := cmp.Diff(want, plaintext.FormatStage(s, now, display.NewStream(&bytes.Buffer{}))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestStageTextOfClusters: where clusters report, it is they who run a commit.
func TestStageTextOfClusters(t *testing.T) {
	s, _ := shown().FindStage("stage")
	s.Proof.Parts = append(s.Proof.Parts, gate.Verdict{Gate: "rollout", Status: gate.Pass, Reason: "2 of 2 clusters ready"})
	if got := plaintext.FormatStage(s, now, display.NewStream(&bytes.Buffer{})); !strings.Contains(got, "\nThe clusters run it since Mon 2026-01-05 11:30 UTC, for 30m.\n") {
		t.Errorf("it says\n%s", got)
	}
}

// TestStageTextOfProblems: a failure is said once below the next action, and nothing is said of
// clusters where none report.
func TestStageTextOfProblems(t *testing.T) {
	const reason = "base/configs/bad.yaml:1: the file is not YAML"
	s, _ := shown().FindStage("stage")
	failed := gate.Verdict{Gate: "problems", Kind: gate.KindProblems, Status: gate.Fail, Reason: reason}
	s.Proof = gate.CombineVerdicts("proof", []gate.Verdict{failed})
	s.Next.Verdict = gate.CombineVerdicts("stage", []gate.Verdict{{Gate: "after dev", Kind: gate.KindAfter, Status: gate.Fail, Reason: "1111111 failed in dev: " + reason, Parts: []gate.Verdict{failed}}})
	got := plaintext.FormatStage(s, now, display.NewStream(&bytes.Buffer{}))
	if n := strings.Count(got, reason); n > 3 || strings.Contains(got, "clusters") || strings.Contains(got, "It is merged") {
		t.Errorf("it says it %d times:\n%s", n, got)
	}
}

// TestChainTextOfFreezes: a freeze is shown as a hold is, whatever it is that waits.
func TestChainTextOfFreezes(t *testing.T) {
	chain := shown()
	chain.Stages[0].Withheld = []status.Withheld{{Cause: "freeze", Reason: "the freeze q4: the year ends"}}
	want := "up to date; only a person may merge its output: the freeze q4: the year ends\n"
	if got := chainText(chain, 0); !strings.Contains(got, want) {
		t.Errorf("it says\n%s", got)
	}
	s := chain.Stages[1]
	two := gate.EvaluateFreezes(gate.Facts{Environment: s.Environment, Freezes: []*model.Freeze{{Object: model.Object{Name: "both"}, Reason: "sale"}, {Object: model.Object{Name: "promo"}, Reason: "moving"}}})
	s.Next = promote.Decision{State: promote.Waiting, Candidate: "3333333", Verdict: gate.CombineVerdicts(s.Environment, []gate.Verdict{gate.CombineVerdicts("gates", []gate.Verdict{two})})}
	got := plaintext.FormatStage(s, now, display.NewStream(&bytes.Buffer{}))
	if n := strings.Count(got, "freeze both: sale"); n != 2 || !strings.Contains(got, "freeze both: sale, until a person ends it; freeze promo: moving, until a person ends it\n") {
		t.Errorf("it says %d times of two freezes\n%s", n, got)
	}
}

func TestArrivalsText(t *testing.T) {
	got := plaintext.FormatArrivals([]promote.Arrival{
		{Environment: "dev", State: promote.ArrivalHas, Time: now.Add(-time.Hour), Reason: "it has 2222222"},
		{Environment: "test", State: promote.ArrivalProposed, Time: now.Add(-time.Minute), Reason: "it was promoted to 2222222, and its newest output is not merged yet"},
		{Environment: "stage", State: promote.ArrivalExpected, Time: now.Add(time.Hour), Reason: "every gate has a known end"},
		{Environment: "prod", State: promote.ArrivalWaits, WaitsFor: []promote.ArrivalWait{{Environment: "stage", What: "its hold"}, {Environment: "prod", What: "2 approvals"}}, Delays: []promote.ArrivalWait{{Environment: "prod", What: "gate window until 14:00"}}, NotBefore: now.Add(2 * time.Hour), Reason: "it waits for stage: its hold"},
		{Environment: "live", State: promote.ArrivalNever, Reason: "it does not reach prod"},
	}, now, display.NewStream(&bytes.Buffer{}))
	want := `ENVIRONMENT  WHEN                            WHY
dev          there for 1h                    it has 2222222
test         promoted 1m ago                 it was promoted to 2222222, and its newest output is not merged yet
stage        Mon 2026-01-05 13:00 UTC, in 1h  every gate has a known end
prod         not before Mon 2026-01-05 14:00 UTC  it waits for stage: its hold
  waits for stage: its hold
  waits for prod: 2 approvals
  waits for prod: gate window until 14:00
live         never                           it does not reach prod
`
	if diff := cmp.Diff(strings.Fields(want), strings.Fields(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReadWish(t *testing.T) {
	names := []string{"dev", "stage", "prod"}
	for text, want := range map[string]promotionArguments{
		"stage":             {environment: "stage"},
		"stage 4be1c2d":     {environment: "stage", commit: "4be1c2d"},
		"dev stage":         {from: "dev", environment: "stage"},
		"dev → stage":       {from: "dev", environment: "stage"},
		"dev → stage main~": {from: "dev", environment: "stage", commit: "main~"},
		"dev stage main~":   {from: "dev", environment: "stage", commit: "main~"},
	} {
		if got, err := parsePromotionArguments(strings.Fields(text), names); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"→ stage", "dev →", "dev stage → prod", "dev → → stage", "dev → stage main more", "nowhere", "nowhere → stage", "→", "dev -"} {
		if got, err := parsePromotionArguments(strings.Fields(text), names); exitCode(err) != exitUsage {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	if got := replaceArrows([]string{"promote", "dev", "->", "stage"}); !cmp.Equal(got, []string{"promote", "dev", "→", "stage"}) {
		t.Errorf("an arrow that was typed: %q", got)
	}
}

func TestSignature(t *testing.T) {
	if got, err := parseSignature("Alice B. <alice@example.com>"); err != nil || got != (git.Signature{Name: "Alice B.", Email: "alice@example.com"}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"Alice", "<alice@example.com>", "Alice <>", "Alice <a@b> more", "Alice <a@b", "A\nb <a@b>"} {
		if got, err := parseSignature(text); exitCode(err) != exitUsage {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestReadTime(t *testing.T) {
	for text, want := range map[string]time.Time{
		"":                          {},
		"2026-12-24":                time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC),
		"2026-12-24T18:00:00+01:00": time.Date(2026, 12, 24, 17, 0, 0, 0, time.UTC),
		"36h":                       now.Add(36 * time.Hour),
	} {
		if got, err := parseNext("--to", text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"noon", "-3h", "2026-13-01", "24.12.2026"} {
		if got, err := parseNext("--to", text, now); exitCode(err) != exitUsage {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

// serveChain answers as a daemon does.
func serveChain(t *testing.T, answer func(w http.ResponseWriter)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/fairlead/api/v1/status" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		answer(w)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/fairlead/"
}

// run runs a command, and gives what it prints.
func run(ctx context.Context, cc *commandContext, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	cc.app = &app{stdout: display.NewStream(&out), stderr: display.NewStream(&errs), format: "text"}
	cc.now = func() time.Time { return now }
	w := &statusCommand{context: cc, interval: time.Minute}
	cc.daemonURL = args[0]
	err := w.runStatus(ctx, false)
	cc.app.reportError(err)
	return exitCode(err), out.String(), errs.String()
}

func TestStatusOfDaemon(t *testing.T) {
	ctx := t.Context()
	url := serveChain(t, func(w http.ResponseWriter) {
		store := &status.Store{}
		store.SetPromotions(shown())
		_ = json.NewEncoder(w).Encode(store.Snapshot())
	})
	code, out, errs := run(ctx, &commandContext{}, url)
	if code != 0 || errs != "" || out != chainText(shown(), 0) {
		t.Errorf("code %d, stdout\n%s\nstderr %s", code, out, errs)
	}
	broken := shown()
	broken.Problems = problem.List{{Summary: "it is broken", Hint: "mend it"}}
	url = serveChain(t, func(w http.ResponseWriter) { _ = json.NewEncoder(w).Encode(status.Snapshot{Chain: broken}) })
	if code, _, errs := run(ctx, &commandContext{}, url); code != exitProblems || !strings.Contains(errs, "error: it is broken\n  hint: mend it\n") {
		t.Errorf("problems: code %d, stderr %s", code, errs)
	}
	for _, test := range []struct {
		name, want string
		answer     func(http.ResponseWriter)
	}{
		{"nothing of it", "does not say how far commits have got", func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"environments": []}`)) }},
		{"no JSON", "answers what cannot be read", func(w http.ResponseWriter) { _, _ = w.Write([]byte("<html>")) }},
		{"an error", "answers 502 Bad Gateway", func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }},
		{"it cannot read", "the daemon cannot read the control plane: no", func(w http.ResponseWriter) {
			_ = json.NewEncoder(w).Encode(status.Snapshot{ControlPlaneError: "no"})
		}},
	} {
		code, out, errs := run(ctx, &commandContext{}, serveChain(t, test.answer))
		if code != exitFailed || out != "" || !strings.Contains(errs, test.want) {
			t.Errorf("%s: code %d, stdout %q, stderr %q", test.name, code, out, errs)
		}
	}
}

// TestWatch looks again at every tick, goes on after a failure, and ends with the context.
func TestWatch(t *testing.T) {
	looks := 0
	url := serveChain(t, func(w http.ResponseWriter) {
		looks++
		c := shown()
		c.Stages = c.Stages[:1]
		c.Stages[0].Behind = looks
		if looks == 2 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(status.Snapshot{Chain: c})
	})
	var out, errs bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	ticks := make(chan time.Time)
	w := &statusCommand{context: &commandContext{
		app:       &app{stdout: display.NewStream(&out), stderr: display.NewStream(&errs), format: "text"},
		daemonURL: url, now: func() time.Time { return now },
		ticks: func(time.Duration) (<-chan time.Time, func()) { return ticks, func() {} },
	}}
	done := make(chan error)
	go func() { done <- w.runStatus(ctx, true) }()
	ticks <- now
	ticks <- now
	ticks <- now // the third look is over
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if strings.Count(out.String(), "ENVIRONMENT") < 2 || !strings.Contains(out.String(), "verified  3 ") {
		t.Errorf("stdout\n%s", out.String())
	}
	if strings.Count(errs.String(), "500 Internal Server Error") != 1 {
		t.Errorf("stderr\n%s", errs.String())
	}
}
