// Package healthcheck evaluates health expressions of Flux's Kustomizations like
// kustomize-controller.
//
// What the package keeps true: an object whose controller has not observed its generation is in
// progress. Otherwise the expressions apply in the order of Flux's RFC 9: in progress, failed,
// current.
package healthcheck

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"

	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

// Status is the health of an object.
type Status string

// The statuses.
const (
	Current    Status = "Current"
	Failed     Status = "Failed"
	InProgress Status = "InProgress"
)

// Check is a compiled [kubeobject.HealthExpr].
type Check struct{ rules []rule }

type rule struct {
	status  Status
	program cel.Program
}

// Compile compiles the expressions.
func Compile(e kubeobject.HealthExpr) (*Check, error) {
	env, err := cel.NewEnv(cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders())
	if err != nil {
		return nil, err
	}
	c := &Check{}
	for _, r := range []struct {
		status Status
		text   string
	}{{InProgress, e.InProgress}, {Failed, e.Failed}, {Current, e.Current}} {
		if r.text == "" {
			continue
		}
		parsed, issues := env.Parse(r.text)
		if issues.Err() != nil {
			return nil, fmt.Errorf("parse the expression %q: %w", r.text, issues.Err())
		}
		program, err := env.Program(parsed)
		if err != nil {
			return nil, fmt.Errorf("parse the expression %q: %w", r.text, err)
		}
		c.rules = append(c.rules, rule{r.status, program})
	}
	return c, nil
}

// Evaluate returns the health of an object decoded from JSON.
func (c *Check) Evaluate(object map[string]any) (Status, error) {
	if observed, ok := findNumber(object, "status", "observedGeneration"); ok {
		if generation, ok := findNumber(object, "metadata", "generation"); ok && observed != generation {
			return InProgress, nil
		}
	}
	for _, r := range c.rules {
		result, _, err := r.program.Eval(object)
		if err != nil {
			return "", err
		}
		holds, ok := result.(types.Bool)
		if !ok {
			return "", fmt.Errorf("the expression of %s is of type %s, and not bool", r.status, result.Type().TypeName())
		}
		if holds {
			return r.status, nil
		}
	}
	return InProgress, nil
}

func findNumber(object map[string]any, field, name string) (float64, bool) {
	within, _ := object[field].(map[string]any)
	number, ok := within[name].(float64)
	return number, ok
}
