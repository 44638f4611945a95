package loop_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// woken is a daemon that runs as in life, but for its clock. It tells which
// repositories each cycle has asked.
type woken struct {
	*daemon
	names []string
	seen  map[string]int
	asked [][]string
}

// newWoken makes a control plane with a workload in a repository of its own.
func newWoken(t *testing.T, more ...func(*loop.Options)) (*woken, *gittest.Work) {
	t.Helper()
	w := newWorld(t, scaffold.Branches, "dev")
	w.register(w.server.Create("till"), "main")
	team := w.server.Work(t, "till")
	team.Write("deploy/till.yaml", workload)
	team.Commit("begin")
	team.Push()
	w.more += "map: {\"https://git.example.com/till\": \"" + w.server.URL("till") + "\"}\n"
	return &woken{daemon: w.begin(w.data, more...), names: []string{"cp", "out", "till"}, seen: map[string]int{}}, team
}

// run runs as many cycles as there are steps; each is done after a cycle, and
// begins the next one.
func (w *woken) run(steps ...func()) [][]string {
	w.Helper()
	ctx, stop := context.WithTimeout(w.Context(), 5*time.Minute)
	defer stop()
	w.asked = nil
	w.Run(ctx, func() {
		w.note()
		if n := len(w.asked); n < len(steps) {
			steps[n-1]()
		} else {
			stop()
		}
	})
	if len(w.asked) != len(steps) {
		w.Fatalf("there were %d cycles, want %d; the log:\n%s", len(w.asked), len(steps), w.logs.String())
	}
	return w.asked
}

// note tells which repositories were asked since it was last called.
func (w *woken) note() {
	asked := []string{}
	for _, name := range w.names {
		all := w.server.Requests(name)
		if slices.ContainsFunc(all[w.seen[name]:], func(r gittest.Request) bool { return r.Service == "git-upload-pack" }) {
			asked = append(asked, name)
		}
		w.seen[name] = len(all)
	}
	w.asked = append(w.asked, asked)
}

// normal names a repository as webhooks do.
func (w *woken) normal(name string) string { return giturl.Normalize(w.server.URL(name)) }

var everything = []string{"cp", "out", "till"}

// TestWake: a cycle that is begun by a wake asks those repositories only that the
// wake is of.
func TestWake(t *testing.T) {
	w, _ := newWoken(t)
	got := w.run(
		func() { w.Wake(w.normal("till")) },
		func() { w.Wake(strings.ToUpper(w.normal("till"))) },
		func() { w.Wake("git.example.com/Till") }, // which the settings read elsewhere
		func() { w.Wake(w.normal("cp")); w.Wake(w.normal("out")); w.Wake(w.normal("cp")) },
		func() { w.Wake("git.example.com/nobodys") },
		func() { w.Wake(w.normal("cp")); w.Wake("") },
		nil,
	)
	want := [][]string{everything, {"till"}, {"till"}, {"till"}, {"cp", "out"}, {}, everything}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the cycles ask (-want +got):\n%s", diff)
	}
}

// TestWakeWorks: what has moved in the repository that the wake is of becomes a pull
// request, and a repository whose webhook was missed is read by the next poll.
func TestWakeWorks(t *testing.T) {
	w, team := newWoken(t)
	release := func(version string) {
		team.Write("deploy/till.yaml", strings.Replace(workload, "v1}", version+"}", 1))
		team.Commit("release " + version)
		team.Push()
	}
	proposed := func(version string) bool {
		return strings.Contains(gittest.Show(t, w.server.Dir("out"), "fairlead/dev", "cloud/till-shop/reconciler.yaml"), "./"+version)
	}
	said := func(version, when string) {
		t.Helper()
		if !proposed(version) {
			t.Errorf("%s is not proposed %s", version, when)
		}
	}
	got := w.run(
		func() { release("v2"); w.Wake(w.normal("till")) },
		func() { said("v2", "after its wake"); release("v3"); w.Wake(w.normal("cp")) },
		func() {
			said("v2", "still: nobody was told of v3")
			w.now = w.now.Add(time.Minute)
		},
		func() { said("v3", "one poll interval later"); w.Wake(w.normal("out")) },
		nil,
	)
	if diff := cmp.Diff([][]string{everything, {"till"}, {"cp"}, everything, {"out"}}, got); diff != "" {
		t.Errorf("the cycles ask (-want +got):\n%s", diff)
	}
}

// TestWakesDoNotDelay: however often it is woken, all repositories are asked once per
// interval of a minute.
func TestWakesDoNotDelay(t *testing.T) {
	w, _ := newWoken(t)
	next := func() {
		w.now = w.now.Add(20 * time.Second)
		w.Wake(w.normal("till"))
	}
	got := w.run(slices.Repeat([]func(){next}, 8)...)
	one := []string{"till"}
	if diff := cmp.Diff([][]string{everything, one, one, everything, one, one, everything, one}, got); diff != "" {
		t.Errorf("the cycles ask (-want +got):\n%s", diff)
	}
	if c := w.store.Snapshot().Cycle; !c.Next.Equal(start.Add(3 * time.Minute)) {
		t.Errorf("the next poll is said to be at %s", c.Next)
	}
}

// TestWakeDuringCycle: what comes while a cycle runs begins the next one.
func TestWakeDuringCycle(t *testing.T) {
	var w *woken
	wake := map[string]string{}
	w, _ = newWoken(t, func(o *loop.Options) {
		o.BeforeEffect = func(what string) {
			if repo := wake[what]; repo != "" {
				w.Wake(repo)
			}
		}
	})
	got := w.run(
		func() {
			wake = map[string]string{"ask " + w.server.URL("till"): w.normal("out")}
			w.Wake(w.normal("till"))
		},
		func() { wake = nil }, // nobody wakes it now
		nil,
	)
	if diff := cmp.Diff([][]string{everything, {"till"}, {"out"}}, got); diff != "" {
		t.Errorf("the cycles ask (-want +got):\n%s", diff)
	}
}

// TestWakeLeavesFailing: a repository that cannot be reached is not asked because
// another was woken, and what was read of it is used.
func TestWakeLeavesFailing(t *testing.T) {
	w, _ := newWoken(t)
	var remove func()
	got := w.run(
		func() {
			remove = w.server.Inject("till", gittest.Fault{Status: 503})
			w.now = w.now.Add(time.Minute)
		},
		func() {
			remove()
			w.now = w.now.Add(30 * time.Second) // its pause is over, and the next poll is not due
			w.edit("dev", "configs/environment.yaml", "LOG_LEVEL: debug", "LOG_LEVEL: warning")
			w.Wake(w.normal("cp"))
		},
		func() {
			files := gittest.Files(t, w.server.Dir("out"), "fairlead/dev")
			if !strings.Contains(files["edge/hello-web/platform-config.yaml"], "LOG_LEVEL: warning") || !strings.Contains(files["cloud/till-shop/reconciler.yaml"], "./v1") {
				t.Errorf("what was proposed is %v", slices.Sorted(maps.Keys(files)))
			}
			w.Wake(w.normal("till"))
		},
		nil,
	)
	if diff := cmp.Diff([][]string{everything, everything, {"cp"}, {"till"}}, got); diff != "" {
		t.Errorf("the cycles ask (-want +got):\n%s", diff)
	}
}
