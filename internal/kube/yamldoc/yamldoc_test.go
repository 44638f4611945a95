package yamldoc_test

import (
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

func TestEditKeepsCommentsAndDocuments(t *testing.T) {
	const text = `# of the file
kind: A
spec:
  # of the field
  name: old # of the value
---
kind: B # last
`
	documents, err := yamldoc.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	_, spec := yamldoc.FindPair(yamldoc.RootOf(documents[0]), "spec")
	var name, path yaml.Node
	name.SetString("new")
	path.SetString("./x")
	yamldoc.SetScalar(spec, "name", name)
	yamldoc.SetScalar(spec, "path", path)
	got, err := yamldoc.Encode(documents...)
	want := strings.NewReplacer("old #", "new #", "---", "  path: ./x\n---").Replace(text)
	if err != nil || string(got) != want {
		t.Errorf("the edited text is\n%s(%v), want\n%s", got, err, want)
	}
}

func TestFindText(t *testing.T) {
	const text = "a: &x {b: text, n: 1}\nalias: *x\nlist: [1]\nempty:\n"
	documents, err := yamldoc.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for keys, want := range map[string]string{
		"a b": "text", "a n": "1", "alias b": "text", "a": "", "a c": "", "c b": "", "list": "", "list b": "", "empty": "",
	} {
		if got := yamldoc.FindText(yamldoc.RootOf(documents[0]), strings.Fields(keys)...); got != want {
			t.Errorf("FindText(%s) = %q, want %q", keys, got, want)
		}
	}
	if got := yamldoc.FindText(nil, "a"); got != "" {
		t.Errorf("FindText of nothing = %q", got)
	}
}

func TestLookUpPair(t *testing.T) {
	const text = `
base: &base {a: base, b: base}
more: &more {b: more, c: more}
one: {<<: *base, a: own}
two: {<<: [*base, *more]}
deep: {<<: {<<: *more}}
circle: &circle {<<: *circle, a: own}
circles: &circles {<<: [*circles, *circles, *circles, {<<: [*circles, *circles]}, *more]}
plain: {<<: text}
`
	documents, err := yamldoc.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for keys, want := range map[string]string{
		"one a": "own", "one b": "base", "one c": "", "two a": "base", "two b": "base", "two c": "more", "deep c": "more", "deep a": "",
		"circle a": "own", "circle b": "", "circles c": "more", "circles a": "", "plain a": "", "base b": "base", "base": "", "none a": "",
	} {
		names, got := strings.Fields(keys), ""
		_, mapping := yamldoc.LookUpPair(yamldoc.RootOf(documents[0]), names[0])
		if _, value := yamldoc.LookUpPair(mapping, names[len(names)-1]); value != nil {
			got = value.Value
		}
		if got != want {
			t.Errorf("%s is %q, want %q", keys, got, want)
		}
	}
}

func TestDescribeType(t *testing.T) {
	documents, err := yamldoc.Parse([]byte("[{}, [], 1, 1.5, true, null, x, 2024-01-02, !secret x, &a x, *a]"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range yamldoc.RootOf(documents[0]).Content {
		got = append(got, yamldoc.DescribeType(n))
	}
	const want = "a mapping, a list, a number, a number, a boolean, null, text, a date, of type !secret, text, an alias"
	if strings.Join(got, ", ") != want {
		t.Errorf("the types are %q, want %q", got, want)
	}
}

func TestParseReturnsDocumentsBeforeAnError(t *testing.T) {
	documents, err := yamldoc.Parse([]byte("kind: A\n---\na: b: c\n"))
	if err == nil || len(documents) != 1 || yamldoc.FindText(yamldoc.RootOf(documents[0]), "kind") != "A" {
		t.Errorf("Parse returned %d documents and the error %v, want the first document and an error", len(documents), err)
	}
}

func TestParseEndsAnchorsWithTheirDocument(t *testing.T) {
	documents, err := yamldoc.Parse([]byte("a: &a 1\nb: *a\n---\nb: *a\n"))
	if err == nil || len(documents) != 1 {
		t.Errorf("Parse returned %d documents and the error %v, want the first document and an error", len(documents), err)
	}
}

func TestJoinPath(t *testing.T) {
	for _, c := range []struct{ path, key, want string }{
		{"", "spec", "spec"}, {"spec", "name", "spec.name"}, {"labels", "a.b/c", "labels[a.b/c]"}, {"items[0]", "x", "items[0].x"},
	} {
		if got := yamldoc.JoinPath(c.path, c.key); got != c.want {
			t.Errorf("JoinPath(%q, %q) = %q, want %q", c.path, c.key, got, c.want)
		}
	}
}

func TestFields(t *testing.T) {
	type inner struct {
		Branch string `yaml:"branch"`
	}
	fields := yamldoc.FieldsOf(reflect.TypeFor[struct {
		inner
		Repo  string `yaml:"repo"`
		State int
	}]())
	if got, want := fields.Keys(), "branch, repo"; got != want {
		t.Errorf("the keys are %q, want %q", got, want)
	}
	if f, ok := fields.Find("branch"); !ok || f.Name != "Branch" {
		t.Errorf("Find(branch) = %s, %t", f.Name, ok)
	}
	if _, ok := fields.Find("State"); ok {
		t.Error("Find found a field without a key")
	}
	for key, want := range map[string]string{"brnch": `did you mean "branch"?`, "other": "the keys are branch, repo"} {
		if got := fields.HintFor(key, "the keys are "); got != want {
			t.Errorf("HintFor(%s) = %q, want %q", key, got, want)
		}
	}
}
