package loop_test

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// bomb panics in one kind of work.
type bomb struct {
	mu       sync.Mutex
	work, of string // "" as work is never
	met      int
}

// secretText is what the bomb panics with. It must not be seen anywhere.
const secretText = "token s3cr3t"

func (b *bomb) before(work, of string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.work != "" && work == b.work && of == b.of {
		b.met++
		panic(secretText)
	}
}

// set has the bomb panic in another kind of work, and reports whether it has panicked.
func (b *bomb) set(work, of string) (met bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	met, b.met, b.work, b.of = b.met > 0, 0, work, of
	return met
}

func (b *bomb) into(o *loop.Options) { o.BeforeWork = b.before }

var panicID = regexp.MustCompile(`internal error ([0-9a-f]{12}) `)

// wantID checks that a text names a panic whose stack is in the log, which says nothing
// of what was panicked with.
func (w *world) wantID(where, text string) {
	w.Helper()
	id := panicID.FindStringSubmatch(text)
	if id == nil {
		w.Fatalf("%s: there is no id in %q; the log:\n%s", where, text, w.logs.String())
	}
	logged := false
	for line := range strings.Lines(w.logs.String()) {
		logged = logged || strings.Contains(line, "msg=panic") && strings.Contains(line, "id="+id[1]) && strings.Contains(line, "panic_test.go")
	}
	if !logged {
		w.Errorf("%s: the log has no stack under %s", where, id[1])
	}
	if strings.Contains(text+w.logs.String(), "s3cr3t") {
		w.Errorf("%s: it is shown what was panicked with", where)
	}
}

// TestPanicOfOneEnvironment: a panic in the work for one environment is that environment's
// state, the others go on, and it is over when its cause is.
func TestPanicOfOneEnvironment(t *testing.T) {
	for _, work := range []string{"render", "publish"} {
		t.Run(work, func(t *testing.T) {
			w := newWorld(t, scaffold.Branches, "dev", "prod")
			var b bomb
			b.set(work, "dev")
			d := w.begin(w.data, b.into)
			d.cycle()
			d.want(map[string]status.State{"dev": status.Failed, "prod": status.Proposed})
			e := d.state("dev")
			w.wantID("the reason", e.Reason)
			w.wantID("the error", e.Error)
			since, began := e.Since, w.now
			d.cycle()
			if got := d.store.Snapshot().Unfinished; len(got) != 1 || got[0].Environment != "dev" || !got[0].Since.Equal(began) {
				t.Errorf("unfinished are %v, want dev since %s", got, began)
			}
			if again := d.state("dev"); again.Reason != e.Reason || !again.Since.Equal(since) {
				t.Errorf("the same panic is another one in the next cycle: %q, %q", e.Reason, again.Reason)
			}
			if !b.set("", "") {
				t.Error("nothing has panicked")
			}
			d.cycle()
			d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Proposed})
			if got := d.store.Snapshot().Unfinished; len(got) != 0 {
				t.Errorf("at last, unfinished are %v", got)
			}
		})
	}
}

// TestPanicInPromotion: a panic while one environment's promotion is looked at or done
// keeps that environment where it is, and others get their commits.
func TestPanicInPromotion(t *testing.T) {
	for _, work := range []string{"read the branch", "look at the commit", "look at the past", "ask the gates", "promote"} {
		t.Run(work, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, `
    - {name: dev, proof: [merged]}
    - {name: east, after: [dev]}
    - {name: west, after: [dev]}
`, "dev", "east", "west")
			var b bomb
			first := w.change(1)
			d := w.begin(w.data, b.into)
			d.cycle()
			d.cycle()
			w.merge("dev")
			d.cycle()
			d.cycle()
			w.wantRecords(map[string]string{"dev": first, "east": first, "west": first})
			second := w.change(2)
			d.cycle()
			d.cycle()
			w.merge("dev")
			b.set(work, "east")
			d.cycle()
			d.cycle()
			w.wantRecords(map[string]string{"dev": second, "east": first, "west": second})
			stage := d.stage("east")
			if said := stage.Next.Verdict.Reason; said != "not all commits that were verified here could be read" {
				w.wantID("the decision", said+stage.Proof.Reason)
			}
			if !b.set("", "") {
				t.Error("nothing has panicked")
			}
			for range 3 {
				d.cycle()
			}
			w.wantRecords(map[string]string{"dev": second, "east": second, "west": second})
		})
	}
}

