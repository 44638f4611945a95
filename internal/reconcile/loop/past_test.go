package loop_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestPast: an environment is rendered again as it was wanted when its output was another one, whichever way the moment
// is named, and is compared with what it is now; nothing is written.
func TestPast(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct}\n    - {name: stage, after: [dev], merge: direct}\n", "dev", "stage")
	d := w.begin(w.data)
	bases, outputs := map[int]string{}, map[int]string{}
	for _, level := range []int{1, 2} {
		bases[level] = w.changeNow(level)
		d.settle("dev")
		outputs[level] = d.state("dev").Output.Head
	}
	level := func(at string) (string, history.Output) {
		t.Helper()
		moment, ok := history.ParseMoment(at)
		if !ok {
			t.Fatalf("%s is no moment", at)
		}
		answer, output, err := d.ExplainPast(t.Context(), "dev", moment, "ConfigMap/level")
		if err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		return answer.Text(), output
	}
	_, last := level(outputs[2])
	for at, want := range map[string]int{outputs[1]: 1, outputs[1][:8]: 1, bases[1]: 1, outputs[2]: 2, bases[2][:10]: 2, last.When.Format(time.RFC3339): 2} {
		text, output := level(at)
		if output.Commit != outputs[want] || !strings.HasPrefix(output.Base, bases[want][:7]) || output.When.IsZero() {
			t.Errorf("%s is %+v, want output %s of base %s:\n%s", at, output, outputs[want], bases[want], text)
		}
	}
	was, _ := history.ParseMoment(outputs[1])
	report, past, err := d.ComparePast(t.Context(), history.Place{Environment: "dev", At: was}, history.Place{Environment: "dev"})
	if err != nil || len(past) != 1 || report.From != "dev@"+outputs[1] || report.To != "dev" || !strings.Contains(report.Text(), "LEVEL: 1 → 2") {
		t.Errorf("since then %v, %v:\n%s", past, err, report.Text())
	}
	plan, _, err := d.PlanPast(t.Context(), "dev", was)
	if err != nil || plan.Len() != d.store.Snapshot().Plans["dev"].Len() {
		t.Errorf("the plan of then is %+v, %v", plan, err)
	}
	now, _ := history.ParseMoment(bases[2])
	changes, between, err := d.ChangesPast(t.Context(), "dev", was, now)
	if err != nil || len(between) != 2 || between[0].Commit != outputs[1] || between[1].Commit != outputs[2] || !strings.HasPrefix(between[1].Base, bases[2][:7]) || !strings.Contains(changes.Text(), "LEVEL: 1 -> 2") {
		t.Errorf("between them %+v, %v:\n%s", between, err, changes.Text())
	}
	same, _, err := d.ChangesPast(t.Context(), "dev", was, was)
	if err != nil || same.Files.Total() > 0 {
		t.Errorf("of one output %v:\n%s", err, same.Text())
	}
	for _, at := range []string{"2020-01-01", "abcd1234"} {
		moment, _ := history.ParseMoment(at)
		_, _, err := d.ExplainPast(t.Context(), "dev", moment, "ConfigMap/level")
		var unknown *explain.QueryError
		if !errors.As(err, &unknown) || !strings.Contains(unknown.Summary, "dev@"+at) {
			t.Errorf("at %s: %v", at, err)
		}
	}
	d.settle("dev")
	if after := d.state("dev").Output.Head; after != outputs[2] {
		t.Errorf("after questions dev is at %s, and was at %s", after, outputs[2])
	}
}

// askPast returns the output that dev had at a time: none if nothing was merged yet.
func (d *daemon) askPast(at time.Time) history.Output {
	d.Helper()
	plan, output, err := d.PlanPast(d.Context(), "dev", momentAt(at))
	var missing *explain.QueryError
	if errors.As(err, &missing) && strings.Contains(missing.Summary, "nothing was merged") {
		return history.Output{}
	}
	if err != nil || plan.Len() == 0 {
		d.Fatalf("at %s: %+v, %v", at, plan, err)
	}
	return output
}

