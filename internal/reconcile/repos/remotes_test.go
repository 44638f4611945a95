package repos_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestPollBoundsEachHost: of many repositories of one server, eight are asked at a time,
// and all are asked; when told to end, those that wait do not wait on.
func TestPollBoundsEachHost(t *testing.T) {
	const repositories, most = 40, 8
	server := gittest.Serve(t)
	var mu sync.Mutex
	now, peak := 0, 0
	full := make(chan struct{}) // as many as may be are there
	var once sync.Once
	set := newSet(t, t.Context(), server)
	for i := range repositories {
		name := fmt.Sprintf("r%d", i)
		server.Create(name)
		server.Inject(name, gittest.Fault{Before: func() {
			mu.Lock()
			defer mu.Unlock()
			if now++; now >= most {
				once.Do(func() { close(full) })
			}
			peak = max(peak, now)
		}, After: func() {
			<-full
			mu.Lock()
			defer mu.Unlock()
			now--
		}})
		if _, err := set.EnsureRemote(server.URL(name)); err != nil {
			t.Fatal(err)
		}
	}
	set.Poll(t.Context(), repos.All)
	if peak != most {
		t.Errorf("%d were asked at a time, want %d", peak, most)
	}
	for _, r := range set.Report() {
		if r.Checked.IsZero() || r.Error != "" {
			t.Errorf("%s was not asked: %+v", r.URL, r)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	set = newSet(t, ctx, server)
	for i := range repositories {
		server.Inject(fmt.Sprintf("r%d", i), gittest.Fault{Stall: true, Before: cancel})
		if _, err := set.EnsureRemote(server.URL(fmt.Sprintf("r%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	set.Poll(ctx, repos.All) // ends, though the server never answers
}

func newSet(t *testing.T, ctx context.Context, server *gittest.Server) *repos.Set {
	t.Helper()
	return newSetWith(t, ctx, server, "", time.Now)
}

// newSetWith returns a set with more settings, in which HOST is the server, and a clock.
func newSetWith(t *testing.T, ctx context.Context, server *gittest.Server, more string, now func() time.Time) *repos.Set {
	t.Helper()
	return newSetOf(t, ctx, server, more, now, slog.New(slog.DiscardHandler))
}

// newSetOf returns one that logs.
func newSetOf(t *testing.T, ctx context.Context, server *gittest.Server, more string, now func() time.Time, logger *slog.Logger) *repos.Set {
	t.Helper()
	more = strings.ReplaceAll(more, "HOST", strings.TrimSuffix(server.URL(""), "/.git"))
	s, problems := config.Parse("fairlead.yaml", []byte("controlPlane: {repo: "+server.URL("cp")+"}\ndataDir: "+t.TempDir()+"\n"+more), t.TempDir(), func(string) string { return "" })
	if problems.Stops() {
		t.Fatal(problems)
	}
	return repos.New(ctx, repos.Options{
		Settings: s, Logger: logger, Now: now, Random: func() float64 { return 0 }, BeforeEffect: func(string) {},
	})
}
