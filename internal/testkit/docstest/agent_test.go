package docstest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/agent"
)

const agentIntro = `# Agent

After reading this page you know every flag and metric of ` + "`fairlead-agent`" + `, the program on a
cluster that reports what runs there. The program writes this page (` + "`go test" + `
` + "./internal/testkit/docstest -update`" + `); do not edit it by hand.
[Connect a cluster](../how-to/connect-a-cluster.md) says how to install the agent.

## Flags

` + "```text\n"

const agentMetrics = "```" + `

The exit code is 1 if it cannot run, and 2 if the command line is wrong.

## Health

| path | answers with 200 |
|---|---|
| ` + "`/healthz`" + ` | while it works, whether or not the cluster and Fairlead can be reached |
| ` + "`/readyz`" + ` | if the cluster was read and Fairlead has accepted the last report; otherwise with 503, and why |
| ` + "`/metrics`" + ` | always |

## Metrics

| metric | type | |
|---|---|---|
`

var metricHelp = regexp.MustCompile(`# HELP (\S+) (.*)\n# TYPE \S+ (\S+)\n`)

// TestAgentPage: docs/reference/agent.md has the help text and the metrics of the agent.
func TestAgentPage(t *testing.T) {
	var page bytes.Buffer
	page.WriteString(agentIntro)
	if code := agent.Main(context.Background(), []string{"--help"}, &page, &page); code != 0 {
		t.Fatal(page.String())
	}
	page.WriteString(agentMetrics)
	a := agent.New(agent.Options{Now: time.Now, Random: rand.New(rand.NewPCG(1, 1))})
	answer := httptest.NewRecorder()
	a.Window().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	found := metricHelp.FindAllStringSubmatch(answer.Body.String(), -1)
	if len(found) < 7 {
		t.Errorf("%d metrics were found in\n%s", len(found), answer.Body)
	}
	for _, m := range found {
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", m[1], m[3], m[2])
	}
	checkPage(t, "docs/reference/agent.md", strings.ReplaceAll(page.String(), "\t", "    "))
}
