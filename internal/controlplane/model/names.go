package model

import (
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/gitname"
	"github.com/fairlead-io/fairlead/internal/base/kubename"
)

const labelHint = "labels are for selecting; put other text into an annotation"

// isTemplate reports whether a text is to be expanded: Kalypso's users have labels
// that get their value when a template is rendered.
func isTemplate(text string) bool { return strings.Contains(text, "{{") }

// checkRepo reports a path that cannot be a folder of its repository, and a branch
// that Git cannot have. One that is missing is reported where the repository is read.
func (r *reader) checkRepo(o Object, s repoSpec) {
	if err := gitname.CheckFolder(s.Path); err != nil {
		r.out.problems.Addf(o.Pos, o.Subject(), "write it from the root of the repository, as ./folder", "%v", err)
	}
	if s.Branch == "" {
		return
	}
	if err := gitname.CheckBranch(s.Branch); err != nil {
		r.out.problems.Addf(o.Pos, o.Subject(), gitname.BranchHint, "%v", err)
	}
}

func (r *reader) checkEnvironment(o Object) {
	if err := gitname.CheckBranch(o.Name); err != nil && o.Name != "" && kubename.Check(o.Name) == nil {
		r.out.problems.Addf(o.Pos, o.Subject(), "the name is a part of names of branches: "+gitname.BranchHint, "%v", err)
	}
	if err := gitname.CheckEnvironment(o.Name); err != nil {
		r.out.problems.Addf(o.Pos, o.Subject(), "give the environment another name, as "+o.Name+"-1", "%v", err)
	}
}
