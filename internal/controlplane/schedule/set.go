package schedule

import (
	"iter"
	"math/bits"
)

// Set is a set of small numbers: indexes into one of the model's sorted lists.
type Set []uint64

// NewSet returns an empty set for numbers under n.
func NewSet(n int) Set { return make(Set, (n+63)/64) }

// Add puts i into the set.
func (s Set) Add(i int) { s[i/64] |= 1 << (i % 64) }

// Remove takes i out of the set.
func (s Set) Remove(i int) { s[i/64] &^= 1 << (i % 64) }

// Has reports whether i is in the set.
func (s Set) Has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

// Union adds all of o, a set for the same numbers.
func (s Set) Union(o Set) {
	for i, word := range o {
		s[i] |= word
	}
}

// Intersect removes what is not in o, a set for the same numbers.
func (s Set) Intersect(o Set) {
	for i, word := range o {
		s[i] &= word
	}
}

// Len returns the number of members.
func (s Set) Len() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// Empty reports whether the set has no members.
func (s Set) Empty() bool {
	for _, word := range s {
		if word != 0 {
			return false
		}
	}
	return true
}

// All yields the members in ascending order.
func (s Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(i*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// Key returns a string that is equal for equal sets over the same numbers.
func (s Set) Key() string {
	b := make([]byte, 0, len(s)*8)
	for _, word := range s {
		for shift := 0; shift < 64; shift += 8 {
			b = append(b, byte(word>>shift))
		}
	}
	return string(b)
}
