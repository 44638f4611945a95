package gate

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// expression is a CEL condition on the response of a server. It has no clock and no randomness.
type expression struct {
	name    string // of the field that it is written in
	program cel.Program
}

// Bounds of an expression: enough to search a body of a megabyte, in half a second.
const (
	maxCost       = 300_000
	maxExpression = 4_000 // characters
)

// compileExpression checks an expression; the error is CEL's, in one line.
func compileExpression(name, text string) (*expression, error) {
	env, err := cel.NewEnv(
		cel.Variable("status", cel.IntType), cel.Variable("body", cel.DynType), cel.Variable("text", cel.StringType),
		cel.Variable("environment", cel.StringType), cel.Variable("commit", cel.StringType), cel.Variable("output", cel.StringType),
		cel.CrossTypeNumericComparisons(true), cel.ParserExpressionSizeLimit(maxExpression),
	)
	if err != nil {
		return nil, err
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		message, _, _ := strings.Cut(first.Message, "\n")
		return nil, fmt.Errorf("%s (character %d)", message, first.Location.Column()+1)
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("it evaluates to %s, not to true or false", t)
	}
	program, err := env.Program(checked, cel.CostLimit(maxCost))
	if err != nil {
		return nil, err
	}
	return &expression{name, program}, nil
}

// expressionVariables returns what an expression may read. A body that is not JSON is null.
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

// evaluate reports whether the condition holds; the error is CEL's, in one line.
func (e *expression) evaluate(variables map[string]any) (bool, error) {
	value, _, err := e.program.Eval(variables)
	if err != nil {
		message, _, _ := strings.Cut(err.Error(), "\n")
		return false, fmt.Errorf("%s cannot be evaluated: %s", e.name, message)
	}
	yes, ok := value.(types.Bool)
	if !ok {
		return false, fmt.Errorf("%s evaluated to %s, not to true or false", e.name, value.Type().TypeName())
	}
	return bool(yes), nil
}
