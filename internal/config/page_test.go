package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/xeipuuv/gojsonschema"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/config"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func example(t *testing.T) string {
	t.Helper()
	_, rest, _ := strings.Cut(page(t), "```yaml\n")
	text, _, ok := strings.Cut(rest, "```\n")
	if !ok {
		t.Fatal("the page has no example")
	}
	return text
}

// TestExample: the example of the page is as good as the page says.
func TestExample(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "ledger-secret"), longSecret)
	write(t, filepath.Join(dir, "session-key"), longSecret)
	write(t, filepath.Join(dir, "allowed_signers"), "# nobody yet\n")
	for _, name := range []string{"gitlab-token", "app.pem", "id_ed25519", "known_hosts", "signing_key", "webhook-secret", "metrics-token", "acme-token"} {
		write(t, filepath.Join(dir, name), "hunter2")
	}
	text := strings.ReplaceAll(example(t), "/etc/fairlead", dir)
	env := func(name string) string {
		return map[string]string{"SSH_PASSPHRASE": "hunter2", "OLD_WEBHOOK_SECRET": "hunter2", "GITLAB_WEBHOOK_SECRET": "hunter2", "GITEA_WEBHOOK_SECRET": "hunter2", "FLUX_WEBHOOK_SECRET": "hunter2", "OLD_LEDGER_SECRET": longSecret, "OLD_SESSION_KEY": longSecret, "OIDC_SECRET": "hunter2", "LEDGER_POSTGRES": "postgres://fairlead:hunter2@db/ledger"}[name]
	}
	s, problems := config.Parse("fairlead.yaml", []byte(text), dir, env)
	if len(problems) > 0 || s == nil {
		t.Fatal(problems)
	}
	if wrong := validate(t, text); wrong != nil {
		t.Errorf("the schema says %s", wrong)
	}
}

// tableKey is a key in the first column of a table of the page.
var tableKey = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// TestPageKeys: each key that the page describes is in the settings, once.
func TestPageKeys(t *testing.T) {
	known := keys("", reflect.TypeFor[config.Settings]())
	described := map[string]bool{}
	for _, m := range tableKey.FindAllStringSubmatch(page(t), -1) {
		if strings.HasPrefix(m[1], "{") {
			continue // a way to write a secret
		}
		if _, ok := known[m[1]]; !ok {
			t.Errorf("the page describes `%s`, which the settings do not have", m[1])
		}
		if described[m[1]] {
			t.Errorf("the page describes `%s` twice", m[1])
		}
		described[m[1]] = true
	}
	for path := range known {
		if !described[path] && !strings.HasSuffix(path, ".file") && !strings.HasSuffix(path, ".env") {
			t.Errorf("no table of the page describes `%s`", path)
		}
	}
}

// keys gives the type of every key of the file by its path.
func keys(path string, t reflect.Type) map[string]reflect.StructField {
	all := map[string]reflect.StructField{}
	switch t.Kind() {
	case reflect.Pointer:
		return keys(path, t.Elem())
	case reflect.Slice:
		return keys(path+"[]", t.Elem())
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			if key := f.Tag.Get("yaml"); key != "" {
				at := strings.TrimPrefix(path+"."+key, ".")
				all[at] = f
				for below, field := range keys(at, f.Type) {
					all[below] = field
				}
			}
		}
	}
	return all
}

// TestSchema: the schema has the keys of the struct, of which the same are required,
// and says of each what it is.
func TestSchema(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(config.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	got, want := map[string]string{}, map[string]string{}
	schemaKeys(t, root, "", root, got)
	for path, f := range keys("", reflect.TypeFor[config.Settings]()) {
		want[path] = fmt.Sprintf("%s required=%v", typeOf(f.Type), f.Tag.Get("required") != "")
	}
	for path := range want {
		if got[path] != want[path] {
			t.Errorf("%s is %q in the schema and %q in the struct", path, got[path], want[path])
		}
	}
	for path := range got {
		if want[path] == "" {
			t.Errorf("%s is not in the struct", path)
		}
	}
}

func typeOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeOf(t.Elem())
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice:
		return "array"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		if t.Name() == "Duration" {
			return "string"
		}
		return "integer"
	}
	return "string"
}

func schemaKeys(t *testing.T, root map[string]any, path string, schema map[string]any, out map[string]string) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	if properties != nil && schema["additionalProperties"] != false {
		t.Errorf("%s: the schema lets other keys through", path)
	}
	for key, p := range properties {
		property := p.(map[string]any)
		at := strings.TrimPrefix(path+"."+key, ".")
		if property["description"] == nil {
			t.Errorf("%s has no description", at)
		}
		if ref, ok := property["$ref"].(string); ok {
			property = root["definitions"].(map[string]any)[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any)
		}
		kind := property["type"]
		if kinds, ok := kind.([]any); ok {
			kind = kinds[0]
		}
		out[at] = fmt.Sprintf("%v required=%v", kind, slices.Contains(required, any(key)))
		schemaKeys(t, root, at, property, out)
		if items, ok := property["items"].(map[string]any); ok {
			schemaKeys(t, root, at+"[]", items, out)
		}
	}
}

// TestSchemaAgrees: what is wrong with keys and types, an editor shows too.
func TestSchemaAgrees(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/format.txtar")
	if err != nil {
		t.Fatal(err)
	}
	// These are not YAML, or YAML for the schema differs: it has merge keys and only
	// one document.
	unfit := []string{"syntax", "conflict", "tab", "two documents", "twice", "odd key", "merge key", "alias of itself"}
	for _, f := range archive.Files {
		name, ok := strings.CutSuffix(f.Name, ".yaml")
		if !ok || slices.Contains(unfit, name) {
			continue
		}
		if validate(t, string(f.Data)) == nil {
			t.Errorf("the schema finds nothing in %s", name)
		}
	}
	if wrong := validate(t, required+"listen: ''\nschedule: {jitter: 0}"); wrong != nil {
		t.Errorf("the schema says %s", wrong)
	}
}

func validate(t *testing.T, text string) []string {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	result, err := gojsonschema.Validate(gojsonschema.NewBytesLoader(config.Schema()), gojsonschema.NewGoLoader(value))
	if err != nil {
		t.Fatal(err)
	}
	var wrong []string
	for _, e := range result.Errors() {
		wrong = append(wrong, e.String())
	}
	return wrong
}
