package forge_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forgetest"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/gittest"
)

func TestPlain(t *testing.T) {
	forgetest.Run(t, plainSubject)
	forgetest.RunMerger(t, plainSubject)
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
		Merge:  as(func(number int) error { return person.Merge(t.Context(), number, "") }),
		Close:  as(func(number int) error { return person.Close(t.Context(), number, "") }),
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
			all, err := ours.Statuses(commit)
			check(t, err)
			return all
		},
	}
}

// plain makes a forge with a mirror of its own.
func plain(t *testing.T, s *gittest.Server, name string) (*forge.Plain, *git.Remote) {
	t.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: s.URL("gitops"), Dir: filepath.Join(t.TempDir(), "mirror")})
	check(t, err)
	author := git.Signature{Name: name, Email: "a@example.com"}
	return forge.NewPlain(remote, author, func() time.Time { return start }), remote
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
