package model_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	kjson "sigs.k8s.io/json"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

const gitOpsRepo = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: dev}\n" +
	"spec: {repo: https://example.com/gitops, branch: dev, path: .}\n"

// mergeBomb multiplies by its merge keys: 10 to the power of levels.
func mergeBomb(levels int) string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: ConfigMap\na0: &a0 {}\n")
	for i := range levels {
		aliases := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", ")
		fmt.Fprintf(&b, "a%d: &a%d {<<: [%s]}\n", i+1, i+1, aliases)
	}
	fmt.Fprintf(&b, "metadata: {name: a, <<: *a%d}\n", levels)
	return b.String()
}

// maxParse is how many bytes a file of a fuzzer's size may allocate, far more than it needs: a file that takes long
// multiplies what it has.
const maxParse = 256 << 20

// FuzzParse parses any bytes as a file of an environment's branch. Findings are a
// panic, a problem without a place in the file, another result of a second run,
// and a file that allocates much.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "# nothing\n", "---\n---\n", "text", "[a, b]", "a: b: c", "\xff", "a: \x01", "\ufeffkind: List\nitems: [a]",
		gitOpsRepo + "---\n" + gitOpsRepo,
		"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: a, labels: {x: 1, y: true}}\nspec: {reconciler: a, reconciler: b}\n",
		"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata:\n  name: a\n  annotations: {fairlead.io/expansions: \"0\", fairlead.io/engine: x}\nspec:\n  type: x\n  manifests:\n    - |\n      a\n    - &a [*a]\n",
		"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: a}\nspec:\n  deploymentTargetSelector: {workspace: a, labelSelector: {matchLabels: {a: b}}}\n" +
			"  clusterTypeSelector: {labelSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}}\n",
		"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: a, annotations: {fairlead.io/depends-on: \"b, c\"}}\nspec:\n  configSchemas: ['{}']\n  deploymentTargets:\n" +
			"    - {name: a, environment: dev, manifests: {a: b}, labels: {a: b}, annotations: {fairlead.io/depends-on: a}}\n    - {name: a, environment: dev}\n",
		"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: DeploymentTarget\nmetadata: {name: a}\nspec: {environment: dev, manifests: {}}\n",
		"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: main}\nspec: {repo: a, branch: b, path: ../c, commit: 12e4}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: azure-app-config, labels: {platform-config: \"true\"}}\ndata: {<<: {a: b}, a: 2024-01-02, b: ~, c: |\n  d}\n",
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items: [{kind: a, metadata: {}}]\n",
		"a: &a {<<: *a, kind: x, apiVersion: v1, metadata: *a}\n", "metadata: &a\n  name: *a\nkind: ConfigMap\napiVersion: v1\n",
		mergeBomb(4),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		layer := model.Layer{Kind: model.Env, Name: "dev", Files: treeOf(t, map[string]string{
			"fuzz.yaml": string(data), "zz.yaml": gitOpsRepo,
		})}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, problems := model.Parse("dev", layer)
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > maxParse {
			t.Fatalf("%d bytes allocate %d", len(data), allocated)
		}
		checkFuzzPlaces(t, data, problems)
		m2, problems2 := model.Parse("dev", layer)
		if diff := cmp.Diff(problems, problems2); diff != "" {
			t.Errorf("a second run finds other problems:\n%s", diff)
		}
		if diff := cmp.Diff(textOf(m), textOf(m2)); diff != "" {
			t.Errorf("a second run gives another model:\n%s", diff)
		}
	})
}

// lineBreaks are what ends a line for YAML.
var lineBreaks = []string{"\n", "\r", "\u0085", "\u2028", "\u2029"}

func checkFuzzPlaces(t *testing.T, data []byte, problems problem.List) {
	t.Helper()
	lines := 1
	for _, b := range lineBreaks {
		lines += bytes.Count(data, []byte(b))
	}
	for _, p := range problems {
		switch {
		case p.Summary == "" || strings.ContainsAny(p.Summary, "\n\r"):
			t.Errorf("not one sentence: %q", p.Summary)
		case p.Pos.File == "":
			t.Errorf("without a file: %s", p)
		case p.Pos.File == "fuzz.yaml" && p.Pos.Line > lines:
			t.Errorf("of %d lines: %s", lines, p)
		}
	}
}

