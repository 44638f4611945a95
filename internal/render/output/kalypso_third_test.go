package output_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

const (
	pierConfig = "kind: Thing\nv:\n  K: v\n"
	bothConfig = "kind: Thing\nv:\n  K: v\n  X: \"1\"\n"
	withMark   = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  labels: {platform-config: \"true\"}\n  annotations: {%}\ndata: {X: \"1\"}\n"
	quay       = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata:\n  name: quay\n  %\nspec: {reconciler: r, namespaceService: n, configType: c}\n"
)

func marked(object, mark string) string {
	for i := range object {
		if object[i] == '%' {
			return object[:i] + mark + object[i+1:]
		}
	}
	return object
}

// utf16Text returns a text in UTF-16 with a byte order mark, as Windows PowerShell 5 writes it.
func utf16Text(text string, bigEndian bool) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		if bigEndian {
			b = append(b, byte(unit>>8), byte(unit))
		} else {
			b = append(b, byte(unit), byte(unit>>8))
		}
	}
	return string(b)
}

// What Flux leaves out does not exist, and what it reads in an odd encoding does.
func TestFluxLeavesOut(t *testing.T) {
	const data = "data: {K: v}"
	const local, disabled, ignored = `config.kubernetes.io/local-config: "true"`, "kustomize.toolkit.fluxcd.io/reconcile: disabled", "kustomize.toolkit.fluxcd.io/ssa: Ignore"
	written := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {platform-config: \"true\"}}\ndata: {X: \"1\"}\n"
	empty := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: z}\n"
	runKalypso(t, []kalypsoCase{
		{name: "local", data: data, configs: marked(withMark, local), want: pierConfig, warning: "ConfigMap/x: the object is ignored, as Flux ignores it: config.kubernetes.io/local-config: true"},
		{name: "local, empty", data: data, configs: marked(withMark, `config.kubernetes.io/local-config: ""`), want: pierConfig, warning: "ConfigMap/x: the object is ignored"},
		{name: "not local", data: data, configs: marked(withMark, `config.kubernetes.io/local-config: "false"`), want: bothConfig},
		{name: "a local cluster type", data: data, configs: marked(quay, "annotations: {"+local+"}"), want: pierConfig, absent: "quay", warning: "ClusterType/quay: the object is ignored"},
		{name: "disabled", data: data, configs: marked(withMark, disabled), want: pierConfig, warning: "Flux keeps the version that it applied before"},
		{name: "disabled in capitals", data: data, configs: marked(withMark, "kustomize.toolkit.fluxcd.io/reconcile: Disabled"), want: pierConfig, warning: "ConfigMap/x: the object is ignored"},
		{name: "enabled", data: data, configs: marked(withMark, "kustomize.toolkit.fluxcd.io/reconcile: enabled"), want: bothConfig},
		{name: "ignored", data: data, configs: marked(withMark, ignored), want: pierConfig, warning: "ConfigMap/x: the object is ignored"},
		{name: "a disabled cluster type, by a label", data: data, configs: marked(quay, "labels: {"+disabled+"}"), want: pierConfig, absent: "quay", warning: "ClusterType/quay: the object is ignored"},
		{name: "applied once", data: data, configs: marked(quay, "annotations: {kustomize.toolkit.fluxcd.io/ssa: IfNotPresent}"), want: pierConfig, warning: "Flux applies only the first version of the object"},
		{name: "a record that is disabled", data: data, configs: "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: h, annotations: {" + disabled + "}}\nspec: {repo: a, branch: b, path: .}\n",
			problem: "GitOpsRepo/h: Flux does not apply the object"},
		{name: "what is left out is not checked", data: data, configs: marked(withMark, local) + "unknown: field\n", want: pierConfig, warning: "ConfigMap/x: the object is ignored"},
		{name: "but may have no key twice", data: data, configs: marked(withMark, local) + "unknown: {1: a, \"1\": b}\n", problem: `key "1" is given twice in one mapping`},

		{name: "UTF-16", data: data, configs: utf16Text(written, false), want: bothConfig},
		{name: "UTF-16, big endian", data: data, configs: utf16Text(written, true), want: bothConfig},
		{name: "UTF-16 with two documents", data: data, configs: utf16Text(written+"---\n"+empty, false), problem: "Flux reads only the first document of a file in UTF-16"},
		{name: "UTF-16 that is cut", data: data, configs: utf16Text(written, false) + "x", problem: "the file is not UTF-8 text"},
		{name: "a byte order mark", data: data, configs: "\ufeff" + written, want: bothConfig},
		{name: "a byte order mark of a later document", data: data, configs: empty + "---\n\ufeff" + written, want: bothConfig},
		{name: "a byte order mark behind a comment", data: data, configs: empty + "--- # next\r\n\ufeff" + written, want: bothConfig},
		{name: "a byte order mark within a document", data: data, configs: "apiVersion: v1\n\ufeffkind: ConfigMap\nmetadata: {name: x}\n", problem: "this is not a Kubernetes object: it has no kind"},

		{name: "a Workload without spec", data: data, team: "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: tern}\n", want: pierConfig},
		{name: "a Template without spec", data: data, configs: "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: tern}\n", problem: "Template/tern: spec is required"},
		{name: "a number and its text as keys", data: data, configs: "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}\nspec:\n  K:\n    1: a\n    \"1\": b\n",
			problem: `alpha/d.yaml:7: Thing/x: key "1" is given twice in one mapping, first on line 6`},
		{name: "a target with the label of a Workload", data: data, want: pierConfig, warning: "DeploymentTarget/own: Kalypso would delete this target",
			configs: "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: DeploymentTarget\nmetadata: {name: own, labels: {workload: gull, workspace: dock}}\nspec: {environment: alpha, manifests: {repo: y}}\n"},
		{name: "a target with the label of no Workload", data: data, want: pierConfig,
			configs: "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: DeploymentTarget\nmetadata: {name: own, labels: {workload: tern}}\nspec: {environment: alpha, manifests: {repo: y}}\n"},
	})
}

