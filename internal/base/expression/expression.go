// Package expression compiles and evaluates expressions in CEL, within bounds.
//
// Expressions have no clock, randomness or side effects, so their results depend on variables only.
package expression

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// The bounds suffice to search a body of a megabyte, in half a second.
const (
	maxCost = 300_000
	maxText = 4_000
)

// Expression is a compiled expression. It may be evaluated concurrently.
type Expression struct{ program cel.Program }

// Compile compiles an expression over variables and functions. wants describes the expected result, as in "true or false".
func Compile(text string, variables map[string]*cel.Type, result types.Kind, wants string, functions ...cel.EnvOption) (*Expression, error) {
	options := append([]cel.EnvOption{cel.CrossTypeNumericComparisons(true), cel.ParserExpressionSizeLimit(maxText)}, functions...)
	for name, t := range variables {
		options = append(options, cel.Variable(name, t))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, err
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return nil, fmt.Errorf("%s (character %d)", firstLine(first.Message), first.Location.Column()+1)
	}
	if t := checked.OutputType(); t.Kind() != types.DynKind && t.Kind() != result {
		return nil, fmt.Errorf("it evaluates to %s, not to %s", t, wants)
	}
	program, err := env.Program(checked, cel.CostLimit(maxCost))
	if err != nil {
		return nil, err
	}
	return &Expression{program}, nil
}

// Evaluate returns the result, or an error of one line.
func (e *Expression) Evaluate(variables map[string]any) (ref.Val, error) {
	value, _, err := e.program.Eval(variables)
	if err != nil {
		return nil, fmt.Errorf("%s", firstLine(err.Error()))
	}
	return value, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
