package ledgerdb

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// TestArrivalRetention: the arrivals of an output are added up once it was replaced for all types long
// enough ago, what comes later does not count, and the sums are kept for a time.
func TestArrivalRetention(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *Store) {
		b := Batch{}
		for i := range 12 {
			clusterType := map[bool]string{true: "small", false: "large"}[i >= 10]
			name := fmt.Sprintf("e%02d", i)
			b.Clusters = append(b.Clusters, ledger.Cluster{
				ID: name, Names: []ledger.Naming{{Name: name, Since: noon}}, Group: ledger.Group{Environment: "prod", ClusterType: clusterType}, FirstSeen: noon.Add(-61 * day), LastSeen: noon})
		}
		if err := s.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		at := func(days int) int64 { return noon.Add(time.Duration(-days) * day).Unix() }
		arrive := func(output, days int) string {
			return fmt.Sprintf(`insert into arrival(output, cluster, ready, failed) select %d, id, case when id = 10 then null else %d + id * 60 end, case when id in (1, 10) then %[2]d + 5 end
				from cluster where cluster_type = 'large' on conflict (output, cluster) do nothing;`, output, at(days))
		}
		err := execute(t, s, fmt.Sprintf(`insert into environment(id, name, repo, branch, folder) values (1, 'prod', '', 'prod', '');
			insert into cluster_type(id, environment, name, expected) values (1, 1, 'large', null), (2, 1, 'small', null);
			insert into output(id, environment, seq, line, sha, base, plane, authored, merged) values
				(1, 1, 1, 1, 'a', '', '', null, %d), (2, 1, 2, 1, 'b', '', '', null, %d), (3, 1, 3, 1, 'c', '', '', null, %d), (4, 1, 4, 1, 'd', '', '', null, %d);
			insert into desired_type(cluster_type, from_seq, to_seq, folder) values (1, 1, 2, 'f1'), (1, 2, 3, 'f2'), (1, 3, 4, 'f3'), (1, 4, null, 'f4'), (2, 2, null, 'f5');`,
			at(60), at(30), at(25), at(5))+arrive(1, 60)+arrive(2, 30)+arrive(3, 25)+arrive(4, 5))
		if err != nil {
			t.Fatal(err)
		}
		clean := func(at time.Time) {
			t.Helper()
			r := s.NewRetention(Keep{Spans: 10 * day, Arrivals: 10 * day, Days: 50 * day}, at, 0)
			for more := true; more; {
				var err error
				more, err = r.Step(t.Context())
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		want := func(what string, left int64, days string) {
			t.Helper()
			var arrivals int64
			err := readRow(t.Context(), s, "select count(*) from arrival", &arrivals)
			if err != nil {
				t.Fatal(err)
			}
			all, err := s.FindArrivalDays(t.Context(), "prod")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range all {
				got = append(got, fmt.Sprint(d.Output, " ", d.ClusterType, " ", d.Clusters, " ", d.Ready, " ", d.Failed, " after ", d.FirstFailed, " ", d.P50, " ", d.P90, " ", d.P95, " ", d.Slowest))
			}
			if text := strings.Join(got, "; "); text != days || arrivals != left {
				t.Errorf("%s: %d arrivals are left, want %d, and the sums are\n%s\nwant\n%s", what, arrivals, left, text, days)
			}
		}
		// b is still wanted by the small ones, c was replaced 5 days ago, and d is wanted.
		const sums = "a large 10 9 2 after 5s 5m0s 9m0s 9m0s 9m0s"
		clean(noon.Add(-15 * day)) // 15 days earlier nothing but a is old
		want("a", 30, sums)
		clean(noon)
		want("nothing more", 30, "") // and a was merged 60 days ago
		err = execute(t, s, fmt.Sprintf("update desired_type set to_seq = 4 where cluster_type = 2; update output set merged = %d where id = 4;", at(12))+arrive(1, 60))
		if err != nil {
			t.Fatal(err)
		}
		clean(noon)
		want("b and c", 10, "c large 10 9 2 after 5s 5m0s 9m0s 9m0s 9m0s; b large 10 9 2 after 5s 5m0s 9m0s 9m0s 9m0s")
		wantOutputs(t, s, "d 10 9 168h9m0s; c 10 9 9m0s; b 10 9 9m0s; a 0 0 -1s, known for 30 days")
		err = execute(t, s, strings.Replace(arrive(3, 25), "60", "600", 1))
		if err != nil {
			t.Fatal(err)
		}
		clean(noon)
		want("what comes late", 10, "c large 10 9 2 after 5s 5m0s 9m0s 9m0s 9m0s; b large 10 9 2 after 5s 5m0s 9m0s 9m0s 9m0s")
		wantOutputs(t, s, "d 10 9 168h9m0s; c 10 9 9m0s; b 10 9 9m0s; a 0 0 -1s, known for 30 days")
		// The branch was rewritten, and has b again: later than before, and slower. Two clusters are new.
		err = execute(t, s, fmt.Sprintf(`insert into output(id, environment, seq, line, sha, base, plane, authored, merged) values (5, 1, 5, 2, 'b', '', '', null, %d);
			update desired_type set to_seq = 5 where from_seq = 4; insert into desired_type(cluster_type, from_seq, to_seq, folder) values (1, 5, null, 'f2');
			update cluster set first_seen = %d where id in (8, 9);`, at(2), at(1))+strings.ReplaceAll(arrive(5, 2), "id * 60", "id * 100"))
		if err != nil {
			t.Fatal(err)
		}
		const twice = "b 10 9 11m40s; d 10 9 168h7m0s; c 10 9 9m0s; b 10 9 9m0s; a 0 0 -1s, known for 30 days"
		wantOutputs(t, s, twice)
		err = execute(t, s, "insert into output(id, environment, seq, line, sha, base, plane, authored, merged) select 6, 1, 6, 2, 'e', '', '', null, merged + 60 from output where id = 5; update desired_type set to_seq = 6 where to_seq is null")
		if err != nil {
			t.Fatal(err)
		}
		clean(noon.Add(9 * day)) // which adds up d, and b again
		wantOutputs(t, s, "e 0 0 -1s; "+twice)
	})
}

// wantOutputs checks how outputs came to clusters, the newest first: how many had it, how many were ready,
// after how long 95% were; and for how long that is known.
func wantOutputs(t *testing.T, s *Store, want string) {
	t.Helper()
	outputs, err := s.FindOutputs(t.Context(), "prod", time.Time{}, math.MaxInt64, 10)
	if err != nil {
		t.Fatal(err)
	}
	since, err := s.FindKnownSince(t.Context(), "prod")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range outputs {
		got = append(got, fmt.Sprint(o.Revision, " ", o.Clusters, " ", o.Ready, " ", o.P95))
	}
	text := fmt.Sprintf("%s, known for %d days", strings.Join(got, "; "), noon.Sub(since)/day)
	if text != want {
		t.Errorf("the outputs are\n%s\nwant\n%s", text, want)
	}
}
