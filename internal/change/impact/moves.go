package impact

import (
	"cmp"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// moves counts the added and removed assignments of a target that form pairs.
type moves struct{ added, removed int }

// findMoves finds the moved targets. If additions and removals differ in number, the
// first ones are moves.
func (s *survey) findMoves(old, new tree.Tree) {
	if s.opt.Chosen == nil {
		return
	}
	s.moves = map[string]*moves{}
	for was, is := range tree.ZipChanged(old, new) {
		name := cmp.Or(was.Name, is.Name)
		if strings.HasPrefix(name, ".") || isOfStacks(name, old, new) || isOfClusters(name, old, new) {
			continue
		}
		for before, after := range tree.ZipChanged(was.Tree(), is.Tree()) {
			target := cmp.Or(before.Name, after.Name)
			added, removed := after.IsDir() && !before.IsDir(), before.IsDir() && !after.IsDir()
			if !added && !removed || !s.opt.Chosen(target) {
				continue
			}
			if s.moves[target] == nil {
				s.moves[target] = &moves{}
			}
			if added {
				s.moves[target].added++
			} else {
				s.moves[target].removed++
			}
		}
	}
	for _, m := range s.moves {
		pairs := min(m.added, m.removed)
		m.added, m.removed = pairs, pairs
	}
}

func (s *survey) takeMove(target string, added, removed bool) bool {
	m := s.moves[target]
	switch {
	case m == nil:
		return false
	case added && m.added > 0:
		m.added--
		return true
	case removed && m.removed > 0:
		m.removed--
		return true
	}
	return false
}
