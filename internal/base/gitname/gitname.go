// Package gitname checks the names of branches and the paths of folders as Git does.
//
// What the package keeps true: Git accepts every name that passes, on every system, as a branch or
// folder and nothing else. Names that some file system takes for .git are refused, as with
// core.protectHFS and core.protectNTFS.
package gitname

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// unsafeBranch matches what git check-ref-format refuses, and refs/ or heads/, which would name
// another reference.
var unsafeBranch = regexp.MustCompile(`^[/-]|^(refs|heads)/|^@?$|^HEAD$|[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/$|\.$|(^|/)\.|\.lock(/|$)`)

// BranchHint describes names that pass CheckBranch.
const BranchHint = "letters, digits, - and / are good; no refs/ or heads/ before it"

// maxBranch bounds a name, because servers keep branches in files.
const maxBranch = 240

// CheckBranch returns an error if name is not valid for a branch.
func CheckBranch(name string) error {
	if unsafeBranch.MatchString(name) || !utf8.ValidString(name) || len(name) > maxBranch || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("%q cannot be the name of a branch", name)
	}
	return nil
}

// CheckEnvironment returns an error for branch names that an environment cannot have. Fairlead
// proposes outputs from fairlead/<environment> and other changes from below fairlead/change and
// fairlead/copy; Git cannot have both.
func CheckEnvironment(name string) error {
	if name != "change" && name != "copy" {
		return nil
	}
	return fmt.Errorf("an environment cannot have the name %q: Git has no branch fairlead/%s beside fairlead/%s/…, which Fairlead proposes other changes from", name, name, name)
}

// CheckFolder returns an error unless a path from the root is valid for a folder.
func CheckFolder(folder string) error {
	clean := path.Join(".", folder)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return fmt.Errorf("the path %q leaves the repository", folder)
	}
	clean = strings.Trim(clean, "/")
	if clean == "" || clean == "." {
		return nil
	}
	if err := tree.CheckPath(clean); err != nil {
		return fmt.Errorf("the path %q cannot be a folder of a repository: %w", folder, err)
	}
	for name := range strings.SplitSeq(clean, "/") {
		switch {
		case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
			return fmt.Errorf("the path %q has a character that paths cannot have", folder)
		case isDotGit(name):
			return fmt.Errorf("the path %q has %q in it, which file systems take for .git", folder, name)
		}
	}
	return nil
}

// IsFolder reports whether name is valid for one folder that is not hidden.
func IsFolder(name string) bool {
	if name == "" || name[0] == '.' {
		return false
	}
	return isPlain(name) || !strings.Contains(name, "/") && CheckFolder(name) == nil
}

// isPlain is the fast path: IsFolder is called for every object of a fleet.
func isPlain(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return false
		}
	}
	return name[len(name)-1] != '.'
}

// isDotGit reports whether a file system takes a name for .git. macOS ignores some characters;
// Windows ignores final spaces and dots and anything after a colon, and has short names.
func isDotGit(name string) bool {
	seen := strings.Map(func(r rune) rune {
		// HFS+ ignores these.
		if r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff {
			return -1
		}
		return r
	}, name)
	seen, _, _ = strings.Cut(seen, ":")
	seen = strings.ToLower(strings.TrimRight(seen, " ."))
	return seen == ".git" || seen == "git~1"
}
