package cost

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/fairlead-io/fairlead/internal/base/expression"
)

// Expression reads costs from JSON of any form. It evaluates to a mapping with currency, after, and before if that is
// not 0; amounts are numbers, or decimals in quotes.
type Expression struct{ compiled *expression.Expression }

// CompileExpression compiles an expression over the variable cost.
func CompileExpression(text string) (*Expression, error) {
	compiled, err := expression.Compile(text, map[string]*cel.Type{"cost": cel.DynType}, types.MapKind, "a mapping")
	if err != nil {
		return nil, err
	}
	return &Expression{compiled}, nil
}

func (e *Expression) read(body json.RawMessage) ([]Change, error) {
	var cost any
	if err := json.Unmarshal(body, &cost); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	value, err := e.compiled.Evaluate(map[string]any{"cost": cost})
	if err != nil {
		return nil, fmt.Errorf("the expression cannot be evaluated: %w", err)
	}
	found, ok := value.(traits.Mapper)
	if !ok {
		return nil, fmt.Errorf("the expression evaluated to %s, not to a mapping", value.Type().TypeName())
	}
	field := func(name, otherwise string) string {
		if value, ok := found.Find(types.String(name)); ok {
			return amountText(value)
		}
		return otherwise
	}
	return parseChange(field("currency", ""), "before", field("before", "0"), "after", field("after", ""))
}

func amountText(value ref.Val) string {
	if number, ok := value.(types.Double); ok {
		return strconv.FormatFloat(float64(number), 'f', microDigits, 64)
	}
	return fmt.Sprint(value.Value())
}
