package templatefunc

import (
	"errors"
	"math"
	"reflect"
	"strings"
)

const (
	maxText     = 1 << 20 // bytes
	maxElements = 10_000
	maxDepth    = 100
	// maxEffort bounds the estimated work of a call in bytes, which may far exceed its
	// result.
	maxEffort = 64 << 20
)

var (
	errText   = errors.New("the result is longer than 1 MiB, the most that a template function may give")
	errSize   = errors.New("the value has more than 10,000 elements, 1 MiB of text or 100 levels of nesting, or contains itself: more than a template function may take or give")
	errBound  = errors.New("a number of the range is too large")
	errEffort = errors.New("the work on the way to the result takes more than 64 MiB")
)

// weight is the written size of a value. Shared parts count each time, so a small graph
// cannot stand for gigabytes.
type weight struct {
	elements int
	text     int // bytes with keys
}

// add adds v at depth and reports whether it is within the limits. It ends even if v
// contains itself.
func (w *weight) add(v any, depth int) bool {
	switch v := v.(type) {
	case string:
		return w.grow(0, len(v))
	case []any:
		return addList(w, v, depth)
	case []string:
		return addList(w, v, depth)
	case []int:
		return w.grow(len(v), 0)
	case map[string]any:
		return addMap(w, v, depth)
	case map[any]any:
		return addMap(w, v, depth)
	case map[string]string:
		return addMap(w, v, depth)
	}
	return true
}

func addList[E any](w *weight, list []E, depth int) bool {
	for _, e := range list {
		if !w.grow(1, 0) || !w.add(e, depth+1) {
			return false
		}
	}
	return depth < maxDepth
}

func addMap[K comparable, V any](w *weight, m map[K]V, depth int) bool {
	for k, v := range m {
		if !w.grow(1, 0) || !w.add(k, depth+1) || !w.add(v, depth+1) {
			return false
		}
	}
	return depth < maxDepth
}

func (w *weight) grow(elements, text int) bool {
	w.elements += elements
	w.text += text
	return w.elements <= maxElements && w.text <= maxText
}

// checkSize returns an error for too large a value. The error does not depend on map
// order.
func checkSize(v any) error {
	if text, ok := v.(string); ok {
		if len(text) > maxText {
			return errText
		}
		return nil
	}
	var w weight
	if !w.add(v, 0) {
		return errSize
	}
	return nil
}

func limitResult[R any](result R) (R, error) {
	if err := checkSize(result); err != nil {
		var none R
		return none, err
	}
	return result, nil
}

// builders are functions that build lists or dictionaries. Others return parts of
// arguments and need no bound.
var builders = []string{
	"list", "tuple", "append", "push", "prepend", "concat", "dict", "set", "merge", "mergeOverwrite",
	"split", "splitList", "splitn", "until", "untilStep",
}

// refusals check arguments of functions with potentially much larger results, before
// the call.
var refusals = map[string]func(a []reflect.Value) error{
	"repeat": func(a []reflect.Value) error {
		return errorIf(a[1].Len() > 0 && int(a[0].Int()) > maxText/a[1].Len(), errText)
	},
	"replace": func(a []reflect.Value) error {
		old, with, text := a[0].String(), a[1].String(), a[2].String()
		return errorIf(len(text)+strings.Count(text, old)*(len(with)-len(old)) > maxText, errText)
	},
	"wrapWith":  func(a []reflect.Value) error { return errorIf(a[2].Len()*a[1].Len() > maxEffort, errEffort) },
	"split":     func(a []reflect.Value) error { return errorIf(splitsTooOften(a[0], a[1]), errSize) },
	"splitList": func(a []reflect.Value) error { return errorIf(splitsTooOften(a[0], a[1]), errSize) },
	"splitn": func(a []reflect.Value) error {
		n := a[1].Int()
		return errorIf((n < 0 || n > maxElements) && splitsTooOften(a[0], a[2]), errSize)
	},
	"until": func(a []reflect.Value) error {
		return errorIf(a[0].Int() > maxElements || a[0].Int() < -maxElements, errSize)
	},
	"untilStep": func(a []reflect.Value) error {
		for _, n := range a {
			if n.Int() > maxBound || n.Int() < -maxBound {
				return errBound
			}
		}
		start, stop, step := a[0].Int(), a[1].Int(), a[2].Int()
		return errorIf(step != 0 && (stop-start)/step > maxElements, errSize)
	},
}

// maxBound avoids overflows in ranges, where sprig never ends.
const maxBound = math.MaxInt / 4

func splitsTooOften(separator, text reflect.Value) bool {
	return strings.Count(text.String(), separator.String()) > maxElements+1
}

func errorIf(refused bool, err error) error {
	if refused {
		return err
	}
	return nil
}
