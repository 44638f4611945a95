package output_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/golden"
	"github.com/fairlead-io/fairlead/internal/model"
	"github.com/fairlead-io/fairlead/internal/output"
	"github.com/fairlead-io/fairlead/internal/problem"
	"github.com/fairlead-io/fairlead/internal/tree"
)

// kalypsoCase is one control plane with one assignment, gull-main on pier, and what
// Kalypso's own code makes of it, or what we make where Kalypso is wrong. A field
// that is empty is as in the others.
type kalypsoCase struct {
	name string
	// reconciler, namespace and config are the manifests of the templates r, n and
	// c, as a YAML list; the config template is of this contentType.
	reconciler, namespace, config, contentType string
	// data is what the ConfigMap cfg has below metadata; configs is more YAML of
	// the environment.
	data, configs string
	// want is the platform-config; the other two are looked at if they are given.
	want, wantReconciler, wantNamespace string
	// problem is the beginning of the only problem, without a want; warning that
	// of a warning.
	problem, warning string
}

const kalypsoEnvironment = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata: {name: pier, labels: {region: south}}
spec: {reconciler: r, namespaceService: n, configType: c}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata: {name: all}
spec: {deploymentTargetSelector: {labelSelector: {}}, clusterTypeSelector: {labelSelector: {}}}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata: {name: g}
spec: {repo: "https://example.com/o/g", branch: alpha, path: .}
`

const kalypsoWorkload = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata: {name: gull}
spec: {deploymentTargets: [{name: main, environment: alpha, manifests: {repo: x}}]}
`

