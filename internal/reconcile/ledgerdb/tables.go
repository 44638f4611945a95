package ledgerdb

import (
	"fmt"
	"strings"
)

type table struct {
	name    string
	key     string
	columns []column
}

type column struct {
	name string
	kind columnKind
}

type columnKind uint8

const (
	numberColumn columnKind = iota
	textColumn
	boolColumn
	longColumn // text of any length
)

// exportedTables has all tables except counters of changes, in export order. Suffix $ means text, %
// long text, and ! boolean.
var exportedTables = []table{
	newTable("cluster", "id", "id first_name$ name$ uid$ environment$ cluster_type$ platform$ unproven! every first_seen last_seen rival$ rival_seen boot$ sequence sent agent_seen digest$ rival_object$ began others$"),
	newTable("cluster_name", "cluster, since", "cluster since until name$"),
	newTable("cluster_place", "cluster, until", "cluster until environment$ cluster_type$"),
	newTable("revision", "id", "id text$ sha$"),
	newTable("message", "id", "id text$"),
	newTable("object", "id", "id cluster name$ gone"),
	newTable("state", "object", "object cluster phase revision attempted since said level! message app"),
	newTable("evidence", "object, number", "object number phase target runs said level! message"),
	newTable("object_uid", "object", "object uid$ other$ changed contested!"),
	newTable("span", "object, since", "object since until phase revision attempted message late! app"),
	newTable("environment", "id", "id name$ repo$ branch$ folder$ rank gone"),
	newTable("cluster_type", "id", "id environment name$ expected"),
	newTable("output", "id", "id environment seq line sha$ base$ plane$ authored merged abandoned"),
	newTable("desired_type", "cluster_type, from_seq", "cluster_type from_seq to_seq folder$"),
	newTable("assignment", "id", "id cluster_type target$"),
	newTable("reconciler_file", "id", "id digest$"),
	newTable("part", "file, object", "file object$ repo$ ref$ path$ pinned$"),
	newTable("desired", "assignment, from_seq", "assignment from_seq to_seq file"),
	newTable("version", "repo, sha, path", "repo$ sha$ path$ version$ build$ source_sha$ built"),
	newTable("arrival", "output, cluster", "output cluster ready failed"),
	newTable("phase_day", "day, environment, cluster_type, object, phase", "day environment$ cluster_type$ object$ phase seconds changes"),
	newTable("arrival_day", "environment, sha, cluster_type, merged", "environment$ sha$ cluster_type$ merged clusters ready failed p50 p90 p95 slowest first_failed"),
	newTable("refusal", "day, cluster, reason", "day cluster$ reason$ count last"),
	newTable("plan", "id", "id$ cluster$ namespace$ object$ received content%"),
}

func newTable(name, key, columns string) table {
	t := table{name: name, key: key}
	for word := range strings.FieldsSeq(columns) {
		c := column{name: strings.TrimRight(word, "$!%")}
		switch {
		case strings.HasSuffix(word, "$"):
			c.kind = textColumn
		case strings.HasSuffix(word, "!"):
			c.kind = boolColumn
		case strings.HasSuffix(word, "%"):
			c.kind = longColumn
		}
		t.columns = append(t.columns, c)
	}
	return t
}

const (
	exportPrefix = "export_"
	importPrefix = "import_"
	anyPrefix    = "any_"
)

func addTransferStatements(to map[string]string) {
	for _, t := range exportedTables {
		var names, values []string
		for i, c := range t.columns {
			names = append(names, c.name)
			values = append(values, fmt.Sprintf("$%d", i+1))
		}
		columns := strings.Join(names, ", ")
		to[exportPrefix+t.name] = "select " + columns + " from " + t.name + " order by " + t.key
		to[importPrefix+t.name] = "insert into " + t.name + "(" + columns + ") values (" + strings.Join(values, ", ") + ")"
		to[anyPrefix+t.name] = "select 1 from " + t.name + " limit 1"
	}
}
