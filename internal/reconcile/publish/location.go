package publish

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// Location is a normalized repository, branch and folder for output; "" for none.
type Location string

// NewLocation returns the location of to, which may be nil. locate maps the control plane's
// repositories.
func NewLocation(to *model.GitOpsRepo, locate func(repo string) string) Location {
	if to == nil {
		return ""
	}
	return Location(strings.ToLower(strings.Join([]string{giturl.Identify(locate(to.Repo)).String(), to.Branch, CleanFolder(to.Path)}, " ")))
}

// Overlaps reports whether two locations are equal or nested. A root does not overlap folders below
// it: there an environment owns only what its record names.
func (l Location) Overlaps(other Location) bool {
	if l == "" || other == "" {
		return false
	}
	isRoot := func(l Location) bool { return strings.HasSuffix(string(l), " ") }
	isIn := func(l, other Location) bool { return !isRoot(other) && strings.HasPrefix(string(l), string(other)+"/") }
	return l == other || isIn(l, other) || isIn(other, l)
}

// AddRival adds the problem that another environment's output overlaps with to.
func AddRival(problems *problem.List, to *model.GitOpsRepo, other string) {
	problems.Addf(to.Pos, to.Subject(), "give each environment its own branch, or its own path",
		"environment %s has the same repository, branch and path, or one is in the other", other)
}

// FindRivals returns that the output of an environment goes where that of another one goes, by the name of the later
// environment.
func FindRivals(all []*model.Model, locate func(repo string) string) map[string]problem.List {
	found := map[string]problem.List{}
	locations := make([]Location, len(all))
	for i, m := range all {
		locations[i] = NewLocation(m.OutputRepo(), locate)
		if first := slices.IndexFunc(locations[:i], locations[i].Overlaps); first >= 0 {
			var problems problem.List
			AddRival(&problems, m.OutputRepo(), all[first].Environment)
			found[m.Environment] = problems
		}
	}
	return found
}