func momentAt(at time.Time) history.Moment {
	moment, _ := history.ParseMoment(at.Format(time.RFC3339))
	return moment
}

// TestPastMergedLater: an output that waited for a person was there since it was merged, not since it was proposed; of one
// that was merged by a push, the commit says when.
func TestPastMergedLater(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: manual}\n", "dev")
	d := w.begin(w.data)
	var bases [4]string
	var waited, merged [4]time.Time
	for level := 1; level <= 3; level++ {
		bases[level] = w.changeNow(level)
		d.settle("dev")
		waited[level] = w.now.Add(30 * time.Minute)
		w.now = w.now.Add(time.Hour)
		if merged[level] = w.now; level < 3 {
			w.merge("dev")
		} else {
			gittest.Git(t, w.server.Dir("out"), "update-ref", "refs/heads/dev", "refs/heads/fairlead/dev")
		}
		d.pass(time.Minute)
		if output := d.askPast(w.now); output.Base != bases[level] || level < 3 && !output.When.Equal(merged[level]) || level == 3 && !output.When.Before(waited[3]) {
			t.Errorf("after the merge of level %d at %s dev has %+v", level, merged[level], output)
		}
		d.pass(time.Minute)
		if e := d.state("dev"); e.State != status.InSync || e.Pull == nil || e.Pull.Number != level || e.Change == "" || d.stage("dev").Pull != nil {
			t.Errorf("after the merge of level %d the last pull request of dev is %+v, which changed %q", level, e.Pull, e.Change)
		}
	}
	log, err := d.History(t.Context())
	var deployed []string
	for i, one := range log.Deployments["dev"] {
		deployed = append(deployed, one.Commit)
		if i < 2 && !one.Merged.Equal(merged[i+1]) || one.Authored.IsZero() || one.Authored.After(one.Merged) {
			t.Errorf("deployment %d of dev is %+v, and was merged at %s", i+1, one, merged[i+1])
		}
	}
	if err != nil || !slices.Equal(deployed, bases[1:]) {
		t.Errorf("dev was deployed %v, %v, want %v: what was merged", deployed, err, bases[1:])
	}
	for at, want := range map[time.Time]int{waited[1]: 0, merged[1].Add(-time.Second): 0, merged[1]: 1, waited[2]: 1, merged[2]: 2, waited[3]: 3} {
		if output := d.askPast(at); output.Base != bases[want] {
			t.Errorf("at %s dev has %+v, want level %d, of %s", at, output, want, bases[want])
		}
	}
	checkChains(d, bases, waited, merged)
	for _, c := range []struct {
		from, to time.Time
		changes  bool
	}{{merged[1], waited[2], false}, {waited[2], merged[2], true}} {
		report, outputs, err := d.ChangesPast(t.Context(), "dev", momentAt(c.from), momentAt(c.to))
		if err != nil || strings.Contains(report.Text(), "LEVEL: 1 -> 2") != c.changes || outputs[0].Commit != outputs[1].Commit != c.changes || !outputs[0].When.Equal(merged[1]) {
			t.Errorf("from %s to %s %+v, %v:\n%s", c.from, c.to, outputs, err, report.Text())
		}
	}
}

