package templatefunc

import (
	"cmp"
	"errors"
	"math/bits"
	"reflect"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/pattern"
)

// ErrSteps is returned when the template has used up its steps.
var ErrSteps = errors.New("too many steps")

// ErrCanceled is returned when the result is unwanted.
var ErrCanceled = errors.New("canceled")

// Meter counts the work of one expansion in steps: one for each call, and more for
// bytes read and written. The count depends on template and data only, so the limit is
// the same on every machine. It serves one expansion at a time.
type Meter struct {
	left     int
	asked    uint
	canceled func() bool
	patterns pattern.Cache
}

// Reset prepares the meter for an expansion of at most steps. canceled reports whether
// the result is unwanted; it may be nil.
func (m *Meter) Reset(steps int, canceled func() bool) { m.left, m.canceled = steps, canceled }

// Left returns the number of steps left.
func (m *Meter) Left() int { return max(m.left, 0) }

const askEvery = 256

// Spend subtracts steps, and returns an error if too few are left.
func (m *Meter) Spend(steps int) error {
	m.asked++
	if m.asked%askEvery == 0 && m.canceled != nil && m.canceled() {
		return ErrCanceled
	}
	if m.left < 0 || steps < 0 || steps > m.left {
		m.left = -1
		return ErrSteps
	}
	m.left -= steps
	return nil
}

const (
	// usualPrice is the bytes per step.
	usualPrice = 64
	// elementSize is the cost of an element in addition to its text.
	elementSize = 32
	// maxMeasured exceeds the steps of any expansion.
	maxMeasured = 1 << 30
)

// prices are bytes per step other than usualPrice. Slow functions have low prices.
var prices = map[string]int{
	"toYaml": 2, "stringify": 2, "toTfvars": 2, "toEnv": 4, "toJson": 16, "toPrettyJson": 16, "hash": 16,
	"merge": 4, "mergeOverwrite": 4, "deepCopy": 8, "concat": 16, "pick": 16, "omit": 16, "keys": 16, "values": 16,
	"semver": 1, "semverCompare": 1, "abbrevboth": 16, "urlParse": 16, "urlJoin": 16, "camelcase": 8, "snakecase": 8, "kebabcase": 8, "swapcase": 16,
	"title": 16, "untitle": 16, "initials": 16, "nospace": 16, "wrap": 16, "wrapWith": 16, "html": 16, "js": 16, "urlquery": 16,
	"quote": 16, "printf": 16, "print": 16, "println": 16, "toString": 16, "toStrings": 16, "cat": 16, "split": 16, "splitn": 16, "splitList": 16, "decryptAES": 16,
	"sha1sum": 32, "sha256sum": 32,
}

// surcharges are extra steps of functions that read arguments more than once.
var surcharges = map[string]func(args []reflect.Value) int{
	"sortAlpha": func(args []reflect.Value) int { return lengthOf(args[0]) * bits.Len(uint(lengthOf(args[0]))) },
	"uniq":      func(args []reflect.Value) int { return boundedProduct(lengthOf(args[0]), lengthOf(args[0])) },
	"without":   func(args []reflect.Value) int { return boundedProduct(lengthOf(args[0]), args[1].Len()) },
	"trimAll":   trimWork, "trimall": trimWork,
}

func trimWork(args []reflect.Value) int {
	return boundedProduct(args[0].Len(), args[1].Len()) / usualPrice
}

func boundedProduct(a, b int) int {
	if a > maxMeasured || b > maxMeasured {
		return maxMeasured
	}
	return a * b
}

func lengthOf(v reflect.Value) int {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len()
	}
	return 0
}

// Weigh returns its argument and counts its text. It wraps arguments of text/template
// functions that cannot be replaced.
func (m *Meter) Weigh(v reflect.Value) (reflect.Value, error) {
	text := v
	if text.Kind() == reflect.Interface {
		text = text.Elem()
	}
	if text.Kind() != reflect.String {
		return v, nil
	}
	return v, m.Spend(1 + text.Len()/usualPrice)
}

var errorType = reflect.TypeFor[error]()

type plainFunction struct {
	call    reflect.Value
	metered reflect.Type // of the metered function, which can fail; precomputed because that is slow
}

func newPlainFunction(f any) plainFunction {
	t := reflect.TypeOf(f)
	return plainFunction{reflect.ValueOf(f), reflect.FuncOf(slices.Collect(t.Ins()), []reflect.Type{t.Out(0), errorType}, t.IsVariadic())}
}

func (m *Meter) meterFunction(name string, f plainFunction) any {
	call, t, surcharge, price := f.call, f.call.Type(), surcharges[name], cmp.Or(prices[name], usualPrice)
	refuse, bounded := refusals[name], t.Out(0).Kind() == reflect.String || slices.Contains(builders, name)
	if bounded && t.IsVariadic() && t.In(0) == reflect.TypeFor[[]any]() { // one big value may be passed a thousand times
		refuse = func(args []reflect.Value) error { return checkSize(args[0].Interface()) }
	}
	return reflect.MakeFunc(f.metered, func(args []reflect.Value) []reflect.Value {
		size := 0
		for _, arg := range args {
			size += m.measureValue(arg, 0)
		}
		steps := 1 + size/price
		if surcharge != nil && steps <= m.left {
			steps += surcharge(args)
		}
		if err := m.Spend(steps); err != nil {
			return failedCall(t.Out(0), err)
		}
		if refuse != nil {
			if err := refuse(args); err != nil {
				return failedCall(t.Out(0), err)
			}
		}
		var out []reflect.Value
		if t.IsVariadic() {
			out = call.CallSlice(args)
		} else {
			out = call.Call(args)
		}
		if len(out) == 2 && !out[1].IsNil() {
			return out
		}
		if bounded {
			if err := checkSize(out[0].Interface()); err != nil {
				return failedCall(t.Out(0), err)
			}
		}
		if err := m.Spend(m.measureValue(out[0], 0) / price); err != nil {
			return failedCall(t.Out(0), err)
		}
		return []reflect.Value{out[0], reflect.Zero(errorType)}
	}).Interface()
}

func failedCall(t reflect.Type, err error) []reflect.Value {
	return []reflect.Value{reflect.Zero(t), reflect.ValueOf(&err).Elem()}
}

// measureValue returns the written size in bytes. It stops soon after it exceeds the
// steps left.
func (m *Meter) measureValue(v reflect.Value, depth int) int {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	limit := min(m.Left(), maxMeasured/usualPrice) * usualPrice
	if depth > maxDepth {
		return limit + 1
	}
	n := 0
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && n <= limit; i++ {
			n += elementSize + m.measureValue(v.Index(i), depth+1)
		}
	case reflect.Map:
		for entries := v.MapRange(); n <= limit && entries.Next(); {
			n += elementSize + m.measureValue(entries.Key(), depth+1) + m.measureValue(entries.Value(), depth+1)
		}
	}
	return n
}
