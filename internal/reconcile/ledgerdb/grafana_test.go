package ledgerdb

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/testkit/pgtest"
)

var update = flag.Bool("update", false, "rewrite what the panels of Grafana return")

// dashboards is the folder of those for Grafana.
const dashboards = "../../../deploy/grafana"

// grafanaReader is what docs/how-to/monitor.md has for the role of Grafana.
var grafanaReader = regexp.MustCompile("(?s)```text\n(create role .*?)```")

// TestGrafana: each panel and each variable of the dashboards returns what was put into a PostgreSQL, to a
// role that can read nothing else.
func TestGrafana(t *testing.T) {
	db := pgtest.Create(t)
	now := fillFleet(t, db)
	page, err := os.ReadFile("../../../docs/how-to/monitor.md")
	if err != nil {
		t.Fatal(err)
	}
	role := grafanaReader.FindSubmatch(page)
	if role == nil {
		t.Fatal("docs/how-to/monitor.md has no role for Grafana")
	}
	name := "grafana_" + strings.ToLower(t.Name())
	db.Exec(strings.ReplaceAll(string(role[1]), "grafana", name))
	t.Cleanup(func() { db.Exec("drop owned by " + name + "; drop role " + name) })
	config, err := pgx.ParseConfig(db.Address)
	if err != nil {
		t.Fatal(err)
	}
	config.User = name
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), "select 1 from cluster"); err == nil {
		t.Error("the role of Grafana reads tables")
	}
	if _, err := conn.Exec(t.Context(), "create table public.mine(id int)"); err == nil {
		t.Error("the role of Grafana writes")
	}
	file := filepath.Join("testdata", "grafana.txtar")
	golden, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, f := range golden.Files {
		want[f.Name] = string(f.Data)
	}
	got := map[string]string{}
	for title, query := range readQueries(t) {
		got[title] = askAsGrafana(t, conn, query, now)
	}
	if *update {
		golden.Files = nil
		for _, title := range slices.Sorted(maps.Keys(got)) {
			golden.Files = append(golden.Files, txtar.File{Name: title, Data: []byte(got[title])})
		}
		if err := os.WriteFile(file, txtar.Format(golden), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for title, rows := range got {
		if strings.Count(rows, "\n") < 2 {
			t.Errorf("%s returns nothing", title)
		}
	}
}

// TestStandingView: the view says of each cluster what the program does.
func TestStandingView(t *testing.T) {
	db := pgtest.Create(t)
	fillFleet(t, db)
	store, err := OpenPostgres(t.Context(), db.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	known := ledger.New(100)
	if err := store.Load(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	known.SetRetirement(ledger.Retirement{After: 7 * day})
	outputs := &ledger.Outputs{}
	outputs.Add(ledger.Output{Revision: strings.Repeat("a", 40), Folders: map[string]string{"large": "f1", "small": "f3"}})
	outputs.Add(ledger.Output{Revision: strings.Repeat("b", 40), Folders: map[string]string{"large": "f2", "small": "f3"}})
	newest, _ := outputs.Newest()
	var want []string
	classes := map[ledger.Class]bool{}
	for _, s := range known.FindStandings(ledger.Wanted{Environment: "prod", Output: newest, Expected: map[string]int{"large": 5}}, outputs, time.Now()) {
		name := ""
		if s.Cluster != nil {
			name = s.Cluster.Name()
		}
		want = append(want, s.Type+" "+name+" "+s.Class.String())
		classes[s.Class] = true
	}
	if len(classes) != int(ledger.ClassReady)+1 {
		t.Errorf("only %d classes of clusters are there: %v", len(classes), classes)
	}
	got := db.QueryAll("select cluster_type || ' ' || coalesce(cluster, '') || ' ' || standing from fleet_standing where environment = 'prod'")
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-program +view:\n%s", diff)
	}
}

// readQueries returns the queries of all panels and variables, by dashboard and title.
func readQueries(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dashboards, "*.json"))
	if err != nil || len(files) != 6 {
		t.Fatalf("the dashboards are %v, %v", files, err)
	}
	all := map[string]string{}
	uids := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var board struct {
			UID        string
			Templating struct {
				List []struct{ Name, Type, Query string }
			}
			Panels []struct {
				Title   string
				Targets []struct{ RawSQL string }
			}
		}
		if err := json.Unmarshal(text, &board); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if uids[board.UID] || board.UID == "" {
			t.Errorf("%s has the uid %q", file, board.UID)
		}
		uids[board.UID] = true
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		for _, v := range board.Templating.List {
			if v.Type == "query" {
				all[name+": $"+v.Name] = v.Query
			}
		}
		for _, p := range board.Panels {
			if len(p.Targets) != 1 {
				t.Errorf("%s: %s has %d queries", file, p.Title, len(p.Targets))
				continue
			}
			all[name+": "+p.Title] = p.Targets[0].RawSQL
		}
	}
	return all
}

