package stack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// TestCheckCharts: a kubeconfig is an output of a component, or in a Secret, and what names it can be a name.
func TestCheckCharts(t *testing.T) {
	for _, c := range []struct {
		kubeconfig model.StackKubeconfig
		want       string
	}{
		{model.StackKubeconfig{}, ""},
		{model.StackKubeconfig{Output: "eks.kubeconfig"}, ""},
		{model.StackKubeconfig{Secret: "eks-kubeconfig", Key: "value.yaml"}, ""},
		{model.StackKubeconfig{Key: "value"}, "has an output or a secret, and one of them"},
		{model.StackKubeconfig{Output: "eks.kubeconfig", Secret: "eks"}, "has an output or a secret, and one of them"},
		{model.StackKubeconfig{Output: "kubeconfig"}, `output cannot be "kubeconfig"`},
		{model.StackKubeconfig{Output: "eks."}, `output cannot be "eks."`},
		{model.StackKubeconfig{Output: ".kubeconfig"}, `output cannot be ".kubeconfig"`},
		{model.StackKubeconfig{Output: "eks.a/b"}, `output cannot be "eks.a/b"`},
		{model.StackKubeconfig{Output: "eks.kubeconfig", Key: "value"}, "key is that of a secret"},
		{model.StackKubeconfig{Secret: "Bad_Secret"}, `secret: "Bad_Secret" cannot be a name`},
		{model.StackKubeconfig{Secret: "eks", Key: "a/b"}, `key cannot be "a/b"`},
	} {
		var found []string
		s := &model.StackSettings{}
		s.Charts.Kubeconfig = c.kubeconfig
		checkCharts(s, func(_, format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) })
		if got := strings.Join(found, "\n"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) || len(found) > 1 {
			t.Errorf("%+v: %q, want %q", c.kubeconfig, got, c.want)
		}
	}
}

// TestWarnOfKubeconfig: a misspelt component whose output is the kubeconfig, or one that makes no cluster, is
// said: the charts are installed elsewhere.
func TestWarnOfKubeconfig(t *testing.T) {
	component := func(name, kind string) *model.StackComponent {
		return &model.StackComponent{Name: model.Text{Text: name}, Type: model.Text{Text: kind}}
	}
	for output, want := range map[string]string{
		"eks.kubeconfig": "", "": "",
		"ekss.kubeconfig": `no stack has a component ekss of type terraform, whose output spec.charts.kubeconfig names (did you mean "eks"?)`,
		"web.kubeconfig":  "no stack has a component web of type terraform",
	} {
		m := &model.Model{}
		settings := &model.StackSettings{}
		settings.Charts.Kubeconfig.Output = output
		m.Stacks.Settings = []*model.StackSettings{settings}
		m.Stacks.List = []*model.Stack{{StackSpec: model.StackSpec{
			TeamName: model.Text{Text: "shop"}, EnvName: model.Text{Text: "dev"}, Components: []*model.StackComponent{component("eks", Terraform), component("web", Helm)},
		}}}
		_, problems := Resolve(m)
		found := ""
		for _, p := range problems {
			if strings.Contains(p.Summary, "spec.charts.kubeconfig names") && p.Warning {
				found += strings.Replace(p.Summary, ": charts are installed on the cluster that runs the stack", " ("+p.Hint+")", 1)
			}
			if strings.Contains(p.Hint, "add web to its dependsOn") {
				t.Errorf("%s: web is to depend on itself: %v", output, p)
			}
		}
		if !strings.HasPrefix(found, want) || (want == "") != (found == "") {
			t.Errorf("%s: %q, want %q", output, found, want)
		}
	}
}
