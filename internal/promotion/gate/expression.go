package gate

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/fairlead-io/fairlead/internal/base/expression"
)

// condition is a condition on a server's response.
type condition struct {
	name     string
	compiled *expression.Expression
}

var responseVariables = map[string]*cel.Type{
	"status": cel.IntType, "body": cel.DynType, "text": cel.StringType,
	"environment": cel.StringType, "commit": cel.StringType, "output": cel.StringType,
}

func compileCondition(name, text string) (*condition, error) {
	compiled, err := expression.Compile(text, responseVariables, types.BoolKind, "true or false")
	if err != nil {
		return nil, err
	}
	return &condition{name, compiled}, nil
}

func expressionVariables(f Facts, a Answer) map[string]any {
	var body any
	if err := json.Unmarshal(a.Body, &body); err != nil {
		body = nil
	}
	return map[string]any{
		"status": a.Code, "body": body, "text": strings.ToValidUTF8(string(a.Body), "\uFFFD"),
		"environment": f.Environment, "commit": f.Commit, "output": f.OutputCommit,
	}
}

func (c *condition) evaluate(variables map[string]any) (bool, error) {
	value, err := c.compiled.Evaluate(variables)
	if err != nil {
		return false, fmt.Errorf("%s cannot be evaluated: %w", c.name, err)
	}
	yes, ok := value.(types.Bool)
	if !ok {
		return false, fmt.Errorf("%s evaluated to %s, not to true or false", c.name, value.Type().TypeName())
	}
	return bool(yes), nil
}
