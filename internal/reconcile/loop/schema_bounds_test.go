package loop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// longEnum is a JSON Schema with 90,000 different texts, which a validator that compares each with all others takes minutes to
// compile.
func longEnum(key string) string {
	all := make([]string, 90_000)
	for i := range all {
		all[i] = fmt.Sprintf(`"%d"`, i)
	}
	return `{"properties": {"` + key + `": {"enum": [` + strings.Join(all, ", ") + `]}}}`
}

// TestLongEnums: schemas that take too long to compile stop the environment whose branch has them, or that runs the workload
// which does. The others are proposed in the same cycle, and the log and the report name the schema and the limit.
func TestLongEnums(t *testing.T) {
	for name, write := range map[string]func(w *world){
		"branch of dev": func(w *world) {
			w.people.Pull("dev")
			for i := range 3 {
				w.people.Write(fmt.Sprintf("schemas/%d.yaml", i), fmt.Sprintf("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ConfigSchema\nmetadata: {name: long-%d}\nspec:\n  schema: |\n    %s\n", i, longEnum(fmt.Sprint("KEY", i))))
			}
			w.people.Commit("three long enums")
			w.people.Push("dev")
		},
		"repository of a workload": func(w *world) {
			w.register(w.server.Create("till"), "main")
			team := w.server.Work(w, "till")
			team.Write("deploy/till.yaml", workload+"      configSchemas:\n        - |\n          "+longEnum("KEY")+"\n")
			team.Commit("a long enum")
			team.Push()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scaffold.Branches, "dev", "prod")
			w.more += "renderTimeout: 20s\n"
			write(w)
			d := w.begin(w.data)
			d.cycle()
			d.want(map[string]status.State{"dev": status.Problems, "prod": status.Proposed})
			for _, p := range d.state("dev").Problems {
				if p.Warning {
					continue
				}
				if !strings.Contains(p.Summary, "90000 values") || p.Pos.Line == 0 || p.Hint == "" || len(p.Summary) > 1000 {
					t.Errorf("a problem is %.300q at %s; %q", p.Summary, p.Pos, p.Hint)
				}
			}
			if log := w.logs.String(); !strings.Contains(log, "90000 values") {
				t.Errorf("the log does not say it:\n%.2000s", log)
			}
			if _, reasons := d.store.Snapshot().CheckReadiness(); len(reasons) > 0 {
				t.Errorf("the daemon is not ready: %q", reasons)
			}
		})
	}
}
