package templatefunc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// toTfvars returns a map as .tfvars without the last newline: sorted attributes. Text
// scalars of .ConfigData stay text; Terraform converts them. Texts get Unicode's form
// NFC, as in Terraform.
func toTfvars(v any) (string, error) {
	entries, err := entriesOf(v)
	if err != nil {
		return "", fmt.Errorf("the value %w", err)
	}
	file := hclwrite.NewEmptyFile()
	for _, e := range entries {
		if !hclsyntax.ValidIdentifier(e.key) {
			return "", fmt.Errorf("the key %q cannot be the name of a Terraform variable", e.key)
		}
		tokens, err := hclTokens(e.value)
		if err != nil {
			return "", fmt.Errorf("the value of %q %w", e.key, err)
		}
		file.Body().SetAttributeRaw(e.key, tokens)
	}
	return strings.TrimSuffix(string(file.Bytes()), "\n"), nil
}

// hclTokens returns an HCL expression. Errors continue a sentence that begins with the
// value.
func hclTokens(v any) (hclwrite.Tokens, error) {
	switch v := v.(type) {
	case nil:
		return hclwrite.TokensForValue(cty.NullVal(cty.DynamicPseudoType)), nil
	case string:
		return hclwrite.TokensForValue(cty.StringVal(v)), nil
	case bool:
		return hclwrite.TokensForValue(cty.BoolVal(v)), nil
	case int:
		return hclwrite.TokensForValue(cty.NumberIntVal(int64(v))), nil
	case int64:
		return hclwrite.TokensForValue(cty.NumberIntVal(v)), nil
	case uint64:
		return hclwrite.TokensForValue(cty.NumberUIntVal(v)), nil
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, fmt.Errorf("is or holds %v, which Terraform cannot read", v)
		}
		return hclwrite.TokensForValue(cty.NumberFloatVal(v)), nil
	case []any:
		return hclTuple(v)
	case []string:
		return hclTuple(v)
	case []int:
		return hclTuple(v)
	case map[string]any, map[any]any, map[string]string:
		return hclObject(v)
	}
	return nil, fmt.Errorf("is or holds a %T, which cannot be written", v)
}

func hclTuple[E any](list []E) (hclwrite.Tokens, error) {
	elements := make([]hclwrite.Tokens, len(list))
	for i, e := range list {
		tokens, err := hclTokens(e)
		if err != nil {
			return nil, err
		}
		elements[i] = tokens
	}
	return hclwrite.TokensForTuple(elements), nil
}

func hclObject(v any) (hclwrite.Tokens, error) {
	entries, err := entriesOf(v)
	if err != nil {
		return nil, err
	}
	attributes := make([]hclwrite.ObjectAttrTokens, len(entries))
	for i, e := range entries {
		value, err := hclTokens(e.value)
		if err != nil {
			return nil, err
		}
		attributes[i] = hclwrite.ObjectAttrTokens{Name: hclKey(e.key), Value: value}
	}
	return hclwrite.TokensForObject(attributes), nil
}

// hclKey quotes keys that HCL would misread: as a for expression or null.
func hclKey(key string) hclwrite.Tokens {
	if key == "for" || key == "null" || !hclsyntax.ValidIdentifier(key) {
		return hclwrite.TokensForValue(cty.StringVal(key))
	}
	return hclwrite.TokensForIdentifier(key)
}

// toEnv returns sorted lines KEY='value' for a POSIX shell, without the last newline.
// Non-texts are JSON, null is empty.
func toEnv(v any) (string, error) {
	entries, err := entriesOf(v)
	if err != nil {
		return "", fmt.Errorf("the value %w", err)
	}
	lines := make([]string, len(entries))
	for i, e := range entries {
		if !shellName.MatchString(e.key) {
			return "", fmt.Errorf("the key %q cannot be the name of a shell variable", e.key)
		}
		text, err := envText(e.value)
		if err != nil {
			return "", fmt.Errorf("the value of %q %w", e.key, err)
		}
		lines[i] = e.key + "='" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return strings.Join(lines, "\n"), nil
}

var shellName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func envText(v any) (string, error) {
	text, ok := v.(string)
	if !ok && v != nil {
		var err error
		text, err = jsonText(v)
		if err != nil {
			return "", err
		}
	}
	if strings.Contains(text, "\x00") {
		return "", errors.New("has a zero byte, which a shell variable cannot hold")
	}
	return text, nil
}

func jsonText(v any) (string, error) {
	v, err := withTextKeys(v)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return "", fmt.Errorf("cannot be written as JSON: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func withTextKeys(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			item, err := withTextKeys(e)
			if err != nil {
				return nil, err
			}
			list[i] = item
		}
		return list, nil
	case map[string]any, map[any]any:
		entries, err := entriesOf(v)
		if err != nil {
			return nil, err
		}
		m := make(map[string]any, len(entries))
		for _, e := range entries {
			value, err := withTextKeys(e.value)
			if err != nil {
				return nil, err
			}
			m[e.key] = value
		}
		return m, nil
	}
	return v, nil
}

type mapEntry struct {
	key   string
	value any
}

// entriesOf returns the entries sorted by key as text. Errors continue a sentence that
// begins with the value.
func entriesOf(v any) ([]mapEntry, error) {
	var entries []mapEntry
	switch m := v.(type) {
	case map[string]any:
		for k, e := range m {
			entries = append(entries, mapEntry{k, e})
		}
	case map[string]string:
		for k, e := range m {
			entries = append(entries, mapEntry{k, e})
		}
	case map[any]any:
		for k, e := range m {
			key := "null"
			if k != nil {
				key = fmt.Sprint(k)
			}
			entries = append(entries, mapEntry{key, e})
		}
	default:
		return nil, errors.New("is not a map")
	}
	slices.SortFunc(entries, func(a, b mapEntry) int { return cmp.Compare(a.key, b.key) })
	for i := 1; i < len(entries); i++ {
		if entries[i].key == entries[i-1].key {
			return nil, fmt.Errorf("has or holds a map with the key %q twice, once as another type than text", entries[i].key)
		}
	}
	return entries, nil
}
