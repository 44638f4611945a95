package forge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// CheckOpen returns an error that is [ErrChanged] if an answer of a forge is not of an
// open pull request between the branches of a proposal. what is what was to be done.
func (p Pull) CheckOpen(what string, o Proposal) error {
	said := ""
	switch {
	case p.State != Open:
		said = fmt.Sprintf("it is %s", p.State)
	case p.Base != o.Base:
		said = fmt.Sprintf("it is for the branch %s now", Quote(p.Base))
	case p.Head != o.Head:
		said = fmt.Sprintf("it is from the branch %s now", Quote(p.Head))
	default:
		return nil
	}
	return changedError(what, said)
}

func changedError(what, said string) error {
	return &problem.Refusal{Operation: what, Reason: said, Kind: ErrChanged, Advice: "it will be looked at again"}
}

// sortNewest returns a list with the newest first, each once: one is on two pages of a
// list if another was opened in between.
func sortNewest[T any](all []T, number func(T) int) []T {
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(number(b), number(a)) })
	return slices.CompactFunc(all, func(a, b T) bool { return number(a) == number(b) })
}