const kalypsoRegistration = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata: {name: fleet}
spec: {workspace: dock, workload: {repo: "https://example.com/o/w", branch: main, path: .}}
`

// thing is the config template of most cases, as YAML, and allOf that of those that
// read a file in an odd way.
const (
	thing = `["kind: Thing\nv:\n{{ toYaml .ConfigData | indent 2 }}\n"]`
	named = `["kind: R\nx: {{ .DeploymentTargetName }}\n"]`
)

func (c *kalypsoCase) template(name, manifests, contentType string) string {
	return fmt.Sprintf("---\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: %s}\nspec:\n  type: config\n  contentType: %q\n  manifests: %s\n",
		name, contentType, manifests)
}

func (c *kalypsoCase) layers(t *testing.T) []model.Layer {
	t.Helper()
	or := func(manifests, usual string) string {
		if manifests == "" {
			return usual
		}
		return manifests
	}
	base := kalypsoRegistration + c.template("r", or(c.reconciler, named), "") + c.template("n", or(c.namespace, named), "") +
		c.template("c", or(c.config, thing), c.contentType)
	env := map[string]string{"e.yaml": kalypsoEnvironment}
	if c.data != "" {
		env["c.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cfg, labels: {platform-config: \"true\"}}\n" + c.data + "\n"
	}
	if c.configs != "" {
		env["d.yaml"] = c.configs
	}
	files := func(texts map[string]string) tree.Tree {
		all := map[string][]byte{}
		for path, text := range texts {
			all[path] = []byte(text)
		}
		made, err := tree.FromFiles(all)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	return []model.Layer{
		{Kind: model.Base, Name: "main", Files: files(map[string]string{"t.yaml": base})},
		{Kind: model.Env, Name: "alpha", Files: files(env)},
		{Kind: model.Workloads, Name: "fleet", Files: files(map[string]string{"w.yaml": kalypsoWorkload})},
	}
}

func (c *kalypsoCase) run(t *testing.T) {
	m, problems := model.Parse("alpha", c.layers(t)...)
	made, more := output.Environment(m, nil)
	problems = append(problems, more...).Sorted()
	if c.problem != "" {
		if stop := without(problems, true); len(stop) != 1 || !strings.Contains(stop[0].String(), c.problem) || stop[0].Hint == "" {
			t.Errorf("the problems are\n%swant one, with a hint: %s", golden.Problems(stop), c.problem)
		}
		return
	}
	if problems.Stops() {
		t.Fatalf("problems:\n%s", golden.Problems(problems))
	}
	if warnings := golden.Problems(without(problems, false)); c.warning == "" && warnings != "" || !strings.Contains(warnings, c.warning) {
		t.Errorf("the warnings are\n%swant %q", warnings, c.warning)
	}
	config := made.Sub("pier/gull-main")
	for name, want := range map[string]string{"reconciler.yaml": c.wantReconciler, "namespace.yaml": c.wantNamespace, m.Template("c").ConfigFile(): c.want} {
		e, _ := config.Lookup(name)
		if diff := cmp.Diff(want, string(e.Data)); diff != "" && (want != "" || strings.HasPrefix(name, "platform")) {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// without leaves out the warnings, or all else.
func without(problems problem.List, warnings bool) (left problem.List) {
	for _, p := range problems {
		if p.Warning != warnings {
			left = append(left, p)
		}
	}
	return left
}

func runKalypso(t *testing.T, cases []kalypsoCase) {
	for i, c := range cases {
		t.Run(strconv.Itoa(i)+" "+c.name, c.run)
	}
}

// What the templates of one assignment do to its values is seen by those that are
// expanded after them: reconciler, namespace, config.
func TestTemplatesShareChanges(t *testing.T) {
	const sets = `["{{ $_ := set .ConfigData \"X\" \"1\" }}k: R\n"]`
	const all = `["{{ toYaml .ConfigData }}\n"]`
	runKalypso(t, []kalypsoCase{
		{name: "set", reconciler: sets, namespace: `["k: {{ .ConfigData.X }}\n"]`, config: all, contentType: "sh", data: `data: {"K": "v"}`,
			want: "K: v\nX: \"1\"\n", wantNamespace: "k: 1\n"},
		{name: "set, with a default", reconciler: sets, namespace: `["k: {{ .ConfigData.X | default \"none\" }}\n"]`, config: all, contentType: "sh", data: `data: {"K": "v"}`,
			want: "K: v\nX: \"1\"\n", wantNamespace: "k: 1\n"},
		{name: "unset", reconciler: `["{{ $_ := unset .ConfigData \"K\" }}k: R\n"]`, namespace: `["k: {{ len .ConfigData }}\n"]`, config: `["n={{ len .ConfigData }}\n"]`,
			contentType: "sh", data: `data: {"K": "v"}`, want: "n=0\n", wantNamespace: "k: 0\n"},
		{name: "mergeOverwrite", reconciler: `["{{ $_ := mergeOverwrite .ConfigData (dict \"K\" \"w\") }}k: R\n"]`, config: all, contentType: "sh", data: `data: {"K": "v"}`, want: "K: w\n"},
		{name: "in the namespace, which comes second", reconciler: `["k: {{ len .ConfigData }}\n"]`, namespace: sets, config: all, contentType: "sh", data: `data: {"K": "v"}`,
			want: "K: v\nX: \"1\"\n", wantReconciler: "k: 1\n"},
		{name: "in the config, which comes last", reconciler: `["k: {{ len .ConfigData }}\n"]`, namespace: `["k: {{ len .ConfigData }}\n"]`,
			config: `["{{ $_ := set .ConfigData \"X\" \"1\" }}", "{{ toYaml .ConfigData }}\n"]`, contentType: "sh", data: `data: {"K": "v"}`,
			want: "K: v\nX: \"1\"\n", wantReconciler: "k: 1\n", wantNamespace: "k: 1\n"},
		{name: "in a value that is expanded", reconciler: `["k: {{ .ConfigData.K }}\n"]`, config: `["{{ .ConfigData.X }}\n"]`, contentType: "sh",
			data: `data: {K: "{{ $_ := set .ConfigData \"X\" \"1\" }}R"}`, want: "1\n", wantReconciler: "k: R\n"},
		{name: "a dictionary of its own", reconciler: `["{{ $d := dict }}{{ $_ := set $d \"X\" \"1\" }}k: {{ $d.X }}\n"]`, config: all, contentType: "sh", data: `data: {"K": "v"}`,
			want: "K: v\n", wantReconciler: "k: 1\n"},
		{name: "not after a mistake", reconciler: `["{{ $_ := set .ConfigData \"X\" .ConfigData }}", "{{ toYaml .ConfigData }}"]`, namespace: `["{{ toYaml .ConfigData }}"]`,
			data: `data: {"K": "v"}`, problem: "Template/r: at {{set"},
	})
}

// A Template may define its own name, and what is the name of Kalypso's own.
func TestTemplatesDefineAnyName(t *testing.T) {
	runKalypso(t, []kalypsoCase{
		{name: "its own", config: `["{{ define \"c\" }}T{{ end }}a{{ template \"c\" . }}\n"]`, contentType: "sh", want: "aT\n"},
		{name: "that of Kalypso", config: `["{{ define \"template\" }}T{{ end }}{{ template \"template\" . }}\n"]`, contentType: "sh", want: "T\n"},
		{name: "that of the output", config: `["{{ \"{{\" }} define \"output\" }}T{{ \"{{\" }} end }}a{{ \"{{\" }} template \"output\" . }}\n"]`, contentType: "sh", want: "aT\n"},
	})
}

// "." as a whole is what it is for Kalypso, and has .DependsOn where that is read.
func TestDotAsAWhole(t *testing.T) {
	const dot = `deploymenttargetname: gull-main
