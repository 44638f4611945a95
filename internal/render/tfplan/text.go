package tfplan

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/cost"
)

// Counts is how many resources a plan adds, changes and destroys, as Terraform counts
// them.
type Counts struct {
	Add     int `json:"add"`
	Change  int `json:"change"`
	Destroy int `json:"destroy"`
	// Costs are those of plans that came with one, by currency.
	Costs []cost.Change `json:"costs,omitempty"`
}

// Short returns the counts as "+3 ~1 −0".
func (c Counts) Short() string { return fmt.Sprintf("+%d ~%d −%d", c.Add, c.Change, c.Destroy) }

// CostText returns the costs as [cost.Text] does.
func (c Counts) CostText() string { return cost.Text(c.Costs) }

// Summary returns the counts and the costs.
func (c Counts) Summary() string { return strings.TrimSuffix(c.Short()+", "+c.CostText(), ", ") }

// AddCounts adds the counts of another plan.
func (c *Counts) AddCounts(other Counts) {
	c.Add, c.Change, c.Destroy = c.Add+other.Add, c.Change+other.Change, c.Destroy+other.Destroy
	c.Costs = cost.Add(c.Costs, other.Costs)
}

// Count counts a replacement as both an addition and a destruction.
func (p *Plan) Count() Counts {
	var n Counts
	for _, c := range p.Changes {
		for _, action := range c.Actions {
			switch action {
			case "create":
				n.Add++
			case "update":
				n.Change++
			case "delete":
				n.Destroy++
			}
		}
	}
	return n
}

// Text returns a human-readable plan in Terraform's style: a paragraph for each
// resource, with changed attributes.
func (p *Plan) Text() string {
	var b strings.Builder
	for _, c := range p.Changes {
		fmt.Fprintf(&b, "  # %s %s\n", c.Address, c.verb())
		c.writeAttributes(&b)
		b.WriteByte('\n')
	}
	if len(p.Outputs) > 0 {
		b.WriteString("  # outputs\n")
		for _, c := range p.Outputs {
			writeDifference(&b, c.Address, c.Before, c.After, c.Unknown)
		}
		b.WriteByte('\n')
	}
	n := p.Count()
	switch {
	case p.Errored:
		b.WriteString("Planning ended with an error.\n")
	case p.ChangesNothing():
		b.WriteString("No changes.\n")
	default:
		fmt.Fprintf(&b, "Plan: %d to add, %d to change, %d to destroy.\n", n.Add, n.Change, n.Destroy)
	}
	if p.hasMore {
		b.WriteString("The plan has parts that Fairlead does not know: read it with terraform show.\n")
	}
	return b.String()
}

func (c Change) verb() string {
	verb := strings.Join(c.Actions, " and ")
	switch {
	case len(c.Actions) == 2 && slices.Contains(c.Actions, "delete"):
		verb = "must be replaced"
	case len(c.Actions) == 1:
		known := map[string]string{
			"create": "will be created", "update": "will be updated in-place", "delete": "will be destroyed",
			"read": "will be read during apply", "forget": "will be removed from the state, and is not destroyed", "no-op": "stays as it is",
		}
		if words, ok := known[verb]; ok {
			verb = words
		}
	}
	if c.Deposed != "" {
		verb = "(deposed object " + c.Deposed + ") " + verb
	}
	if c.Previous != "" {
		verb += ", and has moved from " + c.Previous
	}
	if c.Imported {
		verb += ", and is imported"
	}
	return verb
}

func (c Change) writeAttributes(b *strings.Builder) {
	before, _ := c.Before.(map[string]any)
	after, _ := c.After.(map[string]any)
	unknown, _ := c.Unknown.(map[string]any)
	names := map[string]bool{}
	for _, m := range []map[string]any{before, after, unknown} {
		for name := range m {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		writeDifference(b, name, before[name], after[name], unknown[name])
	}
}

func writeDifference(b *strings.Builder, name string, before, after, unknown any) {
	was, isObject := before.(map[string]any)
	is, stays := after.(map[string]any)
	if unknown != true && isObject && stays {
		parts, _ := unknown.(map[string]any)
		names := map[string]bool{}
		for _, m := range []map[string]any{was, is, parts} {
			for part := range m {
				names[part] = true
			}
		}
		for _, part := range slices.Sorted(maps.Keys(names)) {
			writeDifference(b, name+"."+part, was[part], is[part], parts[part])
		}
		return
	}
	then, now := valueText(before), valueText(after)
	if unknown == true {
		now = "(known after apply)"
	}
	switch {
	case then == "" && now == "":
	case then == "":
		fmt.Fprintf(b, "  + %s: %s\n", name, now)
	case now == "":
		fmt.Fprintf(b, "  - %s: %s\n", name, then)
	case unknown != true && reflect.DeepEqual(before, after) && before != sensitiveValue:
	default:
		fmt.Fprintf(b, "  ~ %s: %s -> %s\n", name, then, now)
	}
}

func valueText(value any) string {
	if value == nil {
		return ""
	}
	if value == sensitiveValue {
		return sensitiveValue
	}
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return "(not shown)"
	}
	return strings.TrimSpace(text.String())
}