// What a team writes as a template is a problem where Kalypso would expand it, and where it says what to deploy.
func TestTeamTemplates(t *testing.T) {
	team := func(key string) string {
		return "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: tern}\nspec: {deploymentTargets: [{name: main, environment: alpha, manifests: {" + key + ": \"./{{ .Environment }}\"}}]}\n"
	}
	runKalypso(t, []kalypsoCase{
		{name: "a path", data: "data: {K: v}", team: team("path"), problem: `DeploymentTarget/tern-main: manifests.path contains "{{", which is not expanded`},
		{name: "published", data: "data: {K: v}", reconciler: `["kind: R\nx: '{{ .Manifests.note | default \"\" }}'\n"]`, team: team("note"), problem: `the workload's manifests contain "{{", which is not expanded here`},
		{name: "not published", data: "data: {K: v}", team: team("note"), want: pierConfig, warning: `manifests.note contains "{{", which is not expanded`},
	})
}

// An object that Flux keeps as it was is a problem of the change that disables it, and so is one that a change of its
// labels takes out.
func TestTakenOut(t *testing.T) {
	parse := func(configs string) (*model.Model, problem.List) {
		c := kalypsoCase{data: "data: {K: v}", configs: configs}
		return model.Parse("alpha", c.layers(t)...)
	}
	typed := func(metadata string) string { return marked(quay, metadata) }
	for _, c := range []struct{ name, before, now, want string }{
		{"disabled", typed("labels: {region: south}"), typed("annotations: {kustomize.toolkit.fluxcd.io/reconcile: disabled}"), "ClusterType/quay: the object is ignored since this change"},
		{"it was so before", typed("annotations: {kustomize.toolkit.fluxcd.io/reconcile: disabled}"), typed("annotations: {kustomize.toolkit.fluxcd.io/reconcile: disabled}"), ""},
		{"a new one", "", typed("annotations: {kustomize.toolkit.fluxcd.io/reconcile: disabled}"), ""},
		{"local", typed("labels: {region: south}"), typed("annotations: {config.kubernetes.io/local-config: \"true\"}"), ""},
	} {
		before, _ := parse(c.before)
		now, found := parse(c.now)
		got := golden.Problems(without(output.WithIdleSince(before, now, []string{"alpha"}, found), true))
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: the problems are\n%swant %q", c.name, got, c.want)
		}
	}
}