// FuzzSelector reads a selector and holds its answers for some labels (k=v,k=v)
// against Kubernetes' own.
func FuzzSelector(f *testing.F) {
	for _, selector := range []string{
		"{}", "matchLabels: {a: b}", "matchLabels: {a: ''}", "matchLabels: {}\nmatchExpressions: []",
		"matchExpressions: [{key: a, operator: In, values: [b, c]}]", "matchExpressions: [{key: a, operator: NotIn, values: [b, '']}]",
		"matchExpressions: [{key: a, operator: Exists}, {key: b, operator: DoesNotExist}]", "matchExpressions: [{key: a, operator: Exists, values: []}]",
		"matchLabels: {a: b}\nmatchExpressions:\n  - {key: example.com/a, operator: NotIn, values: [b]}\n  - {key: a, operator: In, values: [b]}",
		"matchExpressions: [{key: a, operator: Equals, values: [b]}]", "matchExpressions: [{key: a, operator: In}]", "matchExpressions: [{key: a, operator: Exists, values: [b]}]",
		"matchLabels: {-a: b}", "matchLabels: {a: -b}", "matchLabels: {a: 1}", "matchLabels: {a/b/c: d}", "matchLabels: &a {a: b, <<: {c: d}}", "matchLabels: {a: 2024-01-02}", "null",
	} {
		f.Add(selector, "a=b")
		f.Add(selector, "a=,b=c,example.com/a=b")
	}
	f.Fuzz(func(t *testing.T, text, pairs string) {
		policy, ok := policyWith(text)
		if !ok {
			return
		}
		wanted, err := oracle(policy)
		m, problems := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: treeOf(t, map[string]string{"a.yaml": policy, "b.yaml": gitOpsRepo})})
		if problems.Stops() {
			if err == nil {
				t.Errorf("Kubernetes takes what is refused here: %v\n%s", problems, policy)
			}
			return
		}
		if err != nil {
			t.Fatalf("Kubernetes refuses what is taken here: %v\n%s", err, policy)
		}
		set := labelsOf(pairs)
		if got := m.Policies[0].ClusterTypes.Matches(set); got != wanted.Matches(labels.Set(set)) {
			t.Errorf("%s of %v is %v, and not so for Kubernetes\n%s", m.Policies[0].ClusterTypes, set, got, policy)
		}
	})
}

// policyWith writes a policy with the selector that the text is. It gives no
// policy for text that says less than the policy would: what is no mapping, and
// nulls and keys that are not text, which YAML readers take in several ways.
func policyWith(text string) (string, bool) {
	var selector yaml.Node
	if yaml.Unmarshal([]byte(text), &selector) != nil || len(selector.Content) == 0 || !plain(selector.Content[0], 0) {
		return "", false
	}
	policy, err := yaml.Marshal(map[string]any{
		"apiVersion": model.APIVersion, "kind": "SchedulingPolicy", "metadata": map[string]string{"name": "a"},
		"spec": map[string]any{
			"deploymentTargetSelector": map[string]any{"labelSelector": map[string]string{}},
			"clusterTypeSelector":      map[string]any{"labelSelector": selector.Content[0]},
		},
	})
	return string(policy), err == nil && selector.Content[0].Kind == yaml.MappingNode
}

func plain(n *yaml.Node, depth int) bool {
	if n.Kind == yaml.AliasNode || n.ShortTag() == "!!null" || depth > 8 {
		return false
	}
	for i, c := range n.Content {
		isKey := n.Kind == yaml.MappingNode && i%2 == 0
		if isKey && (c.Kind != yaml.ScalarNode || c.ShortTag() != "!!str") || !plain(c, depth+1) {
			return false
		}
	}
	return true
}

// oracle reads the selector of a policy as Kubernetes does.
func oracle(policy string) (labels.Selector, error) {
	var p struct {
		Spec struct {
			ClusterTypeSelector struct {
				LabelSelector any `yaml:"labelSelector"`
			} `yaml:"clusterTypeSelector"`
		}
	}
	if err := yaml.Unmarshal([]byte(policy), &p); err != nil {
		return nil, err
	}
	text, err := json.Marshal(p.Spec.ClusterTypeSelector.LabelSelector)
	if err != nil {
		return nil, err
	}
	var selector metav1.LabelSelector
	strict, err := kjson.UnmarshalStrict(text, &selector) // as an API server does: the case of a field counts
	if err != nil || len(strict) > 0 {
		return nil, errors.Join(append(strict, err)...)
	}
	return metav1.LabelSelectorAsSelector(&selector)
}

func labelsOf(pairs string) map[string]string {
	set := map[string]string{}
	for pair := range strings.SplitSeq(pairs, ",") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			set[key] = value
		}
	}
	return set
}
