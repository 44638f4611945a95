package templatefunc

import (
	"errors"
	"regexp"

	"github.com/fairlead-io/fairlead/internal/base/pattern"
)

func (m *Meter) compilePattern(expression, text string) (*pattern.Pattern, error) {
	p, err := m.patterns.Compile(expression)
	if err != nil {
		return nil, err
	}
	return p, m.Spend(1 + p.Size/usualPrice + (len(expression)+p.EstimateWork(len(text), 0))/usualPrice)
}

func (m *Meter) findMatches(p *pattern.Pattern, text string, n int) ([][]int, error) {
	each := max(1, (p.EstimateWork(len(text), 1)-p.EstimateWork(len(text), 0))/usualPrice)
	affordable := m.Left() / each
	if n < 0 || n > affordable {
		n = affordable + 1
	}
	found := p.FindAllStringIndex(text, n)
	return found, m.Spend(len(found) * each)
}

func (m *Meter) regexMatch(expression, text string) (bool, error) {
	p, err := m.compilePattern(expression, text)
	if p == nil {
		if errors.Is(err, pattern.ErrLarge) {
			return false, err
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return p.MatchString(text), nil
}

func (m *Meter) regexFind(expression, text string) (string, error) {
	p, err := m.compilePattern(expression, text)
	if err != nil {
		return "", err
	}
	return p.FindString(text), nil
}

func (m *Meter) regexTexts(expression, text string, n int, find func(*regexp.Regexp, string, int) []string) ([]string, error) {
	p, err := m.compilePattern(expression, text)
	if err != nil {
		return nil, err
	}
	if _, err := m.findMatches(p, text, boundCount(n)); err != nil {
		return nil, err
	}
	return limitResult(find(p.Regexp, text, boundCount(n)))
}

// regexReplace bounds the result before it replaces: each group in the replacement may
// be the whole text.
func (m *Meter) regexReplace(expression, text, with string, groups int, replace func(*regexp.Regexp, string, string) string) (string, error) {
	p, err := m.compilePattern(expression, text)
	if err != nil {
		return "", err
	}
	found, err := m.findMatches(p, text, -1)
	if err != nil {
		return "", err
	}
	size := len(text)*(1+groups) + len(found)*len(with)
	if size > maxEffort {
		return "", errEffort
	}
	if err := m.Spend(size / usualPrice); err != nil {
		return "", err
	}
	return limitResult(replace(p.Regexp, text, with))
}
