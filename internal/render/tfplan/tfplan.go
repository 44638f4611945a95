// Package tfplan reads the plans of Terraform and OpenTofu, in JSON: what they do, the
// digest by which a person approves one, and whether tofu-controller may apply it.
//
// The digest covers all that a plan does and the code that does it, including unknown
// parts of a plan. It omits the time and what was only read, so plans that do the same
// have one digest. Sensitive values are in no digest and no text, since digests are
// published. A plan that is unreadable or not approved is never applied.
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
	// Digest is "sha256:" and 64 hexadecimal digits.
	Digest  string
	Errored bool // planning ended with an error
	Changes []Change
	Outputs []Change // by name
	// hasMore reports unknown parts, which may do something.
	hasMore bool
}

// Change is the change of one resource or output, without sensitive values.
type Change struct {
	Address  string
	Previous string // address before a move
	Deposed  string // object left by an earlier replacement, if the change is about it
	Imported bool
	Actions  []string // "create", "update", "delete", "read", "forget", "no-op"; two for a replacement
	// Before and After are JSON values, or nil. Unknown are the parts of After that are
	// known after the apply.
	Before, After, Unknown any
}

// ignoredParts do nothing: time, tools and inputs. Values of variables may be secret;
// the changes show their effect.
var ignoredParts = []string{
	"format_version", "terraform_version", "timestamp", "variables", "planned_values", "prior_state",
	"resource_drift", "relevant_attributes", "checks", "applyable", "complete", "errored",
}

// maxValues bounds the values in compared parts, enough for some thousand resources.
// Anyone may send a plan.
const maxValues = 500_000

const sensitiveValue = "(sensitive value)"

// Read reads a plan as printed by "terraform show -json" and "tofu show -json", and
// kept by tofu-controller.
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
	for name, part := range change { // only some tools write it
		if part == nil {
			delete(change, name)
		}
	}
	return c, nil
}

func (c Change) isIdle() bool {
	return slices.Equal(c.Actions, []string{"no-op"}) && c.Previous == "" && !c.Imported
}

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

// countValues estimates the number of values, which determines memory better than the
// length.
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
