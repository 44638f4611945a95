package templatefunc

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
)

var errAddress = errors.New("the format prints an address, which is another one in each run")

// boundedPrintf is text/template's printf with a bounded result and without addresses.
func boundedPrintf(format string, args ...any) (string, error) {
	var w weight
	if !w.add(args, 0) {
		return "", errSize
	}
	addresses := slices.ContainsFunc(args, holdsPointer)
	size := len(format)
	for flags, verb := range formatDirectives(format) {
		usesString := strings.IndexByte("vsq%", verb) >= 0 && !strings.Contains(flags, "#") // for values with such a method
		if verb == 'p' || addresses && !usesString {
			return "", errAddress
		}
		// %q can quadruple a text, a width holds for each list element, and a directive
		// may name any argument ("%[1]s").
		width := 32 + sumNumbers(flags) + strings.Count(flags, "*")*widestArgument(args)
		size += 4*w.text + w.elements*width
		if size > maxEffort {
			return "", errEffort
		}
	}
	return fmt.Sprintf(format, args...), nil
}

// formatDirectives returns flags (with width, precision and argument numbers) and verb
// of each directive.
func formatDirectives(format string) iter.Seq2[string, byte] {
	return func(yield func(string, byte) bool) {
		for {
			_, directive, found := strings.Cut(format, "%")
			verb := strings.TrimLeft(directive, "+-# 0123456789.*[]")
			if !found || verb == "" {
				return
			}
			if !yield(directive[:len(directive)-len(verb)], verb[0]) {
				return
			}
			format = verb[1:]
		}
	}
}

// maxWidth is fmt's limit of width and precision.
const maxWidth = 1_000_000

func sumNumbers(flags string) int {
	sum, n := 0, 0
	for _, c := range []byte(flags) {
		if c < '0' || c > '9' {
			sum, n = sum+n, 0
			continue
		}
		n = min(n*10+int(c-'0'), maxWidth)
	}
	return sum + n
}

func widestArgument(args []any) int {
	width := 0
	for _, arg := range args {
		switch v := reflect.ValueOf(arg); {
		case v.CanInt():
			width = max(width, int(min(v.Int(), maxWidth)), -int(max(v.Int(), -maxWidth)))
		case v.CanUint():
			width = max(width, int(min(v.Uint(), maxWidth)))
		}
	}
	return width
}

// holdsPointer reports a pointer in a list or dictionary, which only semver returns and
// fmt mostly writes as an address.
func holdsPointer(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, isOrHoldsPointer)
	case map[string]any:
		for _, e := range v {
			if isOrHoldsPointer(e) {
				return true
			}
		}
	}
	return false
}

func isOrHoldsPointer(v any) bool {
	return reflect.ValueOf(v).Kind() == reflect.Pointer || holdsPointer(v)
}
