package source

import (
	"path"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// hidesRecord reports whether a folder has the record of the promoted commit, and Flux is
// told not to load it: the environment would get the head of the base.
func hidesRecord(all, loaded tree.Tree) bool {
	record, there := all.Lookup(promote.RecordFile)
	_, read := loaded.Lookup(promote.RecordFile)
	return there && !record.IsDir() && !read
}

// hiddenRecordProblem returns the problem that the record of an environment is hidden.
func hiddenRecordProblem(env, folder string) problem.List {
	var l problem.List
	file := path.Join(folder, promote.RecordFile)
	l.Addf(problem.Pos{Layer: env, File: file, Line: 1}, "Environment/"+env, "add !/"+file+" to the end of "+ignoreFile+", or take out the pattern that it matches",
		"%s leaves it out, so that nothing says which commit the environment has", ignoreFile)
	return l
}
