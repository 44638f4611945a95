package ledgerdb

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/testkit/pgtest"
)

// rewritten is an environment whose branch was rewritten: the first output is in it still, and what the second one held is
// there again, with the fourth. The fifth is the newest.
const rewritten = `
	insert into environment(id, name, repo, branch, folder, rank) values (7, 'edge', 'r', 'edge', '', 9);
	insert into cluster_type(id, environment, name) values (70, 7, 'large'), (71, 7, 'small');
	insert into output(id, environment, seq, line, sha, base, plane, merged, abandoned) values
		(701, 7, 1, 1, '1111111111111111111111111111111111111111', '', '', 1, null), (702, 7, 2, 1, '2222222222222222222222222222222222222222', '', '', 2, 2),
		(703, 7, 3, 1, '3333333333333333333333333333333333333333', '', '', 3, 2), (704, 7, 4, 2, '4444444444444444444444444444444444444444', '', '', 4, null),
		(705, 7, 5, 2, '5555555555555555555555555555555555555555', '', '', 5, null);
	insert into desired_type(cluster_type, from_seq, to_seq, folder) values
		(70, 1, 2, 'l1'), (70, 2, 3, 'l2'), (70, 3, 4, 'l3'), (70, 4, 5, 'l2'), (70, 5, null, 'l4'), (71, 1, null, 's1');`

// TestAbandoned: of an output before a rewrite it is known which folders no output has had since.
func TestAbandoned(t *testing.T) {
	for engine, open := range openEmpty {
		t.Run(engine, func(t *testing.T) {
			s := open(t)
			err := execute(t, s, rewritten)
			if err != nil {
				t.Fatal(err)
			}
			var revisions []string
			for _, digit := range "12345" {
				revisions = append(revisions, strings.Repeat(string(digit), 40))
			}
			wants, err := s.FindWants(t.Context(), "edge", revisions, []string{"large", "small"})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][]string{}
			for _, revision := range revisions {
				o, known := wants.Outputs.Find(revision)
				if !known {
					t.Fatalf("there is no output %s", revision)
				}
				for name := range o.Abandoned {
					got[revision[:1]] = append(got[revision[:1]], name)
				}
			}
			if diff := cmp.Diff(map[string][]string{"3": {"large"}}, got); diff != "" {
				t.Errorf("abandoned are (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAbandonedView: the view says unknown of clusters with such a folder, and behind of others.
func TestAbandonedView(t *testing.T) {
	db := pgtest.Create(t)
	s, err := OpenPostgres(t.Context(), db.Address)
	mustOpen(t, s, err)
	db.Exec(rewritten + `
		insert into revision(id, text, sha) select id, 'main@sha1:' || sha, sha from output where environment = 7;
		insert into cluster(id, first_name, name, uid, environment, cluster_type, platform, unproven, every, first_seen, last_seen, rival, rival_seen, boot, sequence, sent, agent_seen, digest)
			select id, 'c' || seq, 'c' || seq, 'u' || seq, 'edge', 'large', 'P', false, 60, 1, extract(epoch from now()), '', 0, '', 0, 0, 0, '' from output where environment = 7;
		insert into object(id, cluster, name) select id, id, 'P' from output where environment = 7;
		insert into state(object, cluster, phase, revision, since, said, level) select id, id, 2, id, 1, 1, true from output where environment = 7;`)
	got := db.QueryAll("select cluster || ' ' || standing from fleet_standing where environment = 'edge'")
	slices.Sort(got)
	want := []string{"c1 behind", "c2 behind", "c3 unknown", "c4 behind", "c5 ready"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
