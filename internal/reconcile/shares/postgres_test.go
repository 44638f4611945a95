package shares_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fairlead-io/fairlead/internal/reconcile/shares"
	"github.com/fairlead-io/fairlead/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// TestPostgres: two replicas share all; whatever ends the session of one, the other one takes its shares,
// and not before the first one has noticed.
func TestPostgres(t *testing.T) {
	t.Parallel()
	db := pgtest.Create(t)
	const period = 1500 * time.Millisecond
	changes, woken := make(chan struct{}, 1000), make(chan string, 10)
	begin := func(name string) (*shares.Replica, func()) {
		store := &shares.Postgres{Address: func() (string, error) { return db.Address, nil }, Name: name, Plane: "plane", Period: period}
		r := shares.New(shares.Options{
			Store: store, Period: period, Settle: true, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			Changed: func(_ shares.Standing, _ bool, repos []string) {
				for _, repo := range repos {
					woken <- name + " " + repo
				}
				changes <- struct{}{}
			},
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.Run(ctx)
		}()
		return r, func() { stop(); <-ended }
	}
	count := func(r *shares.Replica) (n int) {
		round := r.BeginRound()
		for share := range shares.Share(shares.Count) {
			ctx, leave := round.Enter(t.Context(), share)
			if r.Check(ctx) == nil {
				n++
			}
			leave()
		}
		return n
	}
	limit := time.After(time.Minute)
	var all []*shares.Replica
	await := func(what string, wanted func() bool) {
		t.Helper()
		for !wanted() {
			select {
			case <-changes:
			case <-limit:
				for _, r := range all {
					t.Logf("%+v", r.Standing())
				}
				t.Fatal(what)
			}
			if sum := count(all[0]) + count(all[len(all)-1]); len(all) == 2 && sum > shares.Count {
				t.Fatalf("two replicas have %d shares, of %d", sum, shares.Count)
			}
		}
	}
	a, endA := begin("a")
	defer endA()
	all = []*shares.Replica{a}
	await("the first replica has not all", func() bool { return count(a) == shares.Count })
	b, endB := begin("b")
	all = []*shares.Replica{a, b}
	await("the second replica has not its part", func() bool { return count(b) >= shares.Count/2 && count(a)+count(b) == shares.Count })
	a.Wake("git.example.com/acme/plane")
	select {
	case told := <-woken:
		if told != "b git.example.com/acme/plane" {
			t.Errorf("what was told is %q", told)
		}
	case <-limit:
		t.Fatal("the second replica was not woken")
	}
	connection, err := pgx.Connect(t.Context(), db.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(context.WithoutCancel(t.Context()))
	taken := b.Standing().Taken
	var n int
	if err := connection.QueryRow(t.Context(), "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'a'").Scan(&n); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	await("the shares were not divided again", func() bool { return count(a) >= shares.Count/2 && count(a)+count(b) == shares.Count })
	if b.Standing().Taken < taken {
		t.Error("the count of shares that were taken went back")
	}
	endB()
	all = []*shares.Replica{a}
	await("the first replica has not all again", func() bool { return count(a) == shares.Count })
}
