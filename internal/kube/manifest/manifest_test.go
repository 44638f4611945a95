package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

func TestCheckFinds(t *testing.T) {
	tests := []struct {
		name, text string
		want       []Finding
	}{
		{"unclosed quote", "a: 1\nb: \"x\nc: 2\n", []Finding{
			{Line: 2, Summary: "the text is not YAML: found unexpected end of stream", Hint: hintSyntax}}},
		{"line of the mistake, not of its block", "a:\n  b: 1\n  c: 2\n d: 3\n", []Finding{
			{Line: 4, Summary: "the text is not YAML: did not find expected key", Hint: hintSyntax}}},
		{"tab as indentation", "a:\n\tb: 1\n", []Finding{
			{Line: 2, Summary: "the text is not YAML: found character that cannot start any token", Hint: hintSyntax}}},
		{"mistake on the last line, which has no end", "a: b: c", []Finding{
			{Line: 1, Summary: "the text is not YAML: mapping values are not allowed in this context", Hint: hintSyntax}}},
		{"too long to search for the line", "a: |\n" + strings.Repeat("  text\n", maxSearched/6) + "b: \"", []Finding{
			{Line: maxSearched/6 + 2, Summary: "the text is not YAML: found unexpected end of stream", Hint: hintSyntax}}},
		{"merge conflict", "a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> other\n", []Finding{
			{Line: 2, Summary: "the text has a merge conflict", Hint: yamldoc.ConflictHint}}},
		{"marks of a conflict in a text", "a: |\n  <<<<<<< HEAD\n  =======\n", nil},
		{"unknown alias", "a: 1\nb: *gone\n", []Finding{
			{Line: 2, Summary: "the text is not YAML: unknown anchor 'gone' referenced", Hint: hintSyntax}}},
		{"not UTF-8", "a: 1\nb: \xff\n", []Finding{
			{Line: 2, Summary: "the text is not UTF-8", Hint: hintEncoding}}},
		{"UTF-16", "\xff\xfea\x00:\x00 \x001\x00", []Finding{
			{Line: 1, Summary: "the text is not UTF-8", Hint: hintEncoding}}},
		{"duplicate key", "kind: Service\nmetadata: {name: a}\nspec:\n  x:\n  - b: 1\n    \"b\": 2\n    b: 3\n", []Finding{
			{Line: 6, Object: "Service/a", Summary: `key "b" is given twice in one mapping, first on line 5`, Hint: hintDuplicate},
			{Line: 7, Object: "Service/a", Summary: `key "b" is given twice in one mapping, first on line 5`, Hint: hintDuplicate}}},
		{"duplicate merge key", "a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a\n", []Finding{
			{Line: 4, Summary: `key "<<" is given twice in one mapping, first on line 3`, Hint: hintDuplicate}}},
		{"duplicate key in an item", "apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n  metadata: {name: p}\n  a: 1\n  a: 2\n", []Finding{
			{Line: 7, Object: "Pod/p", Summary: `key "a" is given twice in one mapping, first on line 6`, Hint: hintDuplicate}}},
		{"mistakes in several documents", "a: 1\na: 2\n---\nb: 1\nb: 2\n---\nc: [\n", []Finding{
			{Line: 2, Summary: `key "a" is given twice in one mapping, first on line 1`, Hint: hintDuplicate},
			{Line: 5, Summary: `key "b" is given twice in one mapping, first on line 4`, Hint: hintDuplicate},
			{Line: 7, Summary: "the text is not YAML: did not find expected node content", Hint: hintSyntax}}},
		{"billion laughs", bomb(30), []Finding{
			{Line: 1, Summary: "the YAML aliases of the document expand to too much", Hint: hintAliases}}},
		{"alias to an anchor of an earlier document", "a: &a {x: 1}\nb: *a\n---\nc: 1\nd: *a\n", []Finding{
			{Line: 5, Summary: "the text is not YAML: unknown anchor 'a' referenced", Hint: hintSyntax}}},
		{"billion laughs over documents", strings.ReplaceAll(bomb(30), "\n", "\n---\n"), []Finding{
			{Line: 3, Summary: "the text is not YAML: unknown anchor 'a0' referenced", Hint: hintSyntax}}},
		{"alias to its own parent", "a: &a\n  b: *a\n", []Finding{
			{Line: 2, Summary: "a YAML alias refers to a node that contains it", Hint: hintAliases}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Check([]byte(test.text))
			// Every document that uses the bomb has the same finding.
			if strings.HasPrefix(test.name, "billion") {
				got = got[:min(len(got), len(test.want))]
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
		})
	}
}

// bomb doubles a word n times through aliases.
func bomb(n int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [ha]\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	return b.String()
}

func TestCheckPasses(t *testing.T) {
	tests := []struct{ name, text string }{
		{"nothing", ""},
		{"comments only", "# one\n\n  # two"},
		{"no object", "a: 1\nb: [x, y]\n"},
		{"scalar", "just some words\n"},
		{"empty documents", "---\n---\n# nothing\n---\n"},
		{"byte order mark", "\uFEFFa: 1\n"},
		{"CR LF", "a: 1\r\nb: 2\r\n"},
		{"merge that overrides", "a: &a {x: 1}\nb:\n  <<: *a\n  x: 2\n"},
		{"same key elsewhere", "a: {x: 1}\nb: {x: 1}\n---\na: 1\n"},
		{"a few aliases", bomb(10)},
		{"anchor that two documents have", "a: &a 1\nb: *a\n--- {a: &a 2, b: *a}\n"},
		{"directive and tags", "%YAML 1.1\n---\na: !!str 1\n? b\n: c\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff([]Finding(nil), Check([]byte(test.text))); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
		})
	}
}

