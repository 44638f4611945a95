package impact

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// output returns an output with these files on each cluster type.
func output(t *testing.T, clusterTypes []string, files map[string]string) map[string][]byte {
	t.Helper()
	contents := map[string][]byte{}
	for _, name := range clusterTypes {
		for file, text := range files {
			contents[name+"/"+file] = []byte(text)
		}
	}
	return contents
}

func treeOfFiles(t *testing.T, files map[string][]byte) tree.Tree {
	t.Helper()
	tr, err := tree.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// numbered returns n names.
func numbered(prefix string, n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%s%02d", prefix, i+1))
	}
	return all
}

const (
	oneValue  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: \"1\"\n"
	twoValues = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: \"2\"\n  b: \"2\"\n"
	aPlan     = "apiVersion: infra.contrib.fluxcd.io/v1alpha2\nkind: Terraform\nmetadata: {name: t}\nspec: {approvePlan: \"\", destroy: false}\n"
	anOddity  = "apiVersion: example.com/v1\nkind: Odd\nmetadata: {name: o}\nspec: {a: 1}\n"
)

func TestTitle(t *testing.T) {
	web := map[string]string{"web-main/c.yaml": oneValue}
	many := map[string]string{}
	for _, name := range numbered("app", 8) {
		many[name+"-main/c.yaml"] = oneValue
	}
	for name, test := range map[string]struct {
		old, new map[string][]byte
		want     string
	}{
		"many targets are counted":     {output(t, numbered("c", 2), many), output(t, numbered("c", 2), map[string]string{"web-main/c.yaml": oneValue, "app01-main/c.yaml": oneValue}), "REMOVE 7 workloads from c01 and c02; add web-main to c01 and c02"},
		"values":                       {output(t, numbered("c", 12), web), output(t, numbered("c", 12), map[string]string{"web-main/c.yaml": twoValues}), "update 2 values in web on 12 cluster types"},
		"a value":                      {output(t, numbered("c", 1), web), output(t, numbered("c", 1), map[string]string{"web-main/c.yaml": strings.Replace(oneValue, "1\"\n", "2\"\n", 1)}), "update 1 value in web on c01"},
		"targets of one workload":      {output(t, numbered("c", 2), web), output(t, numbered("c", 2), map[string]string{"web-main/c.yaml": oneValue, "web-a/c.yaml": oneValue, "web-b/c.yaml": oneValue, "web-c/c.yaml": oneValue, "web-d/c.yaml": oneValue}), "add 4 targets of web to c01 and c02"},
		"few cluster types are named":  {nil, output(t, numbered("c", 3), web), "add cluster types c01, c02 and c03 with web-main"},
		"many cluster types are not":   {nil, output(t, numbered("c", 4), many), "add 4 cluster types with 8 workloads"},
		"a removal goes before others": {output(t, []string{"c", "d"}, web), output(t, []string{"c", "e"}, map[string]string{"web-main/c.yaml": twoValues}), "REMOVE cluster type d with web-main; 2 more changes"},
		"hidden removals are said": {output(t, []string{"a-long-cluster-type-of-a-long-name", "a-longer-cluster-type-of-a-long-name"}, map[string]string{"web-main/c.yaml": oneValue, "till-main/c.yaml": oneValue, "shop-main/c.yaml": anOddity + "---\n" + oneValue}),
			output(t, []string{"a-long-cluster-type-of-a-long-name"}, map[string]string{"till-main/c.yaml": oneValue, "shop-main/c.yaml": oneValue}), "REMOVE cluster type a-longer-cluster-type-of-a-long-name; 2 more"},
		"an added value":    {output(t, numbered("c", 1), web), output(t, numbered("c", 1), map[string]string{"web-main/c.yaml": oneValue + "  b: \"1\"\n"}), "add 1 value to web on c01"},
		"removed values":    {output(t, numbered("c", 1), map[string]string{"web-main/c.yaml": oneValue + "  b: \"1\"\n  c: \"1\"\n"}), output(t, numbered("c", 1), web), "remove 2 values from web on c01"},
		"added and removed": {output(t, numbered("c", 1), map[string]string{"web-main/c.yaml": oneValue + "  b: \"1\"\n"}), output(t, numbered("c", 1), map[string]string{"web-main/c.yaml": oneValue + "  c: \"1\"\n"}), "update 2 values in web on c01"},
		"a first approval":  {output(t, numbered("c", 1), map[string]string{"web-main/t.yaml": aPlan}), output(t, numbered("c", 1), map[string]string{"web-main/t.yaml": strings.Replace(aPlan, `""`, "plan-x", 1)}), "add plan approval of web on c01"},
		"another approval":  {output(t, numbered("c", 1), map[string]string{"web-main/t.yaml": strings.Replace(aPlan, `""`, "plan-x", 1)}), output(t, numbered("c", 1), map[string]string{"web-main/t.yaml": strings.Replace(aPlan, `""`, "plan-y", 1)}), "update plan approval of web on c01"},
		"nothing":           {output(t, numbered("c", 2), web), output(t, numbered("c", 2), web), "no change"},
	} {
		t.Run(name, func(t *testing.T) {
			report := Compare(treeOfFiles(t, test.old), treeOfFiles(t, test.new), Options{Workload: workloadOf})
			for limit := 1; limit < 120; limit++ {
				if title := report.Title(limit); utf8.RuneCountInString(title) > limit || strings.Contains(title, "\n") {
					t.Errorf("with a limit of %d, the title is %q", limit, title)
				}
			}
			if title := report.Title(67); title != test.want {
				t.Errorf("the title is %q, want %q", title, test.want)
			}
		})
	}
}

