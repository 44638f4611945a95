package explain_test

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
	"github.com/fairlead-io/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/fleet"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

func find(t testing.TB, m *model.Model, query string) explain.Answer {
	t.Helper()
	a, err := explain.AnswerQuery(m, query, explain.Options{})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return a
}

// What is said to be there is what is rendered: the files that exist in the answers
// are the files of the output.
func TestFilesAreThoseOfTheOutput(t *testing.T) {
	golden.Run(t, "testdata/files.txtar", func(t *testing.T, c *golden.Case) {
		m := modelOf(t, c)
		files, problems := output.Render(m, nil, output.Options{})
		if problems.Stops() {
			t.Fatal(golden.Problems(problems))
		}
		var want, got []string
		for file := range files.All() {
			want = append(want, file)
		}
		queries := []string{output.TrackingFile}
		for _, clusterType := range m.ClusterTypes {
			queries = append(queries, clusterType.Name+"/README.md")
			for _, target := range m.Targets {
				folder := path.Join(clusterType.Name, target.Name)
				for _, made := range find(t, m, folder).Assignment.Files {
					queries = append(queries, path.Join(folder, made.File))
				}
			}
		}
		for _, query := range queries {
			if find(t, m, query).File.Exists {
				got = append(got, query)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("files of the output (-) and of the answers (+):\n%s", diff)
		}
	})
}

// A config either sets a value of an assignment or is said not to apply, with a
// label that the assignment lacks.
func TestConfigsApplyOrAreExcluded(t *testing.T) {
	m, problems := model.Parse(fleet.Environment, fleet.New(fleet.Size{Workloads: 30, ClusterTypes: 16, Configs: 64, Reach: 8}).Layers()...)
	if problems.Stops() {
		t.Fatal(golden.Problems(problems))
	}
	read := map[string]int{}
	for a := range schedule.NewPlan(m, nil).All() {
		answer := find(t, m, a.ClusterType.Name+"/"+a.Target.Name).Assignment
		applies, all := map[string]bool{}, map[string]bool{}
		for _, v := range answer.Values {
			for _, s := range v.By {
				applies[s.Config.Name], all[s.Config.Name] = true, true
			}
		}
		for _, e := range answer.Excluded {
			if applies[e.Config.Name] {
				t.Errorf("%s applies to %s/%s and is excluded: %v", e.Config.Name, a.ClusterType.Name, a.Target.Name, e.Lacks)
			}
			all[e.Config.Name] = true
		}
		if len(all) != len(m.Configs) {
			t.Errorf("%s/%s: %d of %d configs are accounted for", a.ClusterType.Name, a.Target.Name, len(all), len(m.Configs))
		}
		for name := range applies {
			read[name]++
		}
	}
	for _, c := range m.Configs {
		if got := find(t, m, "ConfigMap/"+c.Name).Config.Assignments; got != read[c.Name] {
			t.Errorf("ConfigMap/%s is said to be read by %d assignments, and is by %d", c.Name, got, read[c.Name])
		}
	}
}

// The answers to a cluster type, a target, a policy and an assignment say the same.
func TestPlacementsAreThoseOfThePlan(t *testing.T) {
	m, problems := model.Parse(fleet.Environment, fleet.New(fleet.Size{Workloads: 12, ClusterTypes: 8, Configs: 1, Reach: 2}).Layers()...)
	if problems.Stops() {
		t.Fatal(golden.Problems(problems))
	}
	want := map[string]bool{}
	for a := range schedule.NewPlan(m, nil).All() {
		want[a.ClusterType.Name+"/"+a.Target.Name] = true
	}
	byType, byTarget, byPolicy, asked := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range m.ClusterTypes {
		for _, p := range find(t, m, "ClusterType/"+c.Name).ClusterType.Targets {
			byType[c.Name+"/"+p.Object.Name] = len(p.Policies) > 0
		}
		for _, target := range m.Targets {
			if find(t, m, target.Name+"@"+c.Name).Assignment.Assigned {
				asked[c.Name+"/"+target.Name] = true
			}
		}
	}
	for _, target := range m.Targets {
		for _, p := range find(t, m, target.Name).Target.ClusterTypes {
			byTarget[p.Object.Name+"/"+target.Name] = len(p.Policies) > 0
		}
	}
	for _, p := range m.Policies {
		answer := find(t, m, p.Name).Policy
		for _, c := range answer.ClusterTypes {
			for _, target := range answer.Targets {
				byPolicy[c.Name+"/"+target.Name] = true
			}
		}
	}
	for name, got := range map[string]map[string]bool{"cluster types": byType, "targets": byTarget, "policies": byPolicy, "assignments": asked} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("assignments of the plan (-) and of the answers for %s (+):\n%s", name, diff)
		}
	}
}

