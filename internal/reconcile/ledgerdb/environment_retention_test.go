package ledgerdb

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// fillEnvironments stores some outputs of two environments, the clusters of which have had an object until 20
// days ago. That of lab-2 is still there.
func fillEnvironments(t *testing.T, s *Store) {
	t.Helper()
	for _, name := range []string{"prod", "lab"} {
		follows := ""
		for i := range 5 {
			c := ledger.OutputChange{Revision: fmt.Sprint(name, i), Merged: noon.Add(time.Duration(i-60) * day)}
			for _, clusterType := range []string{"large", "small"} {
				c.Folders = append(c.Folders, ledger.FolderChange{ClusterType: clusterType, ID: fmt.Sprint(i)})
				c.Files = append(c.Files, ledger.FileChange{ClusterType: clusterType, Target: fmt.Sprint("w", i), Digest: "file"})
			}
			err := s.WriteParts(t.Context(), map[string][]ledger.Part{"file": {{Object: "Kustomization/flux-system/w"}}})
			if err == nil {
				err = s.WriteOutputs(t.Context(), Outputs{Environment: Environment{Name: name}, Follows: follows, Changes: []ledger.OutputChange{c}})
			}
			if err != nil {
				t.Fatal(err)
			}
			follows = c.Revision
		}
		for i := range 2 {
			cluster := fmt.Sprintf("%s-%d", name, i+1)
			o := ledger.Object{Cluster: cluster, Name: "Kustomization/flux-system/fleet"}
			b := Batch{Clusters: []ledger.Cluster{{
				ID: cluster, Names: []ledger.Naming{{Name: cluster, Since: noon.Add(-60 * day)}}, Group: ledger.Group{Environment: name, ClusterType: "large"},
				FirstSeen: noon.Add(-60 * day), LastSeen: noon.Add(-20 * day), Platform: o.Name,
			}}}
			for day, revision := range []string{name + "0", name + "1"} {
				b.Spans = append(b.Spans, ledger.SpanWrite{Object: o, Span: ledger.Span{
					Since: noon.Add(time.Duration(20*day-60) * 24 * time.Hour), Until: noon.Add(time.Duration(20*day-40) * 24 * time.Hour), Phase: ledger.Ready, Revision: revision}})
			}
			err := s.Write(t.Context(), b)
			if err == nil && cluster != "lab-2" {
				err = s.Write(t.Context(), Batch{Gone: []ledger.Object{o}, GoneSince: noon.Add(-20 * day)})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// describeEnvironments returns how many rows of each environment there are.
func describeEnvironments(t *testing.T, s *Store) string {
	t.Helper()
	const question = `select (select count(*) from environment where name = '%[1]s'), (select count(*) from output where sha like '%[1]s%%'),
		(select count(*) from cluster_type), (select count(*) from desired_type), (select count(*) from assignment), (select count(*) from desired), (select count(*) from arrival),
		(select count(*) from object join cluster on cluster.id = object.cluster where cluster.environment = '%[1]s'),
		(select count(*) from span join object on object.id = span.object join cluster on cluster.id = object.cluster where cluster.environment = '%[1]s')`
	var lines []string
	for _, name := range []string{"prod", "lab"} {
		var n [9]int64
		err := readRow(t.Context(), s, fmt.Sprintf(question, name), &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7], &n[8])
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %d, outputs %d, objects %d, spans %d", name, n[0], n[1], n[7], n[8]))
		if name == "lab" {
			lines = append(lines, fmt.Sprintf("types %d and %d, assignments %d and %d", n[2], n[3], n[4], n[5]))
		}
	}
	return strings.Join(lines, "; ")
}

// TestGoneEnvironments: what is stored of an environment that is gone is kept as long as spans are, and as
// long as a cluster of it reports, and then deleted, step by step. Other environments keep all, and one that is
// back begins anew.
func TestGoneEnvironments(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *Store) {
		fillEnvironments(t, s)
		steps := 0
		want := func(what string, at time.Time, want string) {
			t.Helper()
			for more := true; more; steps++ {
				r := s.NewRetention(keep, at, 20) // each step as after a restart
				var err error
				more, err = r.Step(t.Context())
				if err != nil || steps > 100 {
					t.Fatal(steps, err)
				}
			}
			if got := describeEnvironments(t, s); got != want {
				t.Errorf("%s there are\n%s\nwant\n%s", what, got, want)
			}
		}
		note := func(at time.Time, names ...string) {
			t.Helper()
			err := s.NoteEnvironments(t.Context(), names, at)
			if err != nil {
				t.Fatal(err)
			}
		}
		const all = "prod 1, outputs 5, objects 2, spans 2; lab 1, outputs 5, objects 2, spans 2; types 4 and 20, assignments 20 and 20"
		note(noon, "prod", "lab")
		want("with both", noon, all)
		note(noon, "prod")
		want("when one is gone", noon.Add(9*day), all)
		note(noon.Add(9*day), "prod", "lab")
		note(noon.Add(10*day), "prod")
		want("when it was back meanwhile", noon.Add(19*day), all)
		want("while one of its clusters has an object", noon.Add(21*day), "prod 1, outputs 5, objects 2, spans 2; lab 1, outputs 5, objects 1, spans 1; types 4 and 20, assignments 20 and 20")
		err := s.Write(t.Context(), Batch{Gone: []ledger.Object{{Cluster: "lab-2", Name: "Kustomization/flux-system/fleet"}}, GoneSince: noon.Add(21 * day)})
		if err != nil {
			t.Fatal(err)
		}
		want("when that is gone, too", noon.Add(22*day), "prod 1, outputs 5, objects 2, spans 2; lab 1, outputs 5, objects 1, spans 1; types 4 and 20, assignments 20 and 20")
		before := steps
		want("later", noon.Add(32*day), "prod 1, outputs 5, objects 2, spans 2; lab 0, outputs 0, objects 0, spans 0; types 2 and 10, assignments 10 and 10")
		if steps < before+5 {
			t.Errorf("it took %d steps", steps-before)
		}
		c := ledger.OutputChange{Revision: "lab9", Merged: noon, Folders: []ledger.FolderChange{{ClusterType: "large", ID: "9"}}, Files: []ledger.FileChange{{ClusterType: "large", Target: "w", Digest: "file"}}}
		err = s.WriteOutputs(t.Context(), Outputs{Environment: Environment{Name: "lab"}, Changes: []ledger.OutputChange{c}})
		if err != nil {
			t.Fatal(err)
		}
		want("when it is back", noon.Add(50*day), "prod 1, outputs 5, objects 2, spans 2; lab 1, outputs 1, objects 0, spans 0; types 3 and 11, assignments 11 and 11")
		err = s.Write(t.Context(), Batch{Spans: []ledger.SpanWrite{{
			Object: ledger.Object{Cluster: "lab-1", Name: "Kustomization/flux-system/fleet"}, Span: ledger.Span{Since: noon.Add(50 * day), Phase: ledger.Ready, Revision: "lab9"}}}})
		if err != nil {
			t.Fatal(err)
		}
		want("when its cluster reports again", noon.Add(51*day), "prod 1, outputs 5, objects 2, spans 2; lab 1, outputs 1, objects 1, spans 1; types 3 and 11, assignments 11 and 11")
	})
}
