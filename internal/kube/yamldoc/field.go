package yamldoc

import (
	"reflect"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// Fields are the fields of a struct with a `yaml` tag, in order.
type Fields []reflect.StructField

// FieldsOf returns the fields of a struct type, including embedded structs.
func FieldsOf(t reflect.Type) Fields {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return KeyOf(f) == "" })
}

// KeyOf returns a field's YAML key.
func KeyOf(f reflect.StructField) string { return f.Tag.Get("yaml") }

// Find returns the field with a key.
func (f Fields) Find(key string) (reflect.StructField, bool) {
	i := slices.IndexFunc(f, func(field reflect.StructField) bool { return KeyOf(field) == key })
	if i < 0 {
		return reflect.StructField{}, false
	}
	return f[i], true
}

// Keys returns the keys, separated by commas.
func (f Fields) Keys() string { return strings.Join(f.keyList(), ", ") }

// HintFor returns a hint for an unknown key: a similar key, or intro and all keys.
func (f Fields) HintFor(key, intro string) string {
	if hint := problem.DidYouMean(key, f.keyList()); hint != "" {
		return hint
	}
	return intro + f.Keys()
}

func (f Fields) keyList() []string {
	keys := make([]string, len(f))
	for i, field := range f {
		keys[i] = KeyOf(field)
	}
	return keys
}