// Every answer can be written as JSON and as YAML, which say the same.
func TestAnswersAsData(t *testing.T) {
	golden.Run(t, "testdata/fleet.txtar", func(t *testing.T, c *golden.Case) {
		m := modelOf(t, c)
		for query := range strings.Lines(c.Text("queries")) {
			a := find(t, m, query)
			asJSON, err := json.MarshalIndent(a, "", "  ")
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			asYAML, err := yaml.Marshal(a)
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			var want, got any
			if err := yaml.Unmarshal(asJSON, &want); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal(asYAML, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(withoutZero(want), withoutZero(got)); diff != "" {
				t.Errorf("%s as JSON (-) and as YAML (+):\n%s", query, diff)
			}
		}
		asJSON, err := json.MarshalIndent(find(t, m, "large-west/gull-main"), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		c.Want(t, "want.json", string(asJSON))
	})
}

// withoutZero leaves out empty texts and zeros: positions have them in YAML and not
// in JSON.
func withoutZero(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if value == "" || value == 0 {
				delete(v, key)
			} else {
				v[key] = withoutZero(value)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutZero(v[i])
		}
	}
	return v
}

// Values of all shapes get into an answer as JSON can hold them, and onto one line.
func TestValuesOnOneLine(t *testing.T) {
	long := strings.Repeat("é", 100)
	for _, test := range []struct{ value, want string }{
		{"plain text", "plain text"},
		{"'  padded'", `"  padded"`},
		{"", `""`},
		{"a\tb", `"a\tb"`},
		{"\"quoted\"", `"\"quoted\""`},
		{"[looks like a list", `"[looks like a list"`},
		{"[.inf, 1.5, true, null, <b>]", `["+Inf",1.5,true,null,"<b>"]`},
		{"{2: a, yes: {b: []}}", `{"2":"a","true":{"b":[]}}`},
		{long, long[:71*len("é")] + "…"},
	} {
		m := modelWith(t, test.value)
		a := find(t, m, "west/auk-main")
		if _, err := json.Marshal(a); err != nil {
			t.Errorf("%q: %v", test.value, err)
		}
		if line := "  KEY = " + test.want + "\n"; !strings.Contains(a.Text(), line) {
			t.Errorf("%q: there is no line %q in\n%s", test.value, line, a.Text())
		}
	}
}

// modelWith has one assignment, with one value.
func modelWith(t *testing.T, value string) *model.Model {
	t.Helper()
	m := &model.Model{
		Environment:  "dev",
		ClusterTypes: []*model.ClusterType{{Object: model.Object{Kind: "ClusterType", Name: "west"}}},
		Targets:      []*model.Target{{Object: model.Object{Kind: "DeploymentTarget", Name: "auk-main"}}},
		Configs: []*model.Config{{
			Object: model.Object{Kind: "ConfigMap", Name: "all"}, Platform: true,
			Values: []model.Value{{Key: "KEY", Text: value}},
		}},
	}
	if _, problems := values.NewResolver(m, &values.Cache{}); problems.Stops() {
		t.Fatal(golden.Problems(problems))
	}
	return m
}

// A template that reads everything is said to read every field there is.
func TestFieldsAreThoseOfTheData(t *testing.T) {
	m := &model.Model{Templates: []*model.Template{{
		Object: model.Object{Kind: "Template", Name: "all"}, Engine: "text", Manifests: []model.Manifest{{Text: "{{ . }}"}},
	}}}
	var want []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[render.Data]()) {
		if f.IsExported() {
			want = append(want, "."+f.Name)
		}
	}
	if diff := cmp.Diff(want, find(t, m, "all").Template.Reads); diff != "" {
		t.Errorf("fields of render.Data (-) and of the answer (+):\n%s", diff)
	}
}

// Long lists are cut for people, and complete as data.
func TestLongListsAreCut(t *testing.T) {
	m, problems := model.Parse(fleet.Environment, fleet.New(fleet.Size{Workloads: 300, ClusterTypes: 60, Configs: 60, Reach: 2}).Layers()...)
	if problems.Stops() {
		t.Fatal(golden.Problems(problems))
	}
	for _, query := range []string{"ct-0001", "app-0031", "app-0031-main", "zone-0001", "config-000", "flux", "ct-0001/app-0001-main"} {
		a := find(t, m, query)
		if lines := strings.Count(a.Text(), "\n"); lines > 120 || !strings.Contains(a.Text(), "… and ") {
			t.Errorf("%s: the answer has %d lines:\n%s", query, lines, a.Text())
		}
	}
	answer := find(t, m, "ct-0001").ClusterType
	if n := len(answer.Targets) + len(answer.Absent); n != len(m.Targets) {
		t.Errorf("the data has %d of %d targets", n, len(m.Targets))
	}
	if !reflect.DeepEqual(answer, find(t, m, "ct-0001").ClusterType) {
		t.Error("two answers to one question differ")
	}
}

// BenchmarkFind asks for one thing of 100,000 assignments.
func BenchmarkFind(b *testing.B) {
	for _, size := range []fleet.Size{fleet.Large, {Workloads: 5000, ClusterTypes: 200, Configs: 120, Reach: 20}} {
		m, problems := model.Parse(fleet.Environment, fleet.New(size).Layers()...)
		if problems.Stops() {
			b.Fatal(golden.Problems(problems))
		}
		for _, query := range []string{
			"ct-0007/app-0007-main", "ct-0007/app-0007-main/platform-config.yaml", "ct-0007", "app-0007", "zone-0000", "config-005", "flux", "ct-0008/app-0007-mian",
		} {
			b.Run(fmt.Sprintf("workloads=%d/%s", size.Workloads, strings.ReplaceAll(query, "/", "_")), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if a, err := explain.AnswerQuery(m, query, explain.Options{}); err == nil {
						_ = a.Text()
					}
				}
			})
		}
	}
}
