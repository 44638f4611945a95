package ledgerdb

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/testkit/pgtest"
)

// TestMain runs the tests with a PostgreSQL, if one can be started.
func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// TestAddress: no error has the password, whatever is wrong with an address.
func TestAddress(t *testing.T) {
	for _, address := range []string{
		"postgres://fairlead:hunter2@127.0.0.1:1/ledger",
		"postgres://fairlead:hun/ter2@127.0.0.1:1/ledger",
		"postgres://fairlead:hunter2@127.0.0.1:port/ledger",
		"postgres://fairlead:hunter2%@127.0.0.1/ledger",
		"host=127.0.0.1 port=1 password=hunter2 user=fairlead sslmode=disable",
		"host=127.0.0.1 port=1 password='hunter2",
		"hunter2",
	} {
		_, err := OpenPostgres(t.Context(), address)
		if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "ter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestHostileText: texts that PostgreSQL does not take do not keep others from being stored.
func TestHostileText(t *testing.T) {
	store, err := OpenPostgres(t.Context(), pgtest.Create(t).Address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	b := Batch{Clusters: []ledger.Cluster{{ID: "e1", Names: []ledger.Naming{{Name: "e1", Since: noon}}, FirstSeen: noon, LastSeen: noon}}}
	for _, text := range []string{"plain", "null \x00 byte", "broken \xff", strings.Repeat("long ", 100_000)} {
		o := ledger.Object{Cluster: "e1", Name: text}
		b.Spans = append(b.Spans, ledger.SpanWrite{Object: o, Span: ledger.Span{Since: noon, Phase: ledger.Failed, Revision: text, Message: text}})
	}
	for range 2 {
		err = store.Write(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
	}
	spans, err := store.FindHistory(t.Context(), ledger.Object{Cluster: "e1", Name: "plain"})
	if err != nil || len(spans) != 1 {
		t.Errorf("stored is %+v, %v", spans, err)
	}
}

// TestReadPostgres: a database without a ledger, or with that of a newer program, is refused and left
// alone.
func TestReadPostgres(t *testing.T) {
	db := pgtest.Create(t)
	_, err := ReadPostgres(t.Context(), db.Address)
	if err == nil {
		t.Error("an empty database is read")
	}
	store, err := OpenPostgres(t.Context(), db.Address)
	if err != nil {
		t.Fatal(err)
	}
	_ = store.Close()
	db.Exec("update schema_version set version = 9999")
	_, err = ReadPostgres(t.Context(), db.Address)
	if !errors.Is(err, ErrNewer) {
		t.Error(err)
	}
}

// manyRows fill what grows: 20 environments with 10 cluster types each, of which each has 20 targets.
const manyRows = `
insert into span(object, since, phase) select o, s, 2 from generate_series(1, 2000) o, generate_series(1, 20) s;
insert into environment(id, name, repo, branch, folder) select e, 'environment-' || e, 'repo', 'main', e::text from generate_series(1, 20) e;
insert into cluster_type(id, environment, name) select 10 * e + t, e, 'type-' || t from generate_series(1, 20) e, generate_series(0, 9) t;
insert into assignment(id, cluster_type, target) select 20 * t + a, t, 'target-' || a from generate_series(10, 209) t, generate_series(0, 19) a;
insert into desired(assignment, from_seq, to_seq, file) select a, s, nullif(s + 1, 11), 10 * a + s from generate_series(200, 4199) a, generate_series(1, 10) s;
insert into part(file, object, repo, ref, path) select f, 'Kustomization/flux-system/target-' || f % 200, 'repo', 'main', 'deploy' from generate_series(2000, 42000) f;
insert into output(id, environment, seq, line, sha, base, plane, merged) select 100 * e + s, e, s, 1, e || '-' || s, '', '', s from generate_series(1, 20) e, generate_series(1, 50) s;
insert into arrival(output, cluster, ready) select o, c, 1 from generate_series(100, 2050) o, generate_series(1, 20) c;
analyze`

// TestPostgresPlans: no statement reads a whole history, for lack of an index.
func TestPostgresPlans(t *testing.T) {
	db := pgtest.Create(t)
	store, err := OpenPostgres(t.Context(), db.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db.Exec(manyRows)
	plan := func(text string) string {
		args := "(null"
		parameters := map[string]bool{}
		for _, p := range regexp.MustCompile(`\$\d+`).FindAllString(text, -1) {
			parameters[p] = true
		}
		args += strings.Repeat(", null", max(len(parameters)-1, 0)) + ")"
		if len(parameters) == 0 {
			args = ""
		}
		lines := db.QueryAll("set plan_cache_mode = force_generic_plan; prepare question as " + text + "; explain execute question" + args)
		return strings.Join(lines, "\n")
	}
	scans := regexp.MustCompile(`Seq Scan on (span|arrival|desired)\b`)
	for name, text := range store.engine.(*postgres).statements {
		found := plan(text)
		if scans.MatchString(found) && !strings.HasSuffix(name, rebuilds) && !strings.HasPrefix(name, exportPrefix) && !strings.HasPrefix(name, anyPrefix) || found == "" {
			t.Errorf("%s:\n%s", name, found)
		}
	}
	if found := plan("select phase from span where until is null"); !scans.MatchString(found) {
		t.Errorf("a scan is not seen in the plan\n%s", found)
	}
}
