package source

import "path"

// NewIgnoreMatcher reads patterns in the syntax of .gitignore, and gives what reports whether the
// last one that matches a file, or a folder that it is in, is for it. Files are named
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
