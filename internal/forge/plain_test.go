package forge_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/testkit/forgetest"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

func TestPlain(t *testing.T) {
	forgetest.Run(t, plainSubject)
	forgetest.RunMerger(t, plainSubject)
	forgetest.RunProgress(t, plainSubject)
}

// TestPlainStatusTimes has a clock that goes on, another person, and a document of
// before there were times.
func TestPlainStatusTimes(t *testing.T) {
	s := gittest.Serve(t)
	s.Create("gitops")
	commit := forgetest.Brancher(t, s, "gitops")("out/dev")
	now := start
	clock := func() time.Time { return now }
	ours, remote := plainAt(t, s, "Fairlead", clock)
	person, theirs := plainAt(t, s, "A Person", clock)
	set := func(f *forge.Plain, r *git.Remote, context string, outcome forge.Outcome) {
		t.Helper()
		now = now.Add(time.Minute)
		fetch(t, r)
		check(t, f.SetStatus(t.Context(), commit, forge.Status{Context: context, Outcome: outcome}))
	}
	wantTimes := func(what string, want ...string) {
		t.Helper()
		fetch(t, remote)
		all, err := ours.Statuses(t.Context(), commit)
		check(t, err)
		var got []string
		for _, st := range all {
			got = append(got, fmt.Sprintf("%s %s %s %s", st.Context, st.Outcome, st.Time.Format("15:04"), st.Author))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("statuses %s (-want +got):\n%s", what, diff)
		}
	}
	set(ours, remote, "b", forge.Pending)
	set(person, theirs, "a", forge.Success)
	wantTimes("of two people", "a success 12:02 A Person", "b pending 12:01 Fairlead")
	set(person, theirs, "b", forge.Pending)
	set(ours, remote, "a", forge.Success)
	wantTimes("that are set again", "a success 12:02 A Person", "b pending 12:01 Fairlead")
	set(ours, remote, "b", forge.Success)
	wantTimes("that changed", "a success 12:02 A Person", "b success 12:05 Fairlead")

	w := s.Work(t, "gitops")
	w.Remove("README.md")
	w.Write("old.yaml", "context: old\nstate: success\n")
	w.Commit("of before")
	w.Push("+HEAD:refs/fairlead/statuses/" + commit)
	wantTimes("that say no time", "old success 00:00 a")
}

