package repos_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// rig is a server with some repositories, each with one commit, and a set of those that the
// daemon knows.
type rig struct {
	*testing.T
	server *gittest.Server
	set    *repos.Set
	now    time.Time
}

func newRig(t *testing.T, settings string, names ...string) *rig {
	t.Helper()
	r := &rig{T: t, server: gittest.Serve(t), now: time.Unix(1_000_000, 0)}
	for _, name := range names {
		r.server.Create(name)
		r.push(name)
	}
	r.set = newSetWith(t, t.Context(), r.server, settings, func() time.Time { return r.now })
	r.set.Poll(t.Context(), repos.All) // a round begins
	return r
}

// push commits to a repository.
func (r *rig) push(name string) {
	r.Helper()
	work := r.server.Work(r, name)
	work.Switch("main")
	work.Write("file", fmt.Sprint(time.Now()))
	work.Commit("a change")
	work.Push("main")
}

// asked returns how many requests a repository gets while something happens. One that has not
// moved gets one when it is polled.
func (r *rig) asked(name string, what func()) int {
	r.Helper()
	before := len(r.server.Requests(name))
	what()
	return len(r.server.Requests(name)) - before
}

func (r *rig) open(name string) *git.Repository {
	r.Helper()
	repo, err := r.set.Open(r.Context(), r.server.URL(name))
	if err != nil {
		r.Fatal(err)
	}
	return repo
}

// TestOneMirror: however many URLs, and however often, environments name a repository by, it is
// one remote with one mirror.
func TestOneMirror(t *testing.T) {
	r := newRig(t, "map: {https://git.example.com/cp: HOST/cp.git}\n", "cp")
	url := r.server.URL("cp")
	first, err := r.set.EnsureRemote(url)
	if err != nil {
		t.Fatal(err)
	}
	for _, same := range []string{url, strings.TrimSuffix(url, ".git"), url + "/", r.set.ReadLocation("https://git.example.com/cp")} {
		m, err := r.set.EnsureRemote(same)
		if err != nil || m != first {
			t.Errorf("%s is another remote: %v", same, err)
		}
		if r.set.KnownRemote(same) != first || !r.set.KnowsRepository(giturl.Normalize(same)) || !r.set.IsSameRepository(url, same) {
			t.Errorf("%s is not known", same)
		}
	}
	if n := len(r.set.Report()); n != 1 {
		t.Errorf("%d remotes are reported", n)
	}
}