namespace: alpha-pier-gull-main
environment: alpha
workspace: dock
workload: gull
labels:
    kustomize.toolkit.fluxcd.io/name: alpha-fleet
    kustomize.toolkit.fluxcd.io/namespace: flux-system
    workload: gull
    workspace: dock
manifests:
    repo: x
clustertype: pier
configdata: {}
18368859689637368043
{gull-main alpha-pier-gull-main alpha dock gull map[kustomize.toolkit.fluxcd.io/name:alpha-fleet kustomize.toolkit.fluxcd.io/namespace:flux-system workload:gull workspace:dock] map[repo:x] pier map[]}
scheduler.dataType
{"DeploymentTargetName":"gull-main","Namespace":"alpha-pier-gull-main","Environment":"alpha","Workspace":"dock","Workload":"gull","Labels":{"kustomize.toolkit.fluxcd.io/name":"alpha-fleet","kustomize.toolkit.fluxcd.io/namespace":"flux-system","workload":"gull","workspace":"dock"},"Manifests":{"repo":"x"},"ClusterType":"pier","ConfigData":{}}
`
	runKalypso(t, []kalypsoCase{
		{name: "printed", config: `["{{ toYaml . }}\n{{ hash . }}\n{{ . }}\n{{ typeOf . }}\n{{ toJson . }}\n"]`, contentType: "sh", want: dot},
		{name: "its kind", config: `["{{ kindOf . }} {{ kindOf $ }} {{ typeOf .ConfigData }}\n"]`, contentType: "sh", want: "struct struct map[string]interface {}\n"},
		{name: "expanded again", config: `["{{ \"{{ hash . }}\" }}\n"]`, contentType: "sh", want: "18368859689637368043\n"},
		{name: "handed on", config: `["{{ define \"x\" }}{{ .Workload }}{{ end }}{{ template \"x\" . }} {{ $d := . }}{{ $d.ClusterType }}\n"]`, contentType: "sh", want: "gull pier\n"},
		{name: "handed on, with what it waits for", config: `["{{ define \"x\" }}{{ len .DependsOn }}{{ end }}{{ template \"x\" . }} {{ $d := . }}{{ len $d.DependsOn }}\n"]`, contentType: "sh", want: "0 0\n"},
		{name: "no such field", config: `["{{ $d := . }}{{ $d.Nope }}\n"]`, problem: "there is no field .Nope"},
	})
}

// Texts are joined by "---" lines, whatever they begin with.
func TestTextsThatBeginWithASeparator(t *testing.T) {
	runKalypso(t, []kalypsoCase{
		{name: "the second", config: `["kind: A\n", "---\nkind: B\n"]`, want: "kind: A\n---\n---\nkind: B\n"},
		{name: "nothing else", config: `["kind: A\n", "---\n", "kind: B\n"]`, want: "kind: A\n---\n---\n---\nkind: B\n"},
		{name: "the first", config: `["---\nkind: A\n", "kind: B\n"]`, want: "---\nkind: A\n---\nkind: B\n"},
	})
}

// The content type of a Template names its file as Kalypso does, unless the template is
// none of Kalypso's.
func TestContentTypes(t *testing.T) {
	runKalypso(t, []kalypsoCase{
		{name: "tfvars", contentType: "tfvars", want: "kind: Thing\nv:\n  {}\n", warning: "spec.contentType tfvars makes no difference: as in Kalypso, the file is platform-config.yaml"},
		{name: "tfvars that are made by toTfvars", contentType: "tfvars", config: `["{{ toTfvars .ConfigData }}\n"]`, data: "data: {a: b}", want: "a = \"b\"\n"},
	})
}

// configs are ConfigMaps named a, b and so on, with the value K.
func configs(values ...string) string {
	var b strings.Builder
	for i, value := range values {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %c, labels: {platform-config: \"true\"}}\ndata: {K: %q}\n", 'a'+i, value)
	}
	return b.String()
}

// How the text of a value becomes a list or a mapping, and how those are merged.
func TestValues(t *testing.T) {
	runKalypso(t, []kalypsoCase{
		{name: "a number and its text as keys", configs: configs(`{1: a, "1": b}`), contentType: "sh", want: "kind: Thing\nv:\n  K:\n      1: a\n      \"1\": b\n"},
		{name: "a number and its text as keys, in a text", configs: configs(`{1: a, "1": b}`), config: `["{{ stringify .ConfigData }}\n"]`, want: "K: |\n    1: a\n    \"1\": b\n"},
		{name: "a number and its text as keys, in YAML", configs: configs(`{1: a, "1": b}`), problem: `key "1" is given twice in one mapping`},
		{name: "null and its text as keys", configs: configs(`{~: a, "~": b}`), want: "kind: Thing\nv:\n  K:\n      null: a\n      \"~\": b\n"},
		{name: "two elements of one name in the newer list", configs: configs("[x]", "[{name: true, p: 1}, {name: true, q: 2}]"),
			want: "kind: Thing\nv:\n  K:\n      - x\n      - name: true\n        p: 1\n        q: 2\n"},
		{name: "null is no name", configs: configs("[{name: ~, p: 1}]", "[{name: ~, q: 2}]"), want: "kind: Thing\nv:\n  K:\n      - name: null\n        p: 1\n      - name: null\n        q: 2\n"},
		{name: "a label twice in an app configuration", configs: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: azure-app-config}\ndata: {region.north.region.south.K: v, region.south.region.north.L: w}\n",
			want: "kind: Thing\nv:\n  K: v\n"},
		{name: "a list, then text", configs: configs("[INFO] started"), want: "kind: Thing\nv:\n  K: '[INFO] started'\n",
			warning: "K looks like YAML but is kept as text: it begins with a list, and the text behind that would be lost"},
		{name: "a mapping, then text", configs: configs("{user} logged in"), want: "kind: Thing\nv:\n  K: '{user} logged in'\n",
			warning: "K looks like YAML but is kept as text: it begins with a mapping, and the text behind that would be lost"},
		{name: "infinity, without a schema", configs: configs("[.inf, .nan]"), want: "kind: Thing\nv:\n  K:\n      - .inf\n      - .nan\n"},
	})
}

// Text that yaml.v3 does not write so that it reads back is quoted, where it is; and no
// other text is.
func TestToYamlOfTextThatBeginsWithSpace(t *testing.T) {
	runKalypso(t, []kalypsoCase{
		{name: "in a list", configs: configs(`["  lead\nmore\n"]`), want: "kind: Thing\nv:\n  K:\n      - \"  lead\\nmore\\n\"\n"},
		{name: "a newline in a list", configs: configs(`["\na\nb"]`), want: "kind: Thing\nv:\n  K:\n      - \"\\na\\nb\"\n"},
		{name: "in a mapping in a list", configs: configs(`[{x: "  lead\nmore\n"}]`), want: "kind: Thing\nv:\n  K:\n      - x: \"  lead\\nmore\\n\"\n"},
		{name: "in a mapping", configs: configs(`{x: "  lead\nmore\n"}`), want: "kind: Thing\nv:\n  K:\n      x: |4\n            lead\n          more\n"},
		{name: "as a value", configs: configs("  lead\nmore\n"), want: "kind: Thing\nv:\n  K: |4\n        lead\n      more\n"},
		{name: "a newline", configs: configs("\nlead\nmore\n"), want: "kind: Thing\nv:\n  K: \"\\nlead\\nmore\\n\"\n"},
		{name: "a tab", configs: configs("\tx\ny\n"), want: "kind: Thing\nv:\n  K: \"\\tx\\ny\\n\"\n"},
		{name: "nothing else", data: `data: {A: "   ", B: "\n", C: "\t", D: "\r\n"}`, want: "kind: Thing\nv:\n  A: '   '\n  B: \"\\n\"\n  C: \"\\t\"\n  D: \"\\r\\n\"\n"},
	})
}
