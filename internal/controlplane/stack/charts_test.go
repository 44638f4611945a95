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
