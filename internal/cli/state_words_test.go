package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
	"github.com/fairlead-io/fairlead/internal/server/web"
)

// stateCases are stages with the state of their output; each state that a daemon knows is met.
var stateCases = []struct {
	name   string
	stage  status.Stage
	output status.State
	want   status.StageState
}{
	{"no commit", status.Stage{}, status.Waiting, "empty"},
	{"a record that cannot be read", status.Stage{Commit: newCommit, Next: promote.Decision{State: promote.Stopped}}, status.InSync, "stopped"},
	{"a commit that cannot be rendered", status.Stage{Commit: newCommit, Proof: gate.CombineVerdicts("proof", []gate.Verdict{{Gate: "problems", Kind: gate.KindProblems, Status: gate.Fail}})}, status.Problems, "problems"},
	{"problems of its branch", status.Stage{Commit: newCommit, Proof: gate.Verdict{Status: gate.Wait}}, status.Problems, "problems"},
	{"open", status.Stage{Commit: newCommit, Proof: gate.Verdict{Status: gate.Wait}}, status.Proposed, "proposed"},
	{"open, for a person", status.Stage{Commit: newCommit, Proof: gate.Verdict{Status: gate.Wait}, Withheld: []status.Withheld{{Cause: "removals"}}}, status.Proposed, "proposed"},
	{"closed", status.Stage{Commit: newCommit, Proof: gate.Verdict{Status: gate.Wait}}, status.Declined, "declined"},
	{"edited", status.Stage{Commit: newCommit, Proof: gate.Verdict{Status: gate.Wait}}, status.Edited, "edited"},
	{"a foreign branch", status.Stage{Commit: newCommit, Proof: gate.Verdict{Status: gate.Wait}}, status.Foreign, "foreign"},
	{"an operation failed", status.Stage{Commit: newCommit, Proof: gate.Verdict{Status: gate.Wait}}, status.Failed, "failed"},
	{"nothing is written", status.Stage{Commit: newCommit, Proof: gate.Verdict{Status: gate.Wait}}, status.DryRun, "dry-run"},
	{"its turn", status.Stage{Commit: newCommit, Proof: gate.Verdict{Status: gate.Wait}}, status.Waiting, "waiting"},
	{"merged just now", status.Stage{Commit: newCommit, Proof: gate.Verdict{Status: gate.Wait}}, status.InSync, "waiting"},
	{"merged", status.Stage{Commit: newCommit, Merged: true, Proof: gate.Verdict{Status: gate.Wait}}, status.InSync, "rolling-out"},
	{"a workload's change is open", status.Stage{Commit: newCommit, Merged: true, Proof: gate.Verdict{Status: gate.Wait}}, status.Proposed, "rolling-out"},
	{"verified", status.Stage{Commit: newCommit, Merged: true, Proof: gate.Verdict{Status: gate.Pass}}, status.InSync, "verified"},
	{"verification failed", status.Stage{Commit: newCommit, Merged: true, Proof: gate.Verdict{Status: gate.Fail}}, status.InSync, "failed"},
}

// TestStateWords: status, the page and the API show the same word for the state of a commit, and for
// that of an output; the page writes a space for a hyphen.
func TestStateWords(t *testing.T) {
	store, chain := &status.Store{}, status.Chain{Checked: now}
	met := map[status.StageState]bool{status.StagePromoted: true, status.StageHeld: true, status.StageFrozen: true} // of Git alone, and TestHeldIsOneWord
	for i, c := range stateCases {
		c.stage.Environment = fmt.Sprintf("env%02d", i)
		chain.Stages = append(chain.Stages, c.stage)
		store.SetEnvironment(status.Environment{Name: c.stage.Environment, State: c.output, Assignments: 1})
		met[c.want] = true
	}
	for _, s := range status.AllStageStates() {
		if !met[s] {
			t.Errorf("no case has the state %s", s)
		}
	}
	store.SetPromotions(chain)
	site := web.New(web.Options{Store: store, Now: func() time.Time { return now }})
	get := func(path string) string {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path, nil))
		return w.Body.String()
	}
	var api struct {
		Chain struct {
			Stages []struct{ Environment, State string }
		}
		Environments []struct{ Name, State string }
	}
	if err := json.Unmarshal([]byte(get("/api/v1/status")), &api); err != nil {
		t.Fatal(err)
	}
	words := func(path, pattern string) map[string]string { // of a page
		found := map[string]string{}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(get(path), -1) {
			found[m[1]] = strings.ReplaceAll(m[2], " ", "-") // people read "in sync"
		}
		return found
	}
	page := words("/", `(?s)data-state="(env\d+)"><span class="tag \w+">.*?</svg>([a-z -]+)</span>`)
	printed := strings.Split(chainText(store.Snapshot().Chain, 0), "\n")
	once := strings.Split(plaintext.FormatEnvironments(store.Snapshot().Environments, &display.Stream{}), "\n")
	for i, c := range stateCases {
		name := fmt.Sprintf("env%02d", i)
		if got := api.Chain.Stages[i]; got.Environment != name || got.State != string(c.want) || page[name] != got.State || !slices.Contains(strings.Fields(printed[i+1]), got.State) {
			t.Errorf("%s: the API has %s, the page %s, and status prints %q; want %s", c.name, got.State, page[name], printed[i+1], c.want)
		}
		outputs := words("/environments/"+name, `(env\d+)</li>(?s).*<h2 id="output">Output</h2>\n<p>(in sync|[a-z-]+)`)
		if got := api.Environments[i]; got.Name != name || got.State != string(c.output) || outputs[name] != got.State || strings.Fields(once[i+1])[1] != got.State {
			t.Errorf("%s: of its output the API has %s, the page %s, and serve --once prints %q; want %s", c.name, got.State, outputs[name], once[i+1], c.output)
		}
	}
}

