package stackfiles

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/kube/manifest"
)

// ObjectName identifies an object among those of its kind.
type ObjectName struct{ Namespace, Name string }

// ReadablePlan is a plan as tofu-controller keeps it for people.
type ReadablePlan struct {
	ID   string // "plan-<branch>-<commit>"
	Text string
}

// ReadablePlans are plans, by the Terraform objects that they are of.
type ReadablePlans map[ObjectName]ReadablePlan

// What tofu-controller writes on the ConfigMaps of a plan. A plan of more than a megabyte is in several.
const (
	planNameLabel       = "infra.contrib.fluxcd.io/plan-name"
	planChunkAnnotation = "infra.contrib.fluxcd.io/plan-chunk"
	planIDAnnotation    = "savedPlan"
	planKey             = "tfplan"
)

// planChunk is a ConfigMap with a part of a plan.
type planChunk struct {
	Metadata metadata          `yaml:"metadata"`
	Data     map[string]string `yaml:"data"`
}

// ReadPlans returns the plans in YAML documents of ConfigMaps, or of lists of them. Other objects are
// left out.
func ReadPlans(documents []byte) (ReadablePlans, error) {
	objects, err := manifest.Decode(documents)
	if err != nil {
		return nil, err
	}
	chunks := map[ObjectName]map[int]planChunk{}
	for _, o := range objects {
		if o.Kind != "ConfigMap" {
			continue
		}
		var c planChunk
		if err := o.Node.Decode(&c); err != nil {
			return nil, fmt.Errorf("ConfigMap/%s: %w", o.Name, err)
		}
		name := ObjectName{c.Metadata.Namespace, c.Metadata.Labels[planNameLabel]}
		if name.Name == "" {
			continue
		}
		at := 0
		if chunk := c.Metadata.Annotations[planChunkAnnotation]; chunk != "" {
			at, err = strconv.Atoi(chunk)
		}
		if err != nil || at < 0 {
			return nil, fmt.Errorf("ConfigMap/%s: the annotation %s is no number", o.Name, planChunkAnnotation)
		}
		if chunks[name] == nil {
			chunks[name] = map[int]planChunk{}
		}
		if _, twice := chunks[name][at]; twice {
			return nil, fmt.Errorf("the plan of %s/%s has its part %d twice", name.Namespace, name.Name, at)
		}
		chunks[name][at] = c
	}
	return joinPlans(chunks)
}

// joinPlans returns plans whose parts are given by their numbers.
func joinPlans(chunks map[ObjectName]map[int]planChunk) (ReadablePlans, error) {
	plans := ReadablePlans{}
	names := slices.SortedFunc(maps.Keys(chunks), func(a, b ObjectName) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for _, name := range names {
		parts := chunks[name]
		var b strings.Builder
		id := ""
		for i, at := range slices.Sorted(maps.Keys(parts)) {
			part := parts[at]
			switch made := part.Metadata.Annotations[planIDAnnotation]; {
			case at != i:
				return nil, fmt.Errorf("the plan of %s/%s lacks its part %d", name.Namespace, name.Name, i)
			case i > 0 && made != id:
				return nil, fmt.Errorf("the parts of the plan of %s/%s are of two plans, %s and %s", name.Namespace, name.Name, id, made)
			default:
				id = made
			}
			b.WriteString(part.Data[planKey])
		}
		plans[name] = ReadablePlan{id, b.String()}
	}
	return plans, nil
}
