package ledgerdb

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/testkit/pgtest"
)

// openEmpty opens an empty store of each engine.
var openEmpty = map[string]func(*testing.T) *Store{
	"SQLite": func(t *testing.T) *Store {
		s, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
		return mustOpen(t, s, err)
	},
	"PostgreSQL": func(t *testing.T) *Store {
		s, err := OpenPostgres(t.Context(), pgtest.Create(t).Address)
		return mustOpen(t, s, err)
	},
}

func mustOpen(t *testing.T, s *Store, err error) *Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// fillAll fills each table of a store.
func fillAll(t *testing.T, s *Store) {
	t.Helper()
	fillPast(t, s, 5, 2)
	err := execute(t, s, `insert into environment(id, name, repo, branch, folder) values (1, 'prod', 'https://git/gitops', 'prod', '');
		insert into cluster_type(id, environment, name, expected) values (1, 1, 'large', 4), (2, 1, 'small', null);
		insert into output(id, environment, seq, line, sha, base, plane, authored, merged) values (1, 1, 1, 1, 'aa', 'bb', '', null, 5);
		insert into desired_type(cluster_type, from_seq, to_seq, folder) values (1, 1, null, 'f1');
		insert into cluster_place(cluster, until, environment, cluster_type) values (1, 3, 'stage', 'large');
		insert into assignment(id, cluster_type, target) values (1, 1, 'checkout "<größe>" \n');
		insert into reconciler_file(id, digest) values (1, 'd1');
		insert into part(file, object, repo, ref, path, pinned) values (1, 'o', 'r', '', '', null);
		insert into desired(assignment, from_seq, to_seq, file) values (1, 1, 2, 1);
		insert into plan(id, cluster, namespace, object, received, content) values ('p', 'a', 'shop', 'db', 1764500000000000001, '{"Text":"<x>"}');
		insert into version(repo, sha, path, version, build, source_sha, built) values ('r', 's', 'p', '1.2', '', '', 7);
		insert into arrival(output, cluster, ready, failed) values (1, 1, 9, null);
		insert into phase_day(day, environment, cluster_type, object, phase, seconds, changes) values (1, 'prod', 'large', 'o', 3, 7200, 1);
		insert into arrival_day(environment, sha, cluster_type, merged, clusters, ready, failed, p50, p90, p95, slowest, first_failed) values ('prod', 'aa', 'large', 5, 2, 1, 1, 1, 2, 3, null, 7);
		insert into state(object, cluster, phase, revision, attempted, since, said, level, message) values (1, 1, 2, 1, null, 3, 4, '1', 1);
		insert into object_uid(object, uid, other, changed, contested) values (1, 'a', 'b', 5, '1');
		insert into evidence(object, number, phase, target, runs, said, level, message) values (1, 0, 2, 1, null, 4, '0', null)`)
	if err != nil {
		t.Fatal(err)
	}
}

func execute(t *testing.T, s *Store, statements string) (err error) {
	t.Helper()
	switch e := s.engine.(type) {
	case *sqlite3:
		_, err = e.writer.ExecContext(t.Context(), statements)
	case *postgres:
		_, err = e.pool.Exec(t.Context(), statements)
	}
	return err
}

func export(t *testing.T, s *Store) string {
	t.Helper()
	var b bytes.Buffer
	rows, err := s.Export(t.Context(), &b)
	if err != nil || rows != strings.Count(b.String(), "\n")-2 {
		t.Fatalf("%d rows, %v", rows, err)
	}
	return b.String()
}

// TestTransfer: what is exported from one store and imported into another one is the same there, whatever
// the engines are, and each table is among it.
func TestTransfer(t *testing.T) {
	for from, openFrom := range openEmpty {
		for to, openTo := range openEmpty {
			t.Run(from+" to "+to, func(t *testing.T) {
				source, target := openFrom(t), openTo(t)
				fillAll(t, source)
				text := export(t, source)
				for _, table := range exportedTables {
					if !strings.Contains(text, "\n{\""+table.name+"\":{") {
						t.Errorf("there is no %s", table.name)
					}
				}
				rows, err := target.Import(t.Context(), strings.NewReader(text))
				if err != nil || rows == 0 {
					t.Fatalf("%d rows, %v", rows, err)
				}
				if diff := cmp.Diff(strings.Split(text, "\n"), strings.Split(export(t, target), "\n")); diff != "" {
					t.Errorf("-exported +imported:\n%s", diff)
				}
				if _, err := target.Import(t.Context(), strings.NewReader(text)); !errors.Is(err, ErrNotEmpty) {
					t.Errorf("a ledger that is not empty: %v", err)
				}
				fillPast(t, target, 6, 3) // it goes on from there
			})
		}
	}
}