// TestPanicOfSharedWork: a panic in what all environments share fails the cycle, or stops
// that kind of work, and the next cycle mends it.
func TestPanicOfSharedWork(t *testing.T) {
	t.Run("cycle", func(t *testing.T) {
		w := newWorld(t, scaffold.Branches, "dev", "prod")
		var b bomb
		d := w.begin(w.data, b.into)
		for range 2 { // also when something is known already
			b.set("cycle", "")
			err := d.Cycle(context.Background())
			if !panics.Is(err) {
				t.Fatalf("the cycle ends with %v", err)
			}
			w.wantID("the cycle", d.store.Snapshot().Cycle.Error)
			if _, reasons := d.store.Snapshot().CheckReadiness(); len(reasons) == 0 {
				t.Error("it is ready all the same")
			}
			b.set("", "")
			d.cycle()
			d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Proposed})
		}
	})
	t.Run("promote", func(t *testing.T) {
		w := fleetOf(t, scaffold.Branches, "    - {name: dev, proof: [merged]}\n    - {name: prod, after: [dev]}\n", "dev", "prod")
		var b bomb
		b.set("promote", "")
		d := w.begin(w.data, b.into)
		d.cycle()
		d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Waiting})
		if !b.set("", "") {
			t.Error("nothing has panicked")
		}
		first := w.change(1)
		d.cycle()
		w.wantRecords(map[string]string{"dev": first})
	})
	t.Run("a repository", func(t *testing.T) {
		w := newWorld(t, scaffold.Branches, "dev", "prod")
		var b bomb
		d := w.begin(w.data, b.into)
		d.cycle()
		b.set("read", w.server.URL("out"))
		w.change(1)
		d.cycle()
		d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Proposed})
		if !b.set("", "") {
			t.Error("nothing has panicked")
		}
		d.cycle()
		for _, r := range d.store.Snapshot().Remotes {
			if r.Failures > 0 {
				t.Errorf("%s still fails: %s", r.URL, r.Error)
			}
		}
	})
}

// TestPanicOfEphemeral: what panics while an ephemeral environment is read, or taken away,
// stops that one only.
func TestPanicOfEphemeral(t *testing.T) {
	for _, work := range []string{"read", "look at", "render", "withdraw"} {
		t.Run(work, func(t *testing.T) {
			w := newWorld(t, scaffold.Branches, "dev")
			var b bomb
			d := w.begin(w.data, b.into)
			d.cycle()
			w.merge("dev")
			w.clone("pr-7", 48*time.Hour)
			if work == "withdraw" {
				d.cycle()
				w.now = w.now.Add(72 * time.Hour)
			}
			b.set(work, "pr-7")
			d.cycle()
			if got := d.state("dev").State; got != status.InSync {
				t.Errorf("dev is %s; the log:\n%s", got, w.logs.String())
			}
			if !b.set("", "") {
				t.Error("nothing has panicked")
			}
			w.change(1) // what cannot be read is read again when something moves
			d.cycle()
			w.merge("dev")
			d.cycle()
			d.cycle()
			want := map[string]status.State{"dev": status.InSync, "pr-7": status.InSync}
			if work == "withdraw" {
				delete(want, "pr-7")
			}
			d.want(want)
		})
	}
}

// TestPanicInPreview: a pull request whose preview panics in one environment says so, and
// says what it means for the others.
func TestPanicInPreview(t *testing.T) {
	t.Parallel()
	fake, d := onGitHub(t, "dev", "prod")
	var b bomb
	b.set("preview", "dev")
	d.Close()
	d = d.begin(d.data, b.into)
	s := newStranger(t, fake)
	commit := s.push(s.with("configs/fleet.yaml", "\ndata:\n", "\ndata:\n  SAID: hello\n"))
	s.mirrored()
	d.cycle()
	all := fake.Comments(githubCP, s.number)
	if len(all) != 1 || !strings.Contains(all[0], "data.SAID: added") {
		t.Fatalf("the comments are %q; the log:\n%s", all, d.logs.String())
	}
	d.wantID("the comment", all[0])
	if said := fake.Statuses(githubCP, commit); len(said) != 1 || said[0].State != "failure" {
		t.Errorf("the statuses are %+v", said)
	}
}
