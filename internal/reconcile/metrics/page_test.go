package metrics

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

var update = flag.Bool("update", false, "rewrite the page of metrics")

const pagePath = "../../../docs/reference/metrics.md"

// pageHead is what the page says before its table.
const pageHead = `# Metrics

After reading this page you know every metric of the daemon, and what its labels may be. The address
/metrics serves them, where listen of the [settings](settings.md) says. Alert rules and a dashboard
that use them are in [Monitor](../how-to/monitor.md).

The table is made from the program. Besides, there are the metrics of the Go runtime (go_) and of
the process (process_). Labels never hold a URL, a path, a commit or a secret: host and forge are
names of hosts, and "local" for folders.

| metric | type | labels | |
|---|---|---|---|
`

// described are the parts of the text of a description.
var described = regexp.MustCompile(`fqName: "([^"]*)", help: "((?:[^"\\]|\\.)*)", (?:unit: "[^"]*", )?constLabels: \{[^}]*\}, variableLabels: \{([^}]*)\}`)

// TestPage: docs/reference/metrics.md has every metric, with its type and labels.
func TestPage(t *testing.T) {
	m := busy()
	types := map[string]string{}
	for _, line := range strings.Split(scrape(m).Body.String(), "\n") {
		if words := strings.Fields(line); len(words) == 4 && words[1] == "TYPE" {
			types[words[2]] = words[3]
		}
	}
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		m.registry.Describe(descriptions)
	}()
	var rows []string
	for d := range descriptions {
		parts := described.FindStringSubmatch(d.String())
		if parts == nil {
			t.Fatalf("the description %s was not understood", d)
		}
		if !strings.HasPrefix(parts[1], "fairlead_") {
			continue
		}
		kind, ok := types[parts[1]]
		if !ok {
			t.Errorf("busy does not count %s", parts[1])
		}
		labels := ""
		if parts[3] != "" {
			labels = "`" + strings.ReplaceAll(parts[3], ",", "`, `") + "`"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |\n", parts[1], kind, labels, parts[2]))
	}
	slices.Sort(rows)
	want := pageHead + strings.Join(rows, "")
	if *update {
		if err := os.WriteFile(pagePath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	page, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(page)); diff != "" {
		t.Errorf("go test ./internal/reconcile/metrics -update (-program +page):\n%s", diff)
	}
}