const secretHead = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\n"

func TestCheckSecret(t *testing.T) {
	const (
		stringData = "Secret/db holds a value in plain text under stringData"
		data       = "Secret/db holds a value in plain text under data"
		encrypted  = "ENC[AES256_GCM,data:4JHF,iv:0Q==,tag:bA==,type:str]"
	)
	item := "- " + strings.ReplaceAll(secretHead, "\n", "\n  ") + "data: {a: eA==}\n"
	tests := []struct {
		name, text string
		line       int
		want       string
	}{
		{"data", secretHead + "data:\n  user: \"\"\n  password: aHVudGVyMg==\n", 7, data},
		{"stringData", secretHead + "stringData:\n  password: |\n    hunter2\n", 6, stringData},
		{"quoted kind", "\"kind\": \"Sec\\x72et\"\n'apiVersion': 'v1'\nmetadata: {name: db}\ndata: {a: eA==}\n", 4, data},
		{"binary", secretHead + "data:\n  a: !!binary aHVudGVyMg==\n", 6, data},
		{"default of a substitution", secretHead + "stringData:\n  a: ${A:=hunter2}\n", 6, stringData},
		{"substitution and text", secretHead + "stringData:\n  a: x-${A}\n", 6, stringData},
		{"no mapping", secretHead + "stringData: hunter2\n", 5, stringData},
		{"second document", "a: 1\n---\n" + secretHead + "data: {a: eA==}\n", 7, data},
		{"SOPS left a value out", secretHead + "stringData:\n  a: " + encrypted + "\n  b: hunter2\nsops:\n  version: 3.9.0\n", 7, stringData},
		{"encrypted but for the metadata", secretHead + "stringData:\n  a: " + encrypted + "\n", 6, stringData},
		{"in a list", "apiVersion: v1\nkind: List\nitems:\n" + item, 8, data},
		{"in a list in a list", "kind: List\nitems:\n- kind: List\n  items:\n  " + strings.ReplaceAll(item, "\n", "\n  "), 9, data},
		{"in a SecretList", "apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: db}\n  data: {a: eA==}\n", 5, data},
		{"behind an alias", "x: &d {a: eA==}\n" + secretHead + "data: *d\n", 1, data},
		{"merged", "x: &d\n  kind: Secret\n  data: {a: eA==}\n<<: [*d]\napiVersion: v1\nmetadata: {name: db}\n", 3, data},

		{name: "no data", text: secretHead + "type: kubernetes.io/service-account-token\n"},
		{name: "empty values", text: secretHead + "data:\n  a: \"\"\n  b:\nstringData: {}\n"},
		{name: "SOPS", text: secretHead + "data:\n  a: " + encrypted + "\n  b: \"\"\nsops:\n  version: 3.9.0\n"},
		{name: "SOPS of a list", text: "apiVersion: v1\nkind: List\nitems:\n" + strings.ReplaceAll(item, "eA==", "\""+encrypted+"\"") + "sops:\n  version: 3.9.0\n"},
		{name: "substitution", text: secretHead + "stringData:\n  a: ${DB_PASSWORD}\n"},
		{name: "SealedSecret", text: "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: db}\nspec: {encryptedData: {a: AgB}}\n"},
		{name: "ExternalSecret", text: "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\ndata: {a: b}\n"},
		{name: "another API's Secret", text: "apiVersion: example.com/v1\nkind: Secret\ndata: {a: b}\n"},
		{name: "quoted in a ConfigMap", text: "apiVersion: v1\nkind: ConfigMap\ndata:\n  x: |\n    apiVersion: v1\n    kind: Secret\n    data: {a: eA==}\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var want []Finding
			if test.want != "" {
				want = []Finding{{Line: test.line, Object: "Secret/db", Summary: test.want, Hint: hintSecret}}
			}
			if diff := cmp.Diff(want, Check([]byte(test.text))); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	const text = `# a comment
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
---
---
apiVersion: v1
kind: ConfigMapList
items:
- metadata: {name: one}
- apiVersion: v1
  kind: List
  items:
  - {apiVersion: v1, kind: Pod, metadata: {name: 2}}
---
- not
- an object
---
kind: AllowList
spec: {}
---
other: &k Job
kind: *k
`
	got, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []Object{
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", Line: 2},
		{APIVersion: "v1", Kind: "ConfigMap", Name: "one", Line: 12},
		{APIVersion: "v1", Kind: "Pod", Name: "2", Line: 16},
		{Line: 18},
		{Kind: "AllowList", Line: 21},
		{Kind: "Job", Line: 24},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Object{}, "Node")); diff != "" {
		t.Errorf("Decode (-want +got):\n%s", diff)
	}
	if got[3].Node.Kind != yaml.SequenceNode {
		t.Errorf("node of the list is of kind %d", got[3].Node.Kind)
	}
}

func TestDecodeError(t *testing.T) {
	tests := []struct{ text, want string }{
		{"a: 1\nb: [\n", "line 2: the text is not YAML: did not find expected node content"},
		{bomb(30), "line 1: the YAML aliases of the document expand to too much"},
		{"a: \xc0", "line 1: the text is not UTF-8"},
	}
	for _, test := range tests {
		_, err := Decode([]byte(test.text))
		if err == nil || err.Error() != test.want {
			t.Errorf("Decode(%.20q) gives error %v, want %s", test.text, err, test.want)
		}
	}
}

// usual gives the texts under testdata/usual, by file name.
func usual(t testing.TB) map[string]string {
	files, err := filepath.Glob("testdata/usual/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no usual texts: %v", err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(text)
	}
	return texts
}
