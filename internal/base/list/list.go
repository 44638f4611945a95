// Package list converts lists and compares their elements.
//
// What the package keeps true: a conversion keeps number and order of the elements, and returns nil
// for an empty list.
package list

import "slices"

// Convert returns the results of f for all elements.
func Convert[T, R any](all []T, f func(T) R) []R {
	var results []R
	for _, one := range all {
		results = append(results, f(one))
	}
	return results
}

// AddMissing appends the elements that all lacks.
func AddMissing[T comparable](all []T, more ...T) []T {
	for _, one := range more {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// CompareBools orders true before false.
func CompareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
