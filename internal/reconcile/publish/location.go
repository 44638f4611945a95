package publish

import (
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// Location is a repository, a branch and a folder that output goes to, as two are compared; "" for none.
type Location string

// NewLocation returns where the output of an environment goes; to may be nil. locate returns where a repository is that
// a control plane names.
func NewLocation(to *model.GitOpsRepo, locate func(repo string) string) Location {
	if to == nil {
		return ""
	}
	return Location(strings.ToLower(strings.Join([]string{giturl.Identify(locate(to.Repo)).String(), to.Branch, CleanFolder(to.Path)}, " ")))
}

// Overlaps reports whether two locations are one, or one is in the other. In the root of a branch an environment owns
// only what its record names, so that others may be below.
func (l Location) Overlaps(other Location) bool {
	if l == "" || other == "" {
		return false
	}
	isRoot := func(l Location) bool { return strings.HasSuffix(string(l), " ") }
	isIn := func(l, other Location) bool { return !isRoot(other) && strings.HasPrefix(string(l), string(other)+"/") }
	return l == other || isIn(l, other) || isIn(other, l)
}

// AddRival adds that the output of another environment goes to the location of to.
func AddRival(problems *problem.List, to *model.GitOpsRepo, other string) {
	problems.Addf(to.Pos, to.Subject(), "give each environment its own branch, or its own path",
		"environment %s has the same repository, branch and path, or one is in the other", other)
}
