package kustomize

import (
	"cmp"
	"path"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

const (
	hintLocal  = "copy what is needed into the repository; if this is a path there, write ./ in front of it"
	hintBeside = "kustomize takes files from the kustomization's own folder and below; of other folders it takes whole kustomizations"
	hintPath   = "write the path from the kustomization's folder"
	hintLink   = "put the file itself in its place"
)

// userName is how an address like git@host:path begins, for krusty.
var userName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*@`)

// isRemote reports whether krusty might take the name for a URL or a Git
// repository. It would do so even if there is a folder of that name: hence this
// is wider than what krusty looks for, and the colon alone is enough. A name
// that starts with a dot has neither scheme nor user nor host.
func isRemote(name string) bool {
	if strings.HasPrefix(name, ".") {
		return false
	}
	return strings.Contains(name, ":") || userName.MatchString(name) ||
		strings.HasPrefix(strings.ToLower(name), "github.com/")
}

// find looks a name up, from the kustomization's folder, and returns its path and its entry.
// It reports a name that a build may not read, and returns false.
func (c *check) find(r ref) (at string, e tree.Entry, ok bool) {
	name := shorten(r.value, 80)
	at = path.Join(r.dir, r.value)
	switch {
	case r.value == "":
		c.refuse(r, "name a file or folder, or remove the entry", "an entry is empty")
	case isRemote(r.value):
		c.refuse(r, hintLocal, "%q is not in the repository, it would have to be fetched", name)
	case path.IsAbs(r.value) || strings.Contains(r.value, `\`):
		c.refuse(r, hintPath+", with slashes", "%q is not a relative path", name)
	case at == ".." || strings.HasPrefix(at, "../"):
		c.refuse(r, "keep to the files of the repository", "%q leaves the repository", name)
	case at == "." || at == "":
		return "", tree.Dir("", c.files), true
	default:
		return c.lookup(r, at)
	}
	return "", tree.Entry{}, false
}

func (c *check) lookup(r ref, at string) (string, tree.Entry, bool) {
	name := shorten(r.value, 80)
	folder := c.files
	var e tree.Entry
	for part := range strings.SplitSeq(at, "/") {
		var found bool
		e, found = folder.Lookup(part)
		switch {
		case !found:
			c.refuse(r, cmp.Or(problem.DidYouMean(part, names(folder)), hintPath), "%q names no file or folder", name)
			return "", e, false
		case e.Mode == tree.ModeSymlink:
			c.refuse(r, hintLink, "%q goes through a symbolic link", name)
			return "", e, false
		case e.Mode == tree.ModeSubmodule:
			c.refuse(r, "copy what is needed into the repository", "%q goes through a submodule", name)
			return "", e, false
		}
		folder = e.Tree()
	}
	return at, e, true
}

func names(t tree.Tree) []string {
	var all []string
	for _, e := range t.Entries() {
		all = append(all, e.Name)
	}
	return all
}

// file looks a file up and marks it as one that krusty will read.
func (c *check) file(r ref) (at string, data []byte, ok bool) {
	at, e, ok := c.find(r)
	if !ok {
		return "", nil, false
	}
	return c.take(r, at, e)
}

// take marks a file as one that krusty will read.
func (c *check) take(r ref, at string, e tree.Entry) (string, []byte, bool) {
	switch {
	case e.IsDir():
		c.refuse(r, "name a file", "%q is a folder", r.value)
	case !within(at, r.dir):
		c.refuse(r, hintBeside, "%q is a file outside of the kustomization's folder", r.value)
	default:
		c.reached[at] = e.Data
		return at, e.Data, true
	}
	return "", nil, false
}

// within reports whether a path is a folder or in it.
func within(path, folder string) bool {
	return folder == "" || path == folder || strings.HasPrefix(path, folder+"/")
}