// grafanaValues are what Grafana puts in the place of variables.
var grafanaValues = strings.NewReplacer(
	"${environment:sqlstring}", "'prod','stage'", "${first:sqlstring}", "'stage'", "${second:sqlstring}", "'prod'",
	"${cluster:sqlstring}", "'e1','e2','w1','s1'", "${object:sqlstring}", "'Kustomization/flux-system/checkout','Kustomization/flux-system/fleet'",
	"$__timeFrom()", "(now() - interval '30 days')", "$__timeTo()", "now()",
	"to_char(merged, 'YYYY-MM')", "'of all months'", // or else the first hours of a month are of two
)

var timeFilter = regexp.MustCompile(`\$__timeFilter\(([^)]*)\)`)

// askAsGrafana returns the answer to a query, as a table. Times are minutes before now.
func askAsGrafana(t *testing.T, conn *pgx.Conn, query string, now time.Time) string {
	t.Helper()
	query = grafanaValues.Replace(timeFilter.ReplaceAllString(query, "$1 between $$__timeFrom() and $$__timeTo()"))
	if strings.Contains(query, "$") {
		t.Fatalf("the query has what is no variable: %s", query)
	}
	rows, err := conn.Query(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var b strings.Builder
	for i, f := range rows.FieldDescriptions() {
		fmt.Fprint(&b, map[bool]string{true: " | "}[i > 0], f.Name)
	}
	b.WriteString("\n")
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			shown := showValue(t, v, now)
			if rows.FieldDescriptions()[i].DataTypeOID == pgtype.DateOID {
				shown = fmt.Sprintf("%d days ago", ledger.DayOf(now)-ledger.DayOf(v.(time.Time)))
			}
			fmt.Fprint(&b, map[bool]string{true: " | "}[i > 0], shown)
		}
		b.WriteString("\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return b.String()
}

func showValue(t *testing.T, v any, now time.Time) string {
	t.Helper()
	switch v := v.(type) {
	case nil:
		return "-"
	case pgtype.Numeric:
		f, err := v.Float64Value()
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%.1f", f.Float64)
	case time.Time:
		ago := now.Sub(v)
		if ago > 5*day {
			return fmt.Sprintf("%d days ago", ago/day)
		}
		return fmt.Sprintf("%d min ago", ago/time.Minute)
	}
	return fmt.Sprint(v)
}

// fillFleet fills a ledger with the clusters of two environments, what they should run, and what they do,
// and returns the time by which that is.
func fillFleet(t *testing.T, db *pgtest.Database) time.Time {
	t.Helper()
	store, err := OpenPostgres(t.Context(), db.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	now := time.Now().UTC().Truncate(time.Minute)
	b := Batch{Refusals: []ledger.Refusals{{Day: ledger.DayOf(now), Cluster: "e1", Reason: ledger.RefusedReplay, Count: 3, Last: now}}}
	ago := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	const platform, workload = "Kustomization/flux-system/fleet", "Kustomization/flux-system/checkout"
	add := func(name, environment, clusterType string, lastSeen int) {
		b.Clusters = append(b.Clusters, ledger.Cluster{
			ID: name, Names: []ledger.Naming{{Name: name, Since: ago(200)}}, Group: ledger.Group{Environment: environment, ClusterType: clusterType},
			Platform: platform, Every: time.Hour, FirstSeen: ago(200), LastSeen: ago(lastSeen),
		})
	}
	say := func(cluster, object string, since, until int, phase ledger.Phase, revision, message string) {
		o := ledger.Object{Cluster: cluster, Name: object}
		span := ledger.Span{Since: ago(since), Phase: phase, Revision: revision, Message: message}
		if until > 0 {
			span.Until = ago(until)
		} else {
			state := ledger.State{Phase: phase, Revision: revision, Message: message, Said: ago(since)}
			b.Objects = append(b.Objects, ledger.Saved{Object: o, State: state, Open: span})
		}
		b.Spans = append(b.Spans, ledger.SpanWrite{Object: o, Kind: ledger.BeginSpan, Span: span})
	}
	commit := func(letter string) string { return "main@sha1:" + strings.Repeat(letter, 40) }
	add("e1", "prod", "large", 0)
	add("e2", "prod", "large", 0)
	add("e3", "prod", "large", 400)
	add("w1", "prod", "small", 0)
	add("w2", "prod", "small", 0)
	add("w3", "prod", "small", 0)
	add("w4", "prod", "small", 0)
	add("w5", "prod", "small", 0)
	add("w6", "prod", "small", 0)
	add("e4", "prod", "large", 0)
	b.Clusters[4].Rival, b.Clusters[4].RivalSeen = "other", ago(2) // w2
	b.Clusters[5].Unproven = true                                  // w3
	add("r1", "prod", "small", 20*24*60)                           // and is retired, so that it has no objects
	add("s1", "stage", "large", 0)
	for i, cluster := range []string{"e1", "e2", "e3", "w1"} {
		say(cluster, platform, 190, 118-i, ledger.Ready, commit("a"), "")
	}
	say("e1", platform, 118, 0, ledger.Ready, commit("b"), "")
	say("e2", platform, 117, 0, ledger.Failed, commit("b"), "timeout waiting for Deployment/x")
	say("e3", platform, 116, 0, ledger.Ready, commit("b"), "")
	say("w1", platform, 115, 0, ledger.Ready, commit("a"), "")
	say("w2", platform, 115, 0, ledger.Ready, commit("a"), "")
	say("w3", platform, 115, 0, ledger.Ready, commit("a"), "")
	say("w4", platform, 115, 0, ledger.Progressing, commit("b"), "")
	say("w5", platform, 115, 0, ledger.Ready, commit("d"), "")
	say("e4", platform, 115, 0, ledger.Ready, commit("a"), "") // w6 says nothing
	say("s1", platform, 150, 0, ledger.Ready, commit("c"), "")
	say("e1", workload, 180, 118, ledger.Ready, commit("1"), "")
	say("e1", workload, 118, 0, ledger.Ready, commit("2"), "")
	say("e2", workload, 180, 0, ledger.Ready, commit("1"), "")
	say("s1", workload, 150, 0, ledger.Ready, commit("2"), "")
	if err := store.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	sha := func(letter string) string { return "'" + strings.Repeat(letter, 40) + "'" }
	at := func(minutes int) int64 { return ago(minutes).Unix() }
	db.Exec(fmt.Sprintf(`insert into environment(id, name, repo, branch, folder) values (1, 'prod', 'https://git/gitops', 'prod', ''), (2, 'stage', 'https://git/gitops', 'stage', '');
		insert into cluster_type(id, environment, name, expected) values (1, 1, 'large', 5), (2, 1, 'small', null), (3, 2, 'large', null);
		insert into output(id, environment, seq, line, sha, base, plane, authored, merged) values
			(1, 1, 1, 1, %[1]s, 'base1', '', %[4]d, %[5]d), (2, 1, 2, 1, %[2]s, 'base2', '', %[6]d, %[7]d), (3, 2, 1, 1, %[3]s, 'base2', '', null, %[8]d);
		insert into desired_type(cluster_type, from_seq, to_seq, folder) values (1, 1, 2, 'f1'), (1, 2, null, 'f2'), (2, 1, null, 'f3'), (3, 1, null, 'f4');
		insert into assignment(id, cluster_type, target) values (1, 1, 'checkout'), (2, 3, 'checkout');
		insert into reconciler_file(id, digest) values (1, 'd1');
		insert into part(file, object, repo, ref, path, pinned) values (1, 'Kustomization/flux-system/checkout', 'https://git/checkout', 'main', './deploy', null);
		insert into desired(assignment, from_seq, to_seq, file) values (1, 1, null, 1), (2, 1, null, 1);
		insert into version(repo, sha, path, version, build, source_sha, built) values
			('https://git/checkout', repeat('1', 40), './deploy', '1.4.1', '', '', null), ('https://git/checkout', repeat('2', 40), './deploy', '1.4.2', '', '', null);
		insert into arrival(output, cluster, ready, failed) select 1, id, %[9]d, null from cluster where name in ('e1', 'e2', 'e3', 'w1') on conflict (output, cluster) do update set ready = excluded.ready;
		insert into arrival(output, cluster, ready, failed) select 2, id, %[10]d, null from cluster where name in ('e1', 'e3') on conflict (output, cluster) do update set ready = excluded.ready;
		insert into arrival(output, cluster, ready, failed) select 2, id, null, %[11]d from cluster where name = 'e2' on conflict (output, cluster) do update set failed = excluded.failed;
		insert into arrival_day(environment, sha, cluster_type, merged, clusters, ready, failed, p50, p90, p95, slowest) values ('stage', %[3]s, 'large', %[8]d, 1, 1, 0, 42, 42, 42, 42);
		insert into phase_day(day, environment, cluster_type, object, phase, seconds, changes) values (%[12]d, 'prod', 'large', '%[13]s', 3, 7200, 1), (%[12]d, 'prod', 'small', '%[13]s', 2, 100, 1)`,
		sha("a"), sha("b"), sha("c"), at(200), at(195), at(130), at(120), at(160), at(190), at(118), at(117), ledger.DayOf(now.Add(-20*day)), platform))
	return now
}
