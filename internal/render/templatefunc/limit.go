package templatefunc

import "errors"

const (
	maxText     = 1 << 20 // bytes
	maxElements = 10_000
	maxDepth    = 100
	// maxEffort bounds the estimated work of a call, in bytes, which may be far more
	// than the size of its result.
	maxEffort = 64 << 20
)

var (
	errText   = errors.New("the result is longer than 1 MiB, the most that a template function may give")
	errSize   = errors.New("the value has more than 10,000 elements, 1 MiB of text or 100 levels of nesting, or contains itself: more than a template function may take or give")
	errEffort = errors.New("the work on the way to the result takes more than 64 MiB")
)

// weight is the size of a value when it is written out: a part that occurs
// twice counts twice, so that a small graph of shared lists cannot stand for a
// text of gigabytes.
type weight struct {
	elements int
	text     int // bytes, keys included
}

// add adds the weight of v and reports whether it is within the limits. It stops
// where one of them is passed, and so ends even if v contains itself.
func (w *weight) add(v any) bool { return w.addAt(v, 0) }

func (w *weight) addAt(v any, depth int) bool {
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
		if !w.grow(1, 0) || !w.addAt(e, depth+1) {
			return false
		}
	}
	return depth < maxDepth
}

func addMap[K comparable, V any](w *weight, m map[K]V, depth int) bool {
	for k, v := range m {
		if !w.grow(1, 0) || !w.addAt(k, depth+1) || !w.addAt(v, depth+1) {
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

// checkSize returns an error if a value is too large to be an argument or a result. The error
// does not depend on the order in which a map is walked.
func checkSize(v any) error {
	if text, ok := v.(string); ok {
		if len(text) > maxText {
			return errText
		}
		return nil
	}
	var w weight
	if !w.add(v) {
		return errSize
	}
	return nil
}

// limitResult returns the result, or an error if it is too large.
func limitResult[R any](result R) (R, error) {
	if err := checkSize(result); err != nil {
		var none R
		return none, err
	}
	return result, nil
}

// boundUnary returns f with a bounded result. check, if not nil, is called before f, to refuse
// results that would take too much to compute.
func boundUnary[A, R any](f func(A) R, check func(A) error) func(A) (R, error) {
	return func(a A) (R, error) {
		if check != nil {
			if err := check(a); err != nil {
				var none R
				return none, err
			}
		}
		return limitResult(f(a))
	}
}

func boundBinary[A, B, R any](f func(A, B) R, check func(A, B) error) func(A, B) (R, error) {
	return func(a A, b B) (R, error) {
		if check != nil {
			if err := check(a, b); err != nil {
				var none R
				return none, err
			}
		}
		return limitResult(f(a, b))
	}
}

func boundTernary[A, B, C, R any](f func(A, B, C) R, check func(A, B, C) error) func(A, B, C) (R, error) {
	return func(a A, b B, c C) (R, error) {
		if check != nil {
			if err := check(a, b, c); err != nil {
				var none R
				return none, err
			}
		}
		return limitResult(f(a, b, c))
	}
}

// boundVariadic returns a function of any number of arguments with a bounded result. It
// measures the arguments first: a call may pass one big value a thousand times.
func boundVariadic[R any](f func(...any) R) func(...any) (R, error) {
	return func(args ...any) (R, error) {
		if err := checkSize(args); err != nil {
			var none R
			return none, err
		}
		return limitResult(f(args...))
	}
}