// checkChains: the chain of then has what dev had been promoted to, whether that was merged, which freezes and holds there
// were, and the commits of the base by then; a commit stands for when it was made or merged.
func checkChains(d *daemon, bases [4]string, waited, merged [4]time.Time) {
	d.Helper()
	d.world.commitNow("main", "Freeze dev", map[string]string{".fairlead/freezes/q4.yaml": own("Freeze", "q4", "{reason: the books, environments: [dev]}")})
	frozen := d.world.now
	d.pass(time.Hour)
	d.world.commitNow("dev", "Hold dev", map[string]string{".fairlead/hold.yaml": own("Hold", "dev", "{reason: the sale}")})
	d.pass(time.Minute)
	for _, c := range []struct {
		at             time.Time
		promoted, runs int
		frozen, held   bool
	}{
		{waited[1], 1, 0, false, false}, {merged[1], 1, 1, false, false}, {waited[2], 2, 1, false, false}, {merged[2], 2, 2, false, false}, {waited[3], 3, 3, false, false},
		{frozen.Add(time.Minute), 3, 3, true, false}, {d.world.now, 3, 3, true, true},
	} {
		chain, outputs, err := d.ChainPast(d.Context(), c.at)
		if err != nil || len(chain.Stages) != 1 || len(outputs) != 1 || outputs[0].Base != bases[c.runs] {
			d.Fatalf("at %s %+v, %+v, %v", c.at, chain, outputs, err)
		}
		stage := chain.Stages[0]
		if stage.Commit != bases[c.promoted] || stage.Merged != (c.promoted == c.runs) || len(stage.Turns) > c.promoted || (stage.Frozen != "") != c.frozen || strings.Contains(stage.Hold, "the sale") != c.held {
			d.Errorf("at %s dev is %+v, want %+v of %s", c.at, stage, c, bases)
		}
		newer := slices.IndexFunc(chain.Commits, func(one status.Commit) bool { return one.When.After(c.at) })
		if newer >= 0 || chain.IndexCommit(bases[c.promoted]) < 0 || !chain.FromGit {
			d.Errorf("at %s the commits are %+v", c.at, chain.Commits)
		}
	}
	output := d.askPast(merged[2])
	for id, want := range map[string]time.Time{bases[2]: d.store.Snapshot().Chain.FindCommit(bases[2]).When, output.Commit: merged[2], output.Commit[:9]: merged[2]} {
		moment, _ := history.ParseMoment(id)
		if when, err := d.TimePast(d.Context(), moment); err != nil || !when.Equal(want) {
			d.Errorf("%s is of %s, %v, want %s", id, when, err, want)
		}
	}
	var unknown *explain.QueryError
	if _, _, err := d.ChainPast(d.Context(), time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)); !errors.As(err, &unknown) || !strings.Contains(unknown.Summary, "had no commit by 2001-01-01") {
		d.Errorf("before the first commit: %v", err)
	}
	if _, err := d.TimePast(d.Context(), history.Moment{Commit: "abcdabcd"}); !errors.As(err, &unknown) {
		d.Errorf("of a commit that there is not: %v", err)
	}
}

// TestPastOfForge: a forge says when what was merged by a fast-forward was merged, also right after it was asked, and
// what it said stays known when it answers no more.
func TestPastOfForge(t *testing.T) {
	h := newHub(t, "    - {name: dev, merge: manual}\n", "dev")
	merged := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) // as the fake says of all
	h.world.now = merged.Add(-3 * time.Hour)
	base := h.changeNow(1)
	h.settle("dev")
	if _, err := h.History(t.Context()); err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, h.fake.Git.Dir(githubOut), "update-ref", "refs/heads/dev", "refs/heads/fairlead/dev")
	h.pass(30 * time.Second)
	if output := h.askPast(merged.Add(-time.Hour)); output.Commit != "" {
		t.Errorf("before the merge dev has %+v", output)
	}
	if output := h.askPast(merged); output.Base != base || !output.When.Equal(merged) {
		t.Errorf("after the merge of %s dev has %+v", base, output)
	}
	h.fake.Inject(githubfake.Fault{Method: "GET", Path: "/repos/*/*/pulls", Status: 403, Body: `{"message":"Resource not accessible by integration"}`})
	h.world.now = h.world.now.Add(time.Hour)
	if output := h.askPast(merged); !output.When.Equal(merged) || !strings.Contains(h.logs.String(), "were merged could not be read") {
		t.Errorf("of a forge that no longer answers dev has %+v, and the log\n%s", output, h.logs.String())
	}
}

