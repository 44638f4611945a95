package source

import "path"

// NewIgnoreMatcher parses patterns in the syntax of .gitignore, and returns a function that
// reports whether they ignore a file: the last pattern decides that matches the file, or a
// folder that it is in. Files are named
// from the folder that the patterns are of.
func NewIgnoreMatcher(patterns string) func(file string) bool {
	read := new(ignoreFilter).appendPatterns(nil, patterns, "")
	return func(file string) bool {
		last := -1
		for i, c := range file {
			if c == '/' {
				last = max(last, lastMatch(path.Dir(file[:i]), path.Base(file[:i]), true, read))
			}
		}
		last = max(last, lastMatch(path.Dir(file), path.Base(file), false, read))
		return last >= 0 && !read[last].include
	}
}
