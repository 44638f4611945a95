package fleetview_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/url"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
)

// largeFleet has 10,000 clusters of 20 types, each with a platform object and 20 others.
const largeFleet = `
with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
insert into cluster(id, first_name, name, uid, environment, cluster_type, platform, unproven, every, first_seen, last_seen, rival, rival_seen, boot, sequence, sent, agent_seen, digest)
select i, 'c' || i, 'c' || i, 'u' || i, case when i % 2 = 0 then 'prod' else 'stage' end, 't' || i % 20, 'Kustomization/flux-system/platform', 0, 60, 1795430000, 1795437000, '', 0, '1', 1, 0, 1795437000, 'd' from n;
insert into cluster_name(cluster, since, until, name) select id, 1795430000, null, name from cluster;
insert into environment(id, name, repo, branch, folder) values (1, 'stage', 'r', 'stage', '.'), (2, 'prod', 'r', 'prod', '.');
with recursive n(i) as (select 0 union all select i + 1 from n where i < 19)
insert into cluster_type(id, environment, name) select e.id * 100 + i, e.id, 't' || i from n, environment e;
insert into output(id, environment, seq, line, sha, base, plane, merged) select id, id, 1, 1, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '', '', 1795430000 from environment;
insert into desired_type(cluster_type, from_seq, folder) select id, 1, 'f' from cluster_type;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20)
insert into assignment(id, cluster_type, target) select t.id * 100 + i, t.id, 'w' || i from cluster_type t, n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20)
insert into part(file, object, repo, ref, path) select i, 'Kustomization/flux-system/w' || i, 'r', 'main', 'deploy' from n;
insert into desired(assignment, from_seq, to_seq, file) select id, 1, null, id % 100 from assignment;
insert into revision(id, text, sha) values (1, 'main@sha1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'), (2, 'main@sha1:2222222222222222222222222222222222222222', '2222222222222222222222222222222222222222');
with recursive n(i) as (select 0 union all select i + 1 from n where i < 20)
insert into object(id, cluster, name) select c.id * 4096 + i, c.id, case when i = 0 then 'Kustomization/flux-system/platform' else 'Kustomization/flux-system/w' || i end from cluster c, n;
insert into state(object, cluster, phase, revision, since, said, level) select id, cluster, case when name like '%platform' and cluster % 10 = 0 then 3 else 2 end, case when name like '%platform' then 1 else 2 end, 1795431000, 1795431000, 1 from object;
insert into span(object, since, phase, revision) select object, since, phase, revision from state;
insert into arrival(output, cluster, ready) select case when environment = 'prod' then 2 else 1 end, id, 1795431000 from cluster;`

// TestCost: no question about 10,000 clusters with 210,000 objects takes much longer than to read all states
// once. Processor time is compared, within one run.
func TestCost(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes 210,000 objects")
	}
	path := filepath.Join(t.TempDir(), "ledger.db")
	now := func() time.Time { return time.Unix(1795437060, 0) }
	check(t, recorder.Open(t.Context(), recorder.Options{Path: path, Now: now, Logger: slog.New(slog.DiscardHandler)}).Close())
	db, err := sql.Open("sqlite", path)
	check(t, err)
	_, err = db.ExecContext(t.Context(), largeFleet)
	check(t, err)
	known, err := recorder.Read(t.Context(), path, now)
	check(t, err)
	store, err := ledgerdb.ReadSQLite(t.Context(), path)
	check(t, err)
	defer func() { check(t, errors.Join(store.Close(), db.Close())) }()
	view := &fleetview.View{Ledger: known, Now: now, Ask: func(_ context.Context, question func(*ledgerdb.Store) error) error { return question(store) }}
	scan := leastCost(t, func() error {
		var n int
		return db.QueryRowContext(t.Context(), "select count(*) from (select cluster, phase, revision, count(*) from state group by cluster, phase, revision)").Scan(&n)
	})
	for _, c := range []struct {
		name, query string
		most        float64 // scans
	}{
		{"the page", "", 1}, {"standing", "", 1}, {"clusters", "environment=prod", 1}, {"behind", "environment=prod", 1}, {"where", "workload=w1", 1}, {"where", "workload=w1&at=2026-11-23T13:00:00Z", 1},
		{"history", "workload=w1", 1}, {"compare", "environment=stage&with=prod", 1.5}, {"lead", "environment=prod", 1}, {"drift", "environment=prod", 1},
	} {
		values, err := url.ParseQuery(c.query)
		check(t, err)
		cost := leastCost(t, func() error {
			if c.name == "the page" {
				_, err := view.FindOverviews(t.Context(), 100)
				return err
			}
			_, err := view.Answer(t.Context(), c.name, values)
			return err
		})
		ratio := float64(cost) / float64(scan)
		t.Logf("%s?%s: %.2f of a scan (%v of %v)", c.name, c.query, ratio, cost, scan)
		if ratio > c.most {
			t.Errorf("%s?%s takes %.1f times as long as a scan of all states, and should at most %.1f", c.name, c.query, ratio, c.most)
		}
	}
}

// leastCost returns the least processor time that something takes of some tries.
func leastCost(t *testing.T, do func() error) time.Duration {
	t.Helper()
	least := time.Duration(0)
	for range 5 {
		before := processorTime(t)
		check(t, do())
		took := processorTime(t) - before
		if least == 0 || took < least {
			least = took
		}
	}
	return least
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	check(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