// TestSlowForgeKeepsNoCycle: a forge that does not answer a question about the past keeps no cycle from beginning.
func TestSlowForgeKeepsNoCycle(t *testing.T) {
	h := newHub(t, "    - {name: dev, merge: manual}\n", "dev")
	h.settle("dev")
	before := len(h.fake.Requests())
	h.fake.Inject(githubfake.Fault{Method: "GET", Path: "/repos/*/*/pulls", Times: 1, Stall: true})
	ctx, giveUp := context.WithCancel(t.Context())
	answered := make(chan error)
	go func() {
		_, err := h.History(ctx)
		answered <- err
	}()
	for len(h.fake.Requests()) == before {
		runtime.Gosched()
	}
	h.changeNow(1)
	h.settle("dev")
	select {
	case err := <-answered:
		t.Errorf("the forge was not asked, or has answered: %v", err)
	default:
	}
	giveUp()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("the question ended with %v", err)
	}
}

// runUntil runs a daemon as in life until a condition on its reports is met, which it looks at whenever one changes.
func (d *daemon) runUntil(after func(), isMet func(status.Snapshot) bool) {
	ctx, end := context.WithCancel(d.Context())
	ended := make(chan struct{})
	go func() {
		d.Run(ctx, after)
		close(ended)
	}()
	for {
		_, changed := d.store.Version()
		if isMet(d.store.Snapshot()) {
			break
		}
		<-changed
	}
	end()
	<-ended
}

// wantRecalled checks that after a start the report of dev has the pull request that was merged last.
func (d *daemon) wantRecalled(number int) {
	d.Helper()
	d.runUntil(func() {}, func(s status.Snapshot) bool {
		e, isReported := s.FindEnvironment("dev")
		return isReported && e.Pull != nil
	})
	if e := d.state("dev"); e.State != status.InSync || e.Pull.Number != number || e.Change == "" || e.Pull.Title != "dev: "+e.Change {
		d.Errorf("the last pull request of dev, which is %s, is %+v, and changed %q", e.State, e.Pull, e.Change)
	}
}

// TestPullIsRecalled: after a start, the report of an environment has the pull request again that was merged last.
func TestPullIsRecalled(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: manual}\n", "dev")
	d := w.begin(w.data)
	for level := range 2 {
		w.changeNow(level)
		d.settle("dev")
		w.merge("dev")
		d.settle("dev")
	}
	d.Close()
	w.begin(w.data).wantRecalled(2)
}

// TestPullOfOwnBranch: a pull request that was merged names the commits of the environment's branch that it brought, and
// not the promotions that Fairlead wrote there.
func TestPullOfOwnBranch(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: manual}\n", "dev")
	d := w.begin(w.data)
	d.settle("dev")
	w.merge("dev")
	d.settle("dev")
	w.edit("dev", "configs/environment.yaml", "LOG_LEVEL: debug", "LOG_LEVEL: warning")
	d.settle("dev")
	w.merge("dev")
	d.settle("dev")
	p, err := d.ReadPull(t.Context(), "dev", d.state("dev").Pull.Number)
	subjects := list.Convert(p.OwnCommits, func(c git.CommitInfo) string { return c.Subject() })
	if err != nil || !slices.Equal(subjects, []string{"edit configs/environment.yaml"}) || len(p.Commits) > 0 {
		t.Errorf("of dev's branch it brought %q, and %d of the base (%v)", subjects, len(p.Commits), err)
	}
	all, err := d.History(t.Context())
	for _, e := range all.Entries {
		if own := e.Own.Subject(); e.Action == "merge" && (own != "") != (e.Pull == p.Number) {
			t.Errorf("the history says of pull request %d that it brought %q", e.Pull, own)
		}
	}
	if err != nil || len(all.Entries) == 0 {
		t.Errorf("the history is %+v (%v)", all, err)
	}
}

