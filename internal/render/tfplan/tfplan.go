// Package tfplan reads the plans of Terraform and OpenTofu, in JSON: what they do, the digest by which
// a person approves one, and whether tofu-controller may go on with one that it asks about.
//
// What the package keeps true:
//   - The digest covers all that a plan does, and the code that does it. A part of a plan that this
//     package does not know counts. The time and what was only read do not: two plans that do the same
//     have one digest.
//   - Values that Terraform marks as sensitive are in no digest and no text. A digest is published.
//   - A plan that cannot be read, or is not approved, is never applied: doubt is a no.
package tfplan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Plan is what a plan does.
type Plan struct {
	// Digest is the digest of all of it, as "sha256:" and 64 hexadecimal digits.
	Digest  string
	Errored bool // planning ended with an error
	Changes []Change
	Outputs []Change // of outputs, by their names
	// hasMore reports parts that this package does not know: they may do something.
	hasMore bool
}

// Change is what a plan does with one resource or output. Sensitive values are replaced.
type Change struct {
	Address  string
	Previous string // the address before, of a resource that is moved
	Deposed  string // the object that is left of an earlier replacement, if it is about that
	Imported bool
	Actions  []string // "create", "update", "delete", "read", "forget", "no-op"; two of them for a replacement
	// Before and After are JSON values; nil for none. Unknown are the parts of After that are known
	// after the plan was applied.
	Before, After, Unknown any
}

// ignoredParts are the parts of a plan that do nothing: the time, the tools, and what was read to make
// the plan. Values of variables are among them, which may be secret: what comes of them is in the changes.
var ignoredParts = []string{
	"format_version", "terraform_version", "timestamp", "variables", "planned_values", "prior_state",
	"resource_drift", "relevant_attributes", "checks", "applyable", "complete", "errored",
}

// maxValues bounds how many values the parts of a plan may have that are compared: those of some
// thousand resources. Anyone may send a plan to be compared.
const maxValues = 500_000

// sensitiveValue stands for a value that Terraform marks as sensitive.
const sensitiveValue = "(sensitive value)"

// Read reads a plan as "terraform show -json" and "tofu show -json" print it, and tofu-controller keeps it.
func Read(text []byte) (*Plan, error) {
	var parts map[string]json.RawMessage
	var head struct {
		Version string `json:"format_version"`
		Errored bool   `json:"errored"`
	}
	err := json.Unmarshal(text, &head)
	if err == nil {
		err = json.Unmarshal(text, &parts)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("it is not a plan in JSON: %w", err)
	case !strings.HasPrefix(head.Version, "1."):
		return nil, errors.New("it is not a plan of format 1, as terraform show -json prints it")
	}
	p := &Plan{Errored: head.Errored}
	digested, values := map[string]any{}, 0
	for name, raw := range parts {
		if slices.Contains(ignoredParts, name) {
			continue
		}
		values += countValues(raw)
		if values > maxValues {
			return nil, fmt.Errorf("it has more than %d values", maxValues)
		}
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		switch name {
		case "resource_changes":
			value, err = p.readResources(value)
		case "output_changes":
			value, err = p.readOutputs(value)
		case "configuration":
		default:
			p.hasMore = p.hasMore || !isEmpty(value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if !isEmpty(value) {
			digested[name] = value
		}
	}
	canonical, err := json.Marshal(digested)
	sum := sha256.Sum256(canonical)
	p.Digest = "sha256:" + hex.EncodeToString(sum[:])
	return p, err
}

// ChangesNothing reports whether applying the plan changes nothing.
func (p *Plan) ChangesNothing() bool {
	return !p.Errored && !p.hasMore && len(p.Changes) == 0 && len(p.Outputs) == 0
}

// readResources returns the changes of resources that do something, as they are digested.
func (p *Plan) readResources(value any) (any, error) {
	all, ok := value.([]any)
	if !ok && value != nil {
		return nil, errors.New("it is not a list")
	}
	var kept []any
	for _, one := range all {
		resource, _ := one.(map[string]any)
		c, err := readChange(resource["change"])
		c.Address, _ = resource["address"].(string)
		if err == nil && c.Address == "" {
			err = errors.New("a resource has no address")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Address, err)
		}
		c.Previous, _ = resource["previous_address"].(string)
		c.Deposed, _ = resource["deposed"].(string)
		if !c.isIdle() {
			kept, p.Changes = append(kept, one), append(p.Changes, c)
		}
	}
	return kept, nil
}

// readOutputs returns the changes of outputs that do something, as they are digested.
func (p *Plan) readOutputs(value any) (any, error) {
	all, ok := value.(map[string]any)
	if !ok && value != nil {
		return nil, errors.New("it is not an object")
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c, err := readChange(all[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c.Address = name
		if c.isIdle() {
			delete(all, name)
			continue
		}
		p.Outputs = append(p.Outputs, c)
	}
	return all, nil
}

// readChange reads a change, and replaces the sensitive values in it.
func readChange(value any) (Change, error) {
	change, _ := value.(map[string]any)
	actions, _ := change["actions"].([]any)
	c := Change{Unknown: change["after_unknown"], Imported: change["importing"] != nil}
	for _, a := range actions {
		name, ok := a.(string)
		if !ok {
			return c, errors.New("an action is not a word")
		}
		c.Actions = append(c.Actions, name)
	}
	if len(c.Actions) == 0 {
		return c, errors.New("a change has no actions")
	}
	for _, side := range []string{"before", "after"} {
		if change[side] != nil {
			change[side] = hideSensitive(change[side], change[side+"_sensitive"])
		}
	}
	c.Before, c.After = change["before"], change["after"]
	for name, part := range change { // tools differ in whether they write it
		if part == nil {
			delete(change, name)
		}
	}
	return c, nil
}

// isIdle reports whether it does nothing, not even in the state.
func (c Change) isIdle() bool {
	return slices.Equal(c.Actions, []string{"no-op"}) && c.Previous == "" && !c.Imported
}

// hideSensitive returns a value without the parts that are marked as sensitive.
func hideSensitive(value, marks any) any {
	switch marks := marks.(type) {
	case bool:
		if marks {
			return sensitiveValue
		}
	case map[string]any:
		if parts, ok := value.(map[string]any); ok {
			for name, part := range parts {
				parts[name] = hideSensitive(part, marks[name])
			}
		}
	case []any:
		if parts, ok := value.([]any); ok {
			for i := range min(len(parts), len(marks)) {
				parts[i] = hideSensitive(parts[i], marks[i])
			}
		}
	}
	return value
}

// countValues returns about how many values a JSON text has: how much memory they take depends on that, and
// not on the length of the text.
func countValues(text []byte) int {
	n, inString, escaped := 0, false, false
	for _, c := range text {
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		case !inString && (c == ',' || c == ':' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

// isEmpty reports whether a JSON value holds nothing.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	}
	return false
}