// TestExportedTables: each table and column of the schemas is exported, but those that count changes.
func TestExportedTables(t *testing.T) {
	var want []string
	for _, table := range exportedTables {
		for _, name := range table.columnNames() {
			want = append(want, table.name+"."+name)
		}
	}
	slices.Sort(want)
	questions := map[string]string{
		"SQLite":     "select group_concat(m.name || '.' || c.name) from sqlite_master m join pragma_table_info(m.name) c where m.type = 'table' and m.name not like 'sqlite%'",
		"PostgreSQL": "select string_agg(c.table_name || '.' || column_name, ',') from information_schema.columns c join information_schema.tables t using (table_schema, table_name) where table_schema = current_schema() and table_type = 'BASE TABLE'",
	}
	for engine, open := range openEmpty {
		var columns string
		err := readRow(t.Context(), open(t), questions[engine], &columns)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(strings.Split(columns, ","), func(name string) bool {
			return name == "cluster.generation" || strings.HasPrefix(name, "retention.") || strings.HasPrefix(name, "schema_version.")
		})
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -exported +stored:\n%s", engine, diff)
		}
	}
}

// TestDamagedExport: what is wrong is named with its line, and nothing is imported.
func TestDamagedExport(t *testing.T) {
	source := openEmpty["SQLite"](t)
	fillAll(t, source)
	text := export(t, source)
	lines := strings.SplitAfter(text, "\n")
	last := len(lines) - 1 // the line of the end; the one after it is ""
	lineOf := func(start string) int {
		return slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, start) }) + 1
	}
	replace := func(line int, with string) string {
		return strings.Join(slices.Concat(lines[:line-1], []string{with}, lines[line:]), "")
	}
	cut := func(line int) string { return strings.Join(lines[:line-1], "") }
	span := lineOf(`{"span"`)
	for _, c := range []struct {
		name, text string
		line       int
		words      string
	}{
		{"nothing", "", 1, "is missing"},
		{"another text", "select 1\n", 1, "no export of a ledger"},
		{"another JSON", "{}\n", 1, "no export of a ledger"},
		{"of a newer program", replace(1, `{"format":"fairlead-ledger","version":99}`+"\n"), 1, "has version 99, and this program knows 3"},
		{"half a line", replace(span, lines[span-1][:20]+"\n"), span, "is damaged"},
		{"a line too few", cut(span) + strings.Join(lines[span:], ""), last - 1, "rows should be before it"},
		{"a line twice", strings.Replace(replace(span, lines[span-1]+lines[span-1]), fmt.Sprintf(`"rows":%d}`, last-2), fmt.Sprintf(`"rows":%d}`, last-1), 1), span + 1, "does not fit"},
		{"cut off at a line", cut(span), span, "is missing: the text was cut off"},
		{"cut off within a line", cut(span) + lines[span-1][:30], span, "is damaged"},
		{"without the end", cut(last), last, "is missing: the text was cut off"},
		{"more after the end", text + lines[1], last + 1, "follows the end"},
		{"an unknown table", replace(span, `{"spam":{}}`+"\n"), span, "the table spam is not known, or comes too late"},
		{"a table too late", replace(span, lines[1]), span, "the table cluster is not known, or comes too late"},
		{"an unknown column", replace(span, strings.Replace(lines[span-1], `"since"`, `"sins":1,"since"`, 1)), span, "columns that are not known"},
		{"a missing column", replace(span, strings.Replace(lines[span-1], `"since"`, `"sins"`, 1)), span, "span has no since"},
		{"text in the place of a number", replace(span, strings.Replace(lines[span-1], `"object":`, `"object":"x`, 1)), span, "is damaged"},
		{"null where something must be", replace(span, nullPhase(lines[span-1])), span, "does not fit"},
		{"two rows in a line", replace(span, strings.TrimSuffix(lines[span-1], "}\n")+`,"message":{}}`+"\n"), span, "is damaged"},
		{"a line without an end", replace(span, strings.Repeat("x", 2<<20)), span, "cannot be read"},
	} {
		for engine, open := range openEmpty {
			if engine == "PostgreSQL" && !strings.Contains(c.words, "fit") {
				continue // reading is the same
			}
			s := open(t)
			_, err := s.Import(t.Context(), strings.NewReader(c.text))
			var at *LineError
			if !errors.As(err, &at) || at.Line != c.line || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%s, %s: %v, want line %d, with %q", engine, c.name, err, c.line, c.words)
			}
			rows, err := s.Import(t.Context(), strings.NewReader(text))
			if err != nil || rows == 0 {
				t.Errorf("%s, %s: something was imported: %v", engine, c.name, err)
			}
		}
	}
}

// nullPhase returns the line of a span without its phase.
func nullPhase(line string) string {
	for i := range 6 {
		line = strings.Replace(line, fmt.Sprintf(`"phase":%d`, i), `"phase":null`, 1)
	}
	return line
}
