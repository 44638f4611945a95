// Package pattern compiles regular expressions of users, within bounds.
//
// What the package keeps true: an expression has at most [MaxSize] instructions, checked before
// compiling. Matching takes at most the text's length times [Pattern.Size].
package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync"
)

const (
	// MaxSize is the maximum number of instructions of an expression.
	MaxSize  = 10_000
	maxText  = 64 << 10
	maxKnown = 256
)

// Pattern is a compiled expression.
type Pattern struct {
	*regexp.Regexp
	// Size is the approximate number of instructions.
	Size int
	// Lookahead is how many bytes a match may look beyond its end; -1 for all.
	Lookahead int
}

// ErrLarge means that an expression is too large.
var ErrLarge = errors.New("the regular expression is too large")

// Compile is regexp.Compile, but refuses expressions that are too large.
func Compile(text string) (*Pattern, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("%w: %d bytes long, and %d is the limit", ErrLarge, len(text), maxText)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	p := &Pattern{Size: countInstructions(parsed), Lookahead: maxLookahead(parsed)}
	if p.Size > MaxSize {
		return nil, fmt.Errorf("%w: more than %d instructions when its repetitions are written out", ErrLarge, MaxSize)
	}
	p.Regexp, err = regexp.Compile(text)
	return p, err
}

func countInstructions(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n += len(re.Rune)
	case syntax.OpCharClass:
		n += len(re.Rune) / 64
	}
	for _, sub := range re.Sub {
		n = min(n+countInstructions(sub), MaxSize+1)
	}
	if re.Op == syntax.OpRepeat {
		n *= 1 + max(re.Min, re.Max)
	}
	return min(n, MaxSize+1)
}

// maxLookahead returns the width of an expression if that is bounded, and one character for a
// repeated character.
func maxLookahead(re *syntax.Regexp) int {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	if re.Op == syntax.OpStar || re.Op == syntax.OpPlus {
		if maxWidth(re.Sub[0]) <= maxRune {
			return maxRune
		}
	}
	if w := maxWidth(re); w < MaxSize {
		return w
	}
	return -1
}

const maxRune = 4

func maxWidth(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune) * maxRune
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		n = maxRune
	case syntax.OpStar, syntax.OpPlus:
		return MaxSize
	case syntax.OpRepeat:
		if re.Max < 0 {
			return MaxSize
		}
		n = maxWidth(re.Sub[0]) * re.Max
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			n = max(n, maxWidth(sub))
		}
	default:
		for _, sub := range re.Sub {
			n = min(n+maxWidth(sub), MaxSize)
		}
	}
	return min(n, MaxSize)
}

const overhead = 16

// EstimateWork estimates the steps to find so many matches in a text of so many bytes.
func (p *Pattern) EstimateWork(length, matches int) int {
	beyond := p.Lookahead
	if beyond < 0 || beyond > length {
		beyond = length
	}
	return (length + matches*beyond) * (p.Size + overhead)
}

// Cache keeps compiled expressions. The zero value is ready to use, and safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	known map[string]*Pattern
}

// Compile is the function [Compile], once per text.
func (c *Cache) Compile(text string) (*Pattern, error) {
	c.mu.Lock()
	p := c.known[text]
	c.mu.Unlock()
	if p != nil {
		return p, nil
	}
	p, err := Compile(text)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxKnown {
		c.known = map[string]*Pattern{}
	}
	c.known[text] = p
	return p, nil
}