// TestTextsOfPages: the text of a page is what the command prints that answers the same. The overview has the timeline
// below that.
func TestTextsOfPages(t *testing.T) {
	store := &status.Store{}
	store.SetPromotions(shown())
	site := web.New(web.Options{Store: store, Now: func() time.Time { return now }})
	chain := store.Snapshot().Chain
	stage, _ := chain.FindStage("stage")
	for path, want := range map[string]string{"/": chainText(chain, 0), "/environments/stage": plaintext.FormatStage(stage, now, display.NewStream(io.Discard))} {
		r := httptest.NewRequest("GET", "http://localhost"+path, nil)
		r.Header.Set("Accept", "text/plain")
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		got, timeline, _ := strings.Cut(w.Body.String(), "\n\nfrom ")
		if path == "/" {
			got += "\n"
		}
		if diff := cmp.Diff(want, got); diff != "" || (timeline != "") != (path == "/") {
			t.Errorf("%s, with the timeline %q (-command +page):\n%s", path, timeline, diff)
		}
	}
}

// TestHeldIsOneWord: status and the page have the same word for an environment that is held: what its commit
// needs of people, if it needs any, or else that it is held.
func TestHeldIsOneWord(t *testing.T) {
	for _, c := range stateCases {
		held := c.stage
		held.Environment, held.Hold = "env", "the load test"
		if held.Next.State == "" {
			held.Next.State = promote.Held
		}
		store := &status.Store{}
		store.SetEnvironment(status.Environment{Name: "env", State: c.output, Assignments: 1})
		store.SetPromotions(status.Chain{Checked: now, Stages: []status.Stage{held}})
		w := httptest.NewRecorder()
		web.New(web.Options{Store: store, Now: func() time.Time { return now }}).ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/", nil))
		page := regexp.MustCompile(`(?s)data-state="env"><span class="tag \w+">.*?</svg>([a-z -]+)</span>`).FindStringSubmatch(w.Body.String())
		want := string(c.want)
		if slices.Contains([]string{"empty", "proposed", "dry-run", "waiting", "rolling-out", "verified"}, want) {
			want = "held"
		}
		printed := strings.Fields(strings.Split(chainText(store.Snapshot().Chain, 0), "\n")[1])
		if len(page) != 2 || page[1] != want || !slices.Contains(printed, want) {
			t.Errorf("%s, held: the page has %q, and status prints %q; want %s", c.name, page, printed, want)
		}
	}
}

