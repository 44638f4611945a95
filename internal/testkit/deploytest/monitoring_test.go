package deploytest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/kube/kustomize"
)

// ruleGroup is a group of alert rules.
type ruleGroup struct {
	Name  string
	Rules []struct {
		Alert, Expr, For    string
		Labels, Annotations map[string]string
	}
}

var (
	metricRow = regexp.MustCompile("(?m)^\\| `(fairlead_\\w+)` \\| (\\w+) \\| ([^|]*) \\|")
	metricUse = regexp.MustCompile(`\b(fairlead_\w+)(?:\{([^}]*)\})?`)
	labelUse  = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"`)
	legendUse = regexp.MustCompile(`\{\{\s*\$?(?:labels\.)?(\w+)\s*\}\}`)
	groupUse  = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// metrics are the labels of each metric that there is, and of each series of a
// histogram, by docs/reference/metrics.md; the tests of package metrics hold the page to
// the program.
func metrics(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, m := range metricRow.FindAllStringSubmatch(read(t, "docs/reference/metrics.md"), -1) {
		labels := strings.FieldsFunc(m[3], func(r rune) bool { return strings.ContainsRune("`, ", r) })
		labels = append(labels, "instance", "job")
		all[m[1]] = labels
		if m[2] == "histogram" {
			all[m[1]+"_sum"], all[m[1]+"_count"] = labels, labels
			all[m[1]+"_bucket"] = append(slices.Clone(labels), "le")
		}
	}
	if len(all) < 19 {
		t.Fatalf("the page has %d metrics", len(all))
	}
	return all
}

// values are the labels whose values the source lists.
var values = map[string][]string{
	"state":    {"in-sync", "proposed", "declined", "edited", "foreign", "problems", "failed", "dry-run", "waiting"},
	"outcome":  {"ok", "failed", "same", "different", "woken", "seen", "ping", "ignored", "unknown-repository", "unauthorized", "too-large", "malformed", "not-set-up"},
	"severity": {"problem", "warning"},
	"standing": {"contested", "unheard", "unproven", "silent", "failed", "unknown", "behind", "progressing", "ready"},
}

// checkQuery says what a query, and the text beside it, name that does not exist.
func checkQuery(known map[string][]string, query, text string) []string {
	var wrong, available []string
	for _, use := range metricUse.FindAllStringSubmatch(query, -1) {
		labels, ok := known[use[1]]
		if !ok {
			wrong = append(wrong, "there is no metric "+use[1])
			continue
		}
		available = append(available, labels...)
		for _, l := range labelUse.FindAllStringSubmatch(use[2], -1) {
			if !slices.Contains(labels, l[1]) {
				wrong = append(wrong, use[1]+" has no label "+l[1])
			}
			for _, value := range strings.Split(l[2], "|") {
				if list := values[l[1]]; list != nil && !slices.Contains(list, value) {
					wrong = append(wrong, l[1]+" is never "+value)
				}
			}
		}
	}
	if available == nil {
		wrong = append(wrong, "it asks for none of our metrics: "+query)
	}
	var used []string
	for _, g := range groupUse.FindAllStringSubmatch(query, -1) {
		used = append(used, strings.FieldsFunc(g[1], func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	for _, l := range legendUse.FindAllStringSubmatch(text, -1) {
		used = append(used, l[1])
	}
	for _, label := range used {
		if label != "value" && !slices.Contains(available, label) {
			wrong = append(wrong, "nothing in the query has the label "+label)
		}
	}
	return wrong
}

// TestAlerts: the rules name metrics and labels that exist; the page for people has each
// of them; the kustomization has the same rules as the file.
func TestAlerts(t *testing.T) {
	known := metrics(t)
	var file struct{ Groups []ruleGroup }
	if err := yaml.UnmarshalStrict([]byte(read(t, "deploy/monitoring/alerts.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	page := read(t, "docs/how-to/monitor.md")
	rules := 0
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			rules++
			for _, wrong := range checkQuery(known, r.Expr, r.Annotations["summary"]+r.Annotations["description"]) {
				t.Errorf("%s: %s", r.Alert, wrong)
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || !slices.Contains([]string{"warning", "critical"}, r.Labels["severity"]) {
				t.Errorf("%s does not say what it means, or how bad it is", r.Alert)
			}
			if !strings.Contains(page, "| `"+r.Alert+"` |") {
				t.Errorf("docs/how-to/monitor.md does not have %s", r.Alert)
			}
		}
	}
	if named := regexp.MustCompile("(?m)^\\| `Fairlead\\w+` \\|").FindAllString(page, -1); len(named) != rules {
		t.Errorf("there are %d alerts, and docs/how-to/monitor.md has %d", rules, len(named))
	}
	objects, problems := kustomize.Build(files(t, "../../../deploy/monitoring"), "")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, o := range objects {
		var rule struct {
			Kind string
			Spec struct{ Groups []ruleGroup }
		}
		if err := yaml.Unmarshal(o.YAML, &rule); err != nil {
			t.Fatal(err)
		}
		if rule.Kind != "PrometheusRule" {
			continue
		}
		if diff := cmp.Diff(file.Groups, rule.Spec.Groups); diff != "" {
			t.Errorf("alerts.yaml and prometheusrule.yaml differ:\n%s", diff)
		}
		return
	}
	t.Error("the kustomization has no PrometheusRule")
}

// TestDashboard: the panels ask for metrics and labels that exist.
func TestDashboard(t *testing.T) {
	known := metrics(t)
	var board struct {
		Panels []struct {
			Title, Type string
			Targets     []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "deploy/monitoring/dashboard.json")), &board); err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, p := range board.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s asks for nothing", p.Title)
		}
		for _, target := range p.Targets {
			for _, wrong := range checkQuery(known, target.Expr, target.LegendFormat) {
				t.Errorf("%s: %s", p.Title, wrong)
			}
			for _, use := range metricUse.FindAllStringSubmatch(target.Expr, -1) {
				asked[strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(use[1], "_bucket"), "_sum"), "_count")] = true
			}
		}
	}
	alerts := read(t, "deploy/monitoring/alerts.yaml")
	for _, m := range metricRow.FindAllStringSubmatch(read(t, "docs/reference/metrics.md"), -1) {
		if !asked[m[1]] && !strings.Contains(alerts, m[1]) {
			t.Errorf("neither a panel nor an alert shows %s", m[1])
		}
	}
}

// TestQueriesNoticed: the check sees what does not exist.
func TestQueriesNoticed(t *testing.T) {
	known := metrics(t)
	for _, c := range [][2]string{
		{"fairlead_problem", ""},
		{`fairlead_problems{severty="problem"}`, ""},
		{`fairlead_environment_state{state="broken"}`, ""},
		{"fairlead_problems", "{{ $labels.host }}"},
		{"sum by (host) (fairlead_problems)", ""},
		{"fairlead_problems_bucket", ""},
		{`fairlead_fleet_clusters{standing="lost"}`, ""},
		{"up", ""},
	} {
		if len(checkQuery(known, c[0], c[1])) == 0 {
			t.Errorf("%q with %q is taken", c[0], c[1])
		}
	}
}
