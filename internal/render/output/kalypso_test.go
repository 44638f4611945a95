package output_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	expand "github.com/fairlead-io/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
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
	// the environment, and team of the workload's repository.
	data, configs, team string
	// want is the platform-config; the other two are looked at if they are given.
	want, wantReconciler, wantNamespace string
	// publish has missing values published.
	publish bool
	// absent is a folder that the output does not have.
	absent string
	// problem is in a problem that stops the environment, so that there is nothing to
	// want; warning is in a warning. Without it there is none.
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
		{Kind: model.Workloads, Name: "fleet", Files: files(map[string]string{"w.yaml": kalypsoWorkload, "x.yaml": c.team})},
	}
}

func (c *kalypsoCase) run(t *testing.T) {
	m, problems := model.Parse("alpha", c.layers(t)...)
	made, more := output.Render(m, nil, output.Options{Templates: expand.Options{PublishMissing: c.publish}})
	problems = append(problems, more...).Sorted()
	if c.problem != "" {
		if !slices.ContainsFunc(problems, func(p problem.Problem) bool {
			return !p.Warning && strings.Contains(p.String(), c.problem) && p.Hint != ""
		}) {
			t.Errorf("the problems are\n%swant one, with a hint: %s", golden.Problems(problems), c.problem)
		}
		return
	}
	if problems.Stops() {
		t.Fatalf("problems:\n%s", golden.Problems(problems))
	}
	if warnings := golden.Problems(without(problems, false)); c.warning == "" && warnings != "" || !strings.Contains(warnings, c.warning) {
		t.Errorf("the warnings are\n%swant %q", warnings, c.warning)
	}
	if c.absent != "" && !made.Sub(c.absent).IsEmpty() {
		t.Errorf("the output has the folder %s", c.absent)
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
		{name: "tfvars", contentType: "tfvars", want: "kind: Thing\nv:\n  {}\n", warning: "spec.contentType tfvars has no effect: as in Kalypso, the file is platform-config.yaml"},
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
		{name: "infinity, with a schema", configs: configs("[.inf, .nan]") + "---\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: ConfigSchema\nmetadata: {name: s}\nspec: {schema: '{\"type\": \"object\", \"properties\": {\"K\": {\"type\": \"array\"}}}'}\n",
			want: "kind: Thing\nv:\n  K:\n      - .inf\n      - .nan\n"},
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

const both = `["{{ toYaml .ConfigData }}\n"]`

// What Flux delivers of a file, which is not always what YAML says.
func TestReading(t *testing.T) {
	configMap := func(rest string) string { return "apiVersion: v1\nkind: ConfigMap\n" + rest }
	runKalypso(t, []kalypsoCase{
		{config: both, contentType: "sh", name: "folded, more indented", data: "data:\n  A: >-\n    a\n      b\n    c\n  B: >+\n    x\n\n\n  C: y", want: "A: |-\n    a\n\n      b\n    c\nB: |+\n    x\n\n\n\nC: \"y\"\n"},
		{config: both, contentType: "sh", name: "folded, at the end", data: "data:\n  A: >\n    a\n      b", want: "A: |\n    a\n\n      b\n"},
		{config: both, contentType: "sh", name: "folded, kept", data: "data:\n  A: >+\n    x", want: "A: |\n    x\n"},
		{config: both, contentType: "sh", name: "folded, kept, more", data: "data:\n  A: >+\n    x\n", want: "A: |+\n    x\n\n\n"},
		{config: both, contentType: "sh", name: "folded, a tab", data: "data:\n  A: >\n    a\n    \tb\n    c", want: "A: |\n    a\n\n    \tb\n    c\n"},
		{config: both, contentType: "sh", name: "folded, a blank line first", data: "data:\n  A: >\n\n    a\n    b", want: "A: \"\\na b\\n\"\n"},
		{contentType: "sh", name: "folded in a template", config: "\n  - >\n    first\n      indented {{ .ClusterType }}\n    last\n", want: "first\n\n  indented pier\nlast\n"},
		{config: both, contentType: "sh", name: "folded in a List", configs: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: cfg, labels: {platform-config: \"true\"}}\n  data:\n    A: >\n      a\n        b\n",
			want: "A: |\n    a\n\n      b\n"},
		{config: both, contentType: "sh", name: "folded in a list of a kind", configs: "apiVersion: v1\nkind: ConfigMapList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: cfg, labels: {platform-config: \"true\"}}\n  data:\n    A: >\n      a\n        b\n",
			want: "A: |\n    a\n      b\n"},
		{config: both, contentType: "sh", name: "a list of a kind, empty", configs: "apiVersion: v1\nkind: ConfigMapList\nitems:\n", want: "{}\n"},
		{config: both, contentType: "sh", name: "blank lines first", data: "data:\n  A: |\n\n    a\n\n    b", want: "A: \"\\na\\n\\nb\\n\"\n"},
		{config: both, contentType: "sh", name: "an annotation that is a number", configs: configMap("metadata: {name: cfg, labels: {platform-config: \"true\"}, annotations: {a: 1, b: true, c: }}\ndata: {A: x}"), want: "A: x\n"},
		{config: both, contentType: "sh", name: "base64", data: "data:\n  A: !!binary aGVsbG8=", want: "A: hello\n"},
		{config: both, contentType: "sh", name: "a tag of its own", data: "data:\n  A: !mine hello", want: "A: hello\n"},
		{config: both, contentType: "sh", name: "behind ...", data: "data:\n  A: x\n...\n" + configMap("metadata:\n  name: cfg2\n  labels:\n    platform-config: \"true\"\ndata:\n  B: y"), want: "A: x\n",
			warning: "alpha/c.yaml:6: text after the line \"...\" is ignored"},
		{config: both, contentType: "sh", name: "nothing behind ...", data: "data:\n  A: x\n... # the end\n# no more\n---\n" + configMap("metadata: {name: cfg2, labels: {platform-config: \"true\"}}\ndata: {B: y}"), want: "A: x\nB: \"y\"\n"},
		{config: both, contentType: "sh", name: "behind ... and a text that keeps its end", data: "data:\n  A: |+\n    x\n...\njunk: [\n\n---\n" + configMap("metadata: {name: cfg2, labels: {platform-config: \"true\"}}\ndata: {B: y}"), want: "A: |\n    x\nB: \"y\"\n",
			warning: "alpha/c.yaml:7: text after the line \"...\" is ignored"},
		{config: both, contentType: "sh", name: "nothing in braces is text", data: "data: {A: , B: ''}", want: "A: \"\"\nB: \"\"\n"},
		{config: both, contentType: "sh", name: "NEL and line separator", data: `data: {A: "\N", B: "\L"}`, want: "A: \"\\N\"\nB: '\u2028'\n"},
	})
}

// What Flux or the API server refuses, and the whole branch with it.
func TestFluxRefuses(t *testing.T) {
	policy := func(selector string) string {
		return "---\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: some}\nspec: {deploymentTargetSelector: " + selector + ", clusterTypeSelector: {labelSelector: {}}}\n"
	}
	another := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d}\n"
	runKalypso(t, []kalypsoCase{
		{name: "a boolean as a key", data: "data:\n  true: x", problem: "alpha/c.yaml:5: ConfigMap/cfg: a key should be text, but true is a boolean"},
		{name: "a number as a key", data: "data:\n  1.0: x", problem: "alpha/c.yaml:5: ConfigMap/cfg: a key should be text, but 1.0 is a number"},
		{name: "null as a key", data: "data:\n  ~: x", problem: "alpha/c.yaml:5: ConfigMap/cfg: a key should be text, but ~ is null"},
		{name: "a number as a label", configs: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d, labels: {5: x}}\n", problem: "alpha/d.yaml:3: ConfigMap/d: a key should be text, but 5 is a number"},
		{name: "a control character", data: `data: {A: "a\u007fb"}`, problem: "alpha/c.yaml:4: ConfigMap/cfg: data.A contains the character U+007F, which Flux does not accept"},
		{name: "a control character of 8 bits", data: `data: {A: "\u0080"}`, problem: "data.A contains the character U+0080, which Flux does not accept"},
		{name: "no character", data: `data: {A: "\uffff"}`, problem: "data.A contains the character U+FFFF, which Flux does not accept"},
		{name: "a control character in a key", data: `data: {"a\x9f": x}`, problem: "contains the character U+009F, which Flux does not accept"},
		{name: "a null selector", configs: policy("{labelSelector: null}"), problem: "alpha/d.yaml:5: SchedulingPolicy/some: spec.deploymentTargetSelector.labelSelector is required, but is null"},
		{name: "no selector in braces", configs: policy("{labelSelector: }"), problem: "spec.deploymentTargetSelector.labelSelector should be a mapping, but an empty value in braces is an empty text"},
		{name: "no labels in braces", configs: policy("{labelSelector: {matchLabels: }}"), problem: "spec.deploymentTargetSelector.labelSelector.matchLabels should be a mapping, but an empty value in braces is an empty text"},
		{name: "a null template", configs: "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: q}\nspec:\n  reconciler: r\n  namespaceService: n\n  configType:\n",
			problem: "alpha/d.yaml:7: ClusterType/q: spec.configType is required, but is null"},
		{name: "no schemas in braces", configs: "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: w}\nspec: {deploymentTargets: [{name: x, environment: other, manifests: {}, configSchemas: }]}\n",
			problem: "spec.deploymentTargets[0].configSchemas should be a list, but an empty value in braces is an empty text"},
		{name: "a directive", configs: "%YAML 1.2\n---\n" + another, problem: "alpha/d.yaml:1: Flux accepts no YAML directive (a line that begins with %)"},
		{name: "a directive further down", configs: another + "---\n# next\n%YAML 1.1\n---\n" + another, problem: "alpha/d.yaml:6: Flux accepts no YAML directive (a line that begins with %)"},
		{name: "an object behind ---", configs: another + "--- {apiVersion: v1, kind: ConfigMap, metadata: {name: e}}\n", problem: `alpha/d.yaml:4: Flux accepts nothing but a comment after "---"`},
		{name: "not base64", data: "data:\n  A: !!binary '*'", problem: "alpha/c.yaml:5: ConfigMap/cfg: data.A should be text in base64, but !!binary value contains invalid base64 data"},
		{name: "base64 of what is not text", data: "data:\n  A: !!binary /w==", problem: "alpha/c.yaml:5: ConfigMap/cfg: data.A should be text in base64, but it is not UTF-8"},
		{name: "items that are no list", configs: "apiVersion: v1\nkind: ConfigMapList\nitems: {}\n", problem: "alpha/d.yaml:3: items should be a list, but is a mapping"},
		{name: "a mistake in a later document", configs: another + "---\n" + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: e}\ndata: {a: 1}\n", problem: "alpha/d.yaml:8: ConfigMap/e: data.a should be text, but 1 is a number"},
	})
}

const hasNoValue = "platform-config.sh has \"<no value>\" in it: a value is null or missing, or is that text [gull-main on cluster type pier]"

// A value that is missing is a problem, unless those are published as Kalypso does.
func TestMissingValues(t *testing.T) {
	cases := []kalypsoCase{
		{name: "null in a list", config: `["{{ range .ConfigData.K }}x={{ . }}\n{{ end }}"]`, data: `data: {K: "[a, null]"}`, want: "x=a\nx=<no value>\n"},
		{name: "a key", config: `["{{ .ConfigData.K }} {{ .ConfigData.NOPE }} {{ .ConfigData.NOPE.deeper }}\n"]`, data: `data: {K: v}`, want: "v <no value> <no value>\n"},
		{name: "a key of texts", config: `["{{ .Manifests.repo }} {{ .Manifests.nope }} {{ .Labels.nope }}\n"]`, want: "x <no value> <no value>\n"},
		{name: "in a template that changes its data", config: `["{{ $_ := unset .ConfigData \"K\" }}{{ .ConfigData.K }}\n"]`, data: `data: {K: v}`, want: "<no value>\n"},
		{name: "in what is expanded again", config: `["{{ .ConfigData.K }} {{ .Manifests.nope }}\n"]`, data: `data: {K: "{{ .ConfigData.NOPE }}"}`, want: "<no value> <no value>\n"},
		{name: "a text that says so", config: `["K={{ .ConfigData.K }}\n"]`, data: `data: {K: "<no value>"}`, want: "K=<no value>\n"},
	}
	for i := range cases {
		cases[i].contentType = "sh"
		refused := cases[i]
		refused.problem = "Template/c: "
		t.Run(refused.name+", refused", refused.run)
		cases[i].publish, cases[i].warning = true, hasNoValue
	}
	runKalypso(t, cases)
}

// The warning stays while the assignment is not rendered again, and goes with the option.
func TestMissingValuesAreRemembered(t *testing.T) {
	c := kalypsoCase{config: `["{{ .ConfigData.NOPE }}\n"]`, contentType: "sh"}
	parser, cache := model.NewParser(), &output.Cache{}
	publish := output.Options{Templates: expand.Options{PublishMissing: true}}
	for _, configs := range []string{"", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: quay, labels: {region: south}}\nspec: {reconciler: r, namespaceService: n, configType: r}\n"} {
		c.configs = configs
		m, _ := parser.Parse("alpha", c.layers(t)...)
		before := cache.Rendered()
		_, problems := output.Render(m, cache, publish)
		if text := golden.Problems(problems); problems.Stops() || !strings.Contains(text, hasNoValue) {
			t.Errorf("%d rendered: %s", cache.Rendered()-before, text)
		}
		if rendered := cache.Rendered() - before; rendered != 1 {
			t.Errorf("%d assignments were rendered, want the new one", rendered)
		}
	}
	m, _ := parser.Parse("alpha", c.layers(t)...)
	if _, problems := output.Render(m, cache, output.Options{}); !problems.Stops() {
		t.Error("a missing value is published without the option")
	}
}
