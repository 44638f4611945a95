package fleetview_test

import (
	"encoding/json"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
	"github.com/fairlead-io/fairlead/internal/testkit/pgtest"
)

// TestMain runs the tests with a PostgreSQL, if one can be started.
func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// onBothEngines runs a test with ledgers in SQLite and in PostgreSQL.
func onBothEngines(t *testing.T, test func(*testing.T, *ledgerworld.World)) {
	t.Run("SQLite", func(t *testing.T) { test(t, ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, ledgerworld.NewPostgres(t, pgtest.Create(t))) })
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var update = flag.Bool("update", false, "rewrite the wanted answers in testdata")

// TestAnswers asks the questions in the names of the parts of each text in testdata, of both engines.
func TestAnswers(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	onBothEngines(t, func(t *testing.T, w *ledgerworld.World) {
		for _, file := range files {
			archive, err := txtar.ParseFile(file)
			check(t, err)
			for i, f := range archive.Files {
				got := answer(t, w, f.Name)
				if diff := cmp.Diff(string(f.Data), got); diff != "" && !*update {
					t.Errorf("%s: %s (-want +got):\n%s", file, f.Name, diff)
				}
				archive.Files[i].Data = []byte(got)
			}
			if *update {
				check(t, os.WriteFile(file, txtar.Format(archive), 0o644))
			}
		}
	})
}

// TestRetired: a cluster that is retired is listed as that, and no longer expected.
func TestRetired(t *testing.T) {
	const found = `{"name":"east-9","environment":"prod","clusterType":"large","standing":"retired",` +
		`"why":"it was last in touch at 2026-11-23T11:09:00Z, and is no longer expected",` +
		`"firstSeen":"2026-11-23T11:09:00Z","lastSeen":"2026-11-23T11:09:00Z"}` + "\n"
	onBothEngines(t, func(t *testing.T, w *ledgerworld.World) {
		questions := []string{"standing", "behind?environment=prod", "clusters?environment=stage"}
		var before []string
		for _, question := range questions {
			before = append(before, answer(t, w, question))
		}
		w.AddSilent("prod", "east-9")
		if got := answer(t, w, "clusters?cluster=east-9"); !strings.Contains(got, `"standing":"silent"`) {
			t.Errorf("before it is retired: %s", got)
		}
		w.Recorder.SetRetired(map[string]time.Time{"east-9": ledgerworld.Now})
		for _, question := range []string{"clusters?cluster=east-9", "clusters?standing=retired"} {
			if diff := cmp.Diff(found, answer(t, w, question)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", question, diff)
			}
		}
		if got := answer(t, w, "clusters?limit=8"); strings.Count(got, found) != 0 || !strings.HasSuffix(got, "next: 0001 east-7\n") {
			t.Errorf("the first part is\n%s", got)
		}
		if got := answer(t, w, "clusters?after=0001+east-7"); !strings.HasPrefix(got, found) {
			t.Errorf("the next part is\n%s", got)
		}
		for i, question := range questions {
			if diff := cmp.Diff(before[i], answer(t, w, question)); diff != "" {
				t.Errorf("%s (-before +after):\n%s", question, diff)
			}
		}
	})
}

// TestListed: clusters that are expected by name are named while they were never in touch, and are among
// those that are expected.
func TestListed(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *ledgerworld.World) {
		before := answer(t, w, "standing?environment=prod")
		w.Recorder.SetListed("prod", map[string]string{"east-1": "large", "east-9": "large"}, "")
		if diff := cmp.Diff(before, answer(t, w, "standing?environment=prod")); diff != "" {
			t.Errorf("there are as many as before (-want +got):\n%s", diff)
		}
		const want = `{"clusterType":"large","clusters":1,"standing":"unheard","cause":"unheard","why":"it was never in touch"}` + "\n" +
			`{"cluster":"east-9","clusterType":"large","clusters":1,"standing":"unheard","cause":"unheard","why":"it was never in touch"}` + "\n"
		if diff := cmp.Diff(want, answer(t, w, "behind?environment=prod&standing=unheard")); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// answer answers a question that is written as "clusters?environment=prod": each item of a list in one
// line.
func answer(t *testing.T, w *ledgerworld.World, question string) string {
	t.Helper()
	name, query, _ := strings.Cut(question, "?")
	values, err := url.ParseQuery(query)
	check(t, err)
	answer, err := w.View.Answer(t.Context(), name, values)
	if err != nil {
		text := "error: " + err.Error() + "\n"
		hinted, ok := err.(interface{ Hint() string })
		if ok {
			text += "hint: " + hinted.Hint() + "\n"
		}
		return text
	}
	body, err := json.Marshal(answer)
	check(t, err)
	var list struct {
		Items []json.RawMessage `json:"items"`
		Next  string            `json:"next"`
	}
	check(t, json.Unmarshal(body, &list))
	if list.Items == nil {
		return string(body) + "\n"
	}
	text := ""
	for _, item := range list.Items {
		text += string(item) + "\n"
	}
	if list.Next != "" {
		text += "next: " + list.Next + "\n"
	}
	return text
}