// TestOutputsAreOneWord: status, the API and all pages have the same word for an environment whose output needs more of
// people than its commit, and the same sentence; and what only a person merges is listed, whatever else is wrong.
func TestOutputsAreOneWord(t *testing.T) {
	verified := status.Stage{Environment: "env", Commit: newCommit, Merged: true, Proof: gate.Verdict{Status: gate.Pass}}
	rolls, broken, promoted := verified, verified, verified
	rolls.Proof = gate.Verdict{Gate: "proof", Status: gate.Wait, Reason: "0 of 1 cluster ready"}
	broken.Proof = gate.Verdict{Gate: "proof", Status: gate.Fail, Reason: "1 of 1 cluster failed"}
	promoted.Merged, promoted.Proof.Status, promoted.Proof.Reason = false, gate.Wait, "pull request 13 is not merged"
	stopped := problem.List{{Pos: problem.Pos{Layer: "env", File: "stacks/raw.yaml", Line: 9}, Summary: "its state is another's", Stack: "sample/raw"}}
	const mend, keeps, teardown = "fix: env/stacks/raw.yaml:9: its state is another's", "the stack sample/raw is stopped by a problem, and stays as it is", "the stack sample/two is being destroyed: 2 plans without approval"
	pull := &status.Pull{Number: 13}
	for name, c := range map[string]struct {
		stage      status.Stage
		output     status.Environment
		want, next string
		levers     string // of what waits; "" if nothing does
	}{
		"for a person, verified":          {verified, status.Environment{State: status.Proposed, Pull: pull}, "proposed", "merge pull request 13", "merge"},
		"for a person, promoted":          {promoted, status.Environment{State: status.Proposed, Pull: pull}, "proposed", "merge pull request 13", "merge"},
		"for a person, a stack stopped":   {rolls, status.Environment{State: status.Proposed, Pull: pull, Reason: keeps, Notes: []string{keeps}, Problems: stopped}, "proposed", "merge pull request 13; " + mend, "merge"},
		"promoted, a stack stopped":       {promoted, status.Environment{State: status.Proposed, Pull: pull, Reason: keeps, Notes: []string{keeps}, Problems: stopped}, "proposed", "merge pull request 13; " + mend, "merge"},
		"for a person, the commit failed": {broken, status.Environment{State: status.Proposed, Pull: pull}, "failed", "merge pull request 13; fix: 1 of 1 cluster failed", "merge,rollback,hold"},
		"merging failed":                  {rolls, status.Environment{State: status.Proposed, Pull: pull, Reason: "merge is direct: no; " + keeps, MergeReason: "merge is direct: no", LeftToPeople: true, Notes: []string{keeps}}, "proposed", "merge pull request 13: merge is direct: no", "merge"},
		"withheld":                        {rolls, status.Environment{State: status.Proposed, Pull: pull, Reason: "3 removed", Withheld: []status.Withheld{{Cause: "removals", Reason: "3 removed"}}}, "proposed", "merge pull request 13: 3 removed", "merge"},
		"merged by Fairlead":              {verified, status.Environment{State: status.Proposed, Pull: pull, Reason: "the forge merges it once nothing is missing; " + keeps, MergeReason: "the forge merges it once nothing is missing", Notes: []string{keeps}, Problems: stopped}, "proposed", "waits for pull request 13: the forge merges it once nothing is missing; " + mend, ""},
		"another daemon proposes":         {verified, status.Environment{State: status.DryRun, Pull: pull}, "proposed", "merge pull request 13", "-"},
		"closed":                          {verified, status.Environment{State: status.Declined, Pull: pull}, "declined", "declined: open pull request 13 again or change something", "reopen"},
		"it cannot be rendered":           {rolls, status.Environment{State: status.Problems, Problems: problem.List{{Summary: "no such kind"}}}, "problems", "fix: no such kind", "rollback,hold"},
		"a stack is torn down":            {verified, status.Environment{State: status.InSync, Teardowns: teardown, Reason: teardown, Notes: []string{teardown}}, "verified", "up to date; " + teardown, ""},
		"torn down, for a person":         {verified, status.Environment{State: status.Proposed, Pull: pull, Teardowns: teardown, Reason: teardown, Notes: []string{teardown}}, "proposed", "merge pull request 13; " + teardown, "merge"},
	} {
		c.output.Name, c.output.Assignments = "env", 1
		store := &status.Store{}
		store.SetCycle(status.Cycle{Outcome: status.OutcomeOK})
		store.SetEnvironment(c.output)
		store.SetPromotions(status.Chain{Checked: now, Stages: []status.Stage{c.stage}})
		site := web.New(web.Options{Store: store, Now: func() time.Time { return now }})
		get := func(path, accept string) string {
			r := httptest.NewRequest("GET", "http://localhost"+path, nil)
			r.Header.Set("Accept", accept)
			w := httptest.NewRecorder()
			site.ServeHTTP(w, r)
			return w.Body.String()
		}
		if printed := chainText(store.Snapshot().Chain, 0); !slices.Contains(strings.Fields(printed), c.want) || !strings.HasSuffix(strings.TrimRight(printed, "\n"), " "+c.next) {
			t.Errorf("%s: status prints\n%s; want %s and %q", name, printed, c.want, c.next)
		}
		if text := get("/environments/env", "text/plain"); !strings.Contains(text, "Next: "+c.next+"\n") {
			t.Errorf("%s: the text of the page is\n%s; want %q", name, text, c.next)
		}
		var api struct {
			Situation struct {
				Reason string
				State  struct{ Word string }
			}
			Stage struct{ Shown string }
		}
		err := json.Unmarshal([]byte(get("/api/v1/environments/env", "application/json")), &api)
		if err != nil || api.Stage.Shown != c.want || api.Situation.State.Word != c.want || api.Situation.Reason != c.next {
			t.Errorf("%s: the API has %+v (%v); want %s and %q", name, api, err, c.want, c.next)
		}
		for _, path := range []string{"/", "/environments", "/environments/env"} {
			if page := get(path, "text/html"); !strings.Contains(page, "</svg>"+c.want+"</span>") {
				t.Errorf("%s: %s does not say %s:\n%s", name, path, c.want, page)
			}
		}
		waiting, want := get("/waiting", "text/plain"), "nothing waits for a person\n"
		if c.levers != "" {
			want = " " + c.levers + "\n"
		}
		if !strings.HasSuffix(waiting, want) || c.levers != "" && !strings.Contains(waiting, c.next) {
			t.Errorf("%s: what waits is\n%s; want %q and %q", name, waiting, c.next, c.levers)
		}
	}
}