// TestAskedOnceARound: a repository is asked once a round, whatever opens it, and a round asks
// only what is in its scope; one that is new is asked in any round.
func TestAskedOnceARound(t *testing.T) {
	r := newRig(t, "", "a", "b", "new")
	open := func(names ...string) func() {
		return func() {
			for _, name := range names {
				r.open(name)
				if _, err := r.set.OpenOutput(t.Context(), r.server.URL(name)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	r.set.Poll(t.Context(), repos.All)
	open("a", "b")()
	for name, test := range map[string]struct {
		poll repos.Scope
		want map[string]int
	}{
		"all":     {repos.All, map[string]int{"a": 1, "b": 1}},
		"one":     {repos.Only(giturl.Normalize(r.server.URL("a"))), map[string]int{"a": 1, "b": 0}},
		"in case": {repos.Only(strings.ToUpper(giturl.Normalize(r.server.URL("b")))), map[string]int{"a": 0, "b": 1}},
		"none":    {repos.Only(), map[string]int{"a": 0, "b": 0}},
		"both":    {repos.Only(giturl.Normalize(r.server.URL("a"))).With(repos.All), map[string]int{"a": 1, "b": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			for repo, want := range test.want {
				got := r.asked(repo, func() {
					r.set.Poll(t.Context(), test.poll)
					open("a", "b")()
				})
				if got != want {
					t.Errorf("%s was asked %d times, want %d", repo, got, want)
				}
			}
		})
	}
	if got := r.asked("new", func() { r.set.Poll(t.Context(), repos.Only()); open("new")() }); got == 0 {
		t.Error("a new repository was not asked")
	}
}

// TestPollReportsMoves: a poll reports that a reference has moved, once.
func TestPollReportsMoves(t *testing.T) {
	r := newRig(t, "", "a")
	r.open("a")
	for _, pushed := range []bool{false, true, false} {
		if pushed {
			r.push("a")
		}
		if moved := r.set.Poll(t.Context(), repos.All); moved != pushed {
			t.Errorf("after a push (%t) the poll says %t", pushed, moved)
		}
	}
}

// TestPatience: a repository that fails is left alone, longer each time, or as long as its server
// asks for; meanwhile it is as it was, and others are polled. When it answers, that is news.
func TestPatience(t *testing.T) {
	for name, test := range map[string]struct {
		fault gittest.Fault
		waits []time.Duration
	}{
		"broken":  {gittest.Fault{Status: http.StatusInternalServerError}, []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second}},
		"reset":   {gittest.Fault{Reset: true}, []time.Duration{5 * time.Second, 10 * time.Second}},
		"limited": {gittest.Fault{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"600"}}}, []time.Duration{600 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "", "a", "b")
			r.open("b")
			head, err := r.open("a").Branch("main")
			if err != nil {
				t.Fatal(err)
			}
			remove := r.server.Inject("a", test.fault)
			r.push("b")
			if moved := r.set.Poll(t.Context(), repos.All); !moved {
				t.Error("the other repository was not polled")
			}
			for i, wait := range test.waits {
				report := r.set.Report()[0]
				if report.Error == "" || report.Failures != i+1 || !report.NextTry.Equal(r.now.Add(wait)) {
					t.Fatalf("after %d failures: %+v, want the next try after %s", i+1, report, wait)
				}
				r.now = r.now.Add(wait - time.Nanosecond)
				if n := r.asked("a", func() { r.set.Poll(t.Context(), repos.All) }); n != 0 {
					t.Errorf("it was asked %d times too early", n)
				}
				now, err := r.open("a").Branch("main")
				if err != nil || now != head {
					t.Errorf("while it fails it is at %s: %v", now, err)
				}
				r.now = r.now.Add(time.Nanosecond)
				if i+1 < len(test.waits) {
					r.set.Poll(t.Context(), repos.All)
				}
			}
			remove()
			if moved := r.set.Poll(t.Context(), repos.All); !moved {
				t.Error("that it answers again is no news")
			}
			if report := r.set.Report()[0]; report.Error != "" || report.Failures != 0 {
				t.Errorf("it has recovered, and is reported as %+v", report)
			}
		})
	}
}

// TestBackoff: the pauses double from five seconds to ten minutes, with up to a tenth on top.
func TestBackoff(t *testing.T) {
	var got []time.Duration
	for _, failures := range []int{1, 2, 3, 7, 8, 20, 1000} {
		got = append(got, repos.BackoffAfter(failures, 0))
	}
	want := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 320 * time.Second, 600 * time.Second, 600 * time.Second, 600 * time.Second}
	if !slices.Equal(got, want) {
		t.Errorf("the pauses are %v, want %v", got, want)
	}
	if most := repos.BackoffAfter(1, 1); most != 5500*time.Millisecond {
		t.Errorf("the longest first pause is %s", most)
	}
}

// TestForgetsUnused: what three readings of the control plane did not want is polled no more.
func TestForgetsUnused(t *testing.T) {
	r := newRig(t, "", "kept", "unused")
	r.open("kept")
	r.open("unused")
	for range 5 {
		r.set.BeginReading()
		r.open("kept")
	}
	if r.set.KnownRemote(r.server.URL("unused")) != nil || r.set.KnownRemote(r.server.URL("kept")) == nil {
		t.Error("the wrong one was forgotten")
	}
}

// TestNotFoundIsNoCopy: a repository that is gone, or that may not be read any more, is not read
// as it was.
func TestNotFoundIsNoCopy(t *testing.T) {
	for status, want := range map[int]error{http.StatusNotFound: git.ErrNotFound, http.StatusForbidden: git.ErrAccess} {
		r := newRig(t, "", "a")
		r.open("a")
		r.server.Inject("a", gittest.Fault{Status: status})
		r.set.Poll(t.Context(), repos.All)
		if _, err := r.set.Open(t.Context(), r.server.URL("a")); !errors.Is(err, want) {
			t.Errorf("after %d the error is %v", status, err)
		}
	}
}