// TestPlainPullEvents: each action on a pull request is a commit by the person, with the reason and with who
// committed it for them.
func TestPlainPullEvents(t *testing.T) {
	s := gittest.Serve(t)
	s.Create("gitops")
	forgetest.Brancher(t, s, "gitops")("out/dev")
	now := start
	clock := func() time.Time { now = now.Add(time.Minute); return now }
	ours, remote := plainAt(t, s, "Fairlead", clock)
	person, theirs := plainAt(t, s, "Alice", clock)
	person = person.As(forge.Commission{Committer: git.Signature{Name: "Fairlead", Email: "fairlead@localhost"}, Trailers: []string{"Fairlead-Via: web", "Fairlead-Actor: issuer#alice"}})
	fetch(t, remote)
	pull, err := ours.OpenPull(t.Context(), forge.Proposal{Mark: "dev", Head: "out/dev", Base: "main", Title: "dev: more", Body: "x"})
	check(t, err)
	as := func(do func() error) {
		t.Helper()
		fetch(t, theirs)
		check(t, do())
	}
	as(func() error { return person.ClosePull(t.Context(), pull.Number, "not\n\nMerged: today") })
	as(func() error { return person.ReopenPull(t.Context(), pull.Number, "") })
	as(func() error { return person.MergePullFor(t.Context(), pull.Number, pull.Commit, "go on") })
	fetch(t, remote)
	events, err := ours.PullEvents(t.Context())
	check(t, err)
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprintf("%s %s #%d of %s by %s, %s: %q", e.Time.Format("15:04"), e.Action, e.Number, e.Mark, e.Who, e.Via, e.Reason))
	}
	want := []string{`12:04 merge #1 of dev by Alice, web: "go on"`, `12:03 reopen #1 of dev by Alice, web: ""`, `12:02 close #1 of dev by Alice, web: "not Merged: today"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantMessage := "Merged: dev: more\n\nFairlead-Reason: go on\nFairlead-Via: web\nFairlead-Actor: issuer#alice\n\nAlice/Fairlead"
	if text := gittest.Git(t, s.Dir("gitops"), "log", "-1", "--format=%B%n%an/%cn", "refs/fairlead/pulls/1"); text != wantMessage {
		t.Errorf("the commit says %q, want %q", text, wantMessage)
	}
	last, err := ours.PullByNumber(pull.Number)
	check(t, err)
	if last.By != "Alice" || last.Reason != "go on" || last.State != forge.Merged {
		t.Errorf("the pull request is %+v", last)
	}
}

// TestPlainMergesChange: a change of a person is merged into a branch that has moved since, on behalf of who
// merges it. An output is not: it is made anew.
func TestPlainMergesChange(t *testing.T) {
	for name, c := range map[string]struct {
		head, moved string // the branch of the pull request, and the file that the other branch has changed since
		want        error
	}{
		"beside it":     {"fairlead/change/hold/dev", "other.yaml", nil},
		"the same file": {"fairlead/change/hold/dev", "file.yaml", forge.ErrConflict},
		"an output":     {"fairlead/dev", "other.yaml", forge.ErrMoved},
	} {
		t.Run(name, func(t *testing.T) {
			s := gittest.Serve(t)
			s.Create("gitops")
			work := s.Work(t, "gitops")
			commit := func(branch, file string) string {
				work.Switch(branch)
				work.Write(file, branch)
				id := work.Commit("change " + file)
				work.Push(branch)
				return id
			}
			commit("main", "first.yaml")
			gittest.Git(t, work.Dir, "branch", c.head)
			proposed := commit(c.head, "file.yaml")
			ours, remote := plain(t, s, "Fairlead")
			fetch(t, remote)
			pull, err := ours.OpenPull(t.Context(), forge.Proposal{Mark: "hold dev", Head: c.head, Base: "main", Title: "Hold dev"})
			check(t, err)
			moved := commit("main", c.moved)
			fetch(t, remote)
			alice := forge.NewPlain(remote, git.Signature{Name: "Alice", Email: "a@example.com"}, func() time.Time { return start }).As(forge.Commission{Committer: git.Signature{Name: "Fairlead", Email: "f@example.com"}, Trailers: []string{"Fairlead-Via: web"}})
			if err := alice.MergePull(t.Context(), pull.Number, moved); !errors.Is(err, forge.ErrMoved) {
				t.Errorf("another commit than the one that was seen: %v", err)
			}
			err = alice.MergePull(t.Context(), pull.Number, proposed)
			if !errors.Is(err, c.want) {
				t.Fatalf("the error is %v, want %v", err, c.want)
			}
			if err != nil {
				if head := gittest.Commit(t, s.Dir("gitops"), "main"); head != moved {
					t.Errorf("main has moved to %s", head)
				}
				return
			}
			want := "Merge pull request 1: Hold dev\n\nFairlead-Via: web\n\nAlice/Fairlead " + moved + " " + proposed + "\nfile.yaml\nfirst.yaml\nother.yaml"
			got := gittest.Git(t, s.Dir("gitops"), "log", "-1", "--format=%B%n%an/%cn %P", "main") + "\n" + gittest.Git(t, s.Dir("gitops"), "ls-tree", "--name-only", "main")
			if got != want {
				t.Errorf("main is %q, want %q", got, want)
			}
			if now, err := ours.PullByNumber(pull.Number); err != nil || now.State != forge.Merged || now.Commit != proposed {
				t.Errorf("%v: the pull request is %+v", err, now)
			}
		})
	}
}

// TestPlainTogether sets the statuses of many environments at one commit at the same time.
func TestPlainTogether(t *testing.T) {
	s := gittest.Serve(t)
	s.Create("gitops")
	commit := forgetest.Brancher(t, s, "gitops")("out/dev")
	ours, remote := plain(t, s, "Fairlead")
	fetch(t, remote)
	const environments = 16
	parallel.Each(environments, make([]error, environments), func(i int, _ error) {
		if err := ours.SetStatus(t.Context(), commit, forge.Status{Context: fmt.Sprintf("fairlead/%d", i), Outcome: forge.Success}); err != nil {
			t.Error(err)
		}
	})
	all, err := ours.Statuses(t.Context(), commit)
	check(t, err)
	if len(all) != environments {
		t.Errorf("there are %d statuses, want %d", len(all), environments)
	}
}

func plainSubject(t *testing.T) forgetest.Subject {
	s := gittest.Serve(t)
	s.Create("gitops")
	branch := forgetest.Brancher(t, s, "gitops")
	ours, remote := plain(t, s, "Fairlead")
	person, theirs := plain(t, s, "A Person")
	as := func(do func(number int) error) func(int) {
		return func(number int) {
			t.Helper()
			fetch(t, theirs)
			check(t, do(number))
		}
	}
	return forgetest.Subject{
		NoAutoMerge: true,

		Forge:  ours,
		Sync:   func() { t.Helper(); fetch(t, remote) },
		Branch: branch,
		Merge:  as(func(number int) error { return person.MergePull(t.Context(), number, "") }),
		Close:  as(func(number int) error { return person.ClosePull(t.Context(), number, "") }),
		Writes: func() int {
			n := 0
			for _, r := range s.Requests("gitops") {
				if r.Method == "POST" && r.Service == "git-receive-pack" {
					n++
				}
			}
			return n
		},
		Statuses: func(commit string) []forge.Status {
			t.Helper()
			fetch(t, remote)
			told, err := ours.Statuses(t.Context(), commit)
			check(t, err)
			var all []forge.Status
			for _, s := range told {
				all = append(all, forge.Status{Context: s.Context, Outcome: s.Outcome, Description: s.Description, URL: s.URL})
			}
			return all
		},
		SayStatus: func(login, commit string, said forge.Status) {
			t.Helper()
			by, remote := plain(t, s, login)
			fetch(t, remote)
			check(t, by.SetStatus(t.Context(), commit, said))
		},
	}
}

// plain makes a forge with a mirror of its own.
func plain(t *testing.T, s *gittest.Server, name string) (*forge.Plain, *git.Remote) {
	t.Helper()
	return plainAt(t, s, name, func() time.Time { return start })
}

func plainAt(t *testing.T, s *gittest.Server, name string, now func() time.Time) (*forge.Plain, *git.Remote) {
	t.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: s.URL("gitops"), Dir: filepath.Join(t.TempDir(), "mirror")})
	check(t, err)
	return forge.NewPlain(remote, git.Signature{Name: name, Email: "a@example.com"}, now), remote
}

func fetch(t *testing.T, r *git.Remote) {
	t.Helper()
	_, err := r.Sync(t.Context())
	check(t, err)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start is what the clock of all tests says.
var start = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