// TestPullIsRecalledFromForge: so it has where a forge is asked, and one that does not answer keeps no cycle from
// beginning.
func TestPullIsRecalledFromForge(t *testing.T) {
	h := newHub(t, "    - {name: dev, merge: manual}\n", "dev")
	h.settle("dev")
	h.fake.Merge(githubOut, 1, false)
	h.settle("dev")
	h.Close()
	d := h.begin(h.data)
	cycles := 0
	after := func() {
		if cycles++; cycles == 1 { // the forge is asked now, and by nobody else
			h.fake.Inject(githubfake.Fault{Method: "GET", Path: "/repos/*/*/pulls", Times: 1, Stall: true})
			before := len(h.fake.Requests())
			go func() {
				for len(h.fake.Requests()) == before {
					runtime.Gosched()
				}
				d.Wake("")
			}()
		}
	}
	d.runUntil(after, func(s status.Snapshot) bool { return s.Cycle.Number > 1 })
	if e := d.state("dev"); e.State != status.InSync || e.Pull != nil {
		t.Errorf("a forge that did not answer has told of %+v, which was %s", e.Pull, e.State)
	}
	d.Close()
	h.begin(h.data).wantRecalled(1)
}

// TestEffectAfterCause: a promotion has a time that is not before the merge that it follows from, in the same round too.
func TestEffectAfterCause(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct, proof: []}\n    - {name: stage, after: [dev], merge: direct, proof: []}\n", "dev", "stage")
	var read atomic.Int64
	d := w.begin(w.data, func(o *loop.Options) {
		o.Now = func() time.Time { return w.now.Add(time.Duration(read.Add(1)) * time.Second) }
	})
	w.changeNow(1)
	d.settle("dev", "stage")
	to := w.changeNow(2)
	d.settle("dev", "stage")
	all, err := d.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	find := func(environment, action string) time.Time {
		i := slices.IndexFunc(all.Entries, func(e history.Entry) bool {
			return e.Environment == environment && e.Action == action && e.To == to
		})
		if i < 0 {
			t.Fatalf("%s has no %s of %s in %+v", environment, action, to, all.Entries)
		}
		return all.Entries[i].Time
	}
	if merged, promoted := find("dev", "merge"), find("stage", "promote"); promoted.Before(merged) {
		t.Errorf("stage was promoted at %s, and dev merged at %s", promoted, merged)
	}
}

// TestPastUnchanged: an environment that was promoted to a commit which changes nothing of its output had that commit
// then, by the time and by the commit.
func TestPastUnchanged(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct}\n", "dev")
	d := w.begin(w.data)
	first := w.changeNow(1)
	d.settle("dev")
	w.now = w.now.Add(time.Hour)
	idle := w.commitNow("main", "say more", map[string]string{"readme.md": "more\n"})
	d.settle("dev")
	if has := d.stage("dev").Commit; has != idle {
		t.Fatalf("dev has %s, want %s", has, idle)
	}
	w.now = w.now.Add(time.Hour)
	byCommit, _ := history.ParseMoment(idle[:10])
	for want, at := range map[string]history.Moment{first: momentAt(w.now.Add(-90 * time.Minute)), idle: momentAt(w.now)} {
		_, output, err := d.PlanPast(t.Context(), "dev", at)
		if err != nil || output.Base != want {
			t.Errorf("at %s dev had %+v, %v, want base %s", at.Text, output, err, want)
		}
	}
	log, err := d.History(t.Context())
	if err != nil || len(log.Deployments["dev"]) != 1 || log.Deployments["dev"][0].Commit != first {
		t.Errorf("what changes no file is a deployment: %+v, %v", log.Deployments, err)
	}
	plan, output, err := d.PlanPast(t.Context(), "dev", byCommit)
	if err != nil || plan == nil || output.Base != idle || output.At != byCommit || output.Commit != d.state("dev").Output.Head {
		t.Errorf("at %s dev had %+v, %v", byCommit.Text, output, err)
	}
}
