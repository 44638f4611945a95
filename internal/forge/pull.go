package forge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// CheckOpen returns an [ErrChanged] error unless the pull request is open between the branches of a
// proposal. what is the operation.
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

// sortNewest also removes duplicates: an item moves to the next page if another is opened
// meanwhile.
func sortNewest[T any](all []T, number func(T) int) []T {
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(number(b), number(a)) })
	return slices.CompactFunc(all, func(a, b T) bool { return number(a) == number(b) })
}