// TestTitleOfStack: a title ends with whole words, and tells the stack, and what is deleted of it, as long as it can.
func TestTitleOfStack(t *testing.T) {
	destroy := func(stack string, components ...string) phrase {
		c := StackChange{Stack: stack}
		return phrase{verb: "DESTROY", deletes: true, scope: c.scopeOf(components), objects: []*object{{noun: nouns[InfrastructureDestroyed], class: InfrastructureDestroyed}}}
	}
	remove := destroy("shop/dev", "website")
	remove.verb, remove.form = "REMOVE", assignmentsChange
	other := phrase{verb: "add", form: clusterTypeChange, scope: destroy("till/dev", "network").scope}
	kept := phraseStacks([]StackChange{{Stack: "shop/dev", EndsTeardown: true, Components: []ComponentChange{
		{Name: "cluster", Change: ComponentKept}, {Name: "database", Change: ComponentKept}, {Name: "networking", Change: ComponentKept}, {Name: "website", Change: ComponentReinstalled}}}})
	long := "a-namespace-of-a-company/the-stack-of-the-very-long-name-"
	for name, test := range map[string]struct {
		phrases []phrase
		limit   int
		want    string
	}{
		"all is named":            {[]phrase{destroy("shop/dev", "cluster", "database", "network")}, 67, "DESTROY infrastructure of cluster, database and network in shop/dev"},
		"without the noun":        {[]phrase{destroy("shop/dev", "cluster", "database", "networking")}, 67, "DESTROY infrastructure of 3 components in shop/dev"},
		"what else is deleted":    {[]phrase{destroy("shop/dev", "cluster", "database", "networking"), remove, other, other}, 67, "DESTROY 3 components in shop/dev; 1 more deletion, 2 more changes"},
		"one stack of two":        {[]phrase{destroy("sample/sample-dev", "app", "raw"), other}, 67, "DESTROY app and raw in sample/sample-dev; add stack till/dev"},
		"the other one":           {[]phrase{destroy("sample/sample-prod", "app", "raw"), other}, 67, "DESTROY app and raw in sample/sample-prod; add stack till/dev"},
		"long names":              {[]phrase{destroy(long+"dev", "app", "raw"), other}, 67, "DESTROY 2 components in a-namespace-of-a-…ery-long-name-dev; 1 more"},
		"long names of the other": {[]phrase{destroy(long+"prod", "app", "raw"), other}, 67, "DESTROY 2 components in a-namespace-of-a-…ry-long-name-prod; 1 more"},
		"hardly any room":         {[]phrase{destroy(long+"dev", "app", "raw"), other}, 32, "DESTROY 2 components…; 1 more"},
		"kept":                    {kept, 120, "keep shop/dev: end its teardown (cluster, database and networking; install website)"},
		"kept, counted":           {kept, 67, "keep shop/dev: end its teardown (3 components; install website)"},
		"kept, with others":       {append(kept, other), 50, "keep shop/dev: end its teardown; 1 more change"},
	} {
		if title := (Report{phrases: test.phrases}).Title(test.limit); title != test.want {
			t.Errorf("%s: the title is %q, want %q", name, title, test.want)
		}
	}
}

// TestEveryClassHasANoun: a title can say what changes.
func TestEveryClassHasANoun(t *testing.T) {
	whole := map[Class]bool{ClusterTypeAdded: true, ClusterTypeRemoved: true, AssignmentAdded: true, AssignmentRemoved: true, AssignmentMoved: true, PromotedCommit: true, Bookkeeping: true, OtherFiles: true, ClusterFiles: true,
		StackAdded: true, StackRemoved: true, ComponentAddedClass: true, ComponentRemovedClass: true, ComponentClearedClass: true}
	for _, r := range rules {
		if _, ok := nouns[r.class]; ok == whole[r.class] {
			t.Errorf("the noun of the class %q: %t, want %t", r.class, ok, !whole[r.class])
		}
		if n := nouns[r.class]; !whole[r.class] && (r.risk == Deletes) != (n.verb != "" && n.verb == strings.ToUpper(n.verb)) {
			t.Errorf("the verb of the class %q, of risk %q, is %q", r.class, r.risk, n.verb)
		}
	}
}
