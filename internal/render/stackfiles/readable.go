package stackfiles

import (
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// ObjectName identifies an object among those of its kind.
type ObjectName struct{ Namespace, Name string }

// ReadablePlan is a plan as tofu-controller keeps it for people.
type ReadablePlan struct {
	ID   string // "plan-<branch>-<commit>"
	Text string
	// Digest is that of the plan; "" if only its text is kept.
	Digest string
}

// ReadablePlans are plans, by the Terraform objects that they are of.
type ReadablePlans map[ObjectName]ReadablePlan

// What tofu-controller writes on the ConfigMaps and Secrets of a plan. A plan of more than a megabyte is
// in several.
const (
	planNameLabel       = "infra.contrib.fluxcd.io/plan-name"
	planChunkAnnotation = "infra.contrib.fluxcd.io/plan-chunk"
	planIDAnnotation    = "savedPlan"
	planKey             = "tfplan"
	// jsonSuffix ends the name of a plan in JSON, compressed, in Secrets. Those without it hold a plan
	// that only Terraform can read.
	jsonSuffix = ".json"
)

// maxPlanSize bounds a plan in JSON, in bytes.
const maxPlanSize = 64 << 20

// planChunk is a ConfigMap or a Secret with a part of a plan.
type planChunk struct {
	Metadata kubeobject.Metadata `yaml:"metadata"`
	Data     map[string]string   `yaml:"data"`
}

// planKind is one of the forms in which the plan of an object is kept.
type planKind struct {
	object ObjectName
	isJSON bool
}

// ReadPlans returns the plans in YAML documents of ConfigMaps and Secrets, or of lists of them. Other
// objects are left out. Of a plan that is kept as text and in JSON, it returns the latter.
func ReadPlans(documents []byte) (ReadablePlans, error) {
	objects, err := manifest.Decode(documents)
	if err != nil {
		return nil, err
	}
	chunks := map[planKind]map[int]planChunk{}
	for _, o := range objects {
		if o.Kind != "ConfigMap" && o.Kind != "Secret" {
			continue
		}
		var c planChunk
		if err := o.Node.Decode(&c); err != nil {
			return nil, fmt.Errorf("%s/%s: %w", o.Kind, o.Name, err)
		}
		name, isJSON := strings.CutSuffix(c.Metadata.Labels[planNameLabel], jsonSuffix)
		isJSON = isJSON && o.Kind == "Secret"
		if name == "" || isJSON != (o.Kind == "Secret") {
			continue
		}
		kind := planKind{ObjectName{c.Metadata.Namespace, name}, isJSON}
		at := 0
		if chunk := c.Metadata.Annotations[planChunkAnnotation]; chunk != "" {
			at, err = strconv.Atoi(chunk)
		}
		if err != nil || at < 0 {
			return nil, fmt.Errorf("%s/%s: the annotation %s is no number", o.Kind, o.Name, planChunkAnnotation)
		}
		if chunks[kind] == nil {
			chunks[kind] = map[int]planChunk{}
		}
		if _, twice := chunks[kind][at]; twice {
			return nil, fmt.Errorf("the plan of %s/%s has its part %d twice", kind.object.Namespace, name, at)
		}
		chunks[kind][at] = c
	}
	return joinPlans(chunks)
}

func joinPlans(chunks map[planKind]map[int]planChunk) (ReadablePlans, error) {
	plans := ReadablePlans{}
	kinds := slices.SortedFunc(maps.Keys(chunks), func(a, b planKind) int {
		return cmp.Or(strings.Compare(a.object.Namespace, b.object.Namespace), strings.Compare(a.object.Name, b.object.Name), compareJSON(a, b))
	})
	for _, kind := range kinds {
		name, parts := kind.object, chunks[kind]
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
			text, err := part.text(kind.isJSON)
			if err != nil {
				return nil, fmt.Errorf("the plan of %s/%s: %w", name.Namespace, name.Name, err)
			}
			b.WriteString(text)
		}
		plan := ReadablePlan{ID: id, Text: b.String()}
		if kind.isJSON {
			read, err := readCompressedPlan(plan.Text)
			if err != nil {
				return nil, fmt.Errorf("the plan of %s/%s: %w", name.Namespace, name.Name, err)
			}
			plan.Text, plan.Digest = read.Text(), read.Digest
		}
		plans[name] = plan
	}
	return plans, nil
}

func compareJSON(a, b planKind) int {
	switch {
	case a.isJSON == b.isJSON:
		return 0
	case b.isJSON:
		return -1
	}
	return 1
}

func (c planChunk) text(isSecret bool) (string, error) {
	if !isSecret {
		return c.Data[planKey], nil
	}
	text, err := base64.StdEncoding.DecodeString(c.Data[planKey])
	return string(text), err
}

func readCompressedPlan(compressed string) (*tfplan.Plan, error) {
	in, err := gzip.NewReader(strings.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(in, maxPlanSize+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxPlanSize:
		return nil, fmt.Errorf("it has more than %d MB", maxPlanSize>>20)
	}
	return tfplan.Read(text)
}
