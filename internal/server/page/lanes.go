package page

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/server/answer"
)

func laneNames(names []string) string {
	if more := len(names) - 1; more > 0 {
		return fmt.Sprintf("lane %s and %d more", names[0], more)
	}
	return "lane " + names[0]
}

func laneLevers(all []LeverLink, p answer.LanePlace) (may []LeverLink) {
	useful := []string{"hold", "rollback"}
	if p.Hold != "" {
		useful = []string{"release", "promote"}
	}
	if p.Next != nil {
		useful = append(useful, "approve")
	}
	for _, l := range all {
		if l.Allowed && slices.Contains(useful, l.Lever) {
			may = append(may, l)
		}
	}
	return may
}

// laneSection is a list of lanes in an environment: of the base, or of versions of applications.
type laneSection struct {
	ID, Title   string
	Places      []answer.LanePlace
	AreReleases bool
}

// LaneSections returns the lists that have an entry.
func (v environmentView) LaneSections() []laneSection {
	all := []laneSection{{"lanes", "Lanes", v.Lanes, false}, {"releases", "Releases", v.Releases, true}}
	return slices.DeleteFunc(all, func(s laneSection) bool { return len(s.Places) == 0 })
}