// TestEmptyIsOneWord: status and the page have the same word for an environment in which nothing is assigned.
func TestEmptyIsOneWord(t *testing.T) {
	store := &status.Store{}
	store.SetEnvironment(status.Environment{Name: "env", State: status.InSync})
	store.SetPromotions(status.Chain{Checked: now, Stages: []status.Stage{{Environment: "env", Commit: newCommit, Merged: true, Proof: gate.Verdict{Status: gate.Pass}}}})
	w := httptest.NewRecorder()
	web.New(web.Options{Store: store, Now: func() time.Time { return now }}).ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/", nil))
	printed := strings.Fields(strings.Split(chainText(store.Snapshot().Chain, 0), "\n")[1])
	if !slices.Contains(printed, "empty") || !strings.Contains(w.Body.String(), "</svg>empty</span>") {
		t.Errorf("status prints %q, and the page has\n%s", printed, w.Body)
	}
}

// TestStatesOfOlderDaemons: what a daemon does not report is found from the rest.
func TestStatesOfOlderDaemons(t *testing.T) {
	for name, c := range map[string]struct {
		stage status.Stage
		want  status.StageState
	}{
		"for a person":              {status.Stage{Commit: newCommit, Withheld: []status.Withheld{{}}}, "proposed"},
		"not merged":                {status.Stage{Commit: newCommit}, "waiting"},
		"merged":                    {status.Stage{Commit: newCommit, Merged: true}, "rolling-out"},
		"a state that it does have": {status.Stage{Commit: newCommit, State: status.StageDeclined}, "declined"},
	} {
		if got := c.stage.KnownState(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	looks := status.Stage{Commit: newCommit, Pull: &status.Pull{Number: 1}}
	if got := looks.FindState(status.DryRun); got != status.StageProposed {
		t.Errorf("what another daemon proposes is %s", got)
	}
}

// TestStatesAreDocumented: docs/reference/cli.md, the glossary and the description of the API have all
// states of commits and of outputs, and no others.
func TestStatesAreDocumented(t *testing.T) {
	words := func(text string) []string {
		var all []string
		for _, m := range regexp.MustCompile("[`\"]([a-z-]+)[`\"]").FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
		slices.Sort(all)
		return all
	}
	between := func(file, start, end string) string {
		t.Helper()
		_, text, found := strings.Cut(read(t, "../../"+file), start)
		if !found {
			t.Fatalf("%s has no %q", file, start)
		}
		text, _, _ = strings.Cut(text, end)
		return text
	}
	table := func(start string) string { // its first column
		var b strings.Builder
		for row := range strings.Lines(between("docs/reference/cli.md", start+"| state | means |\n|---|---|\n", "\n\n")) {
			b.WriteString(strings.SplitN(row, "|", 3)[1])
		}
		return b.String()
	}
	var commits, outputs []string
	for _, s := range status.AllStageStates() {
		commits = append(commits, string(s))
	}
	for _, s := range status.AllStates() {
		outputs = append(outputs, string(s))
	}
	const glossary = "docs/reference/glossary.md"
	for _, c := range []struct {
		where, text string
		want        []string
	}{
		{"status of the manual", table("`fairlead/look`.\n\n"), commits},
		{"serve of the manual", table("as `/api/v1/status`. The states:\n\n"), outputs},
		{"commits in the glossary", between(glossary, "| state of a commit in an environment |", ";"), commits},
		{"outputs in the glossary", between(glossary, "| state of an output |", ";"), outputs},
	} {
		slices.Sort(c.want)
		if diff := cmp.Diff(c.want, words(c.text)); diff != "" {
			t.Errorf("%s (-code +docs):\n%s", c.where, diff)
		}
	}
}
